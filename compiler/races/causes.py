"""What each step of one round comes right after, and whether that goes in a circle.

A step is an item's run, or its issue by the host; what the host does itself is one step. Every edge of a
round goes from what was issued earlier to what is issued later, except where a graph waits for the rebind
of a task further down: only there can steps wait for each other, so that none of them ever starts.
"""

from __future__ import annotations

from plait.compiler.round import HOST, Close, Edge, Phase, Round, Vote
from plait.dsl.record import Record

Queue = tuple[int | None, int]
"""A stream outside captures, or within one."""


class Step(Record):
    item: int
    issue: bool = False


class Cause(Record):
    step: Step
    edge: int | None = None
    """The item of the edge that asks for it; None: its queue, its graph or the host does."""


def causes(round: Round) -> dict[Step, list[Cause]]:
    """Of every step of a round, those right before it in the same round."""
    return _Causes(round).found()


class _Causes:
    def __init__(self, round: Round):
        self.round = round
        self.before: dict[Step, list[Cause]] = {}
        self.tails: dict[Queue, Step] = {}
        self.pending: dict[Queue, list[Cause]] = {}
        self.host: list[Cause] = []
        """The newest step of the host, if there is one yet."""

    def found(self) -> dict[Step, list[Cause]]:
        for place, item in enumerate(self.round.items):
            if isinstance(item, Edge):
                self.edge(place, item)
            elif isinstance(item, Vote) or (isinstance(item, Phase) and item.stream == HOST):
                self.of_host(place)
            elif isinstance(item, Phase) and item.capture is not None:
                self.run(place, self.queue(item.capture, item.stream), self.opened(item.capture))
            elif isinstance(item, Close):
                self.close(place, item)
            else:
                stream = item.stream if isinstance(item, Phase) else self.origin(item.capture)
                self.of_host(place)
                self.run(place, (None, stream), Step(place, issue=True))
        return self.before

    def edge(self, place: int, edge: Edge) -> None:
        source = edge.source
        steps: list[Step] = []
        if source.kind == "stream":
            queue = self.queue(edge.capture, source.number)
            steps += [self.tails[queue]] if queue in self.tails else []
            steps += [cause.step for cause in self.pending.get(queue, ())]  # a wait is passed on
        elif source.kind != "elsewhere" and not source.rounds_back:
            steps.append(self.step(self.round.places[source.kind, source.number]))
        asked = [Cause(step, place) for step in steps]
        if edge.target == HOST:
            self.of_host(place, asked)
        else:
            self.pending.setdefault(self.queue(edge.capture, edge.target), []).extend(asked)

    def of_host(self, place: int, more: list[Cause] | None = None) -> None:
        step = Step(place, issue=True)
        self.before[step] = [*self.host, *(more or [])]
        self.host = [Cause(step)]

    def run(self, place: int, queue: Queue, begin: Step) -> None:
        step = Step(place)
        tail = self.tails.get(queue)
        follows = [Cause(begin)] + ([Cause(tail)] if tail is not None else [])
        self.before[step] = follows + self.pending.pop(queue, [])
        self.tails[queue] = step

    def close(self, place: int, close: Close) -> None:
        """A graph ends when all that is in it has."""
        inner = [queue for queue in self.tails if queue[0] == close.capture]
        origin = (None, self.origin(close.capture))
        for queue in inner:
            self.pending.pop(queue, None)
            self.pending.setdefault(origin, []).append(Cause(self.tails.pop(queue)))
        self.run(place, origin, self.opened(close.capture))

    def step(self, place: int) -> Step:
        item = self.round.items[place]
        on_host = isinstance(item, Phase) and item.stream == HOST
        return Step(place, issue=on_host)

    def opened(self, capture: int) -> Step:
        return Step(self.round.places["loaded", capture])

    def origin(self, capture: int) -> int:
        return self.round.captures[capture].stream

    def queue(self, capture: int | None, stream: int) -> Queue:
        within = capture is not None and stream != self.origin(capture)
        return (capture if within else None), stream


def circle(before: dict[Step, list[Cause]]) -> list[tuple[Cause, Step]]:
    """Steps that wait for each other, each with what it waits for; empty where none do."""
    after: dict[Step, list[Step]] = {step: [] for step in before}
    left = {step: len(found) for step, found in before.items()}
    for step, found in before.items():
        for cause in found:
            after[cause.step].append(step)
    ready = [step for step, count in left.items() if not count]
    while ready:
        step = ready.pop()
        del left[step]
        for later in after[step]:
            left[later] -= 1
            if not left[later]:
                ready.append(later)
    if not left:
        return []
    # Whatever is left has a cause that is left, too: going back from one to the next ends in a circle.
    way: dict[Step, tuple[Cause, Step]] = {}
    step = next(iter(left))
    while step not in way:
        cause = next(cause for cause in before[step] if cause.step in left)
        way[step] = cause, step
        step = cause.step
    found = [way[step]]
    while found[-1][0].step != step:
        found.append(way[found[-1][0].step])
    return found
