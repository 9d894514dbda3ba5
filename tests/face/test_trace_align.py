"""`plait trace align`: what it says of the embedded model's own run, writes and refuses."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from plait.cli import main

SPEC = """\
spec 1
pipeline halves {
  dim bs in [4, 8]
  stream main
  stream side
  buffer x : i64[bs] carried
  buffer y : i64[bs]
  capture step on main rows bs {
    phase forward on main { updates x }
  }
  fork side from main
  phase layout on side { reads x  writes y }
  join side into main
  phase verify on main { reads y  updates x }
}
"""
HOSTILE = "</script><script>alert(1)</script>\x1b[31m"


def event(name: str, thread: int, start: int, length: int) -> dict[str, Any]:
    args = {"stream": thread, "device": 0}
    where = {"pid": 0, "tid": thread, "ts": start, "dur": length}
    return {"ph": "X", "name": name, "cat": "kernel", "args": args, **where}


def rounds(*rows: tuple[str, int, int, int], times: int = 4) -> list[dict[str, Any]]:
    return [
        event(name, thread, start + 100 * round, end - start)
        for round in range(times)
        for name, thread, start, end in rows
    ]


WHOLE = (("forward", 7, 0, 40), ("layout", 9, 42, 60), ("verify", 7, 62, 90))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `halves.spec` and `run.json`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "halves.spec").write_text(SPEC)
    write(tmp_path / "run.json", rounds(*WHOLE))
    return tmp_path


def write(path: Path, events: list[dict[str, Any]]) -> None:
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))


def align(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["trace", "align", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_embedded_models_run_is_matched_whole(root: Path, tmp_path: Path, capsys) -> None:
    """Every node of every round, by name; and what its six edges decide is what they say."""
    spec, trace = str(root / "examples/eagle.spec"), str(tmp_path / "run.json")
    few = ["--prompt", "def add(a, b):", "--max-new-tokens", "16", "--no-plain", "--lazily"]
    assert main(["run", spec, "--trace", trace, *few]) == 0
    capsys.readouterr()
    code, page, _ = align(capsys, spec, trace, "--json")
    found = json.loads(page)
    assert code == 0
    assert found["matched"]["share"] == 1.0
    assert set(found["matched"]["letters"]) == {"A", "B", "C"}
    assert found["matched"]["letters"]["A"] == found["matched"]["expected"]
    assert found["edges"]["held"] == found["edges"]["checked"] > 20
    joins = {one["join"]: one for one in found["joins"]}
    serial = {one["node"]: one["last"] for one in joins["load verify"]["sources"]}
    assert serial == {"build_tree": 0, "plan_verify": found["rounds"]["whole"]}
    assert joins["plan_extend"]["sources"][1]["node"] == "accept"
    share = sum(one["total"] for one in found["path"])
    assert share == sum(one["total"] for one in found["path"] if one["kind"] != "unknown")
    on_path = {one["node"] for one in found["path"] if one["kind"] == "busy"}
    assert "verify" in on_path
    counted = [one["nodes"] for one in found["signatures"]]
    for nodes in counted:
        for one, two in pairwise(nodes):
            assert (one, two) != ("build_tree", "load verify")  # the join waits for the plan
    assert found["accepted"]["from"] == "the trace"
    assert found["cost_per_token"]["time"] > 0


PAGE = """\
schedule halves at bs = 8
trace    run.json (Kineto, gpu 0)
rounds   4, 3 measured
matched  3 of 3 nodes, 100.0 % of what 4 rounds have (A 12), 100.0 % of the busy time
orders   5 of 5 kept, within 2 us
ROUND    100 us +-0 ns, 86 us without any gap
COST     43.5 us a token: the time of 3 rounds by the 6.9 tokens of --accept (2.3 a round; round by round \
43.5 us +-0 ns)

CRITICAL PATH                                median     share  conf  rounds
  step  (main)                                40 us    40.0 %   A    3
  layout  (side)                              18 us    18.0 %   A    3
  verify  (main)                              28 us    28.0 %   A    3
  before step                                 10 us    10.0 %        3  began late, with all it waits for over
  before layout                                2 us     2.0 %        3  began late, with all it waits for over
  before verify                                2 us     2.0 %        3  began late, with all it waits for over
  sum                                                 300 us: the 3 rounds, exactly
  in 3: step > layout > verify

