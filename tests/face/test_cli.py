"""The command line: what it prints, its exit codes, and one clear line for wrong input."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from plait.cli import VERBS, main
from plait.commands.views import VIEWS


@pytest.fixture
def here(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a copy of the examples, as the working folder."""
    shutil.copytree(root / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    try:
        code = main(arguments)
    except SystemExit as left:  # argparse
        code = left.code if isinstance(left.code, int) else 1
    out, err = capsys.readouterr()
    return code, out, err


def test_check_passes_the_examples(here, capsys) -> None:
    """Each example is sound at its defaults and in its variants."""
    code, out, err = run(capsys, "check", "examples/eagle.spec", "examples/eagle_serial.spec")
    assert (code, err) == (0, "")
    assert out == (
        "examples/eagle.spec: sound (default, serial, deep)\nexamples/eagle_serial.spec: sound\n"
    )


def test_check_prints_findings_and_exits_2(here, capsys) -> None:
    """A missing edge: the finding on stdout, code 2."""
    spec = here / "examples" / "eagle.spec"
    spec.write_text(spec.read_text().replace("  fork copy from accept\n", ""))
    code, out, _ = run(capsys, "check", "examples/eagle.spec")
    assert code == 2
    assert out.startswith(
        "error[PL201]: `publish` on copy may read `accepted` before `accept` on main"
    )
    assert out.count("error[") == 1  # once, though the default and both variants show it


def test_check_json_is_for_programs(here, capsys) -> None:
    """Findings as data, with place, facts and fix."""
    spec = here / "examples" / "eagle.spec"
    spec.write_text(spec.read_text().replace("  fork copy from accept\n", ""))
    code, out, _ = run(capsys, "check", "--json", "examples/eagle.spec")
    data = json.loads(out)
    assert code == 2 and data["sound"] is False
    (finding,) = data["findings"]
    assert (
        finding["code"] == "PL201" and finding["facts"]["missing edge"] == "fork copy from accept"
    )
    assert finding["fix"]["edits"][0]["text"] == "fork copy from accept\n  "
    assert finding["path"] == "examples/eagle.spec" and finding["variant"] is None


def test_compile_writes_a_schedule_that_runs_again(here, capsys) -> None:
    """JSON to a file, and from it every other form."""
    assert run(capsys, "compile", "examples/eagle.spec", "-o", "eagle.json")[0] == 0
    code, out, _ = run(capsys, "compile", "eagle.json")
    assert code == 0 and out == (here / "eagle.json").read_text()
    for form, start in (
        ("python", "# Runs alone"),
        ("mermaid", "flowchart LR"),
        ("dot", "digraph"),
    ):
        code, out, _ = run(capsys, "compile", "eagle.json", "--emit", form)
        assert code == 0 and out.startswith(start)
    assert run(capsys, "diff", "eagle.json", "examples/eagle.spec")[0] == 0


def test_a_file_is_written_whole_or_not_at_all(here, capsys) -> None:
    """A compile that fails leaves the old file as it was, and no other behind."""
    (here / "eagle.json").write_text("old")
    code, _, err = run(
        capsys, "compile", "examples/eagle.spec", "--set", "num_steps=0", "-o", "eagle.json"
    )
    assert code == 2 and "PL601" in err
    assert (here / "eagle.json").read_text() == "old"
    assert sorted(p.name for p in here.iterdir()) == ["eagle.json", "examples"]
    code, _, err = run(capsys, "compile", "examples/eagle.spec", "-o", "no/folder/x.json")
    assert (code, err) == (2, "plait compile: no/folder/x.json: No such file or directory\n")


def test_explain_prints_the_skeleton_or_a_rule(here, capsys) -> None:
    """A spec gives its round; a code its page; an unknown code those near it."""
    code, out, _ = run(capsys, "explain", "examples/eagle.spec")
    assert code == 0 and "comes back at line" in out
    code, out, _ = run(capsys, "explain", "pl201")
    assert code == 0 and out.startswith("PL201: two accesses to one buffer have no order")
    code, _, err = run(capsys, "explain", "PL999")
    assert code == 2 and "there is no PL999; near it: PL901, " in err
    code, out, _ = run(capsys, "explain", "examples/eagle.spec", "--json", "--set", "num_steps=3")
    data = json.loads(out)
    assert data["settings"]["num_steps"] == 3 and len(data["branches"]) == 3


def test_explain_ranks_shows_what_is_exchanged(here, capsys) -> None:
    """The same as a page and as JSON; a rule has no ranks."""
    code, out, _ = run(capsys, "explain", "examples/graph_vote.spec", "--ranks")
    assert code == 0 and "all_reduce of nextn[1], graph draft" in out
    code, out, _ = run(capsys, "explain", "examples/graph_vote.spec", "--ranks", "--json")
    (votes, tp) = json.loads(out)["communicators"]
    assert (votes["communicator"], tp["communicator"]) == ("tp on the host", "tp")
    assert tp["sequences"][0]["steps"][0]["sizes"] == "[1, 7168], [1, 2]"
    code, _, err = run(capsys, "explain", "PL451", "--ranks")
    assert code == 2 and "--ranks is for a round; the page of a rule is text" in err


def test_explain_prints_the_buckets(here, capsys) -> None:
    """A line for each bucket, as text and as JSON; a rule has none."""
    code, out, _ = run(capsys, "explain", "examples/eagle.spec", "--buckets")
    assert code == 0 and "5 .. 8      8      24      24  segments\n" in out
    code, out, _ = run(capsys, "explain", "examples/eagle.spec", "--buckets", "--json")
    last = json.loads(out)["buckets"][-1]
    assert (last["holds"], last["graphs"]["verify"]) == ({"bs": [5, 8]}, 24)
    code, _, err = run(capsys, "explain", "PL201", "--buckets")
    assert code == 2 and "--buckets is for a round" in err


def test_run_prints_text_and_what_it_was(here, capsys) -> None:
    """The prompt, its continuation, then rounds, acceptance, speed, and the comparison."""
    code, out, err = run(
        capsys, "run", "examples/eagle.spec", "--prompt", "def add(a, b):", "--max-new-tokens", "12"
    )
    assert (code, err) == (0, "")
    assert "def add(a, b):" in out
    for name in ("rounds", "accepted a round", "distinct 4-grams", "tokens/s", "buckets"):
        assert f"\n{name}" in out
    assert re.search(
        r"^memory +[\d,]+ bytes of buffers \([\d,]+ in the plan, which saves 512\), [1-9][\d,]* of graphs$",
        out,
        re.MULTILINE,
    )
    assert out.endswith("identical to plain: yes\n")


def test_run_json_has_every_key(here, capsys) -> None:
    """The keys that programs count on, with values that fit each other."""
    code, out, _ = run(
        capsys,
        *("run", "examples/eagle.spec", "--json", "--prompt", "import", "--prompt", "class A"),
        *("--max-new-tokens", "10", "--mode", "f32", "--trace", "trace.json"),
    )
    found = json.loads(out)
    assert code == 0
    wanted = [
        "schedule",
        "settings",
        "text",
        "tokens",
        "rounds",
        "accepted_mean",
        "accepted_histogram",
        "buckets",
        "widths",
        "waits",
        "rows_padded",
        "cost_per_token",
        "identical_to_plain",
        "tokens_per_s",
        "plain_tokens_per_s",
        "speedup",
        "mode",
        "distinct_4gram_ratio",
    ]
    assert set(wanted) <= set(found)
    assert found["mode"] == "f32" and found["widths"] == {"draft": 1, "verify": 3, "extend": 3}
    assert len(found["text"]) == len(found["tokens"]) == 2
    assert found["speedup"] == pytest.approx(found["tokens_per_s"] / found["plain_tokens_per_s"])
    lanes = {
        event["args"]["name"]
        for event in json.loads((here / "trace.json").read_text())["traceEvents"]
        if event["name"] == "thread_name"
    }
    assert lanes == {"host", "main", "plan", "copy"}


def test_run_takes_prompts_from_files_and_a_compiled_schedule(here, capsys) -> None:
    """Lines of text or of JSON; a schedule instead of a spec; no plain decoding beside it."""
    (here / "lines.txt").write_text("def a():\n\nimport os\n")
    (here / "lines.jsonl").write_text('"x = 1"\n{"prompt": "y"}\n')
    assert run(capsys, "compile", "examples/eagle_serial.spec", "-o", "serial.json")[0] == 0
    code, out, _ = run(
        capsys,
        *("run", "serial.json", "--json", "--no-plain", "--max-new-tokens", "4"),
        *("--prompts", "lines.jsonl"),
    )
    found = json.loads(out)
    assert code == 0 and found["prompts"] == ["x = 1", "y"] and found["identical_to_plain"] is None
    code, out, _ = run(
        capsys, "run", "serial.json", "--json", "--max-new-tokens", "4", "--prompts", "lines.txt"
    )
    assert json.loads(out)["prompts"] == ["def a():", "import os"]


def test_one_new_token_needs_no_round(here, capsys) -> None:
    """Prefill gives it; there is no speed to tell, and that is said."""
    asked = ("run", "examples/eagle.spec", "--prompt", "def f", "--max-new-tokens", "1")
    code, out, _ = run(capsys, *asked)
    assert code == 0 and out.endswith("identical to plain: yes\n")
    assert "tokens/s          -   (prefill gives the first token" in out
    assert "replay of recorded kernels" in out  # the graphs are there, though nothing ran them
    code, out, _ = run(capsys, *asked, "--json")
    found = json.loads(out)
    assert (found["rounds"], found["speedup"], found["identical_to_plain"]) == (0, None, True)


def test_every_pipeline_and_variant_of_a_file_is_judged(here, capsys) -> None:
    """Named by pipeline where there are several; one variant by `SPEC@VARIANT` or by its own name."""
    one = "pipeline {} {{ param n = 1  stream a  buffer x : i64[n] carried  phase p on a {{ updates x }} }}"
    (here / "two.spec").write_text(
        f"{one.format('left')}\n{one.format('right')}\nvariant wide of right {{ set n = 4 }}\n"
    )
    assert run(capsys, "check", "two.spec")[:2] == (
        0,
        "two.spec: sound (left, right, right@wide)\n",
    )
    for asked in (["two.spec@wide"], ["two.spec", "--variant", "wide"]):
        code, out, _ = run(capsys, "compile", *asked)
        found = json.loads(out)
        assert (code, found["name"], found["variant"]) == (0, "right", "wide")
    code, _, err = run(capsys, "compile", "two.spec")
    assert code == 2 and "choose one by its name (left, right)" in err


def test_a_recipe_is_held_against_the_spec(here, capsys) -> None:
    """Its exports set flags, its options are compared, in every verb that compiles."""
    (here / "launch.sh").write_text(
        "export SGLANG_ENABLE_OVERLAP_PLAN_STREAM=0\nserve --speculative-num-steps 3\n"
    )
    asked = ("examples/eagle.spec", "--target", "ascend910c", "--env", "launch.sh")
    code, out, _ = run(capsys, "check", *asked)
    assert code == 2 and out.startswith("error[PL705]: the recipe passes --speculative-num-steps 3")
    code, _, err = run(capsys, "compile", *asked)
    assert code == 2 and "1 error in launch.sh" in err
    code, out, _ = run(capsys, "compile", *asked, "--set", "num_steps=3")
    assert code == 0 and ["overlap_plan", False] in json.loads(out)["settings"]


WRONG = {
    "no such spec": (["check", "nope.spec"], "nope.spec: No such file or directory"),
    "a folder": (["compile", "examples"], "examples: Is a directory"),
    "not text": (["check", "binary.spec"], "binary.spec: is not UTF-8 text (byte 0)"),
    "an unknown param": (
        ["compile", "examples/eagle.spec", "--set", "steps=3"],
        "1 error in --set",
    ),
    "a setting without a value": (
        ["compile", "examples/eagle.spec", "--set", "num_steps"],
        "--set num_steps: write it as NAME=VALUE",
    ),
    "an unknown variant": (
        ["compile", "examples/eagle.spec", "--variant", "x"],
        "1 error in eagle.spec",
    ),
    "an unknown target": (
        ["compile", "examples/eagle.spec", "--target", "cup"],
        "there is no target `cup`: did you mean `cpu`?",
    ),
    "a target file that is not there": (
        ["check", "examples/eagle.spec", "--target", "mine.toml"],
        "mine.toml: cannot be read (No such file or directory)",
    ),
    "a recipe that is not there": (
        ["check", "examples/eagle.spec", "--env", "launch.sh"],
        "launch.sh: No such file or directory",
    ),
    "a recipe that is not text": (
        ["check", "examples/eagle.spec", "--env", "binary.spec"],
        "binary.spec: is not UTF-8 text (byte 0)",
    ),
    "a recipe for a schedule": (
        ["compile", "torn.json", "--env", "launch.sh"],
        "torn.json: is compiled already; --env is for a .spec file",
    ),
    "a recipe far too large": (
        ["explain", "examples/eagle.spec", "--env", "large.sh"],
        "1 error in large.sh",
    ),
    "a torn schedule": (["run", "torn.json"], "torn.json: is not JSON"),
    "a schedule of something else": (["compile", "other.json"], "other.json: is not a schedule"),
    "settings for a schedule": (
        ["run", "torn.json", "--set", "num_steps=3"],
        "torn.json: is compiled already; --set and --variant are for a .spec file",
    ),
    "a bucket that is not there": (
        ["compile", "examples/eagle.spec", "--emit", "dot", "--bucket", "bs=9"],
        "no bucket of eagle holds bs = 9; the largest has bs = 8",
    ),
    "a bucket that is no number": (
        ["compile", "examples/eagle.spec", "--emit", "dot", "--bucket", "bs"],
        "--bucket bs: write it as DIM=SIZE, such as bs=4",
    ),
    "a bucket of a form that holds all": (
        ["compile", "examples/eagle.spec", "--bucket", "bs=4"],
        "--bucket is for mermaid and dot; json holds every bucket",
    ),
    "a schedule where a spec should be": (
        ["check", "torn.json"],
        "torn.json: a schedule is proven already; this verb takes the .spec it came from",
    ),
    "a prompt that is not text": (
        ["run", "examples/eagle.spec", "--prompt", "h\udcff"],
        "prompt 1 is not UTF-8 text",
    ),
    "a tree where a chain is bound": (
        ["run", "examples/eagle.spec", "--set", "topk=2"],
        "eagle.spec:23: 2 candidates a request; what is bound here drafts a chain, of one (topk = 1)",
    ),
    "rows of no chain": (
        ["run", "loose.spec", "--set", "num_draft_tokens=5"],
        "a chain of 2 drafted tokens verifies 3 rows a request, not 5",
    ),
    "no new tokens": (
        ["run", "examples/eagle.spec", "--max-new-tokens", "0"],
        "ask for at least one",
    ),
    "an empty file of prompts": (
        ["run", "examples/eagle.spec", "--prompts", "empty.txt"],
        "empty.txt: holds no prompt; write one a line",
    ),
    "a bad line of prompts": (
        ["run", "examples/eagle.spec", "--prompts", "bad.jsonl"],
        "bad.jsonl:2: is not JSON",
    ),
    "a prompt over the context": (
        ["run", "examples/eagle.spec", "--prompt", "word " * 600],
        "prompt 1 has",
    ),
    "a round that is not EAGLE": (["run", "toy.spec"], "toy.spec: this runs rounds of EAGLE"),
    "a checkpoint that is damaged": (
        ["run", "examples/eagle.spec", "--model", "damaged", "--prompt", "x"],
        "damaged/weights.safetensors: is damaged",
    ),
    "a trace where none can be": (
        ["run", "examples/eagle.spec", "--trace", "no/folder/t.json"],
        "--trace no/folder/t.json: there is no folder",
    ),
}


@pytest.fixture
def wrong_files(here: Path) -> Path:
    from plait.runtime.models.tiny.checkpoint import SHIPPED

    (here / "binary.spec").write_bytes(b"\xff\xfe")
    (here / "large.sh").write_text("export A=1\n" * 1_000_000)
    (here / "torn.json").write_text('{"format": "plait sch')
    (here / "other.json").write_text('{"a": 1}')
    (here / "empty.txt").write_text("\n \n")
    (here / "bad.jsonl").write_text('"fine"\n{"prompt": \n')
    (here / "toy.spec").write_text(
        "pipeline toy { stream a buffer x : i64[1] carried phase p on a { updates x } }"
    )
    lines = (here / "examples" / "eagle.spec").read_text().splitlines(keepends=True)
    (here / "loose.spec").write_text("".join(line for line in lines if "  require " not in line))
    shutil.copytree(SHIPPED, here / "damaged")
    weights = here / "damaged" / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8] + bytes(8))
    return here


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input_is_one_clear_line_and_code_2(name: str, wrong_files, capsys) -> None:
    """What is wrong and where, the last line always; never a traceback."""
    arguments, message = WRONG[name]
    code, out, err = run(capsys, *arguments)
    assert code == 2 and out == ""
    assert "Traceback" not in err
    last = err.strip().splitlines()[-1]
    assert last.startswith(f"plait {arguments[0]}: ") and message in last


