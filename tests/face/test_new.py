"""`plait new`: what it writes checks and runs, and what is there is never touched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from plait.cli import main


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, as the working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


def test_what_is_written_is_sound_and_runs(here, capsys) -> None:
    """From an empty folder to words on the screen in the three commands that it names."""
    assert run(capsys, "new", "demo") == (
        0,
        "demo.spec: a round; prove it: plait check demo.spec\n"
        "demo.py: its phases; run it: python demo.py\n",
        "",
    )
    assert run(capsys, "check", "demo.spec") == (0, "demo.spec: sound\n", "")
    assert run(capsys, "check", "demo.spec", "--set", "guesses=3")[0] == 0  # as its comment says
    done = subprocess.run(
        [sys.executable, "demo.py"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "round\ndrafts some words\nquickly then\none pass of\nthe model\n11 words in 5 rounds\n"
    )


def test_the_round_needs_its_edges(here, findings) -> None:
    """Without the fork or the join it is refused, as its first comment promises."""
    main(["new", "demo"])
    text = (here / "demo.spec").read_text()
    assert findings(text) == []
    for edge, code in (("fork copy from accept", "PL201"), ("join copy into host", "PL401")):
        assert [one.code for one in findings(text.replace(edge, ""))] == [code]


def test_the_files_are_short_and_named_after_what_was_asked(here, capsys) -> None:
    """A page each, with nothing left of the template's own name; the names as JSON for programs."""
    code, out, _ = run(capsys, "new", "--json", "my_round")
    assert (code, json.loads(out)) == (0, {"files": ["my_round.spec", "my_round.py"]})
    for path in here.iterdir():
        text = path.read_text()
        assert len(text.splitlines()) < 40 and "starter" not in text and "my_round" in text
        assert path.stat().st_mode & 0o777 == 0o666 & ~umask()


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("there", ["demo.spec", "demo.py"])
def test_a_file_that_is_there_is_left_alone(there: str, here, capsys) -> None:
    """Whichever it is, even a link to nowhere, nothing is written beside it."""
    (here / there).symlink_to("nowhere")
    message = f"plait new: {there}: is there already, so nothing is written\n"
    assert run(capsys, "new", "demo") == (2, "", message)
    assert [path.name for path in here.iterdir()] == [there]


def test_a_file_that_comes_in_between_is_left_alone_too(here, capsys, monkeypatch) -> None:
    """Found only when the second file is put in its place: the first is taken away again."""
    (here / "demo.py").write_text("mine")
    monkeypatch.setattr("os.path.lexists", lambda path: False)
    assert run(capsys, "new", "demo") == (2, "", "plait new: demo.py: File exists\n")
    assert [path.name for path in here.iterdir()] == ["demo.py"]
    assert (here / "demo.py").read_text() == "mine"


WRONG = {
    "my-round": "'my-round' is not a name: letters, digits and `_`, no digit first",
    "../demo": "'../demo' is not a name: letters, digits and `_`, no digit first",
    "2fast": "'2fast' is not a name: letters, digits and `_`, no digit first",
    "_": "'_' is not a name: letters, digits and `_`, no digit first",
    "größe": "'größe' is not a name: letters, digits and `_`, no digit first",
    "demo\n": "'demo\\n' is not a name: letters, digits and `_`, no digit first",
    "": "'' is not a name: letters, digits and `_`, no digit first",
    "stream": "`stream` is a reserved word, so it cannot be a name",
    "torch": "torch.py would hide the module `torch` from whatever imports it",
    "random": "random.py would hide the module `random` from whatever imports it",
    "__main__": "__main__.py would hide the module `__main__` from whatever imports it",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_name_that_would_not_do_is_refused(name: str, here, capsys) -> None:
    """No name of a pipeline, or one that breaks the imports of what is installed: code 2, nothing written."""
    assert run(capsys, "new", name) == (2, "", f"plait new: {WRONG[name]}\n")
    assert not list(here.iterdir())
