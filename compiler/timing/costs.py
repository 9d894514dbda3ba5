"""What the parts of a round cost, as data: laws in rows for phases, and what hosts and streams take."""

from __future__ import annotations

from bisect import bisect_left

from plait.compiler.timing.sharing import Uses
from plait.dsl.record import Record


class Law(Record):
    """Nanoseconds of so many rows: by a line, or by a table of points with lines between them.

    Below its first point a table is flat, and behind its last it goes on as from the last but one.
    """

    fixed: int = 0
    row: int = 0
    """Picoseconds a row."""
    points: tuple[tuple[int, int], ...] = ()
    """Rows and nanoseconds, by rows. None: the line holds."""

    def time(self, rows: int) -> int:
        points = self.points
        if not points:
            return self.fixed + self.row * rows // 1000
        if rows <= points[0][0] or len(points) == 1:
            return points[0][1]
        place = min(bisect_left(points, (rows, 0)), len(points) - 1)
        (x0, y0), (x1, y1) = points[place - 1], points[place]
        return max(y0 + (y1 - y0) * (rows - x0) // (x1 - x0), 0)


class Link(Record):
    """The part of an exchange that is on its way, when its kernel is done: it holds its stream still."""

    law: Law
    uses: Uses = ()


class Cost(Record):
    """What a phase takes when it runs."""

    law: Law
    uses: Uses = ()
    link: Link | None = None
    host: int = 0
    """Nanoseconds of the host to issue it where no graph holds it, beyond what any phase takes; of a
    phase of the host, those that its body takes."""
    eager: Law | None = None
    """Where no graph holds it, if that takes its stream another time."""


class HostCosts(Record):
    """Nanoseconds of the host for each instruction of a kind."""

    run: int = 0
    replay: int = 0
    load: int = 0
    record: int = 0
    wait: int = 0
    block: int = 0
    """To go on when it was held up."""
    phase: int = 0
    """For the body of a phase of the host that nothing else says the cost of."""
    vote: int = 0
    round: int = 0
    """To begin a round."""


class StreamCosts(Record):
    """Nanoseconds of a stream."""

    record: int = 0
    wait: int = 0
    load: int = 0
    replay: int = 0
    """From the launch of a graph to its first kernel."""
    gap: int = 0
    """Between a phase and the next on the same stream."""
    round: int = 0
    """Of the stream on which a round begins, for what else serving does to it once a round."""


class Profile(Record):
    """Costs on one device: where they are from, and what they are."""

    name: str
    target: str
    resources: tuple[str, ...]
    host: HostCosts
    stream: StreamCosts
    phases: tuple[tuple[str, Cost], ...]
    """By full name or base; `*` is for all others."""
    collectives: tuple[tuple[str, Cost], ...] = ()
    """By kind, for those that are in no other place."""
    classes: tuple[tuple[str, Cost], ...] = ()
    """By the class of their stream, for those that are in no other place and no collective."""

    def of(self, name: str, base: str, said: int | None, kind: str = "") -> Cost:
        """Of a phase: by its full name, by its base, as its spec says, by its kind or class, or as any."""
        return self.known(name, base, said, kind) or Cost(Law())

    def known(self, name: str, base: str, said: int | None, kind: str = "") -> Cost | None:
        """None: nothing says what it costs. `kind`: `host`, a kind of collective, or a class of streams."""
        by_name, by_kind = dict(self.phases), dict(self.collectives + self.classes)
        for one in (name, base):
            if one in by_name:
                return by_name[one]
        if said is not None:
            return Cost(Law(said))
        if kind in by_kind:
            return by_kind[kind]
        if kind == "host" and self.host.phase:
            return Cost(Law(self.host.phase))
        return by_name.get("*")
