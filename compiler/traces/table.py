"""A table in CSV: a header whose columns had several names, and rows of texts."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence

from plait.compiler.traces.json_file import MOST_EVENTS
from plait.compiler.traces.trace_error import TraceError

NOTHING = frozenset(("N/A", "", "NA", "nan"))


class Table:
    """Rows as mappings from the names that the columns have here; what has none in the file is missing."""

    def __init__(self, file: str, data: bytes, columns: Mapping[str, Sequence[str]]):
        """Raises TraceError."""
        self.file = file
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise TraceError(f"{file}: is not UTF-8 text (byte {error.start:,})") from None
        self._lines = csv.reader(io.StringIO(text, newline=""))
        self.header = [cell.strip() for cell in self._next() or []]
        self._places = {
            column: self.header.index(name)
            for column, names in columns.items()
            for name in names
            if name in self.header
        }
        known = {name for names in columns.values() for name in names}
        self.unread = [name for name in self.header if name and name not in known]

    def needs(self, *columns: str) -> None:
        """Raises TraceError for columns that are not there."""
        for column in columns:
            if column not in self._places:
                raise TraceError(
                    f"{self.file}: line 1: there should be a column `{column}`, as the profiler writes it"
                )

    def __iter__(self) -> Iterator[dict[str, str]]:
        """Of each row what it has. Raises TraceError."""
        places = tuple(self._places.items())
        count = 0
        while (cells := self._next()) is not None:
            count += 1
            if count > MOST_EVENTS:
                raise TraceError(f"{self.file}: has more than {MOST_EVENTS:,} rows")
            size = len(cells)
            yield {column: cells[at].strip() for column, at in places if at < size}

    def _next(self) -> list[str] | None:
        try:
            return next(self._lines, None)
        except csv.Error as error:
            raise TraceError(f"{self.file}: line {self._lines.line_num:,}: {error}") from None
