"""What `plait explain` can print of a round, by the option that asks for it."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, TextIO

from plait.compiler.compile import Asked, lowered, prove
from plait.dsl.record import Record
from plait.dsl.render.fold import folded
from plait.dsl.span import Source


class Shown(Record):
    """A view of one round."""

    data: Any
    """For JSON."""
    write: Callable[[TextIO], object]
    """Writes it as text."""


class View(Record):
    help: str
    of: Callable[[Source, Asked, Namespace], Shown]
    """Raises SpecError, TargetError and Refused. Loads what this view alone needs."""
    timed: bool = False
    """Whether it takes costs, and what is live."""


def show(
    view: View, source: Source, asked: Asked, options: Namespace, file: TextIO, as_json: bool
) -> None:
    """Writes a view of a spec to a file."""
    shown = view.of(source, asked, options)
    if as_json:
        file.write(json.dumps(shown.data, indent=2, ensure_ascii=False) + "\n")
    else:
        shown.write(file)


def _shown(found: Any, text: Callable[[Any], str]) -> Shown:
    return Shown(asdict(found), lambda file: file.write(folded(text(found))))


def _skeleton(source: Source, asked: Asked, options: Namespace) -> Shown:
    from plait.commands.timed import timed
    from plait.compiler.views.explain import skeleton, skeleton_text
    from plait.compiler.views.replays import replays_data, replays_text
    from plait.compiler.views.summary import summary_data, summary_text
    from plait.compiler.views.times import fork_data, fork_text, inner_text

    one = timed(source, asked, options)
    found = skeleton(one.order)
    graphs = one.order.round, one.live, one.requests
    data = {**asdict(found), "captures": replays_data(*graphs)}
    account, times, inner, lines = one.account, {}, [], []
    if account is not None:
        data["time"] = summary_data(account, one.accepted)
        data["forks"] = [fork_data(fork) for fork in account.forks]
        lines = summary_text(account, one.accepted)
        inner = inner_text(account)
        for fork in account.forks:
            times[fork.started.line, fork.started.fork] = fork_text(fork)

    def write(file: TextIO) -> None:
        sections = skeleton_text(found, times).splitlines(), inner, replays_text(*graphs), lines
        file.write(folded("\n\n".join("\n".join(one) for one in sections if one)))

    return Shown(data, write)


def _page(data: Any, text: Callable[[], str]) -> Shown:
    return Shown(data, lambda file: file.write(folded(text())))


def _times(source: Source, asked: Asked, options: Namespace) -> Shown:
    from plait.commands.timed import timed
    from plait.compiler.views.times import times_data, times_text

    one = timed(source, asked, options)
    account, accepted = one.certain(), one.accepted
    return _page(times_data(account, accepted), lambda: times_text(account, accepted))


def _path(source: Source, asked: Asked, options: Namespace) -> Shown:
    from plait.commands.timed import timed
    from plait.compiler.views.path import path_data, path_text

    account = timed(source, asked, options).certain()
    return _page(path_data(account), lambda: path_text(account))


def _comm(source: Source, asked: Asked, options: Namespace) -> Shown:
    from plait.commands.timed import timed
    from plait.compiler.views.comm import comm_data, comm_text

    account = timed(source, asked, options).certain()
    return _page(comm_data(account), lambda: comm_text(account))


def _balance(source: Source, asked: Asked, options: Namespace) -> Shown:
    from plait.commands.timed import timed
    from plait.compiler.views.balance import balance_data, balance_text

    one = timed(source, asked, options)
    account, made, live = one.certain(), one.balances, one.live
    return _page(balance_data(account, made, live), lambda: balance_text(account, made, live))


def _sync(source: Source, asked: Asked, options: Namespace) -> Shown:
    from plait.compiler.views.sync import sync, sync_text

    proven = prove(source, asked)
    return _shown(sync(proven.widest, lowered(proven, asked), proven.target), sync_text)


def _ranks(source: Source, asked: Asked, options: Namespace) -> Shown:
    from plait.compiler.ranks.view import ranks, ranks_text

    return _shown(ranks([order.round for order in prove(source, asked).orders]), ranks_text)


def _buckets(source: Source, asked: Asked, options: Namespace) -> Shown:
    from plait.compiler.rows.coverage import coverage, coverage_text

    proven = prove(source, asked)
    return _shown(coverage(proven.orders, proven.target), coverage_text)


def _captures(source: Source, asked: Asked, options: Namespace) -> Shown:
    from plait.compiler.graphs.captures import captures, captures_text

    proven = prove(source, asked)
    return _shown(captures(proven.orders, proven.target), captures_text)


def _memory(source: Source, asked: Asked, options: Namespace) -> Shown:
    from plait.compiler.arena.memory import memory, memory_text

    return _shown(memory(prove(source, asked).orders), memory_text)


def _budget(source: Source, asked: Asked, options: Namespace) -> Shown:
    from plait.compiler.budgets.asked import bill_asked
    from plait.compiler.budgets.table import as_data, show

    bill = bill_asked(source, asked)
    return Shown(as_data(bill), lambda file: show(bill, file))


SKELETON = View("every fork, where it comes back, what it orders", _skeleton, timed=True)
VIEWS = {
    "times": View("branches, who is last at each join, slack of every phase", _times, timed=True),
    "path": View("the critical path of a round, part by part", _path, timed=True),
    "comm": View("what hides each exchange, and why the rest is exposed", _comm, timed=True),
    "balance": View("what each graph saves and what it costs", _balance, timed=True),
    "sync": View("what each wait is for, and how few there could be", _sync),
    "captures": View("every graph, and what may be in none", _captures),
    "memory": View("which buffers share memory, and what that saves", _memory),
    "buckets": View(
        "what is a graph in each bucket, on how many rows, and why the rest is none", _buckets
    ),
    "ranks": View("what ranks agree on, and the collectives of each route, busy and idle", _ranks),
    "budget": View("what its graphs take of the target, and of how much", _budget),
}
"""By option."""
