"""The exchanges of a round, as text and as data: what hides each, and why the rest is exposed."""

from __future__ import annotations

from typing import Any

from plait.compiler.measures.account import Account
from plait.compiler.measures.communication import Exchange
from plait.compiler.views.steps import few
from plait.compiler.views.summary import exposed_data, exposed_text, head
from plait.dsl.render.figures import shown


def comm_data(account: Account) -> dict[str, Any]:
    found = account.found
    return {
        "name": found.schedule.name,
        "at": found.bucket.name,
        "costs": found.profile.name,
        "round": account.measures.round,
        "communication": account.measures.communication,
        "exposed": exposed_data(account),
        "exchanges": [
            {
                "name": found.spans[one.span].what.name,
                "begins": one.start - found.start,
                "ends": one.end - found.start,
                "covered": one.covered,
                "beside": _beside(account, one),
                "exposed": one.time - one.covered,
                "on_the_path": one.path,
                "why": [
                    {
                        "start": why.start - found.start,
                        "end": why.end - found.start,
                        "kind": why.kind,
                        "text": why.text,
                    }
                    for why in whys
                ],
            }
            for one, whys in zip(account.exchanges, account.whys, strict=True)
        ],
    }


def _beside(account: Account, one: Exchange) -> list[str]:
    return list(dict.fromkeys(account.found.spans[span].what.name for span in one.beside))


def comm_text(account: Account) -> str:
    lines = [head(account, "exchanges"), *exposed_text(account), ""]
    for one, whys in zip(account.exchanges, account.whys, strict=True):
        name = account.found.spans[one.span].what.name
        lines.append(
            f"  {name}: {shown(one.time)}, {shown(one.covered)} covered, "
            f"{shown(one.time - one.covered)} exposed, {shown(one.path)} on the path"
        )
        if one.beside:
            lines.append(f"       beside it: {few(_beside(account, one))}")
        lines += [
            f"       {shown(why.time)} exposed by {WORDS[why.kind]}: {why.text}" for why in whys
        ]
    if not account.exchanges:
        lines.append("  none")
    return "\n".join(lines) + "\n"


WORDS = {
    "data": "a data edge",
    "stream": "the same stream",
    "edge": "an edge",
    "launch": "the launch",
    "contention": "contention",
    "budget": "the budget of streams",
}
