"""The time of a round, as text and as data: the summary, and each branch, join and phase."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plait.compiler.measures.account import Account
from plait.compiler.measures.forks import Fork
from plait.compiler.measures.joins import Arrival, Join
from plait.compiler.measures.named import lane_named
from plait.compiler.timing.accepted import Accepted
from plait.compiler.views.steps import few
from plait.compiler.views.summary import summary_data, summary_text
from plait.dsl.render.figures import shown

MOST_INNER = 4
"""Branches within graphs, below the skeleton."""


def fork_text(fork: Fork) -> list[str]:
    """Lines for below a branch."""
    lines = [
        f"takes {shown(fork.ends - fork.begins)}, {shown(fork.beside)} of it beside other streams; "
        f"slack {shown(fork.slack)}; {_returns(fork)}"
    ]
    if not fork.beside:
        because = "; ".join(filter(None, (fork.needs, fork.needed_by)))
        lines.append("overlap 0" + (f": {because}" if because else ""))
    return lines


def inner_text(account: Account) -> list[str]:
    """The branches within graphs, which the skeleton has not."""
    inner = [one for one in account.forks if one.started.capture]
    lines = ["branches within graphs", ""] if inner else []
    for one in inner[:MOST_INNER]:
        lines += _branch(one)
    if len(inner) > MOST_INNER:
        lines.append(f"       and {len(inner) - MOST_INNER} more: see --times")
    return lines


def _branch(fork: Fork) -> list[str]:
    started = fork.started
    lines = [
        f"{started.line:>5}  {started.fork}: {few(started.steps)}",
        f"       comes back at line {started.back_line}: {started.back}",
    ]
    return lines + [f"       {one}" for one in fork_text(fork)]


def _returns(fork: Fork) -> str:
    if fork.waited > 0:
        return f"waits {shown(fork.waited)} for the others"
    return f"last: the others wait {shown(-fork.waited)}" if fork.waited else "waits for nobody"


def fork_data(fork: Fork) -> dict[str, Any]:
    started = fork.started
    return {
        "fork": started.fork,
        "line": started.line,
        "capture": started.capture,
        "stream": started.stream,
        "steps": list(started.steps),
        "back": started.back,
        "back_line": started.back_line,
        "rounds_later": started.rounds_later,
        "begins": fork.begins,
        "ends": fork.ends,
        "work": fork.work,
        "overlap": fork.beside,
        "exposed": fork.exposed,
        "slack": fork.slack,
        "on_the_path": fork.path,
        "waited": max(fork.waited, 0),
        "others_waited": max(-fork.waited, 0),
        "needs": fork.needs,
        "needed_by": fork.needed_by,
    }


def _join_data(join: Join) -> dict[str, Any]:
    return {
        "name": join.name,
        "stream": join.stream,
        "spec": join.spec,
        "begins": join.begins,
        "arrivals": [
            {"stream": one.stream, "name": one.name, "time": one.time, "waited": one.waited}
            for one in join.arrivals
        ],
    }


def times_data(account: Account, accepted: Accepted | None) -> dict[str, Any]:
    return {
        "name": account.found.schedule.name,
        "at": account.found.bucket.name,
        **summary_data(account, accepted),
        "forks": [fork_data(one) for one in account.forks],
        "joins": [_join_data(one) for one in account.joins],
        "phases": _phases(account),
    }


def _phases(account: Account) -> list[dict[str, Any]]:
    """In the order in which they began; an exchange has one entry."""
    found = account.found
    rows = []
    for number in found.of_round:
        span = found.spans[number]
        if span.what.kind != "phase" or found.phase(span) is None:
            continue
        parts = found.graph.parts(number)
        rows.append(
            {
                "name": span.what.name,
                "stream": lane_named(found, number),
                "begins": span.start - found.start,
                "ends": found.spans[parts[-1]].end - found.start,
                "slack": min(account.slack[part] for part in parts),
                "on_the_path": sum(found.on_path[part] for part in parts),
            }
        )
    return rows


def times_text(account: Account, accepted: Accepted | None) -> str:
    lines = [*summary_text(account, accepted), "", "branches", ""]
    for fork in account.forks:
        lines += _branch(fork)
    if not account.forks:
        lines.append("       none")
    lines += ["", "joins: who is last, and how long the others wait", ""]
    for join in account.joins:
        last, *others = join.arrivals
        waited = ", ".join(f"{_arrival(one)} {shown(one.waited)}" for one in others)
        lines.append(f"       {join.name} on {join.stream}: {_arrival(last)} is last; {waited}")
    if not account.joins:
        lines.append("       none")
    lines += ["", "phases: from, takes, slack, on the path", ""]
    lines += _table(_phases(account))
    return "\n".join(lines) + "\n"


def _arrival(one: Arrival) -> str:
    return f"{one.stream} ({one.name})" if one.name else one.stream


def _table(phases: Sequence[dict[str, Any]]) -> list[str]:
    rows = [
        (
            shown(one["begins"]),
            shown(one["ends"] - one["begins"]),
            shown(one["slack"]),
            shown(one["on_the_path"]) if one["on_the_path"] else "-",
            one["stream"],
            one["name"],
        )
        for one in phases
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)] if rows else []
    lines = []
    for *times, stream, name in rows:
        cells = [cell.rjust(width) for cell, width in zip(times, widths, strict=False)]
        lines.append("  ".join(["     ", *cells, stream.ljust(widths[4]), name]))
    return lines
