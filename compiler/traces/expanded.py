"""The bytes of a file, expanded, and never more of them than are allowed."""

from __future__ import annotations

import gc
import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from plait.compiler.traces.trace_error import TraceError

MOST_BYTES = 1 << 30
"""Of a file, expanded, if nothing else is asked for; reading takes about five times that of memory."""
PIECE = 1 << 20
GZIP = b"\x1f\x8b"
SQLITE = b"SQLite format 3\x00"


def is_database(path: str) -> bool:
    """Whether a file begins as one; of a pipe nothing may be read twice. Raises OSError."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(SQLITE)) == SQLITE


def expanded(path: str, most: int) -> bytes:
    """Raises TraceError, OSError."""
    pieces, size = [], 0
    with open(path, "rb") as packed:
        gzipped = packed.peek(len(GZIP)).startswith(GZIP)
        file = gzip.GzipFile(fileobj=packed) if gzipped else packed
        while True:
            try:
                piece = file.read(min(PIECE, most + 1 - size))
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise TraceError(
                    f"{path}: its gzip ends or breaks behind {size:,} expanded bytes ({error}); "
                    "copy or record it again"
                ) from None
            if not piece:
                return b"".join(pieces)
            pieces.append(piece)
            size += len(piece)
            if size > most:
                raise TraceError(
                    f"{path}: {'expands to' if gzipped else 'has'} more than {most:,} bytes; "
                    "--most-bytes N reads more, and takes about five times that of memory"
                )


@contextmanager
def keeping_all() -> Iterator[None]:
    """Around making very many objects that all stay: looking for those that do not would take longest."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
