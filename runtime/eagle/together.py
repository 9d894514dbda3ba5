"""What ranks that were launched together have each to do of a run, and what they have done between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from plait.runtime.eagle.compare import distinct_ratio
from plait.runtime.eagle.forms import speculative
from plait.runtime.eagle.request import Request, span_for
from plait.runtime.eagle.sizes import rows_of
from plait.runtime.eagle.speculative import Speculative
from plait.runtime.models.tiny.model import TinyModel
from plait.runtime.runner import BindError
from plait.runtime.schedule import Schedule


class Together:
    """This rank among those that were launched, or a process by itself; `alike` as in `from_environment`.

    Raises BindError, and RankError when ranks do not meet.
    """

    def __init__(self, schedule: Schedule, device: str, alike: Mapping[str, str] | None = None):
        self.ranks = None
        self.rank, self.size = 0, 1
        self.exchanges = any(
            p.collective is not None and p.collective.kind == "low_latency" for p in schedule.phases
        )
        self._exchange: str | None = None
        from plait.runtime.ranks.environment import from_environment, launched

        if not launched():
            return
        if not self.exchanges:
            raise BindError(
                f"{schedule.source.name}: it exchanges nothing between ranks, and several were launched: "
                "run it without torchrun"
            )
        import torch.distributed as dist

        self.ranks = from_environment(schedule, device, alike=alike)
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

    def own(self, requests: list[Request]) -> list[Request]:
        """Every so many-th request is this rank's."""
        return requests[self.rank :: self.size]

    def maker(self, requests: list[Request]) -> Callable[..., Speculative]:
        """What decodes speculatively here. `requests` are those of all ranks, which refuse them alike."""
        if not self.exchanges:
            return speculative
        from plait.runtime.eagle.parallel import Parallel

        def make(
            schedule: Schedule, model: TinyModel, own: list[Request], **options: Any
        ) -> Speculative:
            span_for(requests, rows_of(schedule), model.shape.context)
            made = Parallel(schedule, model, own, ranks=self.ranks, **options)
            self._exchange = made.exchange.name
            return made

        return make

    def gathered(self, outcome: dict[str, Any]) -> dict[str, Any]:
        """What all ranks have done, as `report` says it of one. All ranks call it."""
        outcome |= {"rank": self.rank, "ranks": self.size, "exchange": self._exchange}
        if self.ranks is None:
            return outcome
        import torch.distributed as dist

        found: list[Any] = [None] * self.size
        dist.all_gather_object(found, outcome, group=self.ranks.world.host)
        return {**merged(found), "rank": self.rank}


def merged(outcomes: list[dict[str, Any]]) -> dict[str, Any]:
    """Outcomes of ranks that ran the same rounds, in the order of ranks."""
    first = outcomes[0]
    histogram: Counter[str] = Counter(dict.fromkeys(first["accepted_histogram"], 0))
    for one in outcomes:
        histogram.update(one["accepted_histogram"])
    turns = sum(histogram.values())
    committed = sum(int(count) * times for count, times in histogram.items())
    speed = _sum(one["tokens_per_s"] for one in outcomes)
    plain = _sum(one["plain_tokens_per_s"] for one in outcomes)
    judged = [one["identical_to_plain"] for one in outcomes]
    return {
        **first,
        "text": _dealt([one["text"] for one in outcomes]),
        "tokens": (tokens := _dealt([one["tokens"] for one in outcomes])),
        "distinct_4gram_ratio": distinct_ratio(tokens),
        "accepted_histogram": dict(histogram),
        "accepted_mean": committed / turns if turns else 0.0,
        "rows_padded": {
            name: sum(one["rows_padded"][name] for one in outcomes) for name in first["rows_padded"]
        },
        "identical_to_plain": None if None in judged else all(judged),
        "tokens_per_s": speed,
        "plain_tokens_per_s": plain,
        "speedup": speed / plain if speed and plain else None,
    }


def _dealt(parts: list[list[Any]]) -> list[Any]:
    """What was dealt out one to each rank in turn, in its order."""
    return [
        part[turn]
        for turn in range(max(len(part) for part in parts))
        for part in parts
        if turn < len(part)
    ]


def _sum(rates: Any) -> float | None:
    known = [rate for rate in rates if rate]
    return sum(known) if known else None
