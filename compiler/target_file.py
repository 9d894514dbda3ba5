"""TOML tables to records: every key known, every kind right, or one clear error."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from plait.dsl.record import Record
from plait.dsl.suggest import did_you_mean

LARGEST = 1 << 20
LARGEST_NUMBER = 1 << 32

R = TypeVar("R", bound=Record)


class TargetError(Exception):
    """There is no such target, or its file is wrong."""


def read_toml(path: Path, where: str, digest: Any) -> dict[str, Any]:
    """The values of a file, whose bytes go into the digest. Raises TargetError."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise TargetError(f"{where}: has more than {LARGEST:,} bytes")
        digest.update(len(data).to_bytes(8, "big") + data)
        return tomllib.loads(data.decode())
    except OSError as error:
        raise TargetError(f"{where}: cannot be read ({error.strerror})") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise TargetError(f"{where}: is not TOML ({error})") from None


def checked(
    record: type[Record], values: dict[str, Any], where: str, table: str = "", known: Iterable = ()
) -> None:
    """Raises TargetError for a key that the record has not, or a value of another kind."""
    kinds = record.fields()
    for key, value in values.items():
        name = f"{table}.{key}" if table else key
        if key not in kinds:
            nearest = did_you_mean(key, [*kinds, *known])
            raise TargetError(f"{where}: `{name}` is not read; {nearest}")
        if (wanted := _misses(kinds[key], value)) is not None:
            raise TargetError(f"{where}: `{name}` should be {wanted}, not {_shown(value)}")


def built(record: type[R], values: dict[str, Any], where: str, table: str = "") -> R:
    """The record of values that are checked. Raises TargetError for a key that is missing."""
    found = {}
    needed = record.needed()
    for name, kind in record.fields().items():
        if name in values:
            value = values[name]
            found[name] = tuple(value) if isinstance(value, list) else value
        elif name in needed:
            inside = f" below `[{table}]`" if table else ""
            wanted = _KINDS[kind][1]
            raise TargetError(
                f"{where}: there should be a line `{name} = ...`{inside} with {wanted}"
            )
    return record(**found)


def _misses(kind: str, value: Any) -> str | None:
    """What a value should be, if it is not."""
    wanted, words = _KINDS[kind]
    if wanted is object:
        fits = type(value) in (bool, int, float, str)
    elif wanted is list:
        fits = type(value) is list and all(type(item) is str for item in value)
    else:
        fits = type(value) is wanted
    if wanted is int and type(value) is int and not 0 <= value <= LARGEST_NUMBER:
        return f"from 0 to {LARGEST_NUMBER:,}"
    return None if fits else words


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else "a list of something else"
    text = repr(value) if isinstance(value, str) else str(value).lower()
    return text if len(text) <= 40 else f"{text[:40]}..."


_KINDS: dict[str, tuple[type, str]] = {
    "str": (str, "a text"),
    "bool": (bool, "true or false"),
    "int": (int, "a whole number"),
    "int | None": (int, "a whole number"),
    "tuple[str, ...]": (list, "a list of texts"),
    "Value | None": (object, "a truth, a number or a text"),
}
