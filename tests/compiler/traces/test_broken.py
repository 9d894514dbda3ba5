"""Files that are no traces, broken ones and ones that are too large: one clear error each."""

from __future__ import annotations

import gzip
import sqlite3
from pathlib import Path

import pytest

from drawing.profiles import KINETO, TASK_TIME, nsight
from plait.compiler.traces.read import read_trace
from plait.compiler.traces.trace_error import TraceError


def refused(path: Path, content: bytes | str, most: int = 1 << 20) -> str:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(TraceError) as error:
        read_trace(str(path), most)
    return str(error.value).replace(str(path), "FILE")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file"


def test_a_trace_that_was_cut_off_says_where(file: Path) -> None:
    """As a profiler leaves it that was stopped while it wrote."""
    text = '{"traceEvents": [\n{"ph": "X", "name": "k'
    assert refused(file, text) == (
        "FILE: is cut off in line 2 column 21, after 40 characters, as when the profiler was stopped before "
        "it had written all; let it end and record again"
    )
    for end in (len(KINETO) // 2, len(KINETO) - 1):
        assert "is cut off in line 1 column" in refused(file, KINETO[:end])


def test_what_is_no_json_says_where(file: Path) -> None:
    """Its place, and what a trace is."""
    assert refused(file, '{"traceEvents": [}]}') == (
        "FILE: line 1 column 18: is no JSON there (Expecting value); a trace is what a profiler exported, "
        "unchanged"
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            '{"rounds": []}',
            "FILE: has no events: expected is a list of them, or an object with `traceEvents`",
        ),
        ("[" * 100_000, "FILE: has lists in lists too deep for any trace"),
        (f"[{'9' * 5000}]", "FILE: has a number with thousands of digits; no trace has"),
        (b'["\xff"]', "FILE: is not UTF-8 text (byte 2)"),
        ("[]", "FILE: nothing in it took time on a stream or a thread (Kineto)"),
        (
            '[{"file": "x"}]',
            "FILE: nothing in it took time on a stream or a thread (Kineto); not understood: events without "
            "the fields of one",
        ),
        (
            "",
            "FILE: line 1: is neither JSON nor a database, and no table with a column `Start Time(us)` or "
            "`task_start(us)`: of a profiler of which Plait reads traces, see docs/traces.md",
        ),
        (
            "Step,Computing,Free\n1,2,3\n",
            "FILE: line 1: is a table of totals, which says of nothing when it ran; give the "
            "trace_view.json, kernel_details.csv or task_time_*.csv beside it",
        ),
        (
            "kernel_name,task_start(us)\n",
            "FILE: line 1: there should be a column `task_time(us)`, as the profiler writes it",
        ),
        (
            TASK_TIME + '"' + "x" * 200_000,
            "FILE: line 6: field larger than field limit (131072)",
        ),
    ],
)
def test_what_is_no_trace(file: Path, content: bytes | str, said: str) -> None:
    """Each says what is wrong with it and what was expected."""
    assert refused(file, content) == said


def test_no_more_is_expanded_than_is_allowed(file: Path) -> None:
    """A little gzip that would fill the memory is read no further than asked, and --most-bytes is named."""
    bomb = gzip.compress(b"[" + b" " * (1 << 24) + b"]")
    assert len(bomb) < 1 << 15
    assert refused(file, bomb) == (
        "FILE: expands to more than 1,048,576 bytes; --most-bytes N reads more, and takes about five times "
        "that of memory"
    )
    assert "has more than 10 bytes" in refused(file, KINETO, most=10)
    nsight(file.with_suffix(".db"))
    assert "more than 10; --most-bytes N" in refused(
        file, file.with_suffix(".db").read_bytes(), most=10
    )


def test_broken_gzip_and_databases(file: Path, tmp_path: Path) -> None:
    """What ends early, what is of another program, and a database within gzip."""
    assert "FILE: its gzip ends or breaks behind " in refused(
        file, gzip.compress(KINETO.encode())[:-9]
    )
    data = nsight(tmp_path / "db").read_bytes()
    assert "FILE: its database does not read (" in refused(file, data[:5000])
    assert refused(file, gzip.compress(data)) == (
        "FILE: is a database in gzip; expand it first: gunzip -k FILE"
    )
    other = sqlite3.connect(tmp_path / "other")
    other.executescript("CREATE TABLE notes(text)")
    other.close()
    assert "is a database with neither Ascend's table TASK nor Nsight's " in refused(
        file, (tmp_path / "other").read_bytes()
    )


def test_a_table_that_is_an_endless_query_is_not_read(file: Path) -> None:
    """A view of the name of a table that is read is none."""
    made = sqlite3.connect(file)
    made.executescript(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, end, globalTid, correlationId, nameId);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 3, 4, 5);"
        "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT"
        " start FROM n) SELECT * FROM n;"
    )
    made.close()
    assert len(read_trace(str(file)).slices) == 1


def test_a_folder_is_none(tmp_path: Path) -> None:
    """It says what is read."""
    with pytest.raises(
        TraceError, match=r"is a folder; name the trace in it; read are: Plait's own"
    ):
        read_trace(str(tmp_path))
