"""The tight mend of a race: record right after the earlier access, wait right before the later one.

Any other edge that mends the race starts no earlier and ends no later, so it orders at least as
much; the tight one costs the least overlap.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from plait.compiler.races.conflicts import Race
from plait.compiler.round import HOST, Close, Edge, Item, Open, Phase, Round, Source
from plait.dsl.record import Record
from plait.dsl.span import Span

MENDED = -1
"""Number of an edge that a mend adds."""


class Mend(Record):
    edge: Edge
    before: int
    """The item it stands before."""
    text: str
    """The edge as a statement."""
    line_of: Span
    """The statement to write it in front of."""


def applied(round: Round, mends: Iterable[Mend]) -> Round:
    """The round with those edges in it."""
    items: list[Item] = []
    done = 0
    for one in sorted(mends, key=lambda mend: mend.before):
        items += round.items[done : one.before]
        items.append(one.edge)
        done = one.before
    return replace(round, items=(*items, *round.items[done:]))


def tight(round: Round, race: Race) -> Mend:
    """The edge that orders the race and as little else as can be."""
    earlier, later = race.earlier.phase, race.later.phase
    if earlier.capture is not None and not race.earlier.within:
        kind, number = "capture", earlier.capture
        origin = round.captures[number].stream
    else:
        kind, number, origin = "phase", earlier.number, earlier.stream
    target = HOST if race.waits_on_host else round.issuer(later.stream)
    before, line_of = race.later.item, later.statement
    if later.launched:
        before -= 1  # what is launched begins with an edge from the stream that launches it
    if race.later.within:
        target = round.issuer(later.stream)
    elif later.capture is not None:
        before = _open(round.items, before)
        if target != HOST:
            target = round.captures[later.capture].stream
    if later.braces is not None and not race.later.within:
        # Also where a capture runs eagerly: elsewhere it does not, and an edge may not cross its brace.
        line_of = later.braces
        before = min(before, _first_within(round.items, later.braces))
    word = "join" if target == HOST or target < origin else "fork"
    source = Source(kind, number, race.distance)  # type: ignore[arg-type]
    inside = later.capture if race.later.within else None
    edge = Edge(MENDED, word, source, target, later.span, inside)
    return Mend(edge, before, round.edge_text(edge), line_of)


def _first_within(items: tuple[Item, ...], braces: Span) -> int:
    return next(
        place
        for place, item in enumerate(items)
        if isinstance(item, Phase) and item.braces == braces
    )


def _open(items: tuple[Item, ...], inner: int) -> int:
    """The Open around an item."""
    while not isinstance(items[inner], Open):
        assert not isinstance(items[inner], Close)
        inner -= 1
    return inner
