"""What a schedule says of a round, as an alignment needs it: nodes, and which ends before which begins.

A node is a phase outside captures, a whole capture, or the copy-in of one. Orders are those of one round in
steady state, with how many rounds before it each source lies.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from plait.dsl.record import Record
from plait.runtime.schedule import HOST, PHASE_OPS, Bucket, Instruction, Schedule

NodeKind = Literal["phase", "capture", "load"]
OrderKind = Literal["wait", "stream", "issue"]


class Node(Record):
    name: str
    kind: NodeKind
    stream: int
    phases: tuple[str, ...]
    """Of what it is made."""
    bodies: tuple[str, ...]
    """The names of those without indices."""
    collective: bool
    """Whether it is communication and nothing else."""
    place: str
    """`file:line` in the spec."""
    number: int
    """Of the phase or capture."""

    @property
    def title(self) -> str:
        return f"load {self.name}" if self.kind == "load" else self.name


class Order(Record):
    """`source`, so many rounds back, ends before `target` begins; numbers of nodes."""

    source: int
    target: int
    rounds_back: int
    kind: OrderKind
    """Which of an event, of one queue for both, and of the host that issues it only then, says so."""


class Declared(Record):
    nodes: tuple[Node, ...]
    """In issue order."""
    orders: tuple[Order, ...]

    def before(self, node: int) -> list[Order]:
        return [one for one in self.orders if one.target == node]

    def bridged(self, unseen: Iterable[int]) -> Declared:
        """The same without orders of those nodes: what came before one comes before what came after it."""
        orders: dict[tuple[int, int, int], OrderKind] = {
            (one.source, one.target, one.rounds_back): one.kind for one in self.orders
        }
        for node in unseen:
            into = [ends for ends in orders if ends[1] == node]
            out = [ends for ends in orders if ends[0] == node]
            kinds: dict[tuple[int, int, int], OrderKind] = {}
            for ends in {*into, *out}:
                kinds[ends] = orders.pop(ends)
            for one in into:
                for other in out:
                    if one[0] != node != other[1]:
                        through = one[0], other[1], one[2] + other[2]
                        orders.setdefault(through, _through(kinds[one], kinds[other]))
        kept = (Order(*ends, kind) for ends, kind in sorted(orders.items()))
        return Declared(self.nodes, tuple(kept))


def _through(one: OrderKind, other: OrderKind) -> OrderKind:
    kinds: tuple[OrderKind, ...] = ("issue", "wait", "stream")
    return next(kind for kind in kinds if kind in (one, other))


def declared(schedule: Schedule, bucket: Bucket) -> Declared:
    program = schedule.program_of(bucket)
    kept = [one for one in program if one.op in PHASE_OPS or one.op in ("load", "replay")]
    nodes = tuple(_node(schedule, one) for one in kept)
    back = max((one.rounds_back for one in program), default=0)
    walk = _Walk()
    for _ in range(2 + back):
        walk.round(program)
    last = 1 + back
    found: dict[tuple[int, int, int], OrderKind] = {}
    kinds: tuple[OrderKind, ...] = ("wait", "stream", "issue")
    for kind in kinds:  # an order that more than one gives is of the first
        for (source, made), (target, at), of in walk.orders:
            if of == kind and at == last:
                found.setdefault((source, target, at - made), kind)
    orders = (Order(*ends, kind) for ends, kind in sorted(found.items(), key=lambda one: one[0]))
    return Declared(nodes, tuple(orders))


def _node(schedule: Schedule, one: Instruction) -> Node:
    if one.op in PHASE_OPS:
        phase = schedule.phases[one.of]
        comm = phase.collective is not None or schedule.streams[one.on].kind == "comm"
        where = schedule.place_of(phase.place)
        names = ((phase.name,), (phase.body,))
        return Node(phase.name, "phase", one.on, *names, comm, where, one.of)
    capture = schedule.captures[one.of]
    phases = [schedule.phases[number] for number in capture.phases]
    comm = bool(phases) and all(phase.collective is not None for phase in phases)
    kind: NodeKind = "load" if one.op == "load" else "capture"
    where = schedule.place_of(capture.place)
    if kind == "load":
        return Node(capture.name, kind, one.on, (), (), False, where, one.of)
    bodies = tuple(dict.fromkeys(phase.body for phase in phases))
    names = (tuple(phase.name for phase in phases), bodies)
    return Node(capture.name, kind, one.on, *names, comm, where, one.of)


class _Walk:
    """Rounds of a program, instruction by instruction, with who comes after whom."""

    def __init__(self) -> None:
        self.at = 0
        self.orders: list[tuple[tuple[int, int], tuple[int, int], OrderKind]] = []
        self.newest: dict[int, tuple[int, int]] = {}
        """Of every queue, its newest node and the round of that."""
        self.events: dict[tuple[int, int], tuple[tuple[int, int], ...]] = {}
        """What each record of an event comes right after."""
        self.asked: dict[int, list[tuple[int, int]]] = {}
        """Of every queue, what its next node is to wait for."""
        self.over: list[tuple[int, int]] = []
        """What the host has seen the end of."""
        self.own = 0
        """Where in that its newest own node stands, which comes after all before it."""
        self.told: dict[int, int] = {}
        """How much of it each queue has heard of."""

    def round(self, program: tuple[Instruction, ...]) -> None:
        number = 0
        for one in program:
            if one.op in PHASE_OPS or one.op in ("load", "replay"):
                self.node((number, self.at), one.on)
                number += 1
            elif one.op == "record":
                own = [self.newest[one.on]] if one.on in self.newest else []
                self.events[one.of, self.at] = (*own, *self.asked.get(one.on, ()))
            elif one.op in ("wait", "block"):
                ended = self.events.get((one.of, self.at - one.rounds_back), ())
                self.asked.setdefault(one.on, []).extend(ended)
                if one.on == HOST:
                    self.over += ended
        self.at += 1

    def node(self, node: tuple[int, int], on: int) -> None:
        self.orders.extend((source, node, "wait") for source in self.asked.pop(on, ()))
        if on in self.newest:
            self.orders.append((self.newest[on], node, "stream"))
        if on == HOST:
            self.own = len(self.over)
            self.over.append(node)
        else:
            since = max(self.told.get(on, 0), self.own)
            fresh = self.over[since:]
            self.orders.extend((source, node, "issue") for source in fresh)
            self.told[on] = len(self.over)
        self.newest[on] = node
