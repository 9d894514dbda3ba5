"""A cost profile read from TOML: every key known, every time with its unit, or one clear error."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from plait.compiler.target_file import TargetError, checked, read_toml
from plait.compiler.timing.costs import Cost, HostCosts, Law, Link, Profile, StreamCosts
from plait.compiler.timing.sharing import WHOLE
from plait.dsl.record import Record
from plait.dsl.suggest import did_you_mean
from plait.dsl.values import UNITS, Value
from plait.dsl.words import COLLECTIVES, STREAM_KINDS

MOST_PHASES = 100_000
MOST_POINTS = 4096
LONGEST = 3600 * 10**9
"""Nanoseconds that anything may take."""


class _File(Record):
    name: str
    target: str
    resources: tuple[str, ...] = ()


class _Phase(Record):
    fixed: Value | None = "0ns"
    row: Value | None = "0ns"
    host: Value | None = "0ns"


class _Line(Record):
    fixed: Value | None = "0ns"
    row: Value | None = "0ns"


TABLES = ("host", "stream", "phases", "collectives", "classes")
KINDS = {
    "collectives": (COLLECTIVES, "kind of collective"),
    "classes": (STREAM_KINDS, "class of streams"),
}
PHASE_TABLES = ("rows", "uses", "link", "eager")
LINK_TABLES = ("rows", "uses")
LAW_TABLES = ("rows",)


def load_profile(path: Path) -> Profile:
    """Raises TargetError: where, what is wrong, and what should stand there."""
    where = str(path)
    values = read_toml(path, where, hashlib.sha256())
    tables = {name: _table(values.pop(name, {}), where, name) for name in TABLES}
    checked(_File, values, where, known=TABLES)
    for key, kind in (("name", "a text"), ("target", "a text")):
        if key not in values:
            raise TargetError(f"{where}: there should be a line `{key} = ...` with {kind}")
    resources = tuple(values.get("resources", ()))
    if len(tables["phases"]) > MOST_PHASES:
        raise TargetError(f"{where}: has costs of more than {MOST_PHASES:,} phases")
    for table, (kinds, kind) in KINDS.items():
        for key in tables[table]:
            if key not in kinds:
                nearest = did_you_mean(key, kinds)
                raise TargetError(f"{where}: `{table}.{key}` is no {kind}; {nearest}")
    phases, collectives, classes = (
        tuple(
            (name, _cost(_table(table, where, f"{of}.{name}"), resources, where, f"{of}.{name}"))
            for name, table in tables[of].items()
        )
        for of in ("phases", "collectives", "classes")
    )
    return Profile(
        values["name"],
        values["target"],
        resources,
        _times(HostCosts, tables["host"], where, "host"),
        _times(StreamCosts, tables["stream"], where, "stream"),
        phases,
        collectives,
        classes,
    )


def _table(value: Any, where: str, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TargetError(f"{where}: `{name}` should be a table")
    return dict(value)


def _times(record: Any, values: dict[str, Any], where: str, table: str) -> Any:
    """A record of times, whose fields are nanoseconds."""
    known = record.fields()
    for key in values:
        if key not in known:
            raise TargetError(f"{where}: `{table}.{key}` is not read; {did_you_mean(key, known)}")
    return record(**{key: time_of(value, where, f"{table}.{key}") for key, value in values.items()})


def _cost(values: dict[str, Any], resources: tuple[str, ...], where: str, table: str) -> Cost:
    tables = {name: _table(values.pop(name, {}), where, f"{table}.{name}") for name in PHASE_TABLES}
    checked(_Phase, values, where, table, known=PHASE_TABLES)
    host = time_of(values.pop("host", "0ns"), where, f"{table}.host")
    law = _law(values, tables["rows"], where, table)
    uses = _uses(tables["uses"], resources, where, f"{table}.uses")
    link = _link(tables["link"], resources, where, f"{table}.link") if tables["link"] else None
    eager = _eager(tables["eager"], where, f"{table}.eager") if tables["eager"] else None
    return Cost(law, uses, link, host, eager)


def _eager(values: dict[str, Any], where: str, table: str) -> Law:
    points = _table(values.pop("rows", {}), where, f"{table}.rows")
    checked(_Line, values, where, table, known=LAW_TABLES)
    return _law(values, points, where, table)


def _link(values: dict[str, Any], resources: tuple[str, ...], where: str, table: str) -> Link:
    tables = {name: _table(values.pop(name, {}), where, f"{table}.{name}") for name in LINK_TABLES}
    checked(_Line, values, where, table, known=LINK_TABLES)
    law = _law(values, tables["rows"], where, table)
    return Link(law, _uses(tables["uses"], resources, where, f"{table}.uses"))


def _law(values: dict[str, Any], rows: dict[str, Any], where: str, table: str) -> Law:
    """Of a table of points, or else of a line."""
    points = _points(rows, where, f"{table}.rows")
    if points and values:
        raise TargetError(
            f"{where}: `{table}` has both points and a line: keep `rows`, or `fixed` and `row`"
        )
    if points:
        return Law(points=points)
    fixed = time_of(values.get("fixed", "0ns"), where, f"{table}.fixed")
    return Law(fixed, _picoseconds(values.get("row", "0ns"), where, f"{table}.row"))


def _points(values: dict[str, Any], where: str, table: str) -> tuple[tuple[int, int], ...]:
    if len(values) > MOST_POINTS:
        raise TargetError(f"{where}: `{table}` has more than {MOST_POINTS:,} points")
    found = []
    for key, value in values.items():
        if not re.fullmatch(r"[0-9]{1,9}", key):
            raise TargetError(
                f"{where}: `{table}` maps rows to times, and `{key}` is no count of rows"
            )
        found.append((int(key), time_of(value, where, f"{table}.{key}")))
    if len({rows for rows, _ in found}) < len(found):
        raise TargetError(f"{where}: `{table}` has two times for one count of rows")
    return tuple(sorted(found))


def _uses(
    values: dict[str, Any], resources: tuple[str, ...], where: str, table: str
) -> tuple[tuple[int, int], ...]:
    found = []
    for key, value in values.items():
        if key not in resources:
            known = did_you_mean(key, resources) if resources else "`resources` names none"
            raise TargetError(f"{where}: `{table}.{key}` is no resource; {known}")
        if type(value) not in (int, float) or not 0 < value <= 1:
            raise TargetError(f"{where}: `{table}.{key}` should be a share above 0 and up to 1")
        found.append((resources.index(key), max(round(value * WHOLE), 1)))
    return tuple(sorted(found))


def time_of(value: Any, where: str, name: str) -> int:
    return _picoseconds(value, where, name) // 1000


def _picoseconds(value: Any, where: str, name: str) -> int:
    """Of a text like `1.5us`: decimals are exact down to a picosecond."""
    units = {unit: each for unit, (counts, each) in UNITS.items() if counts == "ns"}
    text = value if isinstance(value, str) else ""
    match = re.fullmatch(r"([0-9]{1,9})(?:\.([0-9]{1,9}))? ?([a-z]+)", text)
    if match is None or match[3] not in units:
        wanted = " or ".join(f"1.5{unit}" for unit in units)
        raise TargetError(f"{where}: `{name}` should be a time such as {wanted}, not {value!r:.40}")
    whole, part, unit = match.groups()
    found = (int(whole) * 10**9 + int((part or "").ljust(9, "0"))) * units[unit] * 1000 // 10**9
    if found > LONGEST * 1000:
        raise TargetError(f"{where}: `{name}` is longer than an hour")
    return found
