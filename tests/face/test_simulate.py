"""`plait simulate`: what it prints, writes and refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pages.console import commands
from plait.cli import main

LAYER = """\
spec 1
pipeline layer {
  dim bs in [1, 4]
  stream main
  stream kv
  buffer x : i64[bs] carried
  buffer k : i64[bs]
  phase prefix on main { updates x  cost 10us }
  fork kv from prefix
  phase latent on kv { reads x  writes k  cost 30us }
  phase query on main { reads x }
  join kv into main
  phase attend on main { reads k  updates x }
}
"""
COSTS = """\
name = "one die"
target = "cpu"
[host]
run = "2us"
[phases.query]
fixed = "12us"
row = "2us"
[phases."*"]
fixed = "5us"
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `layer.spec` and `costs.toml`."""
    (tmp_path / "layer.spec").write_text(LAYER)
    (tmp_path / "costs.toml").write_text(COSTS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(("simulate", "layer.spec", *arguments))
    return code, *capsys.readouterr()


DRAWN = """\
layer at bs = 4, simulated with the costs of one die: 47 us

host [###[---[---[----
main     [prefix#############[query-----------------------------------...................[attend####
kv           ................[latent######################################################
     0 us                10 us               20 us               30 us               40 us

critical path, 47 us:
       30 us  63.8 %  phase latent
       10 us  21.3 %  phase prefix
        5 us  10.6 %  phase attend
        2 us   4.3 %  host prefix
"""


def test_a_round_is_drawn_with_what_decides_it(here: Path, capsys) -> None:
    """A row a lane; what is on the critical path stands out, and its parts add up to the round."""
    code, out, err = run(capsys, "--costs", "costs.toml", "--rounds", "1")
    assert (code, err) == (0, "")
    assert out == DRAWN


def test_the_path_of_the_data_tiles_the_time(here: Path, capsys) -> None:
    """As JSON: whole nanoseconds from the beginning."""
    _, out, _ = run(capsys, "--costs", "costs.toml", "--live", "bs=1", "--json")
    data = json.loads(out)
    assert data["buckets"] == ["bs = 1"] * 3 and sum(data["rounds"]) == data["end"]
    assert data["path"][0]["start"] == 0 and data["path"][-1]["end"] == data["end"]
    assert all(a["end"] == b["start"] for a, b in zip(data["path"], data["path"][1:], strict=False))


def test_perfetto_gets_lanes_and_the_path(here: Path, capsys) -> None:
    """In the form that opens anywhere."""
    assert run(capsys, "--costs", "costs.toml", "--perfetto", "out.json")[0] == 0
    events = json.loads(Path("out.json").read_text())["traceEvents"]
    named = [event["args"]["name"] for event in events if event["name"].endswith("_name")]
    lanes = ["simulated", "rounds", "host", "main", "kv", "critical path", "critical path"]
    assert named == lanes


def test_a_token_costs_the_round_over_what_it_commits(here: Path, capsys) -> None:
    """A ratio of sums: the mean of what rounds commit is below, not what one token of each costs."""
    said = run(capsys, "--costs", "costs.toml", "--rounds", "1", "--accept", "1:1,3:1")[1]
    assert said.splitlines()[-1] == "23.5 us a token at 2 tokens a round"
    data = json.loads(run(capsys, "--costs", "costs.toml", "--accept", "2", "--json")[1])
    assert data["per_token"] * 2 == data["rounds"][-1]


def test_what_has_no_cost_is_named(here: Path, capsys) -> None:
    """On the error stream, so that what is read by programs stays as it is."""
    (here / "costs.toml").write_text(COSTS.partition('[phases."*"]')[0])
    code, out, err = run(capsys, "--costs", "costs.toml", "--json")
    assert (code, err) == (0, "plait simulate: one die has no cost of attend: they take no time\n")
    assert json.loads(out)["schedule"] == "layer"


def test_a_page_and_a_drawing_are_written(here: Path, capsys) -> None:
    """Each beside what is printed; both say that nothing was measured, and of what costs they know."""
    code, out, _ = run(capsys, "--costs", "costs.toml", "--html", "o.html", "--svg", "o.svg")
    assert code == 0 and out.startswith("layer at bs = 4")
    said = "Simulated with the costs of one die; nothing here was measured."
    for name, begins in (("o.html", "<!doctype html>"), ("o.svg", "<svg xmlns=")):
        text = Path(name).read_text(encoding="utf-8")
        assert text.startswith(begins) and said in text and "latent" in text


def test_no_picture_is_made_that_nothing_shows(here: Path, capsys, monkeypatch) -> None:
    """Neither is a file left behind."""
    monkeypatch.setattr("plait.commands.simulate.MOST_DRAWN", 20)
    code, _, err = run(capsys, "--html", "o.html", "--rounds", "4")
    assert code == 2 and "a picture of 68 spans is more than anything shows, at most 20" in err
    assert not Path("o.html").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--rounds", "0"), "--rounds 0: from 1 to 10,000"),
        (("--ranks", "65"), "--ranks 65: from 1 to 64"),
        (("--live", "bs"), "--live bs: write it as NAME=VALUE"),
        (("--live", "bs=5"), "--live: no bucket of layer holds bs = 5; the largest has bs = 4"),
        (("--skew", "3"), "--skew 3: write a time with its unit, as 20us"),
        (("--costs", "none.toml"), "none.toml: cannot be read (No such file or directory)"),
    ],
)
def test_what_cannot_be_is_refused(arguments, said: str, here: Path, capsys) -> None:
    """One line, and exit code 2."""
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "") and said in err


def test_costs_of_another_target_are_told(here: Path, capsys) -> None:
    """They may be meant: it says so, and goes on."""
    Path("other.toml").write_text('name = "one die"\ntarget = "ascend910c"\n')
    code, _, err = run(capsys, "--costs", "other.toml")
    assert code == 0
    assert "plait simulate: one die has costs of ascend910c, and layer is compiled for cpu\n" in err


def test_the_page_shows_what_is_printed(root: Path, tmp_path, monkeypatch, capsys) -> None:
    """The spec, the profile and all that `docs/simulate.md` shows of a round of it."""
    page = (root / "docs" / "simulate.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for kind, name in (("spec", "layer.spec"), ("toml", "die.toml")):
        (text,) = re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL)
        Path(name).write_text(text)
    (shown,) = commands(page)
    assert main(shown.command.removeprefix("plait ").split()) == 0
    assert capsys.readouterr().out == "\n".join([*shown.lines, ""])
