"""Rules about something that few rounds have, loaded where one does: loading costs start-up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from types import ModuleType

from plait.compiler.round import Round
from plait.compiler.target import Target
from plait.dsl.record import Record


class Family(Record):
    """Rules by the name of their module."""

    concerns: Callable[[Round], object]
    """What a round has that they are about; nothing: they have nothing to say."""
    of_order: tuple[str, ...] = ()
    """Those that judge a round as the ones below do, and find the same in all that meet alike."""
    each: tuple[str, ...] = ()
    """Those that judge a round by itself: `check(round, order, target)`."""
    across: tuple[str, ...] = ()
    """Those that judge the routes of a sound round together: `check(orders, target)`."""
    races: tuple[str, ...] = ()
    """Those that say what `race` finds in memory that the text does not name."""
    notes: tuple[str, ...] = ()
    """Those that look through a sound pipeline, variants and all: `check(orders)`."""
    written: tuple[str, ...] = ()
    """The same, of notes that are about a pipeline as it is written, with nothing set from outside."""
    ordered: tuple[str, ...] = ()
    """Those of these that an edge may satisfy which orders no two accesses that meet."""
    on: Callable[[Target], object] = lambda target: True
    """What a target has that they are about."""

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.of_order, *self.each, *self.across, *self.races, *self.notes, *self.written)


def modules(names: Iterable[str]) -> Iterator[ModuleType]:
    """Rule modules by name."""
    return (import_module(f"plait.compiler.rules.{name}") for name in names)


def _exchanges(round: Round) -> bool:
    return bool(round.pools) or any(phase.collective for phase in round.phases)


def _is_silent(round: Round) -> bool:
    """Whether a phase of a stream writes nothing."""
    return any(
        not any(access.writes for access in phase.accesses)
        for phase in round.phases
        if phase.stream
    )


FAMILIES = (
    Family(
        lambda round: round.captures,
        of_order=("dead_output",),
        each=("raw_in_capture", "shared_into_capture"),
    ),
    Family(
        lambda round: any(one.braces is not None and one.capture is None for one in round.phases),
        written=("never_captured",),
    ),
    Family(
        lambda round: round.captures,
        across=("graph_streams", "graph_tasks", "graph_bytes", "streams_quota"),
        on=lambda target: target.limits_graphs,
    ),
    Family(
        lambda round: round.groups,
        each=("collectives_beside",),
        across=(
            "collectives_of_routes",
            "rank_local_choice",
            "rank_wrong_group",
            "idle_collective",
            "rank_ring",
            "rank_ring_likely",
        ),
        ordered=("collectives_beside",),
    ),
    Family(
        _exchanges,
        of_order=("pool_full", "exchange_in_graph", "odd_exchanges"),
        each=("over_capacity", "kept_in_pool"),
        across=("capacities_differ",),
        races=("communicator", "graph_memory"),
        ordered=("pool_full",),
    ),
    Family(
        lambda round: round.sizes,
        each=("rows_differ", "not_divided", "over_largest", "undefined_rows"),
    ),
    Family(
        lambda round: any("raw" in phase.attributes for phase in round.phases),
        each=("raw_not_drained",),
        across=("raw_of_routes",),
    ),
    Family(
        lambda round: any(buffer.task for buffer in round.buffers), each=("earlier_parameters",)
    ),
    Family(lambda round: round.waits_ahead, each=("cycle", "rebound_too_late")),
    Family(lambda round: any(phase.launched for phase in round.phases), each=("before_await",)),
    Family(
        lambda round: any(a.rounds_back for phase in round.phases for a in phase.accesses),
        across=("prev_not_written",),
    ),
    Family(
        lambda round: any(edge.source.rounds_back for edge in round.edges),
        across=("moving_point",),
    ),
    Family(
        lambda round: any(edge.word == "fork" for edge in round.edges), notes=("hides_nothing",)
    ),
    Family(_is_silent, notes=("writes_nothing",)),
)


def ordered(round: Round) -> Iterator[ModuleType]:
    """The rules about a round that may need an edge though no data does."""
    return modules(
        name for one in FAMILIES if one.ordered and one.concerns(round) for name in one.ordered
    )
