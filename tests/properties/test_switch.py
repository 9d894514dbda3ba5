"""Races between routes, by what a round leaves known, against every sequence of routes unrolled."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import networkx
from hypothesis import given, settings
from hypothesis import strategies as st

from drawing.rounds import elaborated, mended, round_texts, slow_order
from plait.compiler.order import order
from plait.compiler.races.conflicts import regions_meet, touches
from plait.compiler.round import Access, Edge, Phase, Round
from plait.compiler.rules import switch


@given(round_texts(), st.data())
@settings(max_examples=120)
def test_summaries_find_what_unrolling_finds(text: str, data: st.DataObject) -> None:
    """Two routes, each right when it repeats: a buffer races in some sequence just when the rule says so."""
    round = elaborated(text)
    routes = [mended(round), mended(_changed(round, data))]
    found = switch.check([order(route) for route in routes])
    assert {dict(one.facts)["buffer"] for one in found} == _raced(routes), text


def _changed(round: Round, data: st.DataObject) -> Round:
    """The same phases with fewer edges, and other parts of the same buffers."""
    items = []
    for item in round.items:
        if isinstance(item, Phase):
            parts = [
                data.draw(st.sampled_from([None, ((0, 2),), (2,), (3,)])) for _ in item.accesses
            ]
            accesses = tuple(map(_of, item.accesses, parts))
            items.append(item.replace(accesses=accesses))
        elif not isinstance(item, Edge) or data.draw(st.booleans()):
            items.append(item)
    phases = tuple(item for item in items if isinstance(item, Phase))
    return replace(round, items=tuple(items), phases=phases)


def _of(access: Access, part: tuple | None) -> Access:
    return access.replace(region=part)


def _raced(routes: list[Round]) -> set[str]:
    copies = max(buffer.copies for buffer in routes[0].buffers)
    found: set[str] = set()
    for length in range(2, 2 + 2 * copies):
        for sequence in product(routes, repeat=min(length, 5)):
            found |= _raced_in(sequence)
    return found


def _raced_in(sequence: tuple[Round, ...]) -> set[str]:
    """Buffers that the first and the last round of a sequence touch without an order."""
    graph = slow_order(sequence)
    first, last = (_touches(sequence[place]) for place in (0, -1))
    distance = len(sequence) - 1
    found = set()
    for earlier in first:
        after = networkx.descendants(graph, (0, earlier.end.item, "run"))
        for later in last:
            a, b = earlier.access, later.access
            if earlier.hidden or later.hidden:  # of that, one name has one capture, on one stream
                continue
            buffer = sequence[0].buffers[a.buffer]
            shared = a.buffer == b.buffer and (a.writes or b.writes)
            apart = (distance - b.rounds_back + a.rounds_back) % buffer.copies
            begins = (distance, later.since, "issue" if later.from_issue else "run")
            if shared and not apart and regions_meet(a.region, b.region) and begins not in after:
                found.add(buffer.name)
    return found


def _touches(round: Round) -> list:
    found = order(round)
    return list(touches(found, [found.rounds - 1]))
