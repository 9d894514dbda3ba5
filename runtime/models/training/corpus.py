"""The corpus: the standard library of the Python that runs the training.

It is on every machine that can train, its licence (PSF-2.0) allows it, and it is English and code
at once. Files are held out by the hash of their path, so the split never depends on an order.
"""

from __future__ import annotations

import hashlib
import os
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LEFT_OUT = frozenset(
    [
        "test",
        "tests",
        "idle_test",
        "site-packages",
        "dist-packages",
        "__pycache__",
        "lib2to3",
        "encodings",
        "ensurepip",
        "pydoc_data",
        "turtledemo",
    ]
)
SHORTEST = 200
"""Bytes. Shorter files are mostly re-exports."""
ONE_HELD_OUT_IN = 25


@dataclass(frozen=True)
class Corpus:
    train: tuple[tuple[str, str], ...]
    held_out: tuple[tuple[str, str], ...]

    def sha256(self) -> str:
        """Digest of every name and text, in order: two equal digests train on the same corpus."""
        digest = hashlib.sha256()
        for part in (self.train, self.held_out):
            for name, text in part:
                digest.update(name.encode() + b"\0" + text.encode() + b"\0")
        return digest.hexdigest()


def standard_library(most: int | None = None) -> Corpus:
    """The whole corpus; with `most`, all that is held out and the first so many files of the rest."""
    train, held_out = [], []
    for name, text in _sources(Path(sysconfig.get_paths()["stdlib"])):
        chosen = held_out if is_held_out(name) else train
        chosen.append((name, text))
    return Corpus(tuple(train[:most]), tuple(held_out))


def is_held_out(name: str) -> bool:
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % ONE_HELD_OUT_IN == 0


def _sources(root: Path) -> Iterator[tuple[str, str]]:
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in LEFT_OUT and not f.startswith("config-"))
        for file in sorted(files):
            # _sysconfigdata names the folders and compilers of the machine it was built on.
            if not file.endswith(".py") or file.startswith("_sysconfigdata"):
                continue
            path = Path(folder, file)
            text = path.read_text(encoding="utf-8", errors="replace").expandtabs(4)
            if len(text.encode()) >= SHORTEST:
                yield path.relative_to(root).as_posix(), text