def test_a_device_that_is_not_there_is_the_environments_fault(here, capsys) -> None:
    """Exit 3, one line."""
    code, _, err = run(capsys, "run", "examples/eagle.spec", "--device", "tpu", "--prompt", "x")
    message = "there is no device `tpu`; this Plait runs on cpu, npu, cuda, adversary"
    assert (code, err) == (3, f"plait run: {message}\n")


def test_an_example_is_found_from_any_folder(tmp_path, monkeypatch, capsys) -> None:
    """`examples/NAME.spec` that is not here is the one that comes with Plait, and that is said."""
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, "check", "examples/eagle.spec")
    assert code == 0 and out.startswith("examples/eagle.spec: sound")
    assert err == "plait: examples/eagle.spec is not here; taking the one that comes with Plait\n"
    code, _, err = run(capsys, "check", "examples/none.spec")
    assert (code, err) == (2, "plait check: examples/none.spec: No such file or directory\n")


def loaded_modules(root: Path, script: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", script + "\nimport sys; print(*sys.modules)"],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "COLUMNS": "80"},
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split()) & {"torch", "networkx", "rich", "jinja2", "lark", "numpy"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["compile", "examples/eagle.spec", "-o", os.devnull], {"lark"}),
        (["check", "examples/eagle.spec"], {"lark"}),
        (["diff", "examples/eagle.spec", "examples/eagle.spec"], {"lark"}),
        (["explain", "examples/eagle.spec"], {"lark"}),
        (["check", "examples/eagle.spec", "--target", "ascend910c"], {"lark"}),
        (["compile", "examples/eagle.spec", "--emit", "mermaid", "-o", os.devnull], {"lark"}),
        (
            ["compile", "examples/eagle.spec", "--emit", "python", "-o", os.devnull],
            {"lark", "jinja2"},
        ),
    ],
)
def test_a_verb_loads_only_what_it_needs(arguments: list[str], expected: set[str], root) -> None:
    """No torch, networkx or rich where nothing is run, walked or complained of."""
    script = (
        "import contextlib, io\nfrom plait.cli import main\n"
        f"with contextlib.redirect_stdout(io.StringIO()): assert main({arguments!r}) == 0"
    )
    assert loaded_modules(root, script) == expected


