"""A database of a profiler, opened so that it cannot be changed, and read table by table."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from plait.compiler.traces.json_file import MOST_EVENTS
from plait.compiler.traces.trace_error import TraceError
from plait.dsl.render.printable import printable

MOST_STEPS = 2_000_000_000
"""Instructions of SQLite's machine that one table may take."""
EVERY = 1_000_000


class Database:
    """Only its tables are read, not its views: a view may be any query."""

    def __init__(self, file: str, most: int):
        """Raises TraceError, OSError."""
        self.file = file
        size = os.stat(file).st_size
        if size > most:
            raise TraceError(
                f"{file}: has {size:,} bytes, more than {most:,}; --most-bytes N reads more"
            )
        place = f"file:{quote(os.path.abspath(file))}?mode=ro&immutable=1"
        try:
            self._connection = sqlite3.connect(place, uri=True)
            self._connection.text_factory = lambda data: data.decode("utf-8", "replace")
            self._connection.execute("PRAGMA trusted_schema = OFF")
            self._connection.execute("PRAGMA query_only = ON")
            self.tables = {
                str(name): [
                    str(row[1])
                    for row in self._connection.execute(f"PRAGMA table_info({_quoted(name)})")
                ]
                for (name,) in self._connection.execute(
                    "SELECT name FROM sqlite_master WHERE type = 'table' LIMIT 10000"
                ).fetchall()
            }
        except (sqlite3.Error, UnicodeError) as error:  # its message may be no text
            raise TraceError(self._broken(error)) from None

    def close(self) -> None:
        self._connection.close()

    def rows(self, table: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Of a table these columns, None for those that it has not; nothing of a table that is not there.

        Raises TraceError.
        """
        there = self.tables.get(table, [])
        wanted = [_quoted(column) if column in there else "NULL" for column in columns]
        if not there:
            return
        steps = 0

        def counted() -> int:
            nonlocal steps
            steps += EVERY
            return steps > MOST_STEPS

        self._connection.set_progress_handler(counted, EVERY)
        try:
            found = self._connection.execute(f"SELECT {', '.join(wanted)} FROM {_quoted(table)}")
            for count, row in enumerate(found):
                if count >= MOST_EVENTS:
                    raise TraceError(f"{self.file}: {table} has more than {MOST_EVENTS:,} rows")
                yield row
        except (sqlite3.Error, UnicodeError) as error:
            raise TraceError(self._broken(error)) from None

    def _broken(self, error: Exception) -> str:
        return f"{self.file}: its database does not read ({printable(str(error))}); export it again"


def _quoted(name: str) -> str:
    return '"' + str(name).replace('"', '""') + '"'
