"""Waits of programs whose routes mix, against the order of every edge as it is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from random import Random
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from drawing.safe import guarded_round
from oracles.routes import lowered
from oracles.trace import Record, Run, Step, Wait, trace
from plait.compiler import standing
from plait.compiler.check import check
from plait.compiler.elaboration.elaborate import elaborate
from plait.compiler.order import Order
from plait.compiler.target import load_target
from plait.dsl.diagnostic import Report
from plait.dsl.library import load_library
from plait.dsl.settings import settings_for
from plait.dsl.span import Source
from plait.runtime.schedule import HOST, Bucket, Schedule

MOST_STEPS = 40_000


@given(st.integers(0, 1 << 32))
@settings(max_examples=40)
def test_no_order_is_lost_and_no_wait_can_go(seed: int) -> None:
    """In all sequences of routes all is known that is as written, and without any one wait less is."""
    orders = _proven(guarded_round(Random(seed)).text())
    short = lowered(orders)
    with mock.patch("plait.compiler.lower.standing", _all):
        long = lowered(orders)
    length = _length(long)
    expected = _past(long, length)
    assert _past(short, length) == expected
    for less in _without_one_wait(short):
        assert _past(less, length) != expected


def _proven(text: str) -> list[Order]:
    library = load_library(Source("random.spec", text))
    pipeline, report = library.file.pipelines[0], Report()
    rounds = elaborate(pipeline, library, settings_for(library.file, pipeline), report)
    return check(rounds, load_target("cpu"), report)


def _all(rounds: list) -> list[frozenset[int]]:
    return [standing.asked(round) for round in rounds]


def _without_one_wait(schedule: Schedule) -> Iterator[Schedule]:
    for number, program in enumerate(schedule.programs):
        for place, one in enumerate(program):
            if one.op in ("wait", "block"):
                shorter = (*program[:place], *program[place + 1 :])
                programs = (*schedule.programs[:number], shorter, *schedule.programs[number + 1 :])
                yield replace(schedule, programs=programs)


def _length(schedule: Schedule) -> int:
    """How many rounds show all that is known of one, through waits of rounds between, or nearly so."""
    length = 4 + max((event.depth for event in schedule.events), default=1)
    steps = max(map(len, schedule.programs))
    while length > 3 and len(schedule.programs) ** length * length * steps > MOST_STEPS:
        length -= 1
    return length


def _past(schedule: Schedule, length: int) -> list[list[int]]:
    """Of every sequence of routes, what each step comes after, as bits."""
    routes = list({one.program: one for one in schedule.buckets}.values())
    sequences: Iterator[tuple[Bucket, ...]] = product(routes, repeat=length)
    return [_past_of(trace(schedule, one)) for one in sequences]


def _past_of(steps: Sequence[Step]) -> list[int]:
    found: list[int] = []
    tails: dict[object, int] = {}
    events: dict[object, int] = {}
    host = 0
    for step in steps:
        known = tails.get(step.queue, 0) | host
        match step:
            case Record(queue, event):
                events[event] = known
            case Wait(queue, event):
                tails[queue] = known | events[event]
            case _:
                found += [known, host]
                tails[step.queue] = known | 1 << len(found) if isinstance(step, Run) else known
        if step.queue[1] == HOST:
            host = tails[step.queue]
    return found
