"""A report held against an older one of the same round: what became longer by more than rounds stray."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from plait.dsl.render.figures import percent, shown

WANTED = ("schedule", "round", "communication", "matched")
MORE_EXPOSED = 0.01
"""Of what is exchanged, how much more may be exposed."""


class BaselineError(Exception):
    """Data that is no report."""


def worse(found: dict[str, Any], old: Any) -> Iterator[str]:
    """A sentence for everything that is worse. Raises BaselineError."""
    if not isinstance(old, dict) or any(name not in old for name in WANTED):
        raise BaselineError("is no report: write one with `plait trace align SPEC TRACE --json`")
    try:
        yield from _longer("a round", found["round"], old["round"])
        if found["cost_per_token"] and old.get("cost_per_token"):
            yield from _longer("a token", found["cost_per_token"], old["cost_per_token"])
        shares = {one["node"]: float(one["share"]) for one in old["communication"]}
        for one in found["communication"]:
            before = shares.get(one["node"])
            if before is not None and one["share"] > before + MORE_EXPOSED:
                yield (
                    f"of {one['node']} {percent(one['share'])} is exposed, and {percent(before)} was"
                )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise BaselineError("is no whole report: write it anew") from None


def _longer(what: str, new: dict[str, int], old: dict[str, Any]) -> Iterator[str]:
    more = new["median"] - int(old["median"])
    strays = new["mad"] + int(old["mad"])
    if more > strays:
        yield (
            f"{what} takes {shown(new['median'])}, and took {shown(int(old['median']))}: {shown(more)} more, "
            f"where they stray by {shown(strays)}"
        )
