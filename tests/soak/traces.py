"""Damaged traces of every profiler, as JSON: `python -m soak.traces --seed TEXT --count N`."""

from __future__ import annotations

import json
import random
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from drawing.profiles import ASCEND, KINETO, NEW_KERNELS, OWN, TASK_TIME, ascend_db, nsight
from plait.compiler.traces.data import as_data
from plait.compiler.traces.read import read_trace
from plait.compiler.traces.shown import text
from plait.compiler.traces.summary import summary
from plait.compiler.traces.trace_error import TraceError
from soak.apart import main

MOST_BYTES = 1 << 24
ODD = (None, True, [], {}, -1, 2**70, 0.5, "", "X", "1e999", "-0.0005", "\ud800", [[1]], {"a": []})
"""What may stand where something else does."""


def files(folder: Path) -> list[bytes]:
    texts = [one.encode() for one in (KINETO, ASCEND, OWN, NEW_KERNELS, TASK_TIME)]
    return texts + [make(folder / make.__name__).read_bytes() for make in (ascend_db, nsight)]


def damaged(chance: random.Random, whole: list[bytes]) -> Iterator[bytes]:
    """Without end: bytes cut off, changed, taken out and put in; or fields of events that are odd."""
    while True:
        file = bytearray(chance.choice(whole))
        if file[:1] in (b"{", b"[") and chance.random() < 0.5:
            yield _with_odd_fields(chance, json.loads(file))
            continue
        if chance.random() < 0.3:
            del file[chance.randrange(len(file)) :]
        for _ in range(chance.randrange(1, 5)):
            at = chance.randrange(len(file) + 1)
            file[at : at + chance.randrange(9)] = chance.randbytes(chance.randrange(9))
        yield bytes(file)


def _with_odd_fields(chance: random.Random, found: Any) -> bytes:
    events = found if isinstance(found, list) else found["traceEvents"]
    for _ in range(chance.randrange(1, 5)):
        event = chance.choice(events)
        inner = event.get("args")
        place = inner if inner and isinstance(inner, dict) and chance.random() < 0.5 else event
        place[chance.choice(sorted(place))] = chance.choice(ODD)
    return json.dumps(found).encode()


def traces(seed: str, count: int) -> dict:
    """How many were read, how many refused with the one error, and what else was raised."""
    chance = random.Random(seed)
    found = {"tried": count, "read": 0, "refused": 0, "slowest": 0.0}
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "file"
        inputs = damaged(chance, files(Path(name)))
        for _ in range(count):
            path.write_bytes(next(inputs))
            start = time.process_time()
            try:
                read = summary(read_trace(str(path), MOST_BYTES))
                assert text(read) and json.dumps(as_data(read))
                found["read"] += 1
            except TraceError:
                found["refused"] += 1
            except Exception:
                failures.append(traceback.format_exc(limit=-4))
            found["slowest"] = max(found["slowest"], time.process_time() - start)
    return {**found, "failures": failures}


if __name__ == "__main__":
    main("soak.traces", __doc__, traces, "count", 100_000)