JOINS                                   last   waited for the last      then, until it began
  layout                                                             2 us +-0 ns
    <- step                          3 of 3
    <- layout (round r - 1)          0 of 3   80 us +-0 ns
  verify                                                             2 us +-0 ns
    <- step                          0 of 4   20 us +-0 ns
    <- layout                        4 of 4
"""


def test_the_page_says_where_the_round_went(here: Path, capsys) -> None:
    """Word for word: the path adds up, each join has who was last, and tokens are counted as asked."""
    code, page, _ = align(capsys, "halves.spec", "run.json", "--accept", "2.3")
    assert (code, page) == (0, PAGE)


def test_the_document_shows_that_page(root: Path) -> None:
    """With the spec that it is of."""
    text = (root / "docs/align.md").read_text(encoding="utf-8")
    assert f"```spec\n{SPEC}```" in text
    assert f"```\n{PAGE}```" in text


def test_an_order_that_was_not_kept_is_a_finding(here: Path, capsys) -> None:
    """It is never mended without a word: exit 1, with by how much and in how many rounds."""
    write(here / "run.json", rounds(WHOLE[0], ("layout", 9, 30, 60), WHOLE[2]))
    code, page, _ = align(capsys, "halves.spec", "run.json")
    assert code == 1
    assert page.endswith("BROKEN\n  layout began 10 us before step ended, in 4 of 4 rounds (A)\n")
    code, _, _ = align(capsys, "halves.spec", "run.json", "--tol", "10us")
    assert code == 0


def test_names_are_told_by_patterns(here: Path, capsys) -> None:
    """Kernels of whatever name, once it is said whose they are; what is of none is listed."""
    rows = (("gemm_1", 7, 0, 40), ("route", 9, 42, 60), ("gemm_2", 7, 62, 90), ("x", 7, 91, 92))
    write(here / "run.json", rounds(*rows))
    maps = ("--map", "gemm_1=forward", "--map", "^rou=layout", "--map", "gemm_2=verify")
    code, page, _ = align(capsys, "halves.spec", "run.json", *maps)
    assert code == 0
    assert page.endswith("NOT SEEN\n  x on stream 7 is of no node: 4 times, 4 us\n")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (["--map", "forward"], "--map forward: write it as REGEX=PHASE"),
        (
            ["--map", "gemm=nobody"],
            "--map gemm=nobody: `nobody` is no phase or capture of the round; it has step, "
            "forward, layout, verify",
        ),
        (
            ["--map", "(a+)+b=forward"],
            "--map (a+)+b=forward: repeats what repeats, or refers back, which may take for ever; say it "
            "plainly",
        ),
        (["--tol", "5"], "--tol 5: write a time with its unit, as 5us"),
        (["--threshold", "90"], "--threshold 90: write a share of 0 to 1"),
        (
            ["--baseline", "halves.spec"],
            "halves.spec: is not JSON, so no report of `plait trace align --json`",
        ),
        (
            ["--baseline", "run.json"],
            "run.json: is no report: write one with `plait trace align SPEC TRACE --json`",
        ),
    ],
)
def test_what_cannot_be_asked(here: Path, capsys, given: list[str], why: str) -> None:
    """One line with what to write instead, and exit 2."""
    code, _, said = align(capsys, "halves.spec", "run.json", *given)
    assert (code, said) == (2, f"plait trace: {why}\n")


def test_a_trace_of_something_else_has_no_round(here: Path, capsys) -> None:
    """It is said that none was found, and how names are told."""
    write(here / "run.json", rounds(("gemm", 7, 0, 40)))
    code, page, said = align(capsys, "halves.spec", "run.json")
    assert (code, page) == (2, "")
    assert said == (
        "plait trace: run.json: has no round of halves: no name in it is of a phase, a capture or a mark of "
        "that; say what they are with --map 'REGEX=PHASE'\n"
    )


def test_names_from_a_trace_are_harmless(here: Path, capsys) -> None:
    """In the terminal, in the page, in Perfetto's form."""
    write(here / "run.json", rounds(*WHOLE, (HOSTILE, 7, 91, 93)))
    code, page, _ = align(
        capsys, "halves.spec", "run.json", "--html", "page.html", "--perfetto", "perfetto.json"
    )
    assert code == 0
    assert "\x1b" not in page
    drawn = (here / "page.html").read_text()
    assert HOSTILE[:17] not in drawn
    assert all(name in drawn for name in ("measured", "simulated", "assumed"))
    json.loads((here / "perfetto.json").read_text())
