"""Which tasks of an Ascend trace are of one replay of a graph."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from plait.compiler.traces.kinds import EXECUTE
from plait.compiler.traces.rows import DEVICE_WORK, Rows, Wait

NO_MODEL = 4294967295
"""The model of a task that is of none."""


class Task(NamedTuple):
    """A task that is of a model, that launches one, or that waits."""

    number: int
    """Of its row."""
    model: int
    task: int


class _Window(NamedTuple):
    """From the task that launches a graph to the end of the first wait behind it on its stream."""

    start: int
    end: int
    number: int


def keep(rows: Rows, tasks: list[Task], one: Task) -> None:
    """Among the tasks, if it is of a model, launches one, or waits; and a wait among all waits."""
    start, end, _, lane, name, kind, *_ = rows.rows[one.number]
    if kind == "wait":
        rows.waits.append(Wait(lane, start, end))
    if one.model != NO_MODEL or kind == "wait" or EXECUTE.fullmatch(name):
        tasks.append(one)


def in_graphs(rows: Rows, tasks: list[Task]) -> None:
    """Gives every task of a model its replay: by the window it began in, or else, as each task is in a
    replay once, by how often it was met before."""
    found = sorted((rows.rows[one.number], one) for one in tasks)
    windows = _windows(rows, found)
    starts = {model: [one.start for one in of_model] for model, of_model in windows.items()}
    for row, one in found:
        if one.model == NO_MODEL or row[5] not in DEVICE_WORK:
            continue
        device = rows.lanes[row[3]].device
        for model in (one.model, NO_MODEL):
            at = bisect_right(starts.get(model, []), row[0]) - 1
            if at >= 0 and row[0] <= windows[model][at].end:
                key = "model", device, windows[model][at].number
                rows.graph_launches[key] = windows[model][at].number
                break
        else:
            node = device, one.model, row[3], one.task
            key = "model", device, one.model, rows.occurrence(node)
        rows.graphs[one.number] = key
        rows.graph_names[key] = f"model {one.model}"


def _windows(rows: Rows, found: list) -> dict[int, list[_Window]]:
    """Of every model by start; of NO_MODEL those whose launch does not say which it launches."""
    waits: dict[int, list[tuple[int, int]]] = {}
    for row, _ in found:
        if row[5] == "wait":
            waits.setdefault(row[3], []).append((row[0], row[1]))
    windows: dict[int, list[_Window]] = {}
    last = max((row[1] for row, _ in found), default=0)
    for row, one in found:
        if not EXECUTE.fullmatch(row[4]):
            continue
        rows.executes.append(one.number)
        of_lane = waits.get(row[3], [])
        behind = bisect_right(of_lane, (row[0], row[1]))
        end = of_lane[behind][1] if behind < len(of_lane) else last
        windows.setdefault(one.model, []).append(_Window(row[0], end, one.number))
    return windows
