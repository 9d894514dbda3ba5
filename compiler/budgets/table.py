"""The bill as a page for a terminal, and as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table

from plait.compiler.budgets.bill import Bill
from plait.compiler.routes import MOST_ROUTES
from plait.dsl.render.figures import in_words
from plait.dsl.render.fold import WIDTH

MOST_NAMES = 8
"""Of buffers whose size is not known, in the text."""


def show(bill: Bill, file: TextIO) -> None:
    """Writes the bill: what each capture takes, then each limit with what is used of it."""
    console = Console(file=file, highlight=False, width=WIDTH if not file.isatty() else None)
    with console.capture() as written:
        console.print(f"bill of {bill.name} on {bill.target.name}\n", markup=False)
        if bill.rows:
            console.print(_captures(bill))
            console.print()
        console.print(_limits(bill))
    file.write("".join(f"{line.rstrip()}\n" for line in written.get().splitlines()))


def _captures(bill: Bill) -> Table:
    table = _table("graphs of", "captures", "graphs", "one for each", "beside", "communicators")
    for name in ("streams", "tasks", "copied in"):
        table.add_column(name, justify="right")
    for row in bill.rows:
        table.add_row(
            row.name,
            f"{row.captures:,}",
            f"{row.graphs:,}",
            ", ".join(row.each) or "fixed",
            ", ".join(row.side) or "-",
            ", ".join(row.communicators) or "-",
            f"{row.streams:,}",
            f"{row.tasks:,}",
            in_words(row.inputs),
        )
    return table


def _limits(bill: Bill) -> Table:
    table = _table("of", "used", "at most", "how")
    for name, used, most, how in lines(bill):
        table.add_row(name, used, most, how)
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
    for name in columns:
        table.add_column(name, overflow="fold")
    return table


def lines(bill: Bill) -> Iterator[tuple[str, str, str, str]]:
    """Each limit: its name, what is used of it, how much there is, and how it comes about."""
    target, graphs = bill.target, bill.streams()
    streams, reserve = target.streams, target.graphs.reserve
    sum = f"{streams.taken:,} taken + {bill.fixed:,} fixed + {graphs - bill.fixed:,} by bucket"
    yield "streams of a round", f"{bill.device:,}", f"{streams.pool:,}", "of the target's pool"
    used = f"{streams.taken + graphs + reserve:,}"
    yield "streams of the device", used, _count(streams.budget), f"{sum} + {reserve:,} kept free"
    if streams.quota is not None:
        yield "streams of a share", f"{streams.taken + graphs:,}", _count(streams.quota), sum
    for dim, sizes in bill.sizes.items():
        if len(sizes) > 1 and bill.graphs:
            each = ", ".join(f"{size}: {count:,}" for size, count in bill.only(dim).items())
            yield f"  each {dim} alone", "", "", each
    rebound = target.graphs.tasks if target.graphs.task_update else None
    yield "tasks of a round", f"{bill.tasks:,}", _count(rebound), "rebound before their graph"
    pools = ", ".join(f"{name} {in_words(size)}" for name, size in bill.pools.items() if size)
    memory = f"{in_words(bill.inputs)} copied in; pools: {pools or 'empty'}"
    memory += f"; not counted: {_few(bill.opaque)}" if bill.opaque else ""
    most = target.graphs.memory_mib
    at_most = "" if most is None else in_words(most << 20)
    yield "memory of graphs", in_words(bill.memory), at_most, memory
    for one in bill.exchanges:
        yield f"rows over `{one.group}`", _count(one.rows), f"{one.capacity:,}", "of a rank"
    held = target.exchange and target.exchange.held
    for name, size in bill.slots.items():
        yield f"values in `{name}`", f"{size:,}", _count(held), "held at once"
    yield "routes", f"{len(bill.rounds):,}", f"{MOST_ROUTES:,}", "buckets x params x guards"


def _few(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more:,} more" if more > 0 else "")


def _count(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def as_data(bill: Bill) -> dict[str, Any]:
    """The same for programs."""
    target = bill.target
    return {
        "pipeline": bill.name,
        "target": target.name,
        "streams": {
            "round": bill.device,
            "pool": target.streams.pool,
            "taken": target.streams.taken,
            "kept_free": target.graphs.reserve,
            "fixed": bill.fixed,
            "graphs": bill.streams(),
            "largest_bucket": bill.smallest,
            "each": {dim: bill.only(dim) for dim, sizes in bill.sizes.items() if len(sizes) > 1},
            "budget": target.streams.budget,
            "quota": target.streams.quota,
        },
        "captures": [
            {field: getattr(row, field) for field in row.fields() if field != "most"}
            for row in bill.rows
        ],
        "tasks": {"round": bill.tasks, "most": target.graphs.tasks},
        "memory": {
            "copied_in": bill.inputs,
            "pools": bill.pools,
            "sum": bill.memory,
            "not_counted": list(bill.opaque),
            "most_mib": target.graphs.memory_mib,
        },
        "routes": {"count": len(bill.rounds), "most": MOST_ROUTES},
        "exchanges": [
            {"group": one.group, "rows": one.rows, "capacity": one.capacity}
            for one in bill.exchanges
        ],
        "pools": bill.slots,
    }
