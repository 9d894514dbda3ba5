"""The variables and options that a runtime reads, as data: one TOML file a runtime."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plait.compiler.target_file import TargetError, built, checked, read_toml
from plait.dsl.record import Record
from plait.dsl.values import Value

FLAG_KINDS = ("fraction", "text", "truth", "whole")
OPTION_KINDS = ("text", "truth", "whole", "wholes")


class Flag(Record):
    name: str
    kind: str
    """`truth`, `whole`, `fraction` or `text`."""
    read_by: tuple[str, ...]
    """The places that read it, for people."""
    default: Value | None = None
    """What its reader takes where it is not set. None: that depends."""
    devices: tuple[str, ...] = ()
    """Where it is read; empty: everywhere."""
    renamed_from: tuple[str, ...] = ()
    """Names that documents and recipes give it, and that nothing reads."""
    since: str = ""
    note: str = ""
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] = ()
    """Of a text: those that its reader knows; empty: any."""

    def takes(self, value: Value) -> bool:
        """Whether its reader does something with a value, as far as the registry says."""
        if self.choices:
            return value in self.choices
        if isinstance(value, bool) or not isinstance(value, int):
            return True
        return (self.least is None or value >= self.least) and (
            self.most is None or value <= self.most
        )

    @property
    def taken(self) -> str:
        """What its reader takes, in words."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        bounds = [("at least", self.least), ("at most", self.most)]
        return " and ".join(f"{word} {bound}" for word, bound in bounds if bound is not None)


class Option(Record):
    """An option of the server's command line, and the params and dims of a spec that it is the value of."""

    names: tuple[str, ...]
    kind: str
    """`text`, `truth`, `whole`, or `wholes` (a list)."""
    params: tuple[str, ...] = ()
    dims: tuple[str, ...] = ()
    largest: bool = False
    """Whether it is the largest of a list, not the list."""


class Heading(Record):
    name: str
    version: str = ""
    prefixes: tuple[str, ...] = ()
    """Beginnings of names that are the runtime's alone: it reads no other name that begins so."""
    old_prefix: str = ""
    """A beginning that the runtime takes for the first of `prefixes`."""
    also_read: str = ""
    """Names that it reads and that decide nothing about a schedule, between blanks."""


class Registry(Record):
    name: str
    version: str
    prefixes: tuple[str, ...]
    old_prefix: str
    flags: Mapping[str, Flag]
    also_read: frozenset[str]
    options: tuple[Option, ...]

    @property
    def title(self) -> str:
        return f"{self.name} {self.version}".strip()

    def claims(self, name: str) -> bool:
        """Whether the name can only be this runtime's."""
        return self.own_name(name).startswith(self.prefixes)

    def prefix(self, name: str) -> str:
        """What of the name says that it is this runtime's."""
        return next((one for one in self.prefixes if name.startswith(one)), "")

    def own_name(self, name: str) -> str:
        """The name that the runtime takes it for."""
        if self.old_prefix and name.startswith(self.old_prefix):
            return self.prefixes[0] + name.removeprefix(self.old_prefix)
        return name

    def flag(self, name: str, device: str) -> Flag | None:
        """What is known of a variable that is read on a device."""
        flag = self.flags.get(self.own_name(name))
        return flag if flag and (not flag.devices or device in flag.devices) else None

    def reads(self, name: str, device: str) -> bool:
        return self.flag(name, device) is not None or self.own_name(name) in self.also_read

    def names(self, device: str) -> list[str]:
        """Every name read on a device."""
        return [name for name in self.flags if self.flag(name, device)] + sorted(self.also_read)


def read_registry(path: Path, where: str, digest: Any) -> Registry:
    """The registry in a file. Raises TargetError."""
    values = read_toml(path, where, digest)
    flags, options = values.pop("flags", []), values.pop("options", [])
    checked(Heading, values, where, known=("flags", "options"))
    heading = built(Heading, values, where)
    if heading.old_prefix and not heading.prefixes:
        raise TargetError(
            f"{where}: `old_prefix` stands for the first of `prefixes`; there is none"
        )
    for key, entries in (("flags", flags), ("options", options)):
        if not isinstance(entries, list):
            raise TargetError(f"{where}: write each entry below `[[{key}]]`")
    return Registry(
        heading.name,
        heading.version,
        heading.prefixes,
        heading.old_prefix,
        _flags((where, flag) for flag in flags),
        frozenset(heading.also_read.split()),
        tuple(_entry(Option, option, where, "options", OPTION_KINDS) for option in options),
    )


def own_flags(name: str, flags: list[tuple[str, Any]]) -> Registry:
    """The registry of a target's own `[[flags]]`, each with the file it stands in. Raises TargetError."""
    return Registry(name, "", (), "", _flags(flags), frozenset(), ())


def _flags(entries: Any) -> dict[str, Flag]:
    flags = (_entry(Flag, flag, where, "flags", FLAG_KINDS) for where, flag in entries)
    return {flag.name: flag for flag in flags}


def _entry(record: Any, values: Any, where: str, table: str, kinds: tuple[str, ...]) -> Any:
    if not isinstance(values, dict):
        raise TargetError(f"{where}: write each entry below `[[{table}]]`")
    checked(record, values, where, table)
    entry = built(record, values, where, table)
    if entry.kind not in kinds:
        raise TargetError(
            f"{where}: `{table}.kind` is one of {', '.join(kinds)}, not {entry.kind!r}"
        )
    return entry
