"""The time of a round in a few lines, as text and as data: how long, what decides it, what is exposed."""

from __future__ import annotations

from typing import Any

from plait.compiler.measures.account import Account
from plait.compiler.measures.named import group_named
from plait.compiler.measures.window import Window
from plait.compiler.timing.accepted import Accepted
from plait.compiler.views.steps import few
from plait.dsl.render.figures import shown

MOST_NAMED = 5
"""Of what is on the path."""


def head(account: Account, what: str) -> str:
    found = account.found
    at = f" at {found.bucket.name}" if found.bucket.name != "any" else ""
    costs = f"by the costs of {found.profile.name}"
    return f"{what} of {found.schedule.name}{at}, {costs}: {shown(account.measures.round)} a round"


def summary_data(account: Account, accepted: Accepted | None) -> dict[str, Any]:
    found, measures = account.found, account.measures
    data = {
        "costs": found.profile.name,
        "unpriced": found.steady.simulation.unpriced(),
        "round": measures.round,
        "repeats": found.steady.period is not None,
        "path": [{"name": name, "time": time} for name, time in decided_by(account)],
        "communication": measures.communication,
        "exposed": exposed_data(account),
    }
    if accepted is not None:
        data["accepted"] = float(accepted.mean)
        data["per_token"] = float(measures.per_token(accepted.mean))
    return data


def exposed_data(account: Account) -> dict[str, int]:
    exposed = account.measures.exposed
    return {
        "beside_independent_work": exposed.beside,
        "device_wide": exposed.device,
        "on_the_path": exposed.path,
    }


def decided_by(account: Account) -> list[tuple[str, int]]:
    """What is on the critical path, phases without their indices, the longest first."""
    times: dict[str, int] = {}
    for one in account.found.path:
        name = group_named(account.found, one.span)
        times[name] = times.get(name, 0) + one.end - one.start
    return sorted(times.items(), key=lambda entry: -entry[1])


def summary_text(account: Account, accepted: Accepted | None) -> list[str]:
    found, measures = account.found, account.measures
    lines = [head(account, "time"), ""]
    rows = decided_by(account)
    named = [f"{name} {shown(time)}" for name, time in rows[:MOST_NAMED]]
    rest = sum(time for _, time in rows[MOST_NAMED:])
    named += [f"{len(rows) - MOST_NAMED} more {shown(rest)}"] if rest else []
    lines.append(f"       path: {', '.join(named)}")
    lines += exposed_text(account)
    if accepted is not None:
        each = round(measures.per_token(accepted.mean))
        lines.append(f"       {shown(each)} a token at {accepted}")
    if unpriced := found.steady.simulation.unpriced():
        lines.append(f"       no cost is known of {few(unpriced)}: they take no time")
    return lines + repeats_text(found)


def repeats_text(found: Window) -> list[str]:
    """Where one round is not like the next, which of them a path is of."""
    if found.steady.period is None:
        return ["       no two rounds take the same time: this is one of the last simulated"]
    if found.period == 1:
        return []
    whole = shown(found.time_of_period)
    return [
        f"       {found.period} rounds, {whole} together, take turns: the path is of one, {shown(found.time)}"
    ]


def exposed_text(account: Account) -> list[str]:
    measures, exposed = account.measures, account.measures.exposed
    if not measures.communication:
        return []
    return [
        f"       exchanges: {shown(measures.communication)}; exposed {shown(exposed.beside)} "
        f"(no independent work beside), {shown(exposed.device)} (device-wide), "
        f"{shown(exposed.path)} (on the path)"
    ]
