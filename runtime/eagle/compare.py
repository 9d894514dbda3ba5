"""Speculative and plain decoding of the same prompts, taking turns, held against each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from plait.runtime.devices.base import Device
from plait.runtime.devices.job import PhaseError
from plait.runtime.eagle.forms import check_drafts
from plait.runtime.eagle.forms import speculative as by_form
from plait.runtime.eagle.paged import Ragged
from plait.runtime.eagle.plain import Plain
from plait.runtime.eagle.request import Request, RequestError
from plait.runtime.eagle.sizes import TOKENS
from plait.runtime.eagle.speculative import Speculative
from plait.runtime.models.small_llama.checkpoint import LlamaCheckpoint
from plait.runtime.models.target import Target
from plait.runtime.models.tiny.checkpoint import Checkpoint
from plait.runtime.schedule import Schedule
from plait.runtime.schedule_memory import saved
from plait.runtime.trace import Trace

AnyCheckpoint: TypeAlias = Checkpoint | LlamaCheckpoint

ROUNDS_A_TURN = 16
STEPS_A_ROUND = 2
"""Plain steps for every round of a turn: near enough to what a round commits."""


@dataclass(frozen=True)
class Outcome:
    requests: list[Request]
    plain: list[Request] | None
    speculative: Speculative
    """Closed."""
    plain_seconds: float | None
    counts: list[dict[str, Any]]

    @property
    def identical(self) -> bool | None:
        """Whether every text has the tokens that plain decoding gave it; None when there is none."""
        if self.plain is None:
            return None
        pairs = zip(self.requests, self.plain, strict=True)
        return all(one.tokens == other.tokens for one, other in pairs)


def requests_for(checkpoint: AnyCheckpoint, prompts: list[str], most: int) -> list[Request]:
    """Each request opens with the model's own token and ends at it. Raises RequestError."""
    for number, prompt in enumerate(prompts, 1):
        if not prompt.isascii() and any("\ud800" <= letter <= "\udfff" for letter in prompt):
            raise RequestError(f"prompt {number} is not UTF-8 text")
    bos = checkpoint.shape.bos
    encoded = checkpoint.tokenizer.encode_all(prompts)
    return [Request([bos, *ids], most, bos) for ids in encoded]


def decode(
    schedule: Schedule,
    model: Target,
    make_requests: Callable[[], list[Request]],
    *,
    with_plain: bool = True,
    captured: bool = True,
    device: str | Device = "cpu",
    prepare: bool | Callable[[str], None] = True,
    strict: bool = False,
    trace: Trace | None = None,
    keep_logits: bool = False,
    on_tokens: Callable[[Request, int], None] = lambda request, count: None,
    on_fault: Callable[[PhaseError], None] = lambda error: None,
    make: Callable[..., Speculative] = by_form,
) -> Outcome:
    """Decodes speculatively and, unless told not to, plainly, in turns, so that both meet the same noise.

    `captured` is for plain decoding; whether the rounds are captured is the schedule's matter. `make`
    makes the speculative one. Raises what that raises.
    """
    check_drafts(schedule, model)
    requests = make_requests()
    speculative = make(
        schedule,
        model,
        requests,
        device=device,
        prepare=prepare,
        strict=strict,
        trace=trace,
        keep_logits=keep_logits,
        on_tokens=on_tokens,
        on_fault=on_fault,
    )
    plain_requests, plain = None, None
    try:
        if with_plain:
            plain_requests = make_requests()
            buckets = sorted({dict(bucket.sizes)[speculative.dim] for bucket in schedule.buckets})
            plain = Plain(
                model, plain_requests, buckets, captured=captured, keep_logits=keep_logits
            )
        more = [True, plain is not None]
        while any(more):
            more[0] = more[0] and speculative.advance(ROUNDS_A_TURN)
            if plain is not None:
                more[1] = more[1] and plain.advance(ROUNDS_A_TURN * STEPS_A_ROUND)
        counts = speculative.runner.counts()
    finally:
        speculative.close()
    seconds = None if plain is None else plain.seconds
    return Outcome(requests, plain_requests, speculative, seconds, counts)


