"""What a device can do, as data: one TOML file a target, in `targets/` or the user's own."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path

from plait.dsl.record import Record
from plait.dsl.suggest import did_you_mean

FOLDER = Path(__file__).with_name("targets")
LARGEST = 1 << 20


class TargetError(Exception):
    """There is no such target, or its file is wrong."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Target(Record):
    name: str
    title: str
    streams: int
    """Most device streams of a schedule."""
    sha256: str
    """Of the file."""


def known_targets() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_target(name: str) -> Target:
    """A target by its name, or by the path of a `.toml` file. Raises TargetError."""
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    if not name.endswith(".toml") and name not in known_targets():
        raise TargetError(f"there is no target `{name}`: {did_you_mean(name, known_targets())}")
    try:
        data = path.read_bytes()
        values = tomllib.loads(data.decode() if len(data) <= LARGEST else "")
    except OSError as error:
        raise TargetError(f"{name}: cannot be read ({error.strerror})") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise TargetError(f"{name}: is not TOML ({error})") from None
    kinds = {"name": str, "title": str, "streams": int}
    for key, kind in kinds.items():
        if type(values.get(key)) is not kind:
            what = {str: "a text", int: "a whole number"}[kind]
            raise TargetError(f"{name}: there should be a line `{key} = ...` with {what}")
    if unknown := sorted(set(values) - set(kinds)):
        raise TargetError(f"{name}: `{unknown[0]}` is not read; {did_you_mean(unknown[0], kinds)}")
    return Target(**values, sha256=hashlib.sha256(data).hexdigest())
