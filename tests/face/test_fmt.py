"""`plait fmt`: what it writes, what it only shows, and what it leaves alone."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from plait.cli import main

UGLY = "spec 1\npipeline p{stream main}\n"
LAID_OUT = "spec 1\npipeline p {\n  stream main\n}\n"


@pytest.fixture
def ugly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "ugly.spec"
    path.write_text(UGLY, encoding="utf-8")
    return path


def test_a_file_is_rewritten(ugly: Path, capsys) -> None:
    """Once; with its own mode, and behind a link where it lies."""
    ugly.chmod(0o640)
    os.symlink("ugly.spec", "link.spec")
    assert main(["fmt", "link.spec"]) == 0
    assert capsys.readouterr().out == "formatted link.spec\n"
    assert ugly.read_text(encoding="utf-8") == LAID_OUT
    assert ugly.stat().st_mode & 0o777 == 0o640 and Path("link.spec").is_symlink()
    assert main(["fmt", "ugly.spec"]) == 0
    assert capsys.readouterr().out == ""


def test_check_lists_what_would_change(ugly: Path, capsys) -> None:
    """Exit 1, and nothing is written; 0 where there is nothing to do."""
    Path("good.spec").write_text(LAID_OUT, encoding="utf-8")
    assert main(["fmt", "--check", "good.spec", "ugly.spec"]) == 1
    assert capsys.readouterr().out == "would format ugly.spec\n"
    assert ugly.read_text(encoding="utf-8") == UGLY
    assert main(["fmt", "--check", "good.spec"]) == 0


def test_diff_shows_what_would_change(ugly: Path, capsys) -> None:
    """As `patch` takes it."""
    assert main(["fmt", "--diff", "ugly.spec"]) == 1
    assert capsys.readouterr().out == (
        "--- ugly.spec\n+++ ugly.spec\n@@ -1,2 +1,4 @@\n spec 1\n-pipeline p{stream main}\n"
        "+pipeline p {\n+  stream main\n+}\n"
    )
    assert ugly.read_text(encoding="utf-8") == UGLY


def test_stdin_goes_to_stdout(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` is a file that is not written."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(UGLY.encode())))
    assert main(["fmt", "-"]) == 0
    assert capsys.readouterr().out == LAID_OUT


def test_a_byte_order_mark_and_carriage_returns_go(ugly: Path) -> None:
    """The one layout has neither."""
    ugly.write_bytes(b"\xef\xbb\xbf" + LAID_OUT.replace("\n", "\r\n").encode())
    assert main(["fmt", "--check", "ugly.spec"]) == 1
    assert main(["fmt", "ugly.spec"]) == 0
    assert ugly.read_bytes() == LAID_OUT.encode()


def test_what_does_not_parse_is_left_alone(ugly: Path, capsys) -> None:
    """Its mistakes are shown, the other files are laid out, and the exit code is 2."""
    Path("bad.spec").write_text("pipeline p { strem a }\n", encoding="utf-8")
    assert main(["fmt", "bad.spec", "ugly.spec"]) == 2
    shown = capsys.readouterr()
    assert "error[PL001]: found `strem`" in shown.err and shown.out == "formatted ugly.spec\n"
    assert Path("bad.spec").read_text(encoding="utf-8") == "pipeline p { strem a }\n"


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"spec 1 \xff", "bad.spec: is not UTF-8 text (byte 7)"),
        (b"#" * 5_000_000, "bad.spec: has more than 4,194,308 bytes, so it is no spec"),
        (None, "bad.spec: No such file or directory"),
    ],
)
def test_what_cannot_be_read_is_one_line(ugly: Path, data, line, capsys) -> None:
    """No traceback, exit code 2."""
    if data is not None:
        Path("bad.spec").write_bytes(data)
    assert main(["fmt", "bad.spec"]) == 2
    assert capsys.readouterr().err == f"plait fmt: {line}\n"
