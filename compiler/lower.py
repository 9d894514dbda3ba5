"""Rounds and their order to a Schedule: tables, events, and one program for the buckets."""

from __future__ import annotations

import plait.runtime.schedule as machine
from plait.compiler.conflicts import copied_in
from plait.compiler.order import Order, Wait
from plait.compiler.round import Edge, Item, Open, Phase, Round
from plait.dsl.span import Span


def lower(
    orders: list[Order],
    *,
    variant: str | None,
    compiler: str,
    source: machine.Digest,
    target: machine.Digest,
    environment: dict[str, str | None],
) -> machine.Schedule:
    """The Schedule of a proven round, given its order at every bucket."""
    first = orders[0]
    rounds = [order.round for order in orders]
    round = rounds[0]
    events = _events(first)
    return machine.Schedule(
        name=round.name,
        variant=variant,
        compiler=compiler,
        source=source,
        target=target,
        settings=tuple(round.settings.items()),
        environment=tuple(sorted(environment.items())),
        streams=tuple(machine.Stream(s.name, s.kind, place(s.span)) for s in round.streams),
        buffers=tuple(
            machine.Buffer(
                b.name, b.dtype, b.place, b.carried, b.static, b.copies, _certain(b.span)
            )
            for b in round.buffers
        ),
        events=tuple(
            machine.Event(round.item_name(item), depth) for item, (_, depth) in events.items()
        ),
        phases=tuple(_phase(phase) for phase in round.phases),
        captures=tuple(
            machine.Capture(
                capture.name,
                capture.stream,
                tuple(p.number for p in round.phases if p.capture == capture.number),
                tuple(copied_in(round, capture.number)),
                _certain(capture.span),
            )
            for capture in round.captures
        ),
        programs=(tuple(_program(first, events)),),
        buckets=tuple(_bucket(one) for one in rounds),
    )


def place(span: Span | None) -> machine.Place | None:
    return None if span is None else _certain(span)


def _certain(span: Span) -> machine.Place:
    return machine.Place(span.line, span.column, span.end - span.start)


def _phase(phase: Phase) -> machine.Phase:
    arguments = tuple(
        machine.Argument(a.argument, a.buffer, a.kind, a.rounds_back) for a in phase.accesses
    )
    return machine.Phase(
        phase.name,
        phase.base,
        phase.index,
        phase.stream,
        phase.capture,
        arguments,
        _certain(phase.span),
    )


def _events(order: Order) -> dict[int, tuple[int, int]]:
    """For each item that is waited for, in issue order: its event's number and depth."""
    depths: dict[int, int] = {}
    for wait in order.waits:
        depths[wait.source] = max(depths.get(wait.source, 1), 1 + wait.rounds_back)
    return {item: (number, depths[item]) for number, item in enumerate(sorted(depths))}


def _program(order: Order, events: dict[int, tuple[int, int]]) -> list[machine.Instruction]:
    round = order.round
    waits: dict[int, list[Wait]] = {}
    for wait in sorted(order.waits, key=lambda one: (-one.rounds_back, one.source)):
        waits.setdefault(wait.target, []).append(wait)
    program: list[machine.Instruction] = []
    for number, item in enumerate(round.items):
        asked = [(w, place(round.items[w.edge].span)) for w in waits.get(number, ())]  # type: ignore[union-attr]
        if isinstance(item, Edge):
            for wait, at in asked:
                event, _ = events[wait.source]
                program.append(
                    machine.Instruction("block", event, machine.HOST, wait.rounds_back, at)
                )
            continue
        if isinstance(item, Phase):
            stream = item.stream
        else:
            stream = round.captures[item.capture].stream
        for wait, at in asked:
            event, _ = events[wait.source]
            op = "block" if stream == machine.HOST else "wait"
            program.append(machine.Instruction(op, event, stream, wait.rounds_back, at))
        record = []
        if number in events:
            record.append(machine.Instruction("record", events[number][0], stream))
        program += _work(round, item, stream, record)
    return program


def _work(
    round: Round, item: Item, stream: int, record: list[machine.Instruction]
) -> list[machine.Instruction]:
    """What an item is to the device. A phase inside a capture is nothing: its Open stands for all."""
    if isinstance(item, Phase):
        if item.capture is not None:
            return []
        return [machine.Instruction("run", item.number, stream, 0, _certain(item.span)), *record]
    if isinstance(item, Open):
        at = _certain(round.captures[item.capture].span)
        load = [machine.Instruction("load", item.capture, stream, 0, at)]
        replay = machine.Instruction("replay", item.capture, stream, 0, at)
        return [*(load if copied_in(round, item.capture) else []), *record, replay]
    return record


def _bucket(round: Round) -> machine.Bucket:
    return machine.Bucket(
        sizes=tuple(round.sizes.items()),
        program=0,
        shapes=tuple(buffer.shape for buffer in round.buffers),
        regions=tuple(tuple(a.region for a in phase.accesses) for phase in round.phases),
        rows=tuple(capture.rows for capture in round.captures),
    )
