"""What is known of a round that failed: what of it ran, and which buffers it left half done.

Depends on torch and the standard library alone: a schedule emitted as Python carries this file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from plait.runtime.devices.job import PhaseError

Parts: TypeAlias = "list[list[Any]]"
"""Of everything that a round runs, in issue order, the jobs or the graphs that take turns in it.

What stands for a graph that is lost has `jobs`, which are run one by one.
"""


def tell(
    error: PhaseError,
    others: list[BaseException],
    begun: Mapping[int, Parts],
    kept: Mapping[str, list[str]],
) -> None:
    """Says in an error what became of the rounds that were begun, once nothing runs any more.

    `kept` has, for every phase, the buffers it writes that a later round may read.
    """
    error.others = tuple(others)
    failed = [error, *(one for one in others if isinstance(one, PhaseError))]
    known = {one.round for one in failed} <= set(begun)
    first = min(one.round for one in failed)
    left: dict[int, list[str]] = {}
    torn: list[str] = []
    for number, parts in begun.items():
        for turn in _turns(parts, number):
            if number < first or turn.ran >= number:
                continue
            if any(one.round == number and one.phase == turn.name for one in failed):
                torn += _kept(turn, kept)
            else:
                if getattr(turn, "begun", -1) >= number:
                    torn += _kept(turn, kept)
                left.setdefault(number, []).extend(_phases(turn))
    error.missed = {number: tuple(names) for number, names in left.items()}
    error.torn = tuple(dict.fromkeys(torn))
    stale = [name for names in left.values() for phase in names for name in kept.get(phase, ())]
    error.stale = tuple(dict.fromkeys(name for name in stale if name not in error.torn))
    if known:
        ran = [turn for turn in _turns(begun[error.round], error.round) if turn.ran >= error.round]
        error.finished = tuple(phase for turn in ran for phase in _phases(turn))
    for line in _notes(error):
        error.add_note(line)


def _turns(parts: Parts, round: int) -> list[Any]:
    turns = [part[round % len(part)] for part in parts]
    return [one for turn in turns for one in getattr(turn, "jobs", (turn,))]


def _phases(turn: Any) -> tuple[str, ...]:
    return getattr(turn, "phases", None) or (turn.name,)


def _kept(turn: Any, kept: Mapping[str, list[str]]) -> list[str]:
    return [name for phase in _phases(turn) for name in kept.get(phase, ())]


def _notes(error: PhaseError) -> list[str]:
    lines = []
    if error.finished is None:
        why = "it was idle, or is too long ago"
        lines.append(f"what else ran in round {error.round} is not known: {why}")
    elif error.finished:
        lines.append(f"ran in round {error.round}: {', '.join(error.finished)}")
    lines += [f"did not run in round {n}: {', '.join(names)}" for n, names in error.missed.items()]
    if error.torn:
        lines.append(f"may be half written: {', '.join(error.torn)}")
    if error.stale:
        lines.append(f"as an earlier round left it: {', '.join(error.stale)}")
    return lines + [f"failed too: {one}" for one in error.others]
