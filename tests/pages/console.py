"""Commands that a page shows with what they print, run again and held against the page.

A block is indented by four blanks: `$ COMMAND`, and what it prints. A line `...` stands for any lines, none
too, and as a word of a line for anything; a last line `[1]` is an exit code that is not 0. `plait` runs in
this process, and the ranks of `torchrun` are started as it would start them, but print one after the other.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from plait.cli import main

INDENT = "    "
PROMPT = f"{INDENT}$ "
ANY = "..."
WORD = re.compile(r"(?<!\S)\.\.\.(?!\S)")
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
    """What a command prints in a folder, and its exit code where that is not 0."""
    words = shlex.split(command)
    run = {"plait": _plait, "torchrun": _torchrun}.get(words[0])
    with contextlib.chdir(folder):
        code, text = run(words[1:]) if run else _by_the_shell(command)
    lines = [line.rstrip() for line in text.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    return [*lines, f"[{code}]"] if code else lines


Ended = tuple[int, str]
"""An exit code, and what was printed."""


def _plait(words: list[str]) -> Ended:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            code = main(words)
        except SystemExit as left:  # what the parser of arguments refuses
            code = int(left.code or 0)
    return code, out.getvalue()


def _by_the_shell(command: str) -> Ended:
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=LONGEST)
    return done.returncode, done.stdout + done.stderr


def _torchrun(words: list[str]) -> Ended:
    return _ranks(os.getcwd(), *words)


@cache
def _ranks(folder: str, nproc: str, count: str, *program: str) -> Ended:
    """`--nproc-per-node N PROGRAM`, once however often it is shown.

    Without torchrun's own process, which begins as slowly as a rank.
    """
    from torch.distributed import TCPStore  # pyright: ignore[reportPrivateImportUsage]

    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    environment = os.environ | {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(store.port),
        "WORLD_SIZE": count,
        "TORCHELASTIC_USE_AGENT_STORE": "True",
        "OMP_NUM_THREADS": "1",
    }
    ranks = [
        subprocess.Popen(
            [sys.executable, *program],
            cwd=folder,
            env=environment | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(int(count))
    ]
    try:
        ended = [rank.communicate(timeout=LONGEST) for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
    code = max(rank.returncode for rank in ranks)
    return code, "".join(out if not code else out + errors for out, errors in ended)


def agrees(shown: tuple[str, ...], lines: list[str]) -> bool:
    """Whether lines are those shown, where `...` stands for any."""
    reached = {0}
    for one in shown:
        if one == ANY:
            reached = set(range(min(reached), len(lines) + 1)) if reached else reached
        else:
            reached = {at + 1 for at in reached if at < len(lines) and _same(one, lines[at])}
    return len(lines) in reached


def _same(shown: str, line: str) -> bool:
    """Whether a line has the parts between words `...` in their order, each at its first place."""
    first, *others = WORD.split(shown)
    if not others:
        return shown == line
    if not line.startswith(first):
        return False
    *middle, last = others
    at = len(first)
    for part in middle:
        at = line.find(part, at) + len(part)
        if at < len(part):
            return False
    return line.endswith(last) and at <= len(line) - len(last)


def brought_up_to_date(shown: tuple[str, ...], lines: list[str]) -> tuple[str, ...]:
    """What to show instead: each piece between two `...` by as many lines, those that are most like it."""
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
        pairs = zip(piece, lines[at:], strict=False)
        found.append([one if _same(one, line) else line for one, line in pairs])
        start = at + len(piece)
    return tuple(line for n, piece in enumerate(found) for line in ([ANY, *piece] if n else piece))


def _alike(piece: list[str], lines: list[str]) -> float:
    return sum(
        2.0 if _same(one, other) else difflib.SequenceMatcher(None, one, other).ratio()
        for one, other in zip(piece, lines, strict=False)
    )


def with_shown(text: str, shown: Shown, lines: tuple[str, ...]) -> str:
    """The page with other lines below a command."""
    rows = text.splitlines()
    first = shown.line + 1
    rows[first : first + len(shown.lines)] = [(INDENT + line).rstrip() for line in lines]
    return "\n".join(rows) + "\n"
