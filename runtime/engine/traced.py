"""What a trace has of a round, taken out of it, so that it does not grow."""

from __future__ import annotations

from plait.runtime.trace import Slice, Trace


def taken_out(trace: Trace | None, round: int) -> tuple[tuple[Slice, ...], float | None]:
    """The slices of a round that is over, and the seconds between its first and last when none ran."""
    if trace is None:
        return (), None
    found = []
    for lane in trace.lanes.values():
        count = next((n for n, one in enumerate(lane) if one.round > round), len(lane))
        found += lane[:count]
        del lane[:count]  # streams only append
    for records in trace.records.values():
        records.clear()
    del trace.begun[:-2]
    slices = sorted((one for one in found if one.round == round), key=lambda one: one.start)
    return tuple(slices), idle(slices) / 1e9


def idle(slices: list[Slice]) -> int:
    """Nanoseconds between the first and the last in which nothing but waits ran. By start."""
    found = 0
    end: int | None = None
    for one in slices:
        if one.kind == "wait":
            continue
        if end is not None and one.start > end:
            found += one.start - end
        end = one.end if end is None else max(end, one.end)
    return found
