"""`plait run` where something about it is unusual: the output, the spec's names, the model's folder."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from plait import load
from plait.cli import main
from plait.runtime.models.tiny.checkpoint import SHIPPED
from plait.runtime.schedule_check import ScheduleError


@pytest.fixture
def spec(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copy(root / "examples" / "eagle.spec", tmp_path))


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(["run", "eagle.spec", "--max-new-tokens", "4", *arguments])
    return code, *capsys.readouterr()


def test_a_dim_may_have_any_name(spec: Path, capsys) -> None:
    """Requests are counted by the one dim that there is."""
    spec.write_text(spec.read_text().replace("bs", "rows_now"))
    code, out, _ = run(capsys, "--prompt", "def f")
    assert code == 0 and out.endswith("identical to plain: yes\n")


@pytest.mark.parametrize("size", [10**6, 10**9])
def test_buckets_beyond_this_machine_are_refused(size: int, spec: Path, capsys) -> None:
    """Before anything of that size is made."""
    code, _, err = run(capsys, "--prompt", "x", "--set", f"buckets=[{size}]")
    assert code == 2
    assert err.startswith(f"plait run: eagle.spec: a bucket of {size:,} requests needs ")


def test_prompts_end_where_a_line_of_the_file_ends(spec: Path, capsys) -> None:
    """Not at a separator that is part of a text; a mark of the encoding is none of the first."""
    Path("prompts.txt").write_bytes("\ufeffa\u2028b\r\n\r\nc\x0bd\n".encode())
    code, out, _ = run(capsys, "--json", "--no-plain", "--prompts", "prompts.txt")
    assert code == 0 and json.loads(out)["prompts"] == ["a\u2028b", "c\x0bd"]


def test_a_schedule_that_is_no_text_is_a_schedule_error(tmp_path: Path) -> None:
    """As any other file that holds none."""
    (tmp_path / "a.json").write_bytes(b"\xff")
    with pytest.raises(
        ScheduleError, match=r"a.json: is not UTF-8 text \(byte 0\); compile the spec again"
    ):
        load(tmp_path / "a.json")


def plait(*arguments: str, **how) -> subprocess.CompletedProcess[str]:
    """In a process of its own, for what it does with its own stdout."""
    command = [
        sys.executable,
        "-m",
        "plait",
        "run",
        "eagle.spec",
        "--max-new-tokens",
        "4",
        *arguments,
    ]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=120, **how)


def test_an_encoding_without_the_letters_is_no_error(spec: Path) -> None:
    """Text has escapes for them, JSON its own."""
    narrow = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = plait("--prompt", "\u65e5", env=narrow, stdout=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, "") and "\\u65e5" in done.stdout
    done = plait("--prompt", "\u65e5", "--json", env=narrow, stdout=subprocess.PIPE)
    assert json.loads(done.stdout)["prompts"] == ["\u65e5"]


def test_a_closed_output_is_no_error(spec: Path) -> None:
    """Nobody wants to read it; the exit code says enough."""
    command = f"exec {sys.executable} -m plait run eagle.spec --max-new-tokens 4 --prompt x >&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    read, write = os.pipe()
    os.close(read)
    done = plait("--prompt", "x", stdout=write)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_outcome_is_told_though_its_trace_cannot_be(spec: Path, capsys, monkeypatch) -> None:
    """The work is done; what went wrong is the last line, and the exit code."""

    def full(*_):
        raise OSError(28, "No space left on device", "t.json")

    monkeypatch.setattr("plait.commands.run.write_whole", full)
    code, out, err = run(capsys, "--prompt", "x", "--trace", "t.json")
    assert (code, err) == (2, "plait run: t.json: No space left on device\n")
    assert "identical to plain: yes" in out


def written(name: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(text)


def reported(**entries) -> Callable[[Path], object]:
    def edit(folder: Path) -> None:
        report = json.loads((folder / "report.json").read_text())
        shape = report["shape"] | entries.pop("shape", {})
        (folder / "report.json").write_text(json.dumps({**report, "shape": shape, **entries}))

    return edit


DAMAGE = {
    "no tokenizer": (written("tokenizer.json", "{}"), "tokenizer.json: is no tokenizer ("),
    "no weights": (
        written("weights.safetensors", "x"),
        "weights.safetensors: is no file of weights (",
    ),
    "digests of no kind": (
        reported(sha256=[]),
        "weights.safetensors: is damaged, or not the file that",
    ),
    "a size that is a text": (
        reported(shape={"vocab": "x"}),
        "report.json: vocab is 'x'; it is a whole number",
    ),
    "a size that is a fraction": (
        reported(shape={"heads": 4.0}),
        "report.json: heads is 4.0; it is a whole",
    ),
    "an odd rotation": (reported(shape={"rope": 7}), "report.json: rope is 7; it is even"),
    "an unknown size": (
        reported(shape={"depth": 7}),
        "report.json: a shape has the sizes context, ",
    ),
    "fewer layers": (
        reported(shape={"layers": 3}),
        "in report.json: `layers.3.attention.key_up` is no weight",
    ),
    "many more layers": (
        reported(shape={"layers": 1 << 20}),
        "it has no `layers.8.attention.norm.weight`",
    ),
    "another width": (
        reported(shape={"hidden": 64}),
        "`embed` is bfloat16[1024, 128], not of numbers [1024, 64]",
    ),
    "prompts of no kind": (
        written("held_out.jsonl", '{"prompt": 5}\n'),
        "held_out.jsonl: should hold a line",
    ),
    "no prompts": (written("held_out.jsonl", ""), "held_out.jsonl: should hold a line or more"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_model_is_one_clear_line(name: str, spec: Path, capsys) -> None:
    """Whatever is wrong in the folder, and though the report's digests say it should be so."""
    edit, message = DAMAGE[name]
    shutil.copytree(SHIPPED, "model")
    edit(Path("model"))
    report = json.loads(Path("model", "report.json").read_text())
    if report["sha256"]:
        for file in report["sha256"]:
            report["sha256"][file] = hashlib.sha256(Path("model", file).read_bytes()).hexdigest()
        Path("model", "report.json").write_text(json.dumps(report))
    code, out, err = run(capsys, "--model", "model")
    assert (code, out) == (2, "") and err.startswith("plait run: model/") and err.count("\n") == 1
    assert message in err


@pytest.mark.parametrize("mode", ["exact", "f32"])
def test_every_graph_can_be_held_against_its_phases(mode: str, spec: Path, capsys) -> None:
    """`--compare` runs both at every replay; captures that come late are compared as well."""
    code, out, _ = run(
        capsys, "--compare", "--lazily", "--mode", mode, "--prompt", "def f", "--json"
    )
    outcome = json.loads(out)
    replays = sum(sum(one["replays"].values()) for one in outcome["captures"].values())
    assert code == 0 and outcome["compared"]["replays"] == replays > 0
    assert outcome["compared"]["first"] is None and outcome["lost"] == []
    code, out, _ = run(capsys, "--compare", "--no-capture", "--prompt", "def f")
    assert code == 0 and "compared          nothing: no graph was replayed\n" in out


def test_bytes_of_graphs_stand_beside_those_of_buffers(spec: Path, capsys) -> None:
    """By bucket and capture: what is captured first in its pool has the pool's bytes, too."""
    code, out, _ = run(capsys, "--json", "--no-plain", "--prompt", "a", "--prompt", "b")
    taken = json.loads(out)["graph_bytes"]
    assert code == 0 and list(taken) == ["1", "2"]
    assert all(taken["2"][name] > taken["1"][name] > 0 for name in ("draft", "verify", "extend"))
