"""What `plait explain` can print of a round, by the option that asks for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, TextIO

from plait.compiler.compile import Asked, lowered, prove
from plait.dsl.record import Record
from plait.dsl.render.fold import folded
from plait.dsl.span import Source


class Shown(Record):
    """A view of one round."""

    data: Any
    """For JSON."""
    write: Callable[[TextIO], object]
    """Writes it as text."""


class View(Record):
    help: str
    of: Callable[[Source, Asked], Shown]
    """Raises SpecError and TargetError. Loads what this view alone needs."""


def show(view: View, source: Source, asked: Asked, file: TextIO, as_json: bool) -> None:
    """Writes a view of a spec to a file."""
    shown = view.of(source, asked)
    if as_json:
        file.write(json.dumps(shown.data, indent=2, ensure_ascii=False) + "\n")
    else:
        shown.write(file)


def _shown(found: Any, text: Callable[[Any], str]) -> Shown:
    return Shown(asdict(found), lambda file: file.write(folded(text(found))))


def _skeleton(source: Source, asked: Asked) -> Shown:
    from plait.compiler.views.explain import skeleton, skeleton_text

    return _shown(skeleton(prove(source, asked).widest), skeleton_text)


def _sync(source: Source, asked: Asked) -> Shown:
    from plait.compiler.views.sync import sync, sync_text

    proven = prove(source, asked)
    return _shown(sync(proven.widest, lowered(proven, asked), proven.target), sync_text)


def _ranks(source: Source, asked: Asked) -> Shown:
    from plait.compiler.ranks.view import ranks, ranks_text

    return _shown(ranks([order.round for order in prove(source, asked).orders]), ranks_text)


def _buckets(source: Source, asked: Asked) -> Shown:
    from plait.compiler.rows.coverage import coverage, coverage_text

    return _shown(coverage(prove(source, asked).orders), coverage_text)


def _captures(source: Source, asked: Asked) -> Shown:
    from plait.compiler.graphs.captures import captures, captures_text

    proven = prove(source, asked)
    return _shown(captures(proven.orders, proven.target), captures_text)


def _memory(source: Source, asked: Asked) -> Shown:
    from plait.compiler.arena.memory import memory, memory_text

    return _shown(memory(prove(source, asked).orders), memory_text)


def _budget(source: Source, asked: Asked) -> Shown:
    from plait.compiler.budgets.asked import bill_asked
    from plait.compiler.budgets.table import as_data, show

    bill = bill_asked(source, asked)
    return Shown(as_data(bill), lambda file: show(bill, file))


SKELETON = View("every fork, where it comes back, what it orders", _skeleton)
VIEWS = {
    "sync": View("what each wait is for, and how few there could be", _sync),
    "captures": View("every graph, and what may be in none", _captures),
    "memory": View("which buffers share memory, and what that saves", _memory),
    "buckets": View("what is a graph in each bucket, and on how many rows", _buckets),
    "ranks": View("what ranks agree on, and the collectives of each route, busy and idle", _ranks),
    "budget": View("what its graphs take of the target, and of how much", _budget),
}
"""By option."""
