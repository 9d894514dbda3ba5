"""Whatever comes and goes, every accepted request ends once, with the beginning of its own tokens."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from drawing.serving import PLAYS, play
from plait.runtime.engine.text import Text


@settings(max_examples=40)
@given(**PLAYS)
def test_every_request_ends_once(**drawn: Any) -> None:
    """Joins, leaves, cancels, deadlines, faults, swaps and little room change who gets how much, and
    nothing else."""
    play(**drawn)


@given(
    text=st.text("ab\N{SNOWMAN}\N{GRINNING FACE}", max_size=20),
    stops=st.lists(st.text("ab\N{SNOWMAN}", min_size=1, max_size=3), max_size=3),
    sizes=st.lists(st.integers(1, 3), min_size=1),
)
def test_text_in_parts_is_the_text_before_the_first_stop(
    text: str, stops: list[str], sizes: list[int]
) -> None:
    """Tokens of a few bytes, which break letters, give the text that all of them decode to, cut at the stop
    that was complete first; no part is taken back."""
    data, parts = text.encode(), []
    while data:
        size = sizes[len(parts) % len(sizes)]
        parts.append(data[:size])
        data = data[size:]

    def decode(tokens: Any) -> str:
        return b"".join(parts[token] for token in tokens).decode(errors="replace")

    reader, found = Text(decode, stops), ""
    for token in range(len(parts)):
        found += reader.take(token)
        if reader.stopped:
            break
    found += reader.rest()
    ends = [(at + len(stop), at) for stop in stops if (at := text.find(stop)) >= 0]
    assert reader.stopped == bool(ends)
    assert text.startswith(found)
    if not ends:
        assert found == text
    else:
        assert not any(stop in found for stop in stops)
