"""Whether rows keep to themselves: what a captured phase writes for one request is of that request alone.

Rows past the live ones hold anything, so a body that mixes them in is wrong in every round that has
some. It is called twice more, on copies, with the rows of the last request filled differently; what it
writes for the others must not change. Only bodies in captures, which are kernels and nothing else.

Of a buffer with `pad` those rows hold that value and nothing else; and as long as all rows do, there is no
live one to be told from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from plait.runtime.checked.declared import CheckError
from plait.runtime.schedule import Argument, Phase, Region, Schedule


def check_rows(
    schedule: Schedule,
    number: int,
    body: Callable,
    arguments: dict[str, Any],
    shadow: Callable[[Any], Any],
) -> None:
    """Raises CheckError for a phase that lets one request's rows into those of another."""
    phase = schedule.phases[number]
    if "across_rows" in phase.attributes or phase.collective is not None:
        return
    rows = dict(_rows(schedule, number, arguments))
    for dim in sorted({dim for dim, *_ in rows.values()}):
        mine = {name: place for name, place in rows.items() if place[0] == dim}
        counts = {count for _, _, _, count in mine.values()}
        pads = dict(_pads(schedule, phase, mine))
        if len(counts) != 1 or counts == {1} or _all_pad(arguments, pads):
            continue
        try:
            left = [
                _left(phase, body, arguments, shadow, mine, dict.fromkeys(mine, fill) | pads)
                for fill in (0, 1)
            ]
        except Exception:
            return  # the capture that follows runs the same body, and says what is wrong with it
        for name, one in left[0].items():
            other = left[1][name]
            if not ((one == other) | (one.ne(one) & other.ne(other))).all():
                argument = next(one for one in phase.arguments if one.name == name)
                buffer = schedule.buffers[argument.buffer].name
                raise CheckError(
                    f"lets the rows of one request into those of others in `{buffer}`, and past the live "
                    "rows anything may stand: keep rows apart, or declare it `across_rows`"
                )


def _pads(
    schedule: Schedule, phase: Phase, rows: Iterable[str]
) -> Iterator[tuple[str, int | float]]:
    """What the rows past the live ones hold, of the arguments for which that is known."""
    for argument in phase.arguments:
        pad = schedule.buffers[argument.buffer].pad
        if argument.name in rows and argument.kind == "reads" and pad is not None:
            yield argument.name, pad


def _all_pad(arguments: dict[str, Any], pads: dict[str, int | float]) -> bool:
    return any(bool((arguments[name] == pad).all()) for name, pad in pads.items())


Rows = tuple[str, int, int, int]
"""The dim, the axis, rows a request, and requests."""


def _rows(schedule: Schedule, number: int, arguments: dict[str, Any]) -> Iterator[tuple[str, Rows]]:
    """Of every argument that has rows of requests, all of them, where they are."""
    phase = schedule.phases[number]
    regions = {bucket.regions[number] for bucket in schedule.buckets if bucket.regions[number]}
    for place, argument in enumerate(phase.arguments):
        found = {_axis(schedule, argument, region[place]) for region in regions}
        if len(found) == 1 and (rows := found.pop()) is not None:
            dim, axis, by = rows
            yield argument.name, (dim, axis, by, arguments[argument.name].shape[axis] // by)


def _axis(schedule: Schedule, argument: Argument, region: Region) -> tuple[str, int, int] | None:
    kept = 0
    for number, live in enumerate(schedule.buffers[argument.buffer].live):
        here = region[number] if region else None
        if live and here is None and live[2] == 0:
            return live[0], kept, live[1]
        kept += not isinstance(here, int)
    return None


def _left(
    phase: Phase,
    body: Callable,
    arguments: dict[str, Any],
    shadow: Callable[[Any], Any],
    rows: dict[str, Rows],
    fills: dict[str, int | float],
) -> dict[str, torch.Tensor]:
    """What the body leaves in the rows of all requests but the last, whose rows held these."""
    with torch.no_grad():
        given = {name: shadow(value) for name, value in arguments.items()}
        kinds = {one.name: one.kind for one in phase.arguments}
        for name, (_, axis, by, count) in rows.items():
            if kinds[name] != "writes":
                given[name].narrow(axis, (count - 1) * by, by).fill_(fills[name])
        body(**given)
        return {
            name: given[name].narrow(axis, 0, (count - 1) * by)
            for name, (_, axis, by, count) in rows.items()
            if kinds[name] != "reads"
        }
