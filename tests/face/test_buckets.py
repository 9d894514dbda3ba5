"""`plait buckets`, and `plait explain --budget`: what they print, write and refuse."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path

import pytest

from plait.cli import main


@pytest.fixture
def here(tmp_path: Path, eagle, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `eagle.spec` and sizes that were seen."""
    (tmp_path / "eagle.spec").write_text(eagle.text)
    (tmp_path / "seen.txt").write_text("1 100\n3 500\n5 50\n8 20\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    return code, *capsys.readouterr()


BUCKETS = ("buckets", "eagle.spec", "--histogram", "seen.txt")


def test_the_page_shows_what_is_printed(root: Path, tmp_path, monkeypatch, capsys) -> None:
    """Every command of `docs/budgets.md` with the output below it, on the page's own spec."""
    page = (root / "docs" / "budgets.md").read_text(encoding="utf-8")
    (spec,) = re.findall(r"```spec\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "layers.spec").write_text(spec)
    indented = re.findall(r"(?:^(?:    .*)?\n)+", page.replace(spec, ""), re.MULTILINE)
    blocks = [textwrap.dedent(block).strip() for block in indented]
    (seen,) = [block for block in blocks if re.match(r"\d+ \d+$", block, re.MULTILINE)]
    sizes, _, last = seen.partition("\n\n")
    (tmp_path / "seen.txt").write_text(sizes)
    shown = 0
    for block in [*blocks, last]:
        command, _, output = block.partition("\n\n")
        if command.startswith("plait ") and output:
            main(command.split()[1:])
            assert capsys.readouterr().out.strip() == output
            shown += 1
    assert shown == 3


def test_a_list_is_written_into_the_spec(here: Path, capsys) -> None:
    """In place, in the one layout, and proven; a second time nothing changes."""
    code, out, err = run(capsys, *BUCKETS, "--write")
    assert (code, err) == (0, "wrote eagle.spec\n")
    assert out.endswith("\nparam buckets          = [1, 3, 5, 8]\n")
    text = (here / "eagle.spec").read_text()
    assert "buckets          = [1, 3, 5, 8]   # captured request counts" in text
    assert run(capsys, "check", "eagle.spec")[0] == 0
    assert run(capsys, *BUCKETS, "--write") == (0, out.replace(*_now(out)), "")
    assert (here / "eagle.spec").read_text() == text


def _now(out: str) -> tuple[str, str]:
    """The line about the list there was, and the same about the list chosen."""
    now, then = re.findall(r"(?:now |then)  (.*)\n", out)
    return now, then


def test_a_choice_is_data(here: Path, capsys) -> None:
    """What was seen, both lists with their padding, and what the target has room for."""
    code, out, _ = run(
        capsys,
        *BUCKETS,
        "--json",
        "--most",
        "3",
        "--target",
        "ascend910c",
        "--limit",
        "streams=40",
    )
    assert code == 0
    assert json.loads(out) == {
        "dim": "bs",
        "target": "ascend910c",
        "seen": {"rounds": 670, "rows": 2010},
        "now": {"buckets": [1, 2, 4, 8], "padded": 650, "rounds_too_large": 0},
        "then": {"buckets": [3, 8], "padded": 350},
        "most": 3,
        "streams": {"asked": 9, "taken": 6, "room": 6},
        "left_out": [],
        "statement": "param buckets          = [3, 8]",
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--histogram", "bad.txt"),
            "bad.txt:2: 'x' is not a size and a count, as in `4 120` or `4,120`",
        ),
        (("--histogram", "none.txt"), "none.txt: No such file or directory"),
        (("--histogram", "bytes.txt"), "bytes.txt: is not UTF-8 text (byte 0)"),
        (("--most", "0"), "--most 0: from 1 to 256 buckets"),
        (("--dim", "n"), "--dim n: there is no such dim; known here: bs"),
        (("--target", "npu"), "there is no target `npu`: did you mean `cpu`?"),
        (
            ("--set", "buckets=[1, 8]", "--write"),
            "--write: the buckets are those of --set, not of the spec",
        ),
    ],
)
def test_bad_input_is_one_clear_line(here: Path, capsys, arguments, message) -> None:
    """Exit code 2, and the spec as it was."""
    (here / "bad.txt").write_text("1 100\nx\n")
    (here / "bytes.txt").write_bytes(b"\xff\xfe")
    before = (here / "eagle.spec").read_bytes()
    code, out, err = run(capsys, *BUCKETS, *arguments)
    assert (code, out, err) == (2, "", f"plait buckets: {message}\n")
    assert (here / "eagle.spec").read_bytes() == before


def test_a_spec_with_an_error_is_refused_as_everywhere(here: Path, capsys) -> None:
    """Its findings are shown; buckets are chosen for sound rounds."""
    text = (here / "eagle.spec").read_text()
    (here / "eagle.spec").write_text(text.replace("  fork copy from accept\n", ""))
    code, out, err = run(capsys, *BUCKETS)
    assert (code, out) == (2, "")
    assert "error[PL201]" in err


def test_the_bill_is_data(here: Path, capsys) -> None:
    """The same figures as the page, for programs; a rule has no bill."""
    code, out, _ = run(
        capsys, "explain", "eagle.spec", "--budget", "--json", "--target", "ascend910c"
    )
    found = json.loads(out)
    assert code == 0
    assert found["streams"]["graphs"] == 12
    assert [(one["name"], one["graphs"]) for one in found["captures"]] == [
        ("draft", 4),
        ("verify", 4),
        ("extend", 4),
    ]
    code, _, err = run(capsys, "explain", "PL801", "--budget")
    assert (code, err) == (
        2,
        "plait explain: --budget is for a round; the page of a rule is text\n",
    )
