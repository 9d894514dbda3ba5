"""The parts of the soak that are run apart, in the order of their tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from soak import tables


class Count(NamedTuple):
    """How often something is tried: an option of the soak, and what the part calls it."""

    name: str
    times: int
    help: str
    of_part: str


@dataclass(frozen=True)
class Part:
    module: str
    counts: tuple[Count, ...]
    table: Callable[[Any], str]
    failures: Callable[[Any], list[str]]
    seeded: bool = True


def _disagreed(found: list[dict]) -> list[str]:
    return [
        f"{one['what']}: the judges do not agree:\n{text}\n"
        for one in found
        for text in one["disagreed"]
    ]


def _interleaved(found: list[dict]) -> list[str]:
    """Of the last, racy specs, some give what is right with every seed."""
    return [f"{one['what']}: {text}" for one in found[:-1] for text in one["failures"]]


def _joined(found: list[dict]) -> list[str]:
    return [f"joining: {text}" for one in found for text in one["failures"]]


def _drawn(found: list[dict]) -> list[str]:
    unlikely = [one for one in found if one["p"] < tables.CHANCE]
    return [f"{one['what']}: not the distribution, p = {one['p']:.2g}" for one in unlikely]


def _paged(found: dict) -> list[str]:
    wrong = found["wrong"]
    return [f"{wrong} requests on pages are not as plain decoding"] if wrong else []


def _each(key: str, what: str) -> Callable[[dict], list[str]]:
    return lambda found: [f"{what}{text}" for text in found[key]]


PARTS = (
    Part(
        "oracles",
        (Count("rounds", 50_000, "rounds before other judges", "rounds"),),
        tables.judged_table,
        _disagreed,
    ),
    Part(
        "soak.replays",
        (Count("programs", 10_000, "programs that are replayed", "programs"),),
        tables.replayed_table,
        _each("wrong", "a replay gives other bits: "),
    ),
    Part(
        "adversary",
        (Count("seeds", 500, "interleavings of every example", "seeds"),),
        tables.interleavings_table,
        _interleaved,
        seeded=False,
    ),
    Part(
        "soak.traces",
        (Count("traces", 25_000, "traces that are damaged", "count"),),
        tables.traces_table,
        _each("failures", "reading a damaged trace raised:\n"),
    ),
    Part(
        "soak.aligned",
        (Count("aligned", 2_000, "traces with a known truth", "count"),),
        tables.aligned_table,
        _each("wrong", "aligning says what is not so: "),
    ),
    Part(
        "soak.joining",
        (Count("joining", 16, "requests at once, of trees", "most"),),
        tables.joining_table,
        _joined,
    ),
    Part(
        "soak.sampling",
        (Count("draws", 100_000, "requests that sample", "draws"),),
        tables.sampling_table,
        _drawn,
        seeded=False,
    ),
    Part(
        "soak.paging",
        (Count("pages", 30, "trials of caches in pages", "trials"),),
        tables.paging_table,
        _paged,
    ),
    Part(
        "soak.engines",
        (Count("engines", 2_000, "that requests come to and leave", "count"),),
        tables.engines_table,
        _each("failures", "an engine: "),
    ),
    Part(
        "soak.served",
        (
            Count("requests", 2_000, "to a server, in each repeat", "requests"),
            Count("repeats", 10, "of the load on a server", "repeats"),
        ),
        tables.served_table,
        _each("wrong", "a server under load: "),
        seeded=False,
    ),
)
