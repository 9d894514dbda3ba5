"""Commands that a page shows with what they print, run again and held against the page.

A block is indented by four blanks: `$ COMMAND`, and what it prints. A line `...` stands for any lines, none too; a last
line `[1]` is an exit code that is not 0.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from plait.cli import main

INDENT = "    "
PROMPT = f"{INDENT}$ "
ANY = "..."
LONGEST = 120
"""Seconds that a command of the system may take."""


@dataclass(frozen=True)
class Shown:
    """A command in a page, and the lines below it."""

    section: str
    """The heading that it stands under."""
    line: int
    """Of the page, where the command is, from 0."""
    command: str
    lines: tuple[str, ...]


def commands(text: str) -> list[Shown]:
    """Those of a page, from top to bottom."""
    found: list[Shown] = []
    section, rows = "", text.splitlines()
    for number, row in enumerate(rows):
        if row.startswith("#"):
            section = row.lstrip("# ")
        if row.startswith(PROMPT):
            below = [one.removeprefix(INDENT) for one in _block(rows[number + 1 :])]
            found.append(Shown(section, number, row.removeprefix(PROMPT), tuple(below)))
    return found


def _block(rows: list[str]) -> list[str]:
    """The rows that go on a block of code, up to another command, without blank ones at the end."""
    count = next(
        (n for n, row in enumerate(rows) if row.startswith(PROMPT) or row[:4].strip()), len(rows)
    )
    while count and not rows[count - 1].strip():
        count -= 1
    return rows[:count]


def printed(command: str, folder: Path) -> list[str]:
    """What a command prints in a folder, on stdout and stderr, and its exit code where it is not 0."""
    words = shlex.split(command)
    out = io.StringIO()
    with contextlib.chdir(folder):
        if words[0] == "plait":
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                code = main(words[1:])
        else:
            code = _by_the_system(command, out)
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    return [*lines, f"[{code}]"] if code else lines


def _by_the_system(command: str, out: io.StringIO) -> int:
    python = shlex.quote(sys.executable)
    launcher = f"{python} -m torch.distributed.run --standalone --log-dir ranks"
    done = subprocess.run(
        command.replace("torchrun", launcher, 1),
        shell=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=LONGEST,
    )
    out.write(done.stdout + done.stderr)
    return done.returncode


def agrees(shown: tuple[str, ...], lines: list[str]) -> bool:
    """Whether lines are those shown, where `...` stands for any."""
    reached = {0}
    for one in shown:
        if one == ANY:
            reached = set(range(min(reached), len(lines) + 1)) if reached else reached
        else:
            reached = {at + 1 for at in reached if at < len(lines) and lines[at] == one}
    return len(lines) in reached


def brought_up_to_date(shown: tuple[str, ...], lines: list[str]) -> tuple[str, ...]:
    """What to show instead: each piece between two `...` by the lines that are most like it, as many as it has."""
    if ANY not in shown:
        return tuple(lines)
    pieces: list[list[str]] = [[]]
    for one in shown:
        if one == ANY:
            pieces.append([])
        else:
            pieces[-1].append(one)
    found, start = [], 0
    for number, piece in enumerate(pieces):
        last = len(lines) - len(piece)
        places = range(start, last + 1)
        if number == 0:
            places = range(min(1, len(places)))
        elif number == len(pieces) - 1:
            places = range(max(start, last), last + 1)
        at = max(places, key=lambda at: _alike(piece, lines[at:]), default=None)
        if at is None:  # fewer lines than it shows: that takes a person
            return shown
        found.append(lines[at : at + len(piece)])
        start = at + len(piece)
    return tuple(
        line for n, piece in enumerate(found) for line in ([ANY, *piece] if n else piece)
    )


def _alike(piece: list[str], lines: list[str]) -> float:
    return sum(
        2.0 if one == other else difflib.SequenceMatcher(None, one, other).ratio()
        for one, other in zip(piece, lines, strict=False)
    )


def with_shown(text: str, shown: Shown, lines: tuple[str, ...]) -> str:
    """The page with other lines below a command."""
    rows = text.splitlines()
    first = shown.line + 1
    rows[first : first + len(shown.lines)] = [(INDENT + line).rstrip() for line in lines]
    return "\n".join(rows) + "\n"
