"""Random rounds over padded buffers, and the rows that are wrong in them when each cell is followed."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import torch
from hypothesis import strategies as st

from plait.compiler.races.regions import box
from plait.compiler.round import HOST, Access, Phase, Round

SHAPES = {"[bs]": 0, "[bs, 2]": 0, "[2, bs]": 1, "[3]": None}
"""With the axis of the rows, if it has any."""


@st.composite
def padded_texts(draw: st.DrawFn, fenced: bool = False) -> str:
    """A pipeline at one padded bucket: loads, phases row by row and phases across the rows.

    `fenced`: the host waits for all that was issued before each of its phases.
    """
    least = draw(st.sampled_from([1, 2, 3]))
    lines = ["spec 1", "pipeline p {", f"  dim bs in [{least}, 4]", "  stream main"]
    shapes = {}
    for number in range(draw(st.integers(1, 4))):
        shape = shapes[f"x{number}"] = draw(st.sampled_from([*SHAPES]))
        pad = draw(st.sampled_from(["", "", " pad 0"]))
        lines.append(f"  buffer x{number} : i64{shape} carried copies 2{pad}")

    def access(name: str) -> str:
        shape = shapes[name]
        rows = draw(st.sampled_from(["_", "_", "0 .. 0"]))
        other = draw(st.sampled_from(["_", "0", "1"]))
        region = {"[bs]": [rows], "[bs, 2]": [rows, other], "[2, bs]": [other, rows], "[3]": ["_"]}
        return f"{name}[{', '.join(region[shape])}]"

    for number in range(draw(st.integers(1, 8))):
        where = draw(st.sampled_from(["main", "main", "main across_rows", "host"]))
        clauses = []
        for name in shapes:
            kind = draw(st.sampled_from(["", "", "reads", "reads prev", "updates", "writes"]))
            if kind:
                clauses.append(f"{kind} {access(name)}")
        if fenced and where == "host":
            lines.append("  join main into host")
        lines.append(f"  phase p{number} on {where} {{ {' '.join(clauses)} }}")
    return "\n".join([*lines, "}", ""])


def slow_undefined(round: Round, live: int) -> set[tuple[str, str]]:
    """Phases across the rows that read a cell which no request has, with its buffer, cell by cell."""
    shapes = [buffer.shape or () for buffer in round.buffers]
    axes = [
        SHAPES["[" + _written(buffer.axes, buffer.shape or ()) + "]"] for buffer in round.buffers
    ]
    kept = [buffer.pad is not None for buffer in round.buffers]

    def row(buffer: int, cell: tuple[int, ...]) -> int:
        axis = axes[buffer]
        return -1 if axis is None else cell[axis]

    def cells(access: Access) -> list[tuple[int, ...]]:
        found = box(access.region, shapes[access.buffer])
        return list(product(*(range(*side) for side in found)))

    first = {
        (number, cell): row(number, cell) >= live and not kept[number]
        for number, shape in enumerate(shapes)
        for cell in product(*map(range, shape))
    }
    now = dict(first)
    found = set()
    for phase in round.phases:
        poisoned: dict[int, bool] = {}
        for access in phase.accesses:
            if not access.reads:
                continue
            before = first if access.rounds_back else now
            for cell in cells(access):
                bad = before[access.buffer, cell]
                number = row(access.buffer, cell)
                poisoned[number] = poisoned.get(number, False) or bad
                if bad and "across_rows" in phase.attributes:
                    found.add((phase.name, round.buffers[access.buffer].name))
        for access in phase.accesses:
            for cell in cells(access) if access.writes else ():
                number = row(access.buffer, cell)
                place = (access.buffer, cell)
                if phase.stream != HOST:
                    mixed = "across_rows" in phase.attributes
                    now[place] = number >= 0 and not mixed and poisoned.get(number, False)
                elif number < live or kept[access.buffer]:
                    now[place] = False
    return found


def rowwise(phase: Phase, axes: list[int | None], rounds: list[int]) -> Callable[..., None]:
    """A body that hashes into each row what it reads of that row, or of all rows where it may.

    `axes` are those of the rows, by buffer. On the host it loads as many rows as the round has, which
    is the last of `rounds`.
    """
    across = "across_rows" in phase.attributes

    def along(access: Access, value: torch.Tensor) -> tuple[torch.Tensor, int] | None:
        """What it is given with the rows first, and the number of the first; None if it has no rows."""
        axis = axes[access.buffer]
        if axis is None:
            return None
        region = access.region or (None,) * (axis + 1)
        before = sum(isinstance(one, int) for one in region[:axis])
        here = region[axis]
        return value.movedim(axis - before, 0), here[0] if isinstance(here, tuple) else 0

    def body(**given: torch.Tensor) -> None:
        mixed = torch.full(
            (5,), phase.number + 1, dtype=torch.int64
        )  # four rows, and what has none
        for access in phase.accesses:
            if not access.reads:
                continue
            value = given[access.argument]
            rows = along(access, value)
            if across or rows is None:
                into = mixed if across else mixed[4:]
                into.mul_(1_000_003).add_(value.sum() + access.buffer)
            else:
                found, first = rows
                into = mixed[first : first + len(found)]
                into.mul_(1_000_003).add_(found.reshape(len(found), -1).sum(1) + access.buffer)
        for access in phase.accesses:
            if not access.writes:
                continue
            rows = along(access, given[access.argument])
            if rows is None:
                given[access.argument].fill_(int(mixed[4]))
                continue
            found, first = rows
            count = len(found)
            if phase.stream == HOST:
                count = min(count, max(rounds[-1] - first, 0))
            for row in range(count):
                found[row] = mixed[first + row]

    return body


def _written(axes: tuple, shape: tuple[int, ...]) -> str:
    return ", ".join("bs" if axis else str(size) for axis, size in zip(axes, shape, strict=True))
