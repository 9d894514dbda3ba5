"""What ranks exchange, as a page: what they agree on and how, then the sequence of every communicator."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from plait.compiler.ranks.behaviours import Behaviour, Behaviours, behaviours
from plait.compiler.ranks.groups import IDLE
from plait.compiler.ranks.sequences import Communicator, communicator_name, exchanges, sequence
from plait.compiler.round import Choice, Round
from plait.dsl.values import plain, written


@dataclass(frozen=True, slots=True)
class Settled:
    """A value that a round settles, and which ranks have the same."""

    name: str
    kind: str
    line: int
    group: str | None
    """None: it is each rank's own."""
    by: str
    """`vote`, `construction` or `rank`."""


@dataclass(frozen=True, slots=True)
class Step:
    kind: str
    item: str
    graph: str | None
    sizes: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Sequence:
    """What one communicator carries in all behaviours that are named."""

    behaviours: tuple[dict[str, Any], ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Carried:
    communicator: str
    agreed: tuple[str, ...]
    """The values that all of its ranks have alike."""
    sequences: tuple[Sequence, ...]


@dataclass(frozen=True, slots=True)
class Ranks:
    name: str
    settled: tuple[Settled, ...]
    idle_leaves_out: tuple[str, ...]
    """The collectives that an idle rank does not come to."""
    communicators: tuple[Carried, ...]


def ranks(rounds: list[Round]) -> Ranks:
    """The view of all routes, each for a rank that is busy and, where that differs, for one that is idle."""
    found = behaviours(rounds)
    first = rounds[0]
    settled = tuple(_settled(first, choice) for choice in first.choices)
    carried = () if found is None else tuple(_carried(found, of) for of in found.communicators)
    skipped = (one.item for round in rounds for _, one in exchanges(round) if one.skipped)
    return Ranks(first.name, settled, tuple(dict.fromkeys(skipped)), carried)


def _settled(round: Round, choice: Choice) -> Settled:
    group = None if choice.group is None else round.groups[choice.group].name
    by = "rank" if group is None else "vote" if choice.voted else "construction"
    return Settled(choice.name, choice.kind, choice.span.line, group, by)


def _carried(found: Behaviours, of: Communicator) -> Carried:
    alike: dict[tuple[int, ...], dict[tuple[int, bool], Behaviour]] = {}
    for one in found.all:
        alike.setdefault(one.signatures.get(of, ()), {}).setdefault((one.order, one.idle), one)
    differs = any(one.idle for one in found.all)
    sequences = []
    for ours in alike.values():
        first = next(iter(ours.values()))
        steps = tuple(
            Step(one.kind, one.item, one.graph, one.sizes, one.span.line, one.text)
            for one in sequence(first.round, of, first.idle)
        )
        named = tuple(_named(one, differs) for one in ours.values())
        sequences.append(Sequence(named, steps))
    agreed = tuple(found.name(place) for place, same in enumerate(found.agreed(of)) if same)
    return Carried(communicator_name(found.all[0].round, of), agreed, tuple(sequences))


def _named(one: Behaviour, idle_differs: bool) -> dict[str, Any]:
    """A behaviour by the values of its route, and where that makes a difference whether it is idle."""
    values = {**one.round.sizes, **one.round.route}
    named: dict[str, Any] = {name: plain(value) for name, value in values.items()}
    return named | ({IDLE: one.idle} if idle_differs else {})


def ranks_text(found: Ranks) -> str:
    """The view as a page for a terminal."""
    out = [f"ranks of {found.name}", "", "settled each round", ""]
    width = max((len(one.name) for one in found.settled), default=0)
    for one in found.settled:
        out.append(f"{one.line:>5}  {one.name.ljust(width)}  {_how(one)}")
    if not found.settled:
        out.append("       nothing")
    left = ", ".join(found.idle_leaves_out)
    does = f"leaves out {left}" if left else "exchanges what a busy one does"
    out += ["", f"an idle rank {does}"]
    for carried in found.communicators:
        out += ["", f"{carried.communicator}: its ranks agree on {_names(carried.agreed)}"]
        for lines, named in _alike(carried.sequences).items():
            out += ["", f"    {_where(named)}", *(lines or ("       nothing",))]
    if not found.communicators:
        out += ["", "nothing is exchanged between ranks"]
    return "\n".join(out) + "\n"


def _alike(sequences: Iterable[Sequence]) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    """Behaviours by what they exchange, whatever its sizes."""
    found: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for one in sequences:
        lines = tuple(f"{step.line:>5}  {step.text}" for step in one.steps)
        found.setdefault(lines, []).extend(one.behaviours)
    return found


def _how(one: Settled) -> str:
    if one.group is None:
        return "each rank's own"
    return f"the same over {one.group}, by {'a vote' if one.by == 'vote' else 'construction'}"


def _names(names: Iterable[str]) -> str:
    return ", ".join("being idle" if name == IDLE else name for name in names) or "nothing"


def _where(named: list[dict[str, Any]]) -> str:
    """What all of these behaviours have in common, and how many they are."""
    common = {
        name: value
        for name, value in named[0].items()
        if all(name in one and one[name] == value for one in named)
    }
    words = [f"{name} = {written(value)}" for name, value in common.items() if name != IDLE]
    words += ["idle" if common[IDLE] else "busy"] if IDLE in common else []
    count = f"{len(named)} behaviours" if len(named) > 1 else "1 behaviour"
    return f"{', '.join(words) or 'always'} ({count})"
