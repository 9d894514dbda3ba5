"""A file as it stands at a git revision, written as git writes it: `HEAD~1:examples/eagle.spec`.

Git is run without a shell. What was typed stands behind `--end-of-options`, so that nothing of it is taken
for an option, and what git answers is read up to a bound. Only objects are read: no filter, hook or pager of
a repository runs, and nothing is fetched.
"""

from __future__ import annotations

import os
import posixpath
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from plait.exit import WRONG_ENVIRONMENT, Refused

MOST_BYTES = 64 << 20
"""Of a file, as of a schedule's JSON."""
SECONDS = 30
QUIET = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


class Revision(NamedTuple):
    """A path of a tree, from the top of the repository."""

    asked: str
    tree: str
    path: str


def split_revision(asked: str) -> tuple[str, str] | None:
    """`REV:PATH` as two; None for the path of a file, which a name with a colon may be, too."""
    revision, colon, path = asked.partition(":")
    return (revision, path) if colon and not Path(asked).exists() else None


def revision_of(asked: str) -> Revision:
    """Where `REV:PATH` leads. Raises Refused where there is no git, repository, revision or such path."""
    revision, _, path = asked.partition(":")
    if not revision or not path:
        raise Refused(f"{asked}: write it as REVISION:PATH, such as HEAD~1:examples/eagle.spec")
    inside, prefix = _git("rev-parse", "--show-prefix")
    if not inside:
        raise Refused(
            f"{asked}: git finds no repository here that it may read; `git status` says why"
        )
    if path.startswith(("./", "../")):  # else from the top, as git has it
        path = posixpath.join(prefix.decode("utf-8", "surrogateescape").strip("\n"), path)
    path = posixpath.normpath(path)
    if path.startswith(("../", "/")) or path in ("..", "."):
        raise Refused(f"{asked}: leads out of the repository")
    known, tree = _git(
        "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{tree}}"
    )
    if not known:
        raise Refused(f"{asked}: git knows no revision {revision}")
    return Revision(asked, tree.decode("ascii").strip(), path)


def read_revision(of: Revision) -> bytes:
    """The file. Raises Refused."""
    data = _blob(of.tree, of.path)
    if data is None:
        revision = of.asked.partition(":")[0]
        raise Refused(f"{of.asked}: there is no file {of.path} at {revision}")
    return data


@contextmanager
def checked_out(of: Revision) -> Iterator[Path]:
    """A spec with the files that it uses, all of that revision, for as long as it is read."""
    from plait.dsl.library import MOST_FILES

    with TemporaryDirectory(prefix="plait-") as folder:
        top = Path(folder)
        _write(top, posixpath.basename(of.path), read_revision(of))
        waiting, seen = [posixpath.basename(of.path)], set()
        while waiting:
            name = waiting.pop()
            for used in _uses(top / name):
                inner = posixpath.normpath(posixpath.join(posixpath.dirname(name), used))
                if inner in seen or inner.startswith(("../", "/")) or len(seen) > MOST_FILES:
                    continue  # what leads out of the folder is refused when the spec is read
                seen.add(inner)
                data = _blob(of.tree, posixpath.join(posixpath.dirname(of.path), inner))
                if data is not None:
                    _write(top, inner, data)
                    waiting.append(inner)
        yield top / posixpath.basename(of.path)


def _uses(path: Path) -> Iterator[str]:
    """The files that a spec names in quotes; none where it cannot be read, which is said elsewhere."""
    from plait.compiler.compile import read_source
    from plait.dsl.diagnostic import SpecError
    from plait.dsl.parser import parse
    from plait.dsl.syntax import Text

    try:
        file = parse(read_source(path))
    except (SpecError, UnicodeDecodeError):
        return
    for use in file.uses:
        if isinstance(use.source, Text) and "\0" not in use.source.value:
            yield use.source.value


def _write(top: Path, name: str, data: bytes) -> None:
    path = top / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _blob(tree: str, path: str) -> bytes | None:
    found, data = _git("cat-file", "blob", "--end-of-options", f"{tree}:{path}")
    return data if found else None


def _git(*arguments: str) -> tuple[bool, bytes]:
    """Whether git could, and what it wrote. Raises Refused where there is no git, or too much of it."""
    command = ["git", "--no-pager", "--literal-pathspecs", *arguments]
    try:
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **QUIET},
        ) as process:
            assert process.stdout is not None
            data = process.stdout.read(MOST_BYTES + 1)
            if len(data) > MOST_BYTES:
                process.kill()
                raise Refused(f"git {arguments[0]}: more than {MOST_BYTES >> 20} MiB")
            return process.wait(SECONDS) == 0, data
    except ValueError:
        raise Refused("a revision or a path holds a character that no name can") from None
    except OSError as error:
        line = f"git cannot be run ({error.strerror}); compare files instead"
        raise Refused(line, WRONG_ENVIRONMENT) from None
