"""What a schedule runs in one bucket, as nodes, and what comes before what, as edges.

Nodes are phases outside captures and whole captures, in issue order, and the load of a capture where
something waits for that alone. Edges are of two sorts: the order
a stream keeps by itself, and the waits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from plait.runtime.schedule import HOST, PHASE_OPS, Bucket, Schedule


@dataclass(frozen=True, slots=True)
class Step:
    name: str
    stream: str
    phases: tuple[str, ...]
    """Of a capture, what it holds; empty for a phase."""
    rows: int | None


@dataclass(frozen=True, slots=True)
class Before:
    """`source` ends before `target` begins; numbers of steps, `rounds_back` rounds apart.

    A target of None is a wait of the host with nothing of the host's after it.
    """

    source: int
    target: int | None
    rounds_back: int = 0
    waits: bool = False


FEW = 8


def few(names: Sequence[str]) -> str:
    """Names in a row; of very many, the first, the last and how many."""
    if len(names) <= FEW:
        return ", ".join(names)
    return f"{', '.join(names[:2])}, ... {names[-1]} ({len(names)} phases)"


def steps(schedule: Schedule, bucket: Bucket) -> tuple[list[Step], list[Before]]:
    names = [stream.name for stream in schedule.streams]
    found: list[Step] = []
    edges: list[Before] = []
    newest: dict[int, int] = {}
    recorded: dict[int, list[Before]] = {}
    """What each event stands for: the newest step of its stream, and what that is to wait for."""
    asked: dict[int, list[tuple[int, int]]] = {}
    for one in schedule.program_of(bucket):
        if one.op == "record":
            name = schedule.events[one.of].name
            if name.endswith(".loaded"):  # between the load and the replay
                found.append(Step(name, names[one.on], (), None))
                if one.on in newest:
                    edges.append(Before(newest[one.on], len(found) - 1))
                newest[one.on] = len(found) - 1
            ended = [Before(newest[one.on], None)] if one.on in newest else []
            passed = [Before(event, None, back, True) for event, back in asked.get(one.on, ())]
            recorded[one.of] = ended + passed
        elif one.op in ("wait", "block"):
            asked.setdefault(one.on, []).append((one.of, one.rounds_back))
        elif one.op in PHASE_OPS or one.op == "replay":
            number = len(found)
            if one.op in PHASE_OPS:
                found.append(Step(schedule.phases[one.of].name, names[one.on], (), None))
            else:
                capture = schedule.captures[one.of]
                phases = tuple(schedule.phases[phase].name for phase in capture.phases)
                rows = bucket.rows[one.of]
                found.append(Step(capture.name, names[one.on], phases, rows))
            if one.on in newest:
                edges.append(Before(newest[one.on], number))
            # An event of an earlier round may be recorded further down: settled below.
            edges += [Before(event, number, back, True) for event, back in asked.pop(one.on, ())]
            newest[one.on] = number
    for on, waiting in asked.items():
        # What stands behind the last step of a stream is for its first one, a round later.
        first = next((n for n, step in enumerate(found) if step.stream == names[on]), None)
        if on == HOST:
            edges += [Before(event, None, back, True) for event, back in waiting]
        elif first is not None:
            edges += [Before(event, first, back + 1, True) for event, back in waiting]
    return found, [one for edge in edges for one in _settled(edge, recorded)]


def _settled(
    edge: Before, recorded: dict[int, list[Before]], seen: frozenset[int] = frozenset()
) -> Iterator[Before]:
    """An edge from an event as edges from steps: none where the event is not recorded on this route."""
    if not edge.waits:
        yield edge
    elif edge.source not in seen:
        for one in recorded.get(edge.source, ()):
            back = edge.rounds_back + one.rounds_back
            if one.waits:
                inner = Before(one.source, edge.target, back, True)
                yield from _settled(inner, recorded, seen | {edge.source})
            else:
                yield Before(one.source, edge.target, back, True)
