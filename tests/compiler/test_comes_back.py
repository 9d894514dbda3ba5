"""A branch that never comes back is joined where its block ends, where no race knows a better place."""

from __future__ import annotations

import pytest

from plait.compiler.compile import Asked
from plait.compiler.fix import mended
from plait.dsl.span import Source

INSIDE = """\
spec 1
pipeline p {
  stream main
  stream side
  buffer x : i64[4] carried
  buffer y : i64[4] carried
  capture g on main rows 4 {
    phase make on main { updates x }
    fork side from make
    phase look on side { updates y }
BACK  }
}
"""
OUTSIDE = """\
spec 1
pipeline p {
  stream main
  stream side
  buffer x : i64[4] carried
  buffer y : i64[4] carried
  phase make on main { updates x }
  fork side from make
  phase look on side { updates y }
}
"""


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (OUTSIDE, OUTSIDE[:-2] + "  join side into main\n}\n"),
        (INSIDE.replace("BACK", ""), INSIDE.replace("BACK", "    join side into main\n")),
    ],
)
def test_it_is_joined_at_the_end_of_its_block(text: str, right: str) -> None:
    """Of the round, or of the capture that holds it."""
    assert mended(Source("p.spec", text), Asked()).source.text == right