def test_importing_plait_loads_nothing(root) -> None:
    """A service that only asks for the version pays for nothing."""
    assert loaded_modules(root, "import plait; plait.__version__") == set()


def test_a_schedule_runs_without_the_compiler(root, eagle, compiled, tmp_path) -> None:
    """Loading and binding a schedule needs no lark and no networkx, and none of the compiler."""
    from plait.runtime.schedule_json import to_json

    text = "pipeline p { stream a buffer x : i64[1] carried phase go on a { updates x } join go into host }"
    path = tmp_path / "p.json"
    path.write_text(to_json(compiled(text)))
    script = (
        f"import plait, sys\nschedule = plait.load({str(path)!r})\n"
        "with schedule.bind({'go': lambda x: x.add_(1)}) as runner: runner.step()\n"
        "assert not any(m.startswith(('plait.compiler', 'plait.dsl')) for m in sys.modules)"
    )
    assert not loaded_modules(root, script) & {"lark", "networkx", "rich"}


def test_an_option_that_is_not_there_shows_those_that_are(capsys) -> None:
    """The usage of the verb, and not of the whole command."""
    code, _, err = run(capsys, "explain", "a.spec", "--nope")
    assert code == 2 and err.startswith("usage: plait explain")
    assert err.endswith("plait explain: error: not understood: --nope\n")


def test_a_page_is_no_wider_than_a_terminal(here, capsys) -> None:
    """Long lines go on further in, in every view."""
    for view in ((), *((f"--{name}",) for name in VIEWS)):
        code, out, _ = run(capsys, "explain", "examples/tree.spec", *view)
        assert code == 0 and max(map(len, out.splitlines())) <= 100, view


def test_a_monstrous_line_is_cut(tmp_path, capsys) -> None:
    """A text that no person wrote does not fill the screen with itself."""
    path = tmp_path / "huge.spec"
    path.write_text("spec 1 " + "x" * 100_000)
    code, out, _ = run(capsys, "check", str(path))
    assert code == 2 and "..." in out and max(map(len, out.splitlines())) < 1_000


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in ("lsp", "trace")])
def test_the_help_of_a_verb_has_an_example(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Of that verb, beside the exit codes."""
    code, out, _ = run(capsys, verb, "--help")
    said = " ".join(out.split())
    assert code == 0 and re.search(f"for example: `plait {verb}[ `].*exit codes: 0 fine", said)
