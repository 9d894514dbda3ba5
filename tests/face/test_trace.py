"""`plait trace show`: what it prints and refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from drawing.profiles import ASCEND, KINETO, MAIN, kernel, kineto
from pages.console import commands
from plait.cli import main
from plait.compiler.traces.read import read_trace


@pytest.fixture
def show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    """Shows a text as a file of a name: the exit code, what is printed and what is said."""
    monkeypatch.chdir(tmp_path)

    def run(name: str, text: str, *arguments: str) -> tuple[int, str, str]:
        Path(name).write_text(text)
        code = main(("trace", "show", name, *arguments))
        return code, *capsys.readouterr()

    return run


SHOWN_KINETO = """\
trace.json: Kineto, times in us
  span                     44.999   of 90.000 in the trace
  communication             8.125   in 1 slice
  compute                  59.500   in 4 slices
lanes               slices             busy             wait             idle
  gpu 0 stream 7         4           32.625            0.000           12.374
  gpu 0 stream 20        2           35.000            0.000            9.999
  and 2 threads of the host, 4 launches, of 4 with what they launched
replays 1, of 1 the launch is in the trace
  1 of 2 slices, 24.500 each
joins 1, of 1 the trace says what they wait for
  stream 7 waits for stream 20: 1
rounds 1 marked
       3           44.999
ranges 4 windows of 3 names
            73.374   eagle #3 (2 windows, 5 slices, projected)
            24.500   eagle/draft #3 (1 window, 2 slices, projected)
             5.000   eagle/plan #3 (1 window, 1 slice, projected)
arrows ac2g: 0 pairs, 1 without a start
not understood
         1   category 'hpu_op'
"""


def test_a_trace_is_shown(show) -> None:
    """Its span and kinds, lanes, replays, joins, rounds, ranges, arrows, and what was not understood."""
    assert show("trace.json", KINETO) == (0, SHOWN_KINETO, "")


def test_a_trace_is_shown_as_json(show) -> None:
    """The same in whole nanoseconds, each join and round of its own."""
    code, said, _ = show("trace.json", ASCEND, "--json")
    found = json.loads(said)
    assert code == 0 and found["format"] == "Ascend trace_view"
    assert found["kinds"]["compute"] == {"slices": 4, "time": 24_270}
    assert found["lanes"][0] == {
        "device": "npu 3",
        "stream": "2",
        "name": "Stream 2",
        "slices": 6,
        "busy": 14_770,
        "wait": 19_000,
        "idle": 18_230,
    }
    assert found["replays"] == [{"graph": "model 1", "size": 2, "times": 1, "time": 15_250}]
    assert [join["until"] - join["at"] for join in found["joins"]] == [16_000, 3000]
    assert found["stated"] == {"Computing": 12_770}


def test_the_page_shows_what_is_shown(show, root: Path) -> None:
    """The trace in `docs/traces.md` gives the lines that stand below it."""
    page = (root / "docs" / "traces.md").read_text(encoding="utf-8")
    [trace] = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    [shown] = commands(page)
    assert shown.command == "plait trace show trace_view.json"
    _, said, _ = show("trace_view.json", trace)
    assert said == "\n".join([*shown.lines, ""])


def test_what_run_has_traced_is_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: Path, capsys
) -> None:
    """Each round has its bucket, its live sizes, its phases and as many tokens as requests were given."""
    monkeypatch.chdir(tmp_path)
    spec = str(root / "examples" / "eagle.spec")
    options = ("--prompt", "def f(", "--max-new-tokens", "6", "--no-plain", "--json")
    assert main(("run", spec, "--trace", "out.json", *options)) == 0
    outcome = json.loads(capsys.readouterr().out)
    trace = read_trace("out.json")
    accepted = outcome["accepted_histogram"]
    assert sum(one.accepted or 0 for one in trace.rounds) == sum(
        int(tokens) * times for tokens, times in accepted.items()
    )
    assert {(one.bucket, one.live) for one in trace.rounds} == {("bs = 1", (("bs", 1),))}
    assert {one.phase for one in trace.slices if one.round == 0 and one.kind == "compute"} == {
        *("first", "nextn[1]", "build_tree", "plan_verify", "target", "accept"),
        *("plan_extend", "nextn_extend", "publish", "commit"),
    }
    assert {one.graph for one in trace.replays} == {"draft", "verify", "extend"}
    assert trace.joins and all(join.source >= 0 for join in trace.joins)
    assert trace.about["schedule"] == "eagle" and trace.unknown == {} and trace.overlaps == []


def test_names_cannot_steer_the_terminal(show) -> None:
    """Control characters of a trace's names stand as question marks, and long names are cut."""
    name = "\x1b[2J\x07evil\u202e" + "x" * 100
    text = kineto([kernel("k", MAIN, 0, 1, 1), {"ph": name}, kernel("k", (0, name), 0, 1, 1)])
    code, said, _ = show("hostile.json", text)
    assert code == 0 and "\x1b" not in said and "\u202e" not in said and "\x07" not in said
    assert "  gpu 0 stream ?[2J?evil?xxx" in said and max(map(len, said.splitlines())) < 130
    assert show("hostile.json", text, "--json")[1].isascii()


def test_what_is_wrong_is_one_line(show) -> None:
    """Exit code 2, with the file and how to mend it."""
    code, said, error = show("trace.json", KINETO[:-1])
    assert (code, said) == (2, "") and error.startswith(
        "plait trace: trace.json: is cut off in line 1"
    )
    assert show("trace.json", KINETO, "--most-bytes", "100")[2] == (
        "plait trace: trace.json: has more than 100 bytes; --most-bytes N reads more, and takes about five "
        "times that of memory\n"
    )
    assert show("trace.json", KINETO, "--most-bytes", "0")[2] == (
        "plait trace: --most-bytes 0: ask for one at least\n"
    )
    assert main(("trace", "show", "missing.json")) == 2
