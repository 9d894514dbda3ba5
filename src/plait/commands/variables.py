"""Variables of the environment that decide something, and by whom each is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OWN = {
    "PLAIT_CHECK": "Plait, at bind",
    "PLAIT_CPU_REPLAY": "Plait, for graphs on the CPU",
    "PLAIT_MARKS": "Plait, at bind",
    "PLAIT_TOKEN": "plait serve",
    "PLAIT_WATCHDOG_S": "Plait, between ranks",
    "CXX": "Plait, to build the C++ replayer",
    "OMP_NUM_THREADS": "torch",
}
SECRET = ("TOKEN", "KEY", "SECRET", "PASSWORD")
"""What names have whose values are not for reports."""


def variables(environment: Mapping[str, str]) -> list[dict[str, Any]]:
    """Those that are set and that Plait or a runtime it knows reads, or that begin as theirs do, by name."""
    found = (_known(name, value) for name, value in sorted(environment.items()))
    return [one for one in found if one is not None]


def _known(name: str, value: str) -> dict[str, Any] | None:
    shown = "(set)" if any(word in name for word in SECRET) else value
    entry = {"name": name, "value": shown, "read_by": [], "problem": None}
    if name in OWN:
        return entry | {"read_by": [OWN[name]]}
    if name.startswith("PLAIT_"):
        return entry | {
            "problem": _unread("Plait", name, [one for one in OWN if one[:5] == "PLAIT"])
        }
    return _of_a_runtime(entry, name, value)


def _of_a_runtime(entry: dict[str, Any], name: str, value: str) -> dict[str, Any] | None:
    from plait.compiler.target import shipped_registries

    for registry in shipped_registries():
        own = registry.own_name(name)
        if (flag := registry.flags.get(own)) is not None:
            on = f" on {', '.join(flag.devices)}" if flag.devices else ""
            readers = [f"{reader}{on}" for reader in flag.read_by]
            held = _held(flag.kind, value)
            if held is None:
                return entry | {"read_by": readers, "problem": "is no whole number: correct it"}
            problem = None if flag.takes(held) else f"its reader takes {flag.taken}"
            return entry | {"read_by": readers, "problem": problem}
        if own in registry.also_read:
            return entry | {"read_by": [registry.title]}
        renamed = [flag.name for flag in registry.flags.values() if name in flag.renamed_from]
        if renamed:
            return entry | {"problem": f"nothing reads it: {registry.title} reads {renamed[0]}"}
        if registry.claims(name):
            known = [*registry.flags, *registry.also_read]
            return entry | {"problem": _unread(registry.title, own, known)}
    return None


def _held(kind: str, value: str) -> str | int | None:
    if kind != "whole":
        return value
    try:
        return int(value)
    except ValueError:
        return None


def _unread(reader: str, name: str, known: list[str]) -> str:
    from plait.dsl.suggest import nearest

    close = nearest(name, known, 0.8)
    return f"{reader} does not read it: " + (f"did you mean {close}?" if close else "unset it")
