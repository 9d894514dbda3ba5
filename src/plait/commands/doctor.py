"""`plait doctor`: what of this machine the runtime can use, and why not what it cannot."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import sys
from collections.abc import Iterator
from typing import Any

from plait import __version__
from plait.commands.backends import AUTOLOAD, backends
from plait.commands.drivers import drivers
from plait.commands.extras import extras
from plait.commands.log import show_log
from plait.commands.variables import variables
from plait.exit import FINE, WRONG_ENVIRONMENT, Refused

DESCRIPTION = (
    "Say what is here, and what to do about what is not: Python, torch and the backends it loads, the "
    "packages of each extra, each device and why not, its driver and its streams, how graphs are replayed "
    "on the CPU and why not better, the compiler for that, the cache, the variables that decide something "
    "and who reads them, and the ranks of a launcher. Builds the C++ replayer if it is not there yet. Exit 3 "
    "when a device that is asked for cannot be used."
)
EXAMPLE = "for example: `plait doctor --device npu`"
RANKS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", metavar="NAME", help="exit 3 unless this one can be used")
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def run(options: argparse.Namespace) -> int:
    show_log("doctor")
    found = findings(options.device)
    print(json.dumps(found, indent=2) if options.json else "\n".join(_lines(found)))
    if options.device and (why_not := found["devices"][options.device]) is not None:
        raise Refused(why_not, WRONG_ENVIRONMENT)
    return FINE


def findings(device: str | None) -> dict[str, Any]:
    """All of it as JSON values. A device that can be used has null, another the reason."""
    torch, missing = _torch()
    return {
        "plait": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "cores": len(os.sched_getaffinity(0)),
        "torch": torch,
        "torch_missing": missing,
        "backends": {} if missing else backends(),
        "extras": extras(),
        "devices": (devices := _devices(device, missing)),
        "streams": {name: _streams(name) for name, why_not in devices.items() if why_not is None},
        "drivers": drivers(),
        "cpu_replay": None if missing else _replay(),
        "compiler": _compiler(),
        "cache": _cache(),
        "variables": variables(os.environ),
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


def _streams(device: str) -> dict[str, Any]:
    """How many a schedule may have on a device that is here; null: as many as it likes."""
    kind = device.partition(":")[0]
    if kind not in ("npu", "cuda"):
        return {"most": None}
    import torch

    from plait.runtime.devices.accelerator.kinds import KINDS

    most = KINDS[kind].abilities.streams
    return {"most": most, "devices": torch.get_device_module(kind).device_count()}


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
    from plait.dsl.render.printable import printable

    table = [
        ("plait", found["plait"]),
        ("python", f"{found['python']} ({found['executable']})"),
        ("platform", f"{found['platform']}, {found['cores']} of its cores"),
        ("torch", found["torch"] or f"none: it {found['torch_missing']}"),
        *_of_backends(found["backends"]),
        *_of_extras(found["extras"]),
        *_of_devices(found),
        *_of_drivers(found["drivers"]),
        *_of_replay(found["cpu_replay"]),
        ("C++ compiler", _or_none(found["compiler"], "command")),
        ("cache", _or_none(found["cache"], "folder")),
        *_of_variables(found["variables"]),
        ("ranks", _pairs(found["ranks"]) or "one: no launcher's variables"),
    ]
    return [printable(f"{name:<14} {value}") for name, value in table]


Lines = Iterator[tuple[str, str]]


def _of_backends(found: dict[str, Any]) -> Lines:
    for name, backend in found.items():
        package, why_not = backend["package"] or name, backend["why_not"]
        if why_not is None:
            yield "torch loads", package
            continue
        yield "torch loads", f"{package}, which does not load: {why_not}"
        yield (
            "",
            f"`import torch` fails for it unless {AUTOLOAD}=0: export that (plait's commands do so)",
        )


def _of_extras(found: dict[str, Any]) -> Lines:
    for extra, entry in found.items():
        here = ", ".join(f"{name} {one}" for name, one in entry["versions"].items() if one)
        yield f"plait[{extra}]", f"no: {entry['missing']}" if entry["missing"] else here


def _of_devices(found: dict[str, Any]) -> Lines:
    for name, why_not in found["devices"].items():
        said = f"no: {why_not}"
        if why_not is None:
            streams = found["streams"][name]
            said = "can be used"
            if streams["most"] is not None:
                said += f"; {streams['devices']} here, {streams['most']} streams a schedule"
            elif name == "cpu":
                said += "; a thread for every stream"
        yield f"device {name}", said


def _of_drivers(found: dict[str, Any]) -> Lines:
    for kind, driver in found.items():
        libraries = [
            name if why_not is None else f"{name} {why_not}"
            for name, why_not in driver["libraries"].items()
        ]
        files = f"devices in /dev: {driver['device_files']}"
        yield f"driver of {kind}", "; ".join([*libraries, files, *_set(driver["variables"])])
        if driver["mend"]:
            yield "", f"to use one: {driver['mend']}"


def _of_replay(found: dict[str, Any] | None) -> Lines:
    if found is not None:
        because = f" (PLAIT_CPU_REPLAY={found['asked']})" if found["asked"] else ""
        yield "graphs on cpu", found["kind"] + because
        for kind, why in found["not_here"].items():
            yield "", f"not {kind}: {why}"


def _of_variables(found: list[dict[str, Any]]) -> Lines:
    if not found:
        yield "variables", "none is set that Plait or a runtime it knows reads"
    for number, one in enumerate(found):
        readers = f", read by {', '.join(one['read_by'])}" if one["read_by"] else ""
        problem = f"; {one['problem']}" if one["problem"] else ""
        yield "" if number else "variables", f"{one['name']}={one['value']}{readers}{problem}"


def _or_none(found: dict[str, str | None], what: str) -> str:
    return found[what] or f"none: {found['missing']}"


def _set(variables: dict[str, str]) -> list[str]:
    return [_pairs(variables)] if variables else []


def _pairs(variables: dict[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in variables.items())
