"""What a round may not do: one rule a file, each its own documentation.

A rule module has a `RULE` that says what it refuses and why, with a bad and a mended example, and a
`check` that finds it in a round, in a sound pipeline, or in what it takes from outside. Adding one means
adding it to `MODULES`, `ACROSS`, `NOTES` or a family here, or to `OUTSIDE` in `outside.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from plait.compiler.round import Round
from plait.compiler.rules import (
    carried_shape,
    host_in_capture,
    never_comes_back,
    overlap,
    prev_not_kept,
    race,
    read_before_write,
    switch,
    too_many_streams,
    unneeded_edge,
)
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.codes import CODES
from plait.dsl.record import Record

OF_ORDER = (
    race,
    overlap,
    prev_not_kept,
    never_comes_back,
    host_in_capture,
)
"""Rules that find the same in all rounds that meet alike, whatever the sizes."""
OF_SIZES = (read_before_write,)
"""Rules that look at the sizes of a bucket, too."""
MODULES = (*OF_ORDER, *OF_SIZES)
"""Rules that judge a round by itself."""
ACROSS = (carried_shape, switch)
"""Rules that judge the routes of a round together, where each is right by itself."""
NOTES = (unneeded_edge,)
"""Rules that judge a sound pipeline as a whole, by the order of every variant and route."""


class Family(Record):
    """Rules about something that few rounds have: loaded where one does, as loading costs start-up."""

    concerns: Callable[[Round], object]
    """What a round has that they are about; nothing: they have nothing to say."""
    each: tuple[str, ...] = ()
    """Names of modules that judge a round by itself: `check(round, order, target)`."""
    across: tuple[str, ...] = ()
    """Names of modules that judge the routes of a sound round together: `check(orders, target)`."""
    races: tuple[str, ...] = ()
    """Names of modules that say what `race` finds in memory that the text does not name."""
    notes: tuple[str, ...] = ()
    """Names of modules that look through a sound pipeline, variants and all: `check(orders)`."""
    written: tuple[str, ...] = ()
    """The same, of notes that are about a pipeline as it is written, with nothing set from outside."""
    on: Callable[[Target], object] = lambda target: True
    """What a target has that they are about."""

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.each, *self.across, *self.races, *self.notes, *self.written)


RANKS = Family(
    lambda round: round.groups,
    each=("collectives_beside",),
    across=(
        "rank_local_choice",
        "rank_wrong_group",
        "rank_sequences",
        "rank_ring",
        "rank_ring_likely",
    ),
)
POOLS = Family(
    lambda round: round.pools or any(one.collective for one in round.phases),
    each=("over_capacity", "pool_full", "exchange_in_graph", "kept_in_pool"),
    across=("capacities_differ",),
    races=("communicator", "graph_memory"),
)
CAPTURES = Family(
    lambda round: round.captures, each=("dead_output", "raw_in_capture", "shared_into_capture")
)
WIDTHS = Family(
    lambda round: round.sizes, each=("rows_differ", "not_divided", "over_largest", "undefined_rows")
)
QUEUE = Family(
    lambda round: any("raw" in phase.attributes for phase in round.phases),
    each=("raw_not_drained",),
)
AHEAD = Family(lambda round: round.waits_ahead, each=("cycle", "rebound_too_late"))
LAUNCHES = Family(
    lambda round: any(phase.launched for phase in round.phases),
    each=("before_await",),
)
EARLIER = Family(
    lambda round: any(edge.source.rounds_back for edge in round.edges),
    across=("moving_point",),
)
EAGER = Family(
    lambda round: any(one.braces is not None and one.capture is None for one in round.phases),
    written=("never_captured",),
)
SILENT = Family(
    lambda round: any(
        not any(access.writes for access in phase.accesses)
        for phase in round.phases
        if phase.stream
    ),
    notes=("writes_nothing",),
)
BUDGETS = Family(
    lambda round: round.captures,
    across=("graph_streams", "graph_tasks", "graph_bytes", "streams_quota"),
    on=lambda target: target.limits_graphs,
)
FAMILIES = (
    *(EAGER, SILENT, EARLIER, LAUNCHES, AHEAD, QUEUE, RANKS, POOLS, CAPTURES, WIDTHS, BUDGETS),
)


def notes(rounds: Iterable[Round], written: bool) -> Iterator[ModuleType]:
    """Modules that may have a note on those rounds; on what is written only where that is all there is."""
    rounds = list(rounds)
    yield from NOTES
    for family in FAMILIES:
        names = (*family.notes, *(family.written if written else ()))
        if names and any(map(family.concerns, rounds)):
            yield from modules(names)


def modules(names: Iterable[str]) -> Iterator[ModuleType]:
    """Rule modules by name."""
    return (import_module(f"{__name__}.{name}") for name in names)


if TYPE_CHECKING:
    RULES: tuple[Rule, ...]


def __getattr__(name: str) -> tuple[Rule, ...]:
    # Late, so that a round on a target without runtimes loads no rule about them.
    if name == "RULES":
        from plait.compiler.rules.outside import OUTSIDE

        late = modules(name for one in FAMILIES for name in one.names)
        found = (*MODULES, *ACROSS, *late, *OUTSIDE, too_many_streams, *NOTES)
        return tuple(module.RULE for module in found)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def meanings() -> dict[str, tuple[str, str]]:
    """Every code there is, with what it says in a line, and why."""
    found = {code: (meaning, "") for code, meaning in CODES.items()}
    found |= {rule.code: (rule.title, rule.why) for rule in __getattr__("RULES")}
    return dict(sorted(found.items()))
