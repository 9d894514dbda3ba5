"""An edge is called too wide only where the narrower one is right everywhere and orders less."""

from __future__ import annotations

import pytest

from plait.compiler.compile import Asked
from plait.compiler.fix import mended
from plait.compiler.rules.narrower_edge import RULE
from plait.dsl.span import Source


def test_it_is_narrowed_on_request() -> None:
    """`--fix` lets it stand; with `--waste` the phase is named."""
    source = Source("wide.spec", RULE.bad)
    assert mended(source, Asked()).source is source
    assert mended(source, Asked(), waste=True).source.text == RULE.mended


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("phase next on main { writes z }", ""),
        ("reads x  writes y", "reads x, z  writes y"),
        (
            "phase next on main { writes z }",
            "join make into host\n  phase next on host { writes z }",
        ),
        ("phase make on main { writes x }", "when true { phase make on main { writes x } }"),
    ],
)
def test_where_it_orders_no_more_or_none_is_seen_it_is_fine(
    line: str, instead: str, findings
) -> None:
    """The phase is the last one anyway, or both are needed, or the name ends with its block."""
    assert RULE.code not in [d.code for d in findings(RULE.bad.replace(line, instead))]


def test_every_variant_must_allow_it(findings) -> None:
    """One that reads what the later phase writes needs the edge as it is."""
    text = RULE.bad.replace("stream main\n", "param all = false\n  stream main\n", 1)
    text = text.replace("{ reads x  writes y }", "{ when all { reads z } reads x  writes y }")
    assert [d.code for d in findings(text)] == [RULE.code]
    whole = text + "variant whole of p { set all = true }\n"
    assert findings(whole, small=True) == []
