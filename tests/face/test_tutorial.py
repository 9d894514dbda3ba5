"""`docs/tutorial.md`: followed to its last line, each command prints what the page shows."""

from __future__ import annotations

import contextlib
import io
import runpy
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from pages.console import Shown, printed
from pages.held import hold
from pages.steps import Edited, Written, edited, steps
from serving.process import Served

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tutorial.md"
PICTURES = ROOT / "docs" / "pictures"
PORT = 8000
"""In the page; here it is one that is free."""


class Reader:
    """Does what the page says, in a folder that was empty; `plait serve` goes on until `end`."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.server: Served | None = None

    def write(self, step: Written) -> None:
        (self.folder / step.name).write_text(self._here(step.text), encoding="utf-8")

    def edit(self, step: Edited) -> None:
        path = self.folder / step.name
        path.write_text(edited(path.read_text(encoding="utf-8"), step.lines), encoding="utf-8")

    def do(self, command: str) -> list[str]:
        verb, *words = command.split()
        if (verb, words[:1]) == ("plait", ["serve"]):
            with contextlib.chdir(self.folder):
                self.server = Served(self.folder / "log", *words[1:])
            return [self.server.said.strip().replace(f":{self.server.port}/", f":{PORT}/")]
        if verb == "python":
            return self._program(words[0])
        return printed(self._here(command), self.folder)

    def end(self) -> int | None:
        if self.server is None:
            return None
        try:
            return self.server.end()
        finally:
            self.server.process.kill()
            assert self.server.process.stdout is not None
            self.server.process.stdout.close()

    def _here(self, text: str) -> str:
        return text.replace(f":{PORT}/", f":{self.server.port}/") if self.server else text

    def _program(self, name: str) -> list[str]:
        out = io.StringIO()
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(out):
            runpy.run_path(name, run_name="__main__")
        return out.getvalue().rstrip("\n").splitlines()


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    if shutil.which("curl") is None:
        pytest.skip("no curl")
    threads = torch.get_num_threads()
    found = Reader(tmp_path)
    yield found
    torch.set_num_threads(threads)
    found.end()


def test_followed_to_its_last_line_it_gives_what_it_shows(
    reader: Reader, request: pytest.FixtureRequest
) -> None:
    """From an empty folder to a server that ends in peace; `--update-golden` writes the page as it is now."""
    text, fresh = PAGE.read_text(encoding="utf-8"), request.config.getoption("--update-golden")
    shown = 0
    for step in steps(text):
        if isinstance(step, Written):
            reader.write(step)
        elif isinstance(step, Edited):
            reader.edit(step)
        else:
            lines = reader.do(step.command)
            hold(PAGE, shown, lines, fresh, _shown)
            shown += 1
            if "--svg" in step.command:
                check_the_drawing(reader.folder)
    assert reader.end() == 0


def check_the_drawing(folder: Path) -> None:
    """What `make pictures` draws is what the reader has, of the spec and the costs that the reader has."""
    for mine, theirs in (
        ("chain.spec",) * 2,
        ("costs.toml", "chain.toml"),
        ("round.svg", "chain.svg"),
    ):
        assert (folder / mine).read_bytes() == (PICTURES / theirs).read_bytes(), theirs


def _shown(text: str) -> list[Shown]:
    return [step for step in steps(text) if isinstance(step, Shown)]
