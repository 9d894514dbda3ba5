"""Sizes that were seen live, and how often: lines of a size and a count, or a JSON object of both."""

from __future__ import annotations

import json
import re

from plait.compiler.elaboration.declare import MOST_ELEMENTS

MOST_SIZES = 2048
"""Different sizes that are told apart."""
LARGEST = 1 << 20
"""Characters of a histogram."""
LINE = re.compile(r"\s*([0-9]{1,15})(?:\s*[,;:]\s*|\s+)([0-9]{1,15})\s*(?:#.*)?\Z")
EMPTY = re.compile(r"\s*(#.*)?\Z")
HEADER = re.compile(r"\s*size\s*[,; ]\s*count\s*\Z", re.IGNORECASE)
WHOLE = re.compile(r"[0-9]{1,15}\Z")


class HistogramError(Exception):
    """What is wrong, in one line with its place."""


def read_histogram(name: str, text: str) -> dict[int, int]:
    """How often each size was seen, from the smallest. A count of 0: to be held, though never seen."""
    if len(text) > LARGEST:
        raise HistogramError(f"{name}: has more than {LARGEST:,} characters")
    pairs = _object(name, text) if text.lstrip().startswith(("{", "[")) else _lines(name, text)
    counts: dict[int, int] = {}
    for line, size, count in pairs:
        if not 1 <= size <= MOST_ELEMENTS:
            raise HistogramError(f"{name}:{line}: a size is from 1 to 2^48, not {size}")
        counts[size] = counts.get(size, 0) + count
        if len(counts) > MOST_SIZES:
            message = f"more than {MOST_SIZES:,} different sizes; round them up to fewer"
            raise HistogramError(f"{name}:{line}: {message}")
    if not any(counts.values()):
        raise HistogramError(
            f"{name}: no size was seen; write lines of a size and a count, `4 120`"
        )
    return dict(sorted(counts.items()))


def _lines(name: str, text: str) -> list[tuple[int, int, int]]:
    """Each with its number: a size and a count, apart by a blank or a comma."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if EMPTY.match(line) or (not found and HEADER.match(line)):
            continue
        match = LINE.match(line)
        if match is None:
            shown = line.strip()[:40]
            message = f"{shown!r} is not a size and a count, as in `4 120` or `4,120`"
            raise HistogramError(f"{name}:{number}: {message}")
        found.append((number, int(match[1]), int(match[2])))
    return found


def _object(name: str, text: str) -> list[tuple[int, int, int]]:
    """The same of `{"4": 120}`; each size with the line of its first quote."""
    try:
        pairs = json.loads(text, object_pairs_hook=_Pairs, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        raise HistogramError(f"{name}:{error.lineno}: is not JSON ({error.msg})") from None
    except RecursionError:
        raise HistogramError(f"{name}: is nested too deep; write an object, {EXAMPLE}") from None
    if not isinstance(pairs, _Pairs):
        raise HistogramError(f"{name}:1: is a list; write an object of counts by size, {EXAMPLE}")
    found = []
    at = 0
    for size, count in pairs:
        at = max(text.find(json.dumps(size), at), at)
        line = text.count("\n", 0, at) + 1
        good = isinstance(count, str) and WHOLE.match(count) and WHOLE.match(size)
        if not good:
            raise HistogramError(
                f"{name}:{line}: {size[:40]!r} is not a size with a whole count, as in {EXAMPLE}"
            )
        found.append((line, int(size), int(count)))
        at += 1
    return found


EXAMPLE = '`{"4": 120}`'


class _Pairs(list):
    """What stands in an object, in order and with what is said twice."""
