"""What each span of a simulation came after, whether that held it up or not; and its slack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from plait.compiler.timing.engine import Block, Issue, Key, Record, Wait, Work
from plait.compiler.timing.issue import Issuer
from plait.compiler.timing.simulate import Simulation

NONE: frozenset[int] = frozenset()


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
    return sorted(walk.known)


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
    whole = found.end
    latest = [whole] * len(spans)
    begin = list(latest)
    for last in range(len(spans) - 1, -1, -1):  # what follows a span has a higher number
        together = parts.get(last, ())
        ends = [begin[each] for part in together for each in followers.get(part, ())]
        for part in together:
            latest[part] = min(ends, default=whole)
            begin[part] = latest[part] - (spans[last].end - spans[last].start)
    return [end - span.end for end, span in zip(latest, spans, strict=True)]


class _Walk:
    def __init__(self, found: Simulation):
        self.found = found
        own: dict[int, list[int]] = {}
        for number, span in enumerate(found.spans):
            own.setdefault(span.stream, []).append(number)
        self.spans: dict[int, Iterator[int]] = {lane: iter(each) for lane, each in own.items()}
        self.last: dict[int, frozenset[int]] = {}
        """Of every lane, its newest span."""
        self.held: dict[int, frozenset[int]] = {}
        """The spans that the next one of a lane waits for."""
        self.reached: dict[Key, frozenset[int]] = {}
        """By every record, the spans after which it is reached."""
        self.known: set[After] = set()

    def rank(self, rank: int, ranks: int) -> None:
        found, host = self.found, -1 - rank
        issuer = Issuer(found.schedule, found.profile, found.lanes, rank, ranks)
        for one in issuer.rounds(found.buckets):
            if isinstance(one, Block):
                self.wait(host, one.key)
                self.ran(host)
            elif isinstance(one, Record):
                self.record(host, one.key)
            elif isinstance(one, Issue):
                if one.time:
                    self.ran(host)
                for item in one.issued:
                    self.item(item, self.last.get(host, NONE))

    def item(self, item: Work | Record | Wait, by: frozenset[int]) -> None:
        if isinstance(item, Wait):
            self.wait(item.stream, item.key)
        if isinstance(item, Work) or item.time:
            number = self.ran(item.stream)
            self.known |= {After(number, source, "issue") for source in by}
        if isinstance(item, Record):
            self.record(item.stream, item.key)

    def wait(self, lane: int, key: Key) -> None:
        self.held[lane] = self.held.get(lane, NONE) | self.reached.get(key, NONE)

    def record(self, lane: int, key: Key) -> None:
        self.reached[key] = self.last.get(lane, NONE) | self.held.get(lane, NONE)

    def ran(self, lane: int) -> int:
        number = next(self.spans[lane])
        self.known |= {After(number, source, "order") for source in self.last.get(lane, NONE)}
        self.known |= {After(number, source, "wait") for source in self.held.pop(lane, ())}
        self.last[lane] = frozenset((number,))
        return number
