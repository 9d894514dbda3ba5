"""What a server has seen, for Prometheus: of rounds as an engine tells it, of requests as clients see it."""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from plait.runtime.engine import observer as told
from plait.runtime.engine.observer import Observer

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
MEMORY = 0.1
"""What one request counts in the running mean of how long they take."""


class Metrics(Observer):
    """A registry of its own, so that a process may have several."""

    def __init__(self) -> None:
        self.registry = made = CollectorRegistry()
        self.seconds = 1.0
        """How long requests take, lately."""
        round = ("schedule", "settings", "bucket", "route")
        self.rounds = Counter("plait_rounds", "Rounds.", round, registry=made)
        self.round_seconds = Histogram(
            "plait_round_seconds",
            "From when a round was issued, or the one before was taken, until its tokens were.",
            ("bucket",),
            buckets=SECONDS,
            registry=made,
        )
        self.rows = Counter("plait_rows", "Rows of rounds.", ("bucket",), registry=made)
        self.padding = Counter(
            "plait_padding_rows", "Rows of rounds that were nobody's.", ("bucket",), registry=made
        )
        self.accepted = Histogram(
            "plait_accepted_length",
            "Tokens that a round gave a request.",
            buckets=range(9),
            registry=made,
        )
        self.exposed = Counter(
            "plait_exposed_seconds", "Of rounds, the time in which no phase ran.", registry=made
        )
        self.traced = Counter(
            "plait_traced_seconds", "Of rounds, the time of which that is known.", registry=made
        )
        self.faults = Counter("plait_faults", "Rounds that failed.", ("restored",), registry=made)
        self.swaps = Counter(
            "plait_swaps", "Changes of the schedule.", ("settings", "why"), registry=made
        )
        self.ends = Counter(
            "plait_requests", "Requests that have ended, by why.", ("end",), registry=made
        )
        self.tokens = Counter(
            "plait_tokens",
            "Tokens of requests: prompts that entered, what of those was in the cache, new ones.",
            ("kind",),
            registry=made,
        )
        self.waiting = Gauge("plait_requests_waiting", "Requests in no row yet.", registry=made)
        self.live = Gauge("plait_requests_live", "Requests in rows.", registry=made)
        self.held = Gauge(
            "plait_held", "What of the decoder's memory is in use.", ("what",), registry=made
        )
        self.queue_seconds = self._latency("queue", "From a request until it has a row.")
        self.prefill_seconds = self._latency(
            "prefill", "For which rounds stood still for a prompt."
        )
        self.first_token = self._latency("first_token", "From a request until its first token.")
        self.between_tokens = self._latency(
            "between_tokens",
            "From one token of a request to the next; of a round's, an equal share.",
        )
        self.whole = self._latency("request", "From a request until its end.")
        self.responses = Counter(
            "plait_http_responses", "Responses.", ("path", "status"), registry=made
        )
        ProcessCollector(registry=made)
        PlatformCollector(registry=made)

    def text(self, waiting: int, live: int, held: Mapping[str, int]) -> bytes:
        """All of it in Prometheus's text format."""
        self.waiting.set(waiting)
        self.live.set(live)
        for what, count in held.items():
            self.held.labels(what).set(count)
        return generate_latest(self.registry)

    def entered(self, told: told.Entered) -> None:
        self.queue_seconds.observe(told.waited)
        self.prefill_seconds.observe(told.prefill)
        self.tokens.labels("prompt").inc(len(told.request.prompt.tokens))
        self.tokens.labels("reused").inc(told.reused)

    def round(self, told: told.Round) -> None:
        bucket = str(told.bucket)
        self.rounds.labels(told.schedule, told.settings, bucket, told.route).inc()
        self.round_seconds.labels(bucket).observe(told.seconds)
        self.rows.labels(bucket).inc(told.bucket)
        self.padding.labels(bucket).inc(told.bucket - told.live)
        for count in told.committed:
            self.accepted.observe(count)
        if told.exposed is not None:
            self.exposed.inc(told.exposed)
            first = min((one.start for one in told.slices), default=0)
            last = max((one.end for one in told.slices), default=0)
            self.traced.inc((last - first) / 1e9)

    def ended(self, told: told.Ended) -> None:
        self.ends.labels(str(told.end)).inc()
        self.tokens.labels("new").inc(told.tokens)
        self.whole.observe(told.seconds)
        self.seconds += MEMORY * (told.seconds - self.seconds)

    def fault(self, told: told.Fault) -> None:
        self.faults.labels(str(told.restored).lower()).inc()

    def swapped(self, told: told.Swapped) -> None:
        self.swaps.labels(told.settings, told.why).inc()

    def _latency(self, name: str, what: str) -> Histogram:
        return Histogram(f"plait_{name}_seconds", what, buckets=SECONDS, registry=self.registry)
