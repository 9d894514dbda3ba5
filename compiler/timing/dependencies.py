"""What each span of a simulation came after, whether that held it up or not; and its slack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from plait.compiler.timing.engine import Block, Issue, Key, Record, Wait, Work
from plait.compiler.timing.issue import Issuer
from plait.compiler.timing.simulate import Simulation


class After(NamedTuple):
    """Spans by number: the target began only when the source had ended."""

    target: int
    source: int
    why: Literal["order", "issue", "wait"]
    """Both are on one lane; the host issued it with the source; it waited for the source's record."""


def dependencies(found: Simulation) -> list[After]:
    """All of them, in order of the targets.

    The instructions are gone through once more, beside the spans that they became. A wait for a record
    before which nothing ran is for no span, and one with nothing behind it holds none up.
    """
    walk = _Walk(found)
    ranks = 1 + max(rank for rank, _, _ in found.lanes.places)
    for rank in range(ranks):
        walk.rank(rank, ranks)
    waited = {(target, walk.reached.get(key, -1)) for key, target in walk.waiting}
    walk.found_out += [After(*pair, "wait") for pair in waited if pair[1] >= 0]
    return sorted(walk.found_out)


def slacks(found: Simulation, after: Sequence[After]) -> list[int]:
    """Of every span, by how much it could end later without the end of all being later, in nanoseconds.

    Everything else takes as long as it did. Parts of a collective end together.
    """
    spans = found.spans
    parts: dict[int, list[int]] = {}
    followers: dict[int, list[int]] = {}
    for number, span in enumerate(spans):
        parts.setdefault(span.met, []).append(number)
    for one in after:
        followers.setdefault(one.source, []).append(one.target)
    latest = [found.end] * len(spans)
    begin = list(latest)
    for last in range(len(spans) - 1, -1, -1):  # what follows a span has a higher number
        together = parts.get(last, ())
        ends = [begin[each] for part in together for each in followers.get(part, ())]
        for part in together:
            latest[part] = min(ends, default=found.end)
            begin[part] = latest[part] - (spans[last].end - spans[last].start)
    return [end - span.end for end, span in zip(latest, spans, strict=True)]


class _Walk:
    def __init__(self, found: Simulation):
        self.found = found
        own: dict[int, list[int]] = {}
        for number, span in enumerate(found.spans):
            own.setdefault(span.stream, []).append(number)
        self.spans: dict[int, Iterator[int]] = {lane: iter(each) for lane, each in own.items()}
        self.last: dict[int, int] = {}
        """Of every lane, its newest span."""
        self.held: dict[int, list[Key]] = {}
        """What the next span of a lane waits for."""
        self.reached: dict[Key, int] = {}
        """By every record, the span after which it was reached; -1: after none."""
        self.waiting: list[tuple[Key, int]] = []
        self.found_out: list[After] = []

    def rank(self, rank: int, ranks: int) -> None:
        found, host = self.found, -1 - rank
        issuer = Issuer(found.schedule, found.profile, found.lanes, rank, ranks)
        for one in issuer.rounds(found.buckets):
            if isinstance(one, Block):
                self.held.setdefault(host, []).append(one.key)
                self.ran(host)
            elif isinstance(one, Record):
                self.reached[one.key] = self.last.get(host, -1)
            elif isinstance(one, Issue):
                if one.time:
                    self.ran(host)
                for item in one.issued:
                    self.item(item, self.last.get(host, -1))

    def item(self, item: Work | Record | Wait, by: int) -> None:
        if isinstance(item, Wait):
            self.held.setdefault(item.stream, []).append(item.key)
        if isinstance(item, Work) or item.time:
            number = self.ran(item.stream)
            if by >= 0:
                self.found_out.append(After(number, by, "issue"))
        if isinstance(item, Record):
            self.reached[item.key] = self.last.get(item.stream, -1)

    def ran(self, lane: int) -> int:
        number = next(self.spans[lane])
        if lane in self.last:
            self.found_out.append(After(number, self.last[lane], "order"))
        self.last[lane] = number
        self.waiting += [(key, number) for key in self.held.pop(lane, ())]
        return number
