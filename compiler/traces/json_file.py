"""A trace in JSON: decimals kept as text, and one clear error for what is cut off or no JSON."""

from __future__ import annotations

import json
from typing import Any

from plait.compiler.traces.trace_error import TraceError

MOST_EVENTS = 10_000_000
ARROWS = frozenset("sft")
MARKS = frozenset("MiICRbeBEn")
"""Phases of events that take no time, or none on a stream."""


def json_of(path: str, data: bytes) -> Any:
    """Numbers with decimals stay the texts they are. Raises TraceError."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TraceError(f"{path}: is not UTF-8 text (byte {error.start:,})") from None
    try:
        return json.loads(text, parse_float=str, parse_constant=str)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno:,} column {error.colno:,}"
        if error.pos >= len(text.rstrip()) - 1 or error.msg.startswith("Unterminated"):
            raise TraceError(
                f"{path}: is cut off in {where}, after {len(text):,} characters, as when the profiler "
                "was stopped before it had written all; let it end and record again"
            ) from None
        raise TraceError(
            f"{path}: {where}: is no JSON there ({error.msg}); a trace is what a profiler exported, "
            "unchanged"
        ) from None
    except RecursionError:
        raise TraceError(f"{path}: has lists in lists too deep for any trace") from None
    except ValueError:
        raise TraceError(f"{path}: has a number with thousands of digits; no trace has") from None


def events_of(path: str, data: Any) -> list[Any]:
    """The events of a trace, whose top level is an object or, as Ascend's, a list. Raises TraceError."""
    events = data.get("traceEvents") if isinstance(data, dict) else data
    if not isinstance(events, list):
        raise TraceError(
            f"{path}: has no events: expected is a list of them, or an object with `traceEvents`"
        )
    if len(events) > MOST_EVENTS:
        raise TraceError(f"{path}: has more than {MOST_EVENTS:,} events; record fewer steps")
    return events
