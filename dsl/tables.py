"""The parser's tables, built once and kept where only the user can write.

Lark keeps tables as a pickle. Its own default is a predictable name in the shared temporary folder,
where anyone could put a file first; here the folder is the user's cache, it must belong to the user
and be closed to others, and without such a folder nothing is kept: building takes some 20 ms.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from pathlib import Path
from typing import Any

import lark
from lark import Lark, Transformer

from plait.dsl.build import name_or_word


def load_parser(build: Transformer) -> Any:
    """A parser for `grammar.lark` that calls `build`, with start rules `file` and `expression`."""
    grammar = Path(__file__).with_name("grammar.lark").read_text(encoding="utf-8")
    folder = cache_folder()
    if folder is None:
        return _lark(grammar, build)
    key = f"{lark.__version__} {sys.version_info[:2]} {grammar}"
    kept = folder / f"grammar-{hashlib.sha256(key.encode()).hexdigest()[:32]}.tables"
    if os.path.lexists(kept) and not is_ours(kept, stat.S_ISREG):
        kept.unlink()
    # A file torn by a writer that died, or still being written, does not load: Lark builds anew then.
    return _lark(grammar, build, cache=str(kept))


def _lark(grammar: str, build: Transformer, cache: str | bool = False) -> Any:
    return Lark(
        grammar,
        parser="lalr",
        lexer="contextual",
        start=["file", "expression"],
        transformer=build,
        lexer_callbacks={"NAME": name_or_word},
        cache=cache,
    )


def cache_folder() -> Path | None:
    """`$XDG_CACHE_HOME/plait`, made if need be; None when it cannot be had or is not safe."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = Path(base, "plait")
    if not folder.is_absolute():
        return None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if is_ours(folder, stat.S_ISDIR) and os.access(folder, os.W_OK) else None


def is_ours(path: Path, kind: Any) -> bool:
    """Whether a path is of that kind, no link, ours, and closed to the writes of others."""
    try:
        found = path.lstat()
    except OSError:
        return False
    if not kind(found.st_mode):
        return False
    if not hasattr(os, "getuid"):  # Windows: the user's profile is closed by its own rights
        return True
    return found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
