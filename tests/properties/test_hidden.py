"""Races in memory that the text does not name, against the same memory declared as a buffer."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from drawing.rounds import elaborated, round_texts
from plait.compiler.order import order
from plait.compiler.races.conflicts import Race, Touch, races, static_by_capture
from plait.compiler.races.hidden import left_by_graphs
from plait.compiler.round import HOST, Access, Buffer, Collective, Group, Phase, Pool, Round
from plait.dsl.span import Source, Span

NOWHERE = Span(Source("random.spec", ""), 0, 0)
GROUP = Group("tp", NOWHERE)
COLLECTIVE = Collective("all_reduce", 0, NOWHERE)


@given(round_texts(), st.data())
@settings(max_examples=300)
def test_a_communicator_is_a_scratch_buffer(text: str, data: st.DataObject) -> None:
    """Collectives race just where phases do that update one buffer declared for them."""
    round = elaborated(text)
    device = [phase.number for phase in round.phases if phase.stream != HOST]
    chosen = data.draw(st.sets(st.sampled_from(device))) if device else set()
    window = Access(len(round.buffers), "updates", "window", NOWHERE)
    declared = _changed(
        replace(
            round, buffers=(*round.buffers, Buffer("window", "u8", (1,), NOWHERE, scratch=True))
        ),
        {number: {"accesses": (*round.phases[number].accesses, window)} for number in chosen},
    )
    changes = {number: {"collective": COLLECTIVE} for number in chosen}
    hidden = _changed(replace(round, groups=(GROUP,)), changes)
    assert _pairs(hidden) == _pairs(declared, window.buffer), text


@given(round_texts(), st.data())
@settings(max_examples=300)
def test_the_memory_of_graphs_is_a_buffer_that_replays_write(
    text: str, data: st.DataObject
) -> None:
    """A replay of a pool races with readers of what its graphs leave, and with replays, as writers do."""
    round = elaborated(text)
    short = data.draw(st.sets(st.integers(0, len(round.buffers) - 1)))
    hidden = _pooled(round, short)
    left = left_by_graphs(hidden, static_by_capture(hidden))
    memory = Buffer("memory", "u8", (1,), NOWHERE, static=True)
    number = len(hidden.buffers)
    changes = {}
    for phase in hidden.phases:
        if phase.capture is not None:
            new = Access(number, "writes", "memory", NOWHERE)
        elif any(access.buffer in left for access in phase.accesses):
            new = Access(number, "reads", "memory", NOWHERE)
        else:
            continue
        changes[phase.number] = {"accesses": (*phase.accesses, new)}
    declared = _changed(replace(hidden, buffers=(*hidden.buffers, memory)), changes)
    assert _pairs(hidden) == _pairs(declared, number), text


def _pooled(round: Round, short: set[int]) -> Round:
    """All captures in one pool, and those buffers not carried, so that graphs keep them there."""
    buffers = tuple(one.replace(carried=n not in short) for n, one in enumerate(round.buffers))
    captures = tuple(one.replace(pool=0) for one in round.captures)
    return replace(round, buffers=buffers, captures=captures, pools=(Pool("graphs", NOWHERE),))


def _changed(round: Round, changes: dict[int, dict]) -> Round:
    """The round with other fields in some of its phases, by number."""
    items = tuple(
        item.replace(**changes.get(item.number, {})) if isinstance(item, Phase) else item
        for item in round.items
    )
    phases = tuple(item for item in items if isinstance(item, Phase))
    return replace(round, items=items, phases=phases)


def _pairs(round: Round, buffer: int | None = None) -> set[tuple]:
    """What races over a buffer, or over memory without a name: phases, or captures seen from outside.

    A read that is issued after a replay is left out: whether it comes too late is no matter of order.
    """

    def meets(race: Race) -> bool:
        return race.hidden is not None if buffer is None else race.buffer == buffer

    return {
        (_run(race.earlier), _run(race.later))
        for race in races(order(round))
        if meets(race) and race.later.access.writes
    }


def _run(touch: Touch) -> tuple[str, int]:
    """The replay, or the phase of its own, that an access is part of."""
    graph = None if touch.within else touch.phase.capture
    return ("phase", touch.item) if graph is None else ("replay", graph)


def test_the_rounds_drawn_are_worth_looking_at() -> None:
    """Many have races of each kind."""
    seen = {"communicator": 0, "graphs": 0}

    @given(round_texts())
    @settings(max_examples=300, database=None)
    def look(text: str) -> None:
        round = elaborated(text)
        device = {p.number: {"collective": COLLECTIVE} for p in round.phases if p.stream != HOST}
        seen["communicator"] += bool(_pairs(_changed(replace(round, groups=(GROUP,)), device)))
        seen["graphs"] += bool(_pairs(_pooled(round, set(range(len(round.buffers))))))

    look()
    assert all(count >= 20 for count in seen.values()), seen
