"""What verbs write beside their output, and pipes that they read: nothing is lost."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from drawing.profiles import KINETO
from plait.cli import main

SPEC = """\
spec 1
pipeline one {
  stream main
  buffer x : i64[4] carried
  phase step on main { updates x  cost 10us }
}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a spec and a trace."""
    (tmp_path / "one.spec").write_text(SPEC)
    (tmp_path / "trace.json").write_text(KINETO)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "simulate one.spec --html a --svg ./a",
            "./a: would be written over what --html writes; name another file",
        ),
        (
            "simulate one.spec --perfetto one.spec",
            "one.spec: would be written over one.spec; name another file",
        ),
        (
            "diff one.spec one.spec --svg one.spec",
            "one.spec: would be written over one.spec; name another file",
        ),
        (
            "trace align one.spec trace.json --html trace.json",
            "trace.json: would be written over trace.json; name another file",
        ),
        (
            "calibrate trace.json --spec one.spec -o one.spec",
            "one.spec: would be written over one.spec; name another file",
        ),
        (
            "tune one.spec --costs trace.json -o trace.json",
            "trace.json: would be written over trace.json; name another file",
        ),
        (
            "tune one.spec --budget 1000000 -o none/a.spec",
            "none/a.spec: there is no folder to write it in; make it, or name another",
        ),
    ],
)
def test_no_file_is_written_over_what_is_read_or_written(
    line: str, said: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything else is done, and everything is as it was."""
    assert main(line.split()) == 2
    assert capsys.readouterr() == ("", f"plait {line.split()[0]}: {said}\n")
    files = {file.name: file.read_text() for file in here.iterdir()}
    assert files == {"one.spec": SPEC, "trace.json": KINETO}


def test_a_device_takes_several(capsys: pytest.CaptureFixture[str]) -> None:
    """Where nothing is put in place of anything."""
    assert main(["simulate", "one.spec", "--html", "/dev/null", "--svg", "/dev/null"]) == 0


def test_a_trace_comes_through_a_pipe(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing of it is read twice."""
    os.mkfifo(here / "pipe")
    writer = threading.Thread(target=(here / "pipe").write_text, args=(KINETO,))
    writer.start()
    assert main(["trace", "show", "pipe", "--json"]) == 0
    writer.join()
    piped = capsys.readouterr().out
    assert main(["trace", "show", "trace.json", "--json"]) == 0
    assert piped == capsys.readouterr().out.replace("trace.json", "pipe")


def test_every_reader_of_traces_has_the_bound_that_it_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What is too large says which option reads it, and the verb takes that option."""
    for verb in ("trace show", "trace align one.spec", "calibrate"):
        assert main([*verb.split(), "trace.json", "--most-bytes", "9"]) == 2
        assert "has more than 9 bytes; --most-bytes N reads more" in capsys.readouterr().err
