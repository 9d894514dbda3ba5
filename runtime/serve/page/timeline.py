"""The newest rounds as lanes of bars, fit to be sent: no more of them, and no longer names, than are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plait.runtime.engine.observer import Round

MOST = 600
"""Bars."""
LETTERS = 80
"""Of a name."""


def timeline(rounds: Sequence[Round]) -> dict[str, Any] | None:
    """Nanoseconds from the first bar. A bar is start, end, name, kind, round; those of a lane by start.

    Of rounds before a pause that is longer than the newest round there is nothing. None: no times are kept.
    """
    shown = _together([one for one in rounds if one.slices])
    if not shown:
        return None
    slices = sorted(
        (one for round in shown for one in round.slices), key=lambda one: (one.start, -one.end)
    )
    zero, kept = slices[0].start, slices[-MOST:]
    lanes: dict[str, list[list[Any]]] = {}
    for one in kept:
        bar = [one.start - zero, one.end - zero, said(one.name), one.kind, one.round]
        lanes.setdefault(one.stream, []).append(bar)
    names = sorted(lanes, key=lambda name: (name != "host", name))
    return {
        "end": max(one.end for one in slices) - zero,
        "rounds": [[one.number, one.bucket, one.live, sum(one.committed)] for one in shown],
        "lanes": [[said(name), lanes[name]] for name in names],
        "left_out": len(slices) - len(kept),
    }


def said(text: object, letters: int = LETTERS) -> str:
    """A name from anywhere, short, and without what steers a page or a line."""
    words = str(text)
    cut = words if len(words) <= letters else words[: letters - 1] + "…"
    return "".join(letter if letter.isprintable() else "?" for letter in cut)


def _together(rounds: Sequence[Round]) -> list[Round]:
    found: list[Round] = []
    longest = 0
    for one in reversed(rounds):
        first, last = one.slices[0].start, max(each.end for each in one.slices)
        if found and found[0].slices[0].start - last > longest:
            break
        longest = longest or last - first
        found.insert(0, one)
    return found
