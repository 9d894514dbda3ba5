"""The nearest known name, for a name that is not known."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean X?` for a close match, else the known names, at most eight of them."""
    from difflib import get_close_matches  # only a mistake pays for it

    names = sorted(known)
    close = get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"did you mean `{close[0]}`?"
    if not names:
        return "none is declared above"
    more = ", ..." if len(names) > 8 else ""
    return "known here: " + ", ".join(names[:8]) + more
