"""`plait doctor`: what of this machine the runtime can use, and why not what it cannot."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import sys
from typing import Any

from plait import __version__
from plait.commands.log import show_log
from plait.exit import FINE, WRONG_ENVIRONMENT

DESCRIPTION = (
    "Say what is here: Python, torch, each device and why not, how graphs are replayed on the CPU and why "
    "not better, the compiler for that, the cache, and the ranks of a launcher. Builds the C++ replayer "
    "if it is not there yet. Exit 3 when a device that is asked for cannot be used."
)
RANKS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", metavar="NAME", help="exit 3 unless this one can be used")
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def run(options: argparse.Namespace) -> int:
    show_log("doctor")
    found = findings(options.device)
    print(json.dumps(found, indent=2) if options.json else "\n".join(_lines(found)))
    if options.device and found["devices"][options.device] is not None:
        return WRONG_ENVIRONMENT
    return FINE


def findings(device: str | None) -> dict[str, Any]:
    """All of it as JSON values. A device that can be used has null, another the reason."""
    torch, missing = _torch()
    return {
        "plait": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "torch": torch,
        "torch_missing": missing,
        "devices": _devices(device, missing),
        "cpu_replay": None if missing else _replay(),
        "compiler": _compiler(),
        "cache": _cache(),
        "ranks": {name: os.environ[name] for name in RANKS if name in os.environ},
    }


def _torch() -> tuple[str | None, str | None]:
    """Its version, or why there is none."""
    try:
        import torch
    except ModuleNotFoundError as error:
        if error.name == "torch":
            return None, "is not installed: pip install 'plait[run]'"
        return None, f"does not load: {error}"
    except (ImportError, OSError, RuntimeError) as error:  # one of its backends, too, loads with it
        return None, f"does not load: {_first_line(error)}"
    return torch.__version__, None


def _devices(asked: str | None, missing: str | None) -> dict[str, str | None]:
    """Of each device, and of one that is asked for, why it cannot be used."""
    from plait.runtime.devices.base import DeviceError
    from plait.runtime.devices.named import NAMES, device

    names = dict.fromkeys((*NAMES, asked) if asked else NAMES)
    if missing:
        return dict.fromkeys(names, f"torch {missing}")
    found: dict[str, str | None] = {}
    for name in names:
        try:
            device(name).close()
        except DeviceError as error:
            found[name] = _first_line(error)
        else:
            found[name] = None
    return found


def _replay() -> dict[str, Any]:
    """The tier in use, and why none that would be better; `asked`: what the environment says."""
    from plait.runtime.devices.base import DeviceError
    from plait.runtime.devices.replayers import KINDS, VARIABLE, here, replayer
    from plait.runtime.devices.tiers import NotHere

    asked = os.environ.get(VARIABLE)
    tried = {} if asked else {kind: here(kind, again=True) for kind in KINDS}
    not_here = {kind: str(one) for kind, one in tried.items() if isinstance(one, NotHere)}
    try:
        kind = replayer().kind
    except DeviceError as error:
        return {"tier": None, "kind": str(error), "asked": asked, "not_here": not_here}
    return {"tier": kind.partition(":")[0], "kind": kind, "asked": asked, "not_here": not_here}


def _compiler() -> dict[str, str | None]:
    from plait.runtime.devices.native_library import compiler

    try:
        return {"command": shlex.join(compiler()), "missing": None}
    except (OSError, ValueError) as error:
        return {"command": None, "missing": _first_line(error)}


def _cache() -> dict[str, str | None]:
    from plait.runtime.devices.native_library import cache_folder

    try:
        return {"folder": str(cache_folder()), "missing": None}
    except OSError as error:
        return {"folder": None, "missing": _first_line(error)}


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _lines(found: dict[str, Any]) -> list[str]:
    replay, compiler, cache, ranks = (
        found[name] for name in ("cpu_replay", "compiler", "cache", "ranks")
    )
    table = [
        ("plait", found["plait"]),
        ("python", f"{found['python']} ({found['executable']})"),
        ("platform", found["platform"]),
        ("torch", found["torch"] or f"none: it {found['torch_missing']}"),
    ]
    for name, why_not in found["devices"].items():
        table.append((f"device {name}", "can be used" if why_not is None else f"no: {why_not}"))
    if replay is not None:
        because = f" (PLAIT_CPU_REPLAY={replay['asked']})" if replay["asked"] else ""
        table.append(("graphs on cpu", replay["kind"] + because))
        table += [("", f"not {kind}: {why}") for kind, why in replay["not_here"].items()]
    table += [
        ("C++ compiler", compiler["command"] or f"none: {compiler['missing']}"),
        ("cache", cache["folder"] or f"none: {cache['missing']}"),
        ("ranks", " ".join(f"{k}={v}" for k, v in ranks.items()) or "one: no launcher's variables"),
    ]
    return [f"{name:<14} {value}" for name, value in table]
