"""`docs/reliability.md`: each command gives what the page shows."""

from __future__ import annotations

import re
import resource
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from plait.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
BLOCKS = re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
PLAIT = [sys.executable, "-m", "plait"]


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_the_page_shows_what_is_printed(block: str, tmp_path, monkeypatch, capfd, caplog) -> None:
    """The lines that stand there, and the exit code."""
    monkeypatch.chdir(tmp_path)
    for command, shown in re.findall(r"\$ (.*)\n((?:(?!\$ ).*\n)*)", block):
        code = run(command)
        out, err = capfd.readouterr()
        *lines, last = [line for line in shown.splitlines() if line != "..."] or [f"[{code}]"]
        assert last == f"[{code}]", (out, err)
        said = out + err + "\n".join(caplog.messages)  # pytest takes the log away from stderr
        assert [line for line in lines if line not in said] == []


def run(command: str) -> int:
    if not command.startswith("plait "):
        return subprocess.run(command, shell=True, timeout=60).returncode
    words = shlex.split(command)[1:]
    if "kill:" in command:
        return subprocess.run([*PLAIT, *words], timeout=120).returncode
    threads = torch.get_num_threads()
    try:
        return main(words)
    finally:
        torch.set_num_threads(threads)


def test_a_trace_that_does_not_fit_leaves_nothing(tmp_path) -> None:
    """A disk that is full in the middle of the file: the tokens are there, and no part of a trace."""
    words = "run examples/eagle.spec --prompt Once --max-new-tokens 4 --no-plain --trace trace.json"
    done = subprocess.run(
        [*PLAIT, *words.split()],
        cwd=tmp_path,
        timeout=120,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)),
    )
    assert done.returncode == 2 and "▸ Once" in done.stdout
    assert done.stderr.splitlines()[-1] == "plait run: trace.json: File too large"
    assert list(tmp_path.iterdir()) == []
