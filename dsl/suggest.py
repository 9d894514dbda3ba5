"""The nearest known name, for a name that is not known."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str], alike: float = 0.6) -> str | None:
    """The known name that was probably meant, if any comes close."""
    from difflib import get_close_matches  # only a mistake pays for it

    by_letters = {one.lower(): one for one in sorted(known)}
    close = get_close_matches(name.lower(), by_letters, n=1, cutoff=alike)
    return by_letters[close[0]] if close else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean X?` for a close match, else the known names, at most eight of them."""
    names = sorted(known)
    if (close := nearest(name, names)) is not None:
        return f"did you mean `{close}`?"
    if not names:
        return "none is declared above"
    more = ", ..." if len(names) > 8 else ""
    return "known here: " + ", ".join(names[:8]) + more
