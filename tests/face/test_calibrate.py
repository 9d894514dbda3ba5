"""From a run to its costs, and from those to what they foretell: `plait calibrate`, `simulate --against`."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from drawing.traces import drawn
from plait.cli import main
from plait.compiler.timing.costs_file import load_profile
from plait.runtime.schedule import HOST
from plait.runtime.schedule_json import to_json

SHORT = ("--mode", "f32", "--no-plain", "--json", "--max-new-tokens", "60")
PROMPTS = ("--prompt", "def f(", "--prompt", "import os")


@pytest.fixture(scope="module")
def run(root: Path, tmp_path_factory) -> Path:
    """A folder with `run.json`, of a short run of the embedded model, and the `profile.toml` of it."""
    folder = tmp_path_factory.mktemp("calibrate")
    spec, trace = str(root / "examples" / "eagle.spec"), str(folder / "run.json")
    assert main(("run", spec, *SHORT, *PROMPTS, "--trace", trace, "--trace-turns")) == 0
    assert main(("calibrate", trace, "-o", str(folder / "profile.toml"), "--json")) == 0
    return folder


def test_a_run_gives_the_costs_of_each_of_its_phases(run: Path, root: Path, capsys) -> None:
    """Every phase is in the profile, those of graphs both ways, and simulating misses none."""
    profile = load_profile(run / "profile.toml")
    costs = dict(profile.phases)
    graphs = {"first", "nextn", "target", "nextn_extend"}
    others = {"build_tree", "plan_verify", "accept", "plan_extend", "publish", "commit"}
    assert set(costs) == graphs | others
    assert {name for name, cost in costs.items() if cost.eager is not None} == graphs
    spec = str(root / "examples" / "eagle.spec")
    assert (
        main(("simulate", spec, "--costs", str(run / "profile.toml"), "--set", "num_steps=4")) == 0
    )
    out, err = capsys.readouterr()
    assert "simulated with the costs of measured" in out and err == ""


def test_what_is_foretold_is_shown_against_what_ran(run: Path, root: Path, capsys) -> None:
    """Phase by phase and for the rounds of each bucket, as text and as JSON."""
    arguments = ("simulate", str(root / "examples" / "eagle.spec"), "--costs")
    arguments += (str(run / "profile.toml"), "--against", str(run / "run.json"))
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert text.startswith("phase   ") and "target  in a graph" in text
    assert main((*arguments, "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["unknown"] == []
    assert {one["what"] for one in found["phases"]} == {"phase", "graph"}
    for one in (*found["phases"], *found["rounds"]):
        assert one["measured"] > 0 and one["foretold"] > 0 and one["count"] > 0


def test_traces_of_other_profilers_are_aligned_with_the_spec(tmp_path: Path, capsys) -> None:
    """Every phase that the trace shows has a cost, and the rounds are held against it."""
    made = drawn(Random(4))
    trace, spec = made.write(tmp_path / "trace.json"), tmp_path / "spec.json"
    spec.write_text(to_json(made.schedule))
    maps = [word for one in made.maps for word in ("--map", one)]
    arguments = ("calibrate", str(trace), "--spec", str(spec), *maps)
    assert main((*arguments, "-o", str(tmp_path / "costs.toml"))) == 0
    out = capsys.readouterr().out
    assert "median error of a round" in out
    costs = dict(load_profile(tmp_path / "costs.toml").phases)
    device = {phase.body for phase in made.schedule.phases if phase.stream != HOST}
    assert device & set(costs) and set(costs) <= {phase.body for phase in made.schedule.phases}


def test_a_trace_that_shows_too_little_of_the_spec_is_refused(root: Path, tmp_path, capsys) -> None:
    """What was not found would be without costs, and nobody would know."""
    mark = {"ph": "X", "name": "eagle/draft #7", "pid": 0, "tid": 2, "ts": "1.5", "dur": 9}
    task = {"Physic Stream Id": 2, "Task Id": 1, "Model Id": 4294967295, "Task Type": "AI_CORE"}
    kernel = mark | {"name": "MatMulV3", "ts": "2.5", "dur": 7, "args": task}
    hardware = {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "Ascend Hardware"}}
    trace = tmp_path / "trace.json"
    trace.write_text(json.dumps([hardware, mark | {"args": {"Physic Stream Id": 2}}, kernel]))
    spec = str(root / "examples" / "eagle.spec")
    assert main(("calibrate", str(trace), "--spec", spec)) == 2
    assert capsys.readouterr().err.startswith(
        f"plait calibrate: {trace}: 1 of the 9 nodes of 1 round were seen, 11.1 % where 90 % are needed; "
    )


def test_a_trace_of_other_settings_is_refused(run: Path, root: Path, capsys) -> None:
    """In words that say what it ran with."""
    spec, trace = str(root / "examples" / "eagle.spec"), str(run / "run.json")
    code = main(("simulate", spec, "--set", "num_steps=3", "--against", trace))
    assert (code, capsys.readouterr().err) == (
        2,
        f"plait simulate: --against {trace}: is of other rounds than eagle as asked: they ran with "
        "num_steps = 2, num_draft_tokens = 3; give the spec and the settings that ran\n",
    )


def test_without_a_file_the_profile_is_printed(run: Path, capsys) -> None:
    """The same text as goes into one."""
    assert main(("calibrate", str(run / "run.json"))) == 0
    assert capsys.readouterr().out == (run / "profile.toml").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("calibrate", "none.json"), "none.json: No such file or directory"),
        (("calibrate", "spec.spec"), "spec.spec: is not JSON"),
        (("calibrate", "spec.spec", "--json"), "--json: say where the profile goes, with -o FILE"),
        (
            ("run", "spec.spec", "--trace-turns"),
            "--trace-turns: say where the trace goes, with --trace FILE",
        ),
    ],
)
def test_wrong_input_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys, arguments, said: str
) -> None:
    """And exit code 2."""
    monkeypatch.chdir(tmp_path)
    Path("spec.spec").write_text("spec 1\n")
    assert main(arguments) == 2
    assert capsys.readouterr().err == f"plait {arguments[0]}: {said}\n"
