"""Two statements next to each other, the other way round: phases, graphs, launches, awaits, edges."""

from __future__ import annotations

from collections.abc import Iterator

from plait.compiler.tune.move import EDGES, ISSUED, Move, View, carried_over
from plait.dsl import syntax
from plait.dsl.printer import printed


def moves(view: View) -> Iterator[Move]:
    for body, _ in view.bodies:
        issued = [one if isinstance(one, ISSUED) else None for one in body]
        for place, later in enumerate(issued):
            earlier = issued[place - 1] if place else None
            if earlier is None or later is None:
                continue
            if not (isinstance(earlier, EDGES) and isinstance(later, EDGES)):
                yield _swapped(view, earlier, later)
            if isinstance(later, EDGES):
                continue
            above = place - 1
            while above and isinstance(issued[above], EDGES):
                above -= 1
            over = issued[above]
            if above < place - 1 and over is not None and not isinstance(over, EDGES):
                edits = carried_over(later.span, over.span, above=True)
                yield Move(f"`{_called(later)}` issued before `{_called(over)}`", view.text(*edits))


def _swapped(view: View, earlier: syntax.Statement, later: syntax.Statement) -> Move:
    """Said of an edge or an await that is late, a launch that is early, or else of what comes first."""
    if isinstance(earlier, EDGES | syntax.Await):
        what = f"`{_called(earlier)}` moved below `{_called(later)}`"
    elif isinstance(later, EDGES | syntax.Await):
        what = f"`{_called(later)}` moved above `{_called(earlier)}`"
    else:
        what = f"`{_called(later)}` issued before `{_called(earlier)}`"
    return Move(what, view.text(*carried_over(later.span, earlier.span, above=True)))


def _called(one: syntax.Statement) -> str:
    match one:
        case syntax.Phase() | syntax.Capture():
            return printed(one.label)
        case syntax.Call(label=label, module=module):
            return printed(label) if label else ".".join(name.text for name in module)
        case syntax.Fork() | syntax.Join() | syntax.Await():
            return printed(one)
        case syntax.For():
            return f"for {one.name.text}"
        case syntax.When():
            return f"when {one.condition.span.text}"
        case _:
            return "interleave"