def report(
    outcome: Outcome, schedule: Schedule, checkpoint: AnyCheckpoint, mode: str
) -> dict[str, Any]:
    """What a run was, as JSON values. Times are seconds, rates a second, rows counts.

    `cost_per_token` is the time of all rounds over all rounds' committed tokens a request: mean round
    time / mean accepted, as a ratio of sums. `buffer_bytes` is what was
    allocated for buffers, `saved_bytes` what was not, as they share memory; `graph_bytes` what each graph
    took on top, by bucket. `lost` are captures that are no graphs.
    """
    spec = outcome.speculative
    committed = sum(count * times for count, times in spec.accepted.items())
    request_rounds = sum(spec.accepted.values())
    rounds = sum(bucket["rounds"] for bucket in outcome.counts)
    produced = sum(max(len(request.tokens) - 1, 0) for request in outcome.requests)
    mean = committed / request_rounds if request_rounds else 0.0
    speed = _rate(produced, spec.seconds)
    plain_speed = None
    if outcome.plain is not None and outcome.plain_seconds is not None:
        plain_produced = sum(max(len(request.tokens) - 1, 0) for request in outcome.plain)
        plain_speed = _rate(plain_produced, outcome.plain_seconds)
    widths, padded, captures = _graphs(outcome, schedule)
    lost = [{"sizes": b["sizes"], **one} for b in outcome.counts for one in b["lost"]]
    return {
        "schedule": schedule.name,
        "source": schedule.source.name,
        "variant": schedule.variant,
        "target": schedule.target.name,
        "settings": dict(schedule.settings),
        "mode": mode,
        "capture": spec.runner.device.capture_kind,
        "text": [checkpoint.tokenizer.decode(request.tokens) for request in outcome.requests],
        "tokens": [request.tokens for request in outcome.requests],
        "rounds": rounds,
        "accepted_mean": mean,
        "accepted_histogram": {str(n): spec.accepted[n] for n in range(1, spec.most + 1)},
        "distinct_4gram_ratio": distinct_ratio([r.tokens for r in outcome.requests]),
        "buckets": {_bucket(b): b["rounds"] for b in outcome.counts if b["rounds"]},
        "widths": widths,
        "captures": captures,
        "faults": spec.faults,
        "lost": lost,
        "waits": schedule.waits(schedule.buckets[0]),
        "rows_padded": padded,
        "buffer_bytes": spec.runner.memory(),
        "graph_bytes": {
            _bucket(b): {name: graph["bytes"] for name, graph in b["graphs"].items()}
            for b in outcome.counts
            if any(graph["phases"] for graph in b["graphs"].values())
        },
        "arena_bytes": schedule.arena,
        "saved_bytes": saved(schedule),
        "cost_per_token": spec.seconds / rounds / mean if rounds and mean else None,
        "identical_to_plain": outcome.identical,
        "tokens_per_s": speed,
        "plain_tokens_per_s": plain_speed,
        "speedup": speed / plain_speed if speed and plain_speed else None,
    }


def distinct_ratio(texts: list[list[int]], length: int = 4) -> float | None:
    """Distinct over all runs of so many tokens, each text by itself: 1 when nothing repeats."""
    distinct = total = 0
    for tokens in texts:
        runs = [tuple(tokens[n : n + length]) for n in range(len(tokens) - length + 1)]
        distinct += len(set(runs))
        total += len(runs)
    return distinct / total if total else None


def _rate(count: int, seconds: float) -> float | None:
    return count / seconds if count and seconds > 0 else None


def _graphs(outcome: Outcome, schedule: Schedule) -> tuple[dict, dict, dict]:
    """Of every capture: rows a request, rows replayed for nobody, and what was replayed how often."""
    spec = outcome.speculative
    widths: dict[str, int] = {}
    padded: dict[str, int] = {}
    captures: dict[str, dict[str, Any]] = {}
    ragged = _ragged(outcome.counts)
    for number, bucket in enumerate(outcome.counts):
        size = bucket["sizes"][spec.dim]
        empty = size * bucket["rounds"] - spec.live_rows[number]
        for name, graph in bucket["graphs"].items():
            if name in ragged and isinstance(spec, Ragged):
                nobodys = graph["rows"] * bucket["rounds"] - spec.verified[number]
            else:
                widths[name] = graph["rows"] // size
                nobodys = empty * widths[name]
            padded[name] = padded.get(name, 0) + nobodys
            if graph["replays"]:
                entry = captures.setdefault(name, {"phases": graph["phases"], "replays": {}})
                entry["replays"][str(graph["rows"])] = graph["replays"]
    return widths, padded, captures


def _bucket(bucket: dict[str, Any]) -> str:
    """Its requests, and after a slash the rows of its tier where it has one."""
    return "/".join(str(size) for size in bucket["sizes"].values())


def _ragged(counts: list[dict[str, Any]]) -> set[str]:
    """Captures whose rows are those of a tier, in every bucket."""
    found = {name for bucket in counts for name in bucket["graphs"]}
    for bucket in counts:
        tier = bucket["sizes"].get(TOKENS)
        found -= {name for name, graph in bucket["graphs"].items() if graph["rows"] != tier}
    return found
