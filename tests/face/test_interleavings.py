"""`plait run` without a model and on the adversary, and specs that are lowered in spite of what is found."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from plait.cli import main
from plait.runtime.devices.named import NAMES
from plait.runtime.schedule_reader import from_json

RACY = """\
spec 1
pipeline staged {
  stream main
  buffer staging : i64[4] on host
  buffer inputs  : i64[4]
  buffer kept    : i64[4] carried
  phase fill on host { writes staging }
  phase copy_in on main { reads staging  writes inputs }
  phase forward on main { reads inputs  updates kept }
}
"""
MENDED = RACY.replace("on host\n", "on host copies 2\n").replace(
    "  phase fill", "  join prev copy_in into host\n  phase fill"
)


@pytest.fixture
def racy(tmp_path):
    path = tmp_path / "racy.spec"
    path.write_text(RACY, encoding="utf-8")
    return str(path)


@pytest.fixture
def mended(tmp_path):
    path = tmp_path / "mended.spec"
    path.write_text(MENDED, encoding="utf-8")
    return str(path)


def test_one_digest_on_every_device(mended: str, capsys) -> None:
    """The CPU and two seeds print the same; another number of rounds prints another."""
    asked = ["run", mended, "--bodies", "mixing"]
    digests = []
    for more in ([], ["--device", "adversary", "--seed", "3"], ["--device", "adversary"]):
        assert main([*asked, *more]) == 0
        digests.append(re.search(r"digest +(\w{16})\n", capsys.readouterr().out)[1])  # type: ignore[index]
    assert len(set(digests)) == 1
    assert main([*asked, "--rounds", "3"]) == 0
    assert digests[0] not in capsys.readouterr().out


def test_how_graphs_are_replayed_is_said(mended: str, capsys, monkeypatch) -> None:
    """Of a schedule that has some: the tier of the CPU, or that the adversary has none."""
    path = Path(mended)
    text = path.read_text(encoding="utf-8")
    forward = "  phase forward on main { reads inputs  updates kept }\n"
    path.write_text(
        text.replace(forward, f"  capture g on main rows 4 {{\n{forward}  }}\n"), "utf-8"
    )
    monkeypatch.setenv("PLAIT_CPU_REPLAY", "python")
    for device, kind in (
        ("cpu", "python: replay of recorded kernels from Python"),
        ("adversary", "steps that are done anew, in any order that they allow"),
    ):
        assert main(["run", mended, "--bodies", "mixing", "--device", device]) == 0
        assert f"\ncapture            {kind}\n" in capsys.readouterr().out


def test_seeds_that_agree(mended: str, capsys) -> None:
    """All of them, and exit 0."""
    asked = ["run", mended, "--bodies", "mixing", "--device", "adversary", "--seeds", "6"]
    assert main(asked) == 0
    assert "agreed             6 of 6 interleavings\n" in capsys.readouterr().out


def test_a_seed_that_does_not(racy: str, capsys) -> None:
    """The first of them, with its round, the buffer and who touches it; exit 1, and UNCHECKED twice."""
    asked = ["run", racy, "--bodies", "mixing", "--device", "adversary", "--seeds", "20"]
    assert main([*asked, "--unchecked"]) == 1
    out, err = capsys.readouterr()
    assert err == (
        "plait: UNCHECKED: racy.spec was refused (PL201) and lowered all the same; "
        "what it computes may be wrong\n"
    )
    assert "UNCHECKED          refused for PL201\n" in out
    assert re.search(
        r"first that did not +seed \d+: round \d+, `staging`, touched by copy_in, fill\n", out
    )
    assert main([*asked, "--unchecked", "--json"]) == 1
    outcome = json.loads(capsys.readouterr().out)
    assert outcome["unchecked"] == ["PL201"] and outcome["seeds"] == 20 and outcome["differ"]


def test_a_refused_spec_is_not_lowered_unasked(racy: str, capsys) -> None:
    """Without the option it is refused, as ever."""
    assert main(["run", racy, "--bodies", "mixing"]) == 2
    assert "error[PL201]" in capsys.readouterr().err


def test_an_unchecked_schedule_says_so_for_good(racy: str, tmp_path, capsys) -> None:
    """In its JSON, which reads back, in its Python, and whenever it is loaded."""
    path = tmp_path / "racy.json"
    assert main(["compile", racy, "--unchecked", "-o", str(path)]) == 0
    assert '  "unchecked": ["PL201"],\n' in path.read_text(encoding="utf-8")
    assert from_json(path.read_text(encoding="utf-8")).unchecked == ("PL201",)
    capsys.readouterr()
    assert main(["compile", str(path), "--emit", "python"]) == 0
    out, err = capsys.readouterr()
    assert "# UNCHECKED: the spec was refused (PL201); what this computes may be wrong.\n" in out
    assert err.startswith("plait: UNCHECKED: racy.spec was refused (PL201)")


@pytest.mark.parametrize(
    ("more", "line"),
    [
        (["--seeds", "3"], "--seeds is for --device adversary; cpu has none"),
        (["--seed", "3"], "--seed is for --device adversary; cpu has none"),
        (
            ["--device", "adversary", "--seeds", "0"],
            "--seeds 0: ask for at least one",
        ),
        (["--bodies", "mixing", "--rounds", "0"], "--rounds 0: ask for 1 to 100,000"),
        (
            ["--bodies", "mixing", "--prompt", "x"],
            "--prompt is for the model's bodies; mixing bodies read no text",
        ),
        (
            ["--device", "adversary", "--trace", "t.json"],
            "--trace: the adversary keeps no time that a trace could show",
        ),
        (
            ["--bodies", "mixing", "--inject", "raise:forward@1"],
            "--inject is for the model's bodies",
        ),
        (["--bodies", "mixing", "--compare"], "--compare is for the model's bodies"),
        (
            ["--device", "adversary", "--seeds", "2", "--compare"],
            "--compare is for one run, not for --seeds",
        ),
        (
            ["--bodies", "mixing", "--device", "npx"],
            f"there is no device `npx`; this Plait runs on {', '.join(NAMES)}",
        ),
    ],
)
def test_what_asks_for_nothing_is_refused(mended: str, more, line: str, capsys) -> None:
    """One line that says what is for what."""
    assert main(["run", mended, *more]) in (2, 3)
    assert capsys.readouterr().err == f"plait run: {line}\n"


@pytest.mark.parametrize(
    ("name", "value", "line", "code"),
    [
        ("PLAIT_MARKS", "itt", "marks `itt`: there are marks for profiler, nvtx, mstx", 3),
        (
            "PLAIT_MARKS",
            "profiler",
            "marks: the adversary keeps no time that a profiler could show",
            2,
        ),
        (
            "PLAIT_CHECK",
            "1",
            "the adversary gives bodies copies, by which checked mode (PLAIT_CHECK) cannot tell what they "
            "touch: check on the cpu",
            2,
        ),
    ],
)
@pytest.mark.parametrize("seeds", [["--seed", "1"], ["--seeds", "1"]])
def test_what_the_environment_asks_of_the_adversary_is_refused(
    seeds, name: str, value: str, line: str, code: int, root, monkeypatch, capsys
) -> None:
    """Rather than run without what makes it one."""
    monkeypatch.setenv(name, value)
    asked = ["run", str(root / "examples" / "eagle.spec"), "--prompt", "x", "--max-new-tokens", "2"]
    assert main([*asked, "--device", "adversary", *seeds]) == code
    assert capsys.readouterr().err.splitlines()[-1] == f"plait run: {line}"
