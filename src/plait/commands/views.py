"""What `plait explain` can print of a round, by the option that asks for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TextIO

from plait.compiler.compile import Asked, prove
from plait.dsl.span import Source

Show = Callable[[Any, TextIO], None]
"""Writes what was made as text."""


@dataclass(frozen=True)
class View:
    help: str
    make: Callable[[Source, Asked], Any]
    """What is shown, a dataclass. Raises SpecError and TargetError."""
    show: Callable[[], Show]
    """Late, as each view loads what it alone needs."""
    data: Callable[[Any], Any] = asdict
    """The same for JSON."""

    def write(self, found: Any, file: TextIO, as_json: bool) -> None:
        if as_json:
            file.write(json.dumps(self.data(found), indent=2, ensure_ascii=False) + "\n")
        else:
            self.show()(found, file)


def _skeleton(source: Source, asked: Asked) -> Any:
    from plait.compiler.explain import skeleton

    return skeleton(prove(source, asked).widest)


def _show_skeleton() -> Show:
    from plait.compiler.explain import skeleton_text

    return lambda found, file: print(skeleton_text(found), end="", file=file)


def _sync(source: Source, asked: Asked) -> Any:
    from plait.compiler.compile import lowered
    from plait.compiler.sync import sync

    proven = prove(source, asked)
    return sync(proven.widest, lowered(proven, asked))


def _show_sync() -> Show:
    from plait.compiler.sync import sync_text

    return lambda found, file: print(sync_text(found), end="", file=file)


def _ranks(source: Source, asked: Asked) -> Any:
    from plait.compiler.ranks.view import ranks

    return ranks([order.round for order in prove(source, asked).orders])


def _show_ranks() -> Show:
    from plait.compiler.ranks.view import ranks_text

    return lambda found, file: print(ranks_text(found), end="", file=file)


def _buckets(source: Source, asked: Asked) -> Any:
    from plait.compiler.coverage import coverage

    return coverage(prove(source, asked).orders)


def _show_buckets() -> Show:
    from plait.compiler.coverage import coverage_text

    return lambda found, file: print(coverage_text(found), end="", file=file)


def _budget(source: Source, asked: Asked) -> Any:
    from plait.compiler.budgets.asked import bill_asked

    return bill_asked(source, asked)


def _show_budget() -> Show:
    from plait.compiler.budgets.table import show

    return show


def _budget_data(found: Any) -> Any:
    from plait.compiler.budgets.table import as_data

    return as_data(found)


SKELETON = View("every fork, where it comes back, what it orders", _skeleton, _show_skeleton)
VIEWS = {
    "sync": View(
        "what each wait is for, what makes the other edges needless, how few there could be",
        *(_sync, _show_sync),
    ),
    "buckets": View(
        "what is a graph in each bucket, and on how many rows", _buckets, _show_buckets
    ),
    "ranks": View(
        "what ranks agree on, and the collectives of each route, busy and idle", _ranks, _show_ranks
    ),
    "budget": View(
        "what its graphs take of the target, and of how much", _budget, _show_budget, _budget_data
    ),
}
"""By option."""
