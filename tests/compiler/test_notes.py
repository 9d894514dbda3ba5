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


BESIDE = """\
spec 1
pipeline p {{
  dim bs in [1, 2]
  stream main
  stream side
  buffer x : i64[4] carried
  buffer y : i64[4] copies 2
  buffer z : i64[4]
{lines}
}}
"""
FENCED = """\
phase make on main { updates x }
fork side from main
phase look on side { reads x  writes y }
join side into main
phase last on main { reads y  writes z }"""


def beside(findings, lines: str) -> list[str]:
    body = "\n".join(f"  {line}" for line in lines.splitlines())
    found = findings(BESIDE.format(lines=body))
    assert {one.code for one in found} <= {"PL903"}, found
    return [one.message for one in found]


def test_a_branch_that_all_else_waits_for_hides_nothing(findings) -> None:
    """Its stream, the steps of it, and what to do are said; the host does not count as beside it."""
    said = ["nothing runs beside what `fork side from main` starts: `look`"]
    assert beside(findings, FENCED) == said
    on_host = FENCED.replace("join side", "phase tell on host { }\njoin side")
    assert beside(findings, on_host) == said


def test_a_branch_that_runs_beside_the_next_round_hides_something(findings) -> None:
    """It is joined late, so the first phase of the next round runs beside it."""
    late = FENCED.replace("phase make on main { updates x }", "phase make on main { writes z }")
    late = late.replace("reads x  writes y", "writes y").replace("join side into main\n", "")
    late = late.replace("reads y  writes z", "reads prev y  writes z")
    late = late.replace("phase last", "join prev look into main\nphase last")
    assert beside(findings, late) == []


def test_one_bucket_beside_which_something_runs_is_enough(findings) -> None:
    """A fork stands in the text for all of them."""
    work = "when bs > 1 { phase work on main { reads x  writes z } }\njoin side"
    assert beside(findings, FENCED.replace("join side", work)) == []


def test_branches_of_a_capture_are_beside_what_is_in_it(findings) -> None:
    """What runs beside the whole graph would do so anyway."""
    begin, end = "capture g on main rows 4 {\n", "\n}"
    assert len(beside(findings, begin + FENCED + end)) == 1
    work = "phase work on main { reads x  writes z }\njoin side"
    assert beside(findings, begin + FENCED.replace("join side", work) + end) == []
