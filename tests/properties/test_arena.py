"""Buffers that share memory: never in use together, in no more bytes than they need, and no other results."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from drawing.passing import Reach, passing_texts, unordered
from drawing.rounds import elaborated, mended
from drawing.running import body_of, lowered
from plait.compiler.arena.arena import arena, laid_out
from plait.compiler.order import order
from plait.compiler.round import Edge, Item, Open, Phase, Round
from plait.compiler.rules import read_before_write, switch
from plait.runtime.schedule import Schedule
from plait.runtime.schedule_arena import arena_fault

ROUNDS = 5


def with_arena(*routes: Round) -> Schedule:
    return laid_out(lowered(*routes), [order(route) for route in routes])


def drawn_routes(text: str, data: st.DataObject) -> list[Round]:
    """A round, and if no switch between them races the same without some edges or its last phases."""
    round = mended(elaborated(text))
    eager = [p.number for p in round.phases if p.capture is None]
    last = len(round.phases)
    if eager and data.draw(st.booleans()):
        last = data.draw(st.sampled_from(eager))
    items = tuple(item for item in round.items if _kept(round, item, last, data))
    captures = round.captures[: sum(isinstance(item, Open) for item in items)]
    shorter = replace(round, items=items, phases=round.phases[:last], captures=captures)
    routes = [replace(round, route={"r": True}), replace(mended(shorter), route={"r": False})]
    return routes[:1] if switch.check([order(route) for route in routes]) else routes


def _kept(round: Round, item: Item, last: int, data: st.DataObject) -> bool:
    if isinstance(item, Phase):
        return item.number < last
    if isinstance(item, Edge):
        source, named = item.source, []
        if source.kind == "phase":
            named = [round.phases[source.number]]
        elif source.kind in ("capture", "loaded"):
            named = [phase for phase in round.phases if phase.capture == source.number]
        if any(phase.number >= last for phase in named):
            return False
        if item.capture is None:
            return data.draw(st.booleans())
    inner = [phase for phase in round.phases if phase.capture == item.capture]  # type: ignore[union-attr]
    return item.capture is None or all(phase.number < last for phase in inner)  # type: ignore[union-attr]


@given(passing_texts())
@settings(max_examples=150)
def test_what_shares_memory_is_never_in_use_together(text: str) -> None:
    """Every path of the programs' instructions, over rounds, is looked for one by one."""
    schedule = with_arena(mended(elaborated(text)))
    assert not list(unordered(schedule, Reach(schedule, [schedule.buckets[0]] * 4))), text
    assert arena_fault(schedule) is None


@given(passing_texts(), st.data())
@settings(max_examples=60)
def test_nor_when_rounds_of_other_routes_come_between(text: str, data: st.DataObject) -> None:
    """The same for two routes in every sequence of four rounds."""
    schedule = with_arena(*drawn_routes(text, data))
    for sequence in product(schedule.buckets, repeat=4):
        assert not list(unordered(schedule, Reach(schedule, sequence))), text


@given(passing_texts())
@settings(max_examples=100)
def test_an_arena_takes_no_more_than_no_sharing_and_no_less_than_must_be(text: str) -> None:
    """The bytes are between the bound and the sum; what shares with nobody is not in it."""
    found = arena([order(mended(elaborated(text)))])
    assert found.least <= found.together <= found.apart
    assert (found.size == 0) == (not found.offsets)
    assert found.together < found.apart or not found.offsets


@given(passing_texts(scratch=False), st.data())
@settings(max_examples=60)
def test_sharing_memory_changes_no_result(text: str, data: st.DataObject) -> None:
    """On real threads with captures: what lives on is the same with the arena as without it."""
    routes = drawn_routes(text, data)
    assert not any(read_before_write.check(route, order(route)) for route in routes)
    schedule = with_arena(*routes)
    bodies = {phase.name: body_of(phase) for phase in routes[0].phases}
    choices = st.lists(st.sampled_from(routes), min_size=ROUNDS, max_size=ROUNDS)
    sequence = data.draw(choices)
    found = []
    for shared in (True, False):
        with schedule.bind(bodies, arena=shared) as runner:
            for route in sequence:
                runner.step(**route.route)
            runner.drain()
            kept = [b.name for b in schedule.buffers if b.carried]
            found.append([runner.buffer(name).tolist() for name in kept])
            assert runner.memory() > 0
    assert found[0] == found[1], text
