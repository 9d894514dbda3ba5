"""A finding about graphs that take more streams than there are: the bill, and what to drop."""

from __future__ import annotations

from collections.abc import Sequence

from plait.compiler.budgets.bill import Bill, Row
from plait.compiler.budgets.drop import Drop, cheapest, dearest_stream
from plait.dsl.diagnostic import Diagnostic, Label
from plait.dsl.render.figures import counted, in_words

FEW = 8
"""Captures, streams, buckets that are named in a row."""


def too_many(code: str, bill: Bill, room: int, whose: str, left: str) -> Diagnostic:
    """`room` is what the graphs may take, of what is `whose`; `left` says how it comes about."""
    graphs = bill.streams()
    dear = sorted(bill.rows, key=lambda row: -row.streams)
    spans = {graph.name: graph.span for graph in reversed(bill.graphs)}
    facts = [(row.name, cost(row, bill)) for row in dear[:FEW]]
    if rest := dear[FEW:]:
        count = sum(row.streams for row in rest)
        facts.append((f"{len(rest)} more", f"{count:,}"))
    facts.append(("fixed", f"{bill.fixed:,} in graphs that all buckets share"))
    for dim, sizes in bill.sizes.items():
        if len(sizes) > 1:
            each = [f"{size}: {streams:,}" for size, streams in bill.only(dim).items()]
            facts.append((f"each {dim} alone", few(each)))
    facts.append(("left for graphs", left))
    return Diagnostic(
        code,
        f"the graphs of {bill.name} take {streams(graphs)}; {whose} has {room:,} for them",
        spans[dear[0].name],
        label=f"{dear[0].streams:,} of them",
        labels=tuple(
            Label(spans[row.name], f"{row.streams:,} of them") for row in dear[1:3] if row.streams
        ),
        facts=tuple(facts),
        help=_help(bill, room),
    )


def cost(row: Row, bill: Bill) -> str:
    """How the streams of a capture's graphs come about."""
    costs = bill.target.graphs
    parts = [str(costs.streams_each)]
    if row.side:
        parts.append(f"{costs.streams_a_side * len(row.side)} beside ({few(row.side)})")
    if row.communicators:
        count = costs.streams_a_communicator * len(row.communicators)
        parts.append(f"{count} of communicators ({few(row.communicators)})")
    exact = "" if row.most * row.graphs == row.streams else "at most "
    what = [] if row.captures == 1 else [f"{row.captures:,} captures"]
    what += [f"one for each {', '.join(row.each)}"] if row.each else []
    what += [f"{row.instances} for copies"] if row.instances > 1 else []
    graphs = counted(row.graphs, "graph")
    told = f" ({'; '.join(what)})" if what else ""
    each = parts[0] if len(parts) == 1 else f"({' + '.join(parts)})"
    return f"{row.streams:,}: {exact}{each} x {graphs}{told}"


def exceeded(bill: Bill) -> str:
    """Every limit that buckets count in and that the bill is over."""
    found = []
    if bill.room is not None and bill.streams() > bill.room:
        found.append(f"{streams(bill.streams())}, where graphs have {bill.room:,}")
    most = bill.target.graphs.memory_mib
    if most is not None and bill.memory > most << 20:
        found.append(f"{in_words(bill.memory)}, where graphs have {in_words(most << 20)}")
    return "; ".join(found)


def streams(count: int) -> str:
    return counted(count, "stream")


def _help(bill: Bill, room: int) -> str:
    if bill.smallest <= room:
        drop = cheapest(bill, room)
        dims = [f"`{dim}`" for dim, sizes in bill.sizes.items() if len(sizes) > 1]
        fewer = f"list fewer buckets of {' and '.join(dims)}; `plait buckets` chooses them"
        return _dropped(drop) if drop else f"{fewer}: the largest alone take {bill.smallest:,}"
    more = ""
    if stream := dearest_stream(bill):
        name, count = stream
        more = f"; with the work of `{name}` on the graphs' own streams they take {count:,} fewer"
    return (
        f"dropping buckets cannot help: the largest alone takes {bill.smallest:,}; "
        f"capture less, or more of it in one graph{more}"
    )


def _dropped(drop: Drop) -> str:
    sizes = few([str(size) for size in drop.sizes])
    rows = counted(drop.rows, "row")
    return (
        f"without {drop.dim} = {sizes} they take {drop.streams:,}, for {rows} more of padding over one "
        "round of every size; `plait buckets` chooses by the sizes that you see"
    )


def few(names: Sequence[str]) -> str:
    """Names in a row; of very many, the first, the last and how many."""
    if len(names) <= FEW:
        return ", ".join(names)
    return f"{', '.join(names[:2])}, ... {names[-1]} ({len(names)} in all)"
