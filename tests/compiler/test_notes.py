"""Notes on what does nothing: silent phases, graphs that are never made."""

from __future__ import annotations

SILENT = """\
spec 1
pipeline p {{
  param more = {more}
  guard quick
  stream main
  buffer x : i64[4] carried
  buffer y : i64[4]
  phase make on main {{ updates x }}
  phase look on main {{ reads x  when more {{ writes y }} }}
  phase tell on host {{ }}
}}
variant both of p {{ set more = true }}
"""
GRAPH = """\
spec 1
pipeline p {{
  param graphs = {graphs}
  {choice}
  stream main
  buffer x : i64[4] carried
  capture g on main rows 4 when {when} {{
    phase make on main {{ updates x }}
  }}
}}
{variant}
"""


def test_a_phase_that_one_variant_writes_in_is_not_silent(findings) -> None:
    """Both variants are judged together; by itself the first earns the note, the host's phase never."""
    text = SILENT.format(more="false")
    assert findings(text) == []
    (found,) = findings(text.replace("variant both of p { set more = true }\n", ""))
    assert (found.code, found.severity, found.message) == (
        "PL904",
        "note",
        "`look` writes nothing",
    )


def test_a_graph_that_one_route_makes_is_made(findings) -> None:
    """A guard, a bucket or a variant for which `when` is true is enough."""
    for choice, when in (("guard quick", "quick"), ("dim bs in [1, 2]", "bs > 1")):
        text = GRAPH.format(graphs="false", choice=choice, when=when, variant="")
        assert findings(text) == []
    variant = "variant v of p { set graphs = true }"
    text = GRAPH.format(graphs="false", choice="", when="graphs", variant=variant)
    assert findings(text) == []
    (found,) = findings(text.replace(variant, ""))
    assert found.code == "PL905"
    assert found.message == (
        "`capture g on main rows 4 when graphs` is captured in no variant and on no route"
    )


def test_a_graph_that_a_setting_leaves_out_is_no_waste(findings) -> None:
    """Who sets a param, or runs every capture eagerly, means it."""
    text = GRAPH.format(graphs="true", choice="", when="graphs", variant="")
    assert findings(text, settings={"graphs": False}) == []
    assert findings(text, capture=False) == []
