"""Where the block ends that a place of a text is in."""

from __future__ import annotations

from plait.dsl.span import Source


def end_of_block(source: Source, at: int) -> int:
    """The place of the brace that closes the block, or the end of the text."""
    depth, comment = 0, False
    for place in range(at, len(source.text)):
        letter = source.text[place]
        comment = letter == "#" or (comment and letter != "\n")
        if not comment:
            depth += (letter == "{") - (letter == "}")
            if depth < 0:
                return place
    return len(source.text)
