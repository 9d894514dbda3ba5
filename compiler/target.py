"""What a device and its runtimes can do, as data: one TOML file a target, in `targets/` or the user's own.

A file may build on another (`extends`) and names the runtimes whose variables it knows (`runtimes`, each
a file of `targets/flags/` or the user's own). `docs/targets.md` has every key.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plait.compiler.target_file import TargetError, built, checked, read_toml
from plait.dsl.record import Record
from plait.dsl.suggest import did_you_mean

if TYPE_CHECKING:
    from plait.compiler.registry import Registry

__all__ = ["Target", "TargetError", "known_targets", "load_target", "shipped_registries"]

FOLDER = Path(__file__).with_name("targets")
MOST_FILES = 16
"""Files that one target may lead to."""


class Streams(Record):
    pool: int
    """Streams that are distinct: one more than this is the first again."""
    budget: int | None = None
    """Streams that the device has, for all graphs and processes together. None: no limit is known."""
    quota: int | None = None
    """Streams that this process may have, where the device is shared. None: all of them."""
    taken: int = 0
    """Streams of the budget that the runtime takes before a schedule has any."""
    priorities: bool = False
    """Whether the priority of a stream changes anything."""
    collectives_beside: bool = True
    """Whether the device holds two collectives at once, in whatever order its ranks begin them."""
    queued: bool = False
    """Whether the framework queues what the host issues: a raw launch goes around that."""


class Events(Record):
    shared_record: bool
    """Whether several waits may wait for one record."""
    into_capture: bool
    """Whether a graph may wait for work outside it: an external event, recorded once a replay."""
    shared_into_capture: bool
    """Whether several waits inside a graph may wait for one such record."""


class Graphs(Record):
    side_streams: bool
    """Whether a capture may hold work of several streams."""
    default_stream: bool
    """Whether a capture may be made on the default stream."""
    task_update: bool
    """Whether host parameters of captured tasks can be rebound; where not, they are copied."""
    tasks: int | None = None
    """Tasks whose update may be under way at once."""
    streams_each: int = 0
    """Streams that a graph costs by itself."""
    streams_a_side: int = 0
    """Streams that it costs for every side stream it joins."""
    streams_a_communicator: int = 0
    """Streams that it costs for every communicator it uses."""
    reserve: int = 0
    """Streams of the budget to leave free of graphs."""
    memory_mib: int | None = None
    """MiB that what graphs copy in and make may take. None: no limit is known."""


class Exchange(Record):
    hooks: bool
    """Whether a receive hook receives; where not, calling it does nothing."""
    events: bool
    """Whether the event that an operation returns can be waited for; where not, waiting does nothing."""
    one_order: bool
    """Whether all low-latency operations of one group must have one order."""
    held: int | None = None
    """Low-latency results that may be held at once."""
    rows: int | None = None
    """Most rows of a rank in a low-latency exchange."""
    captured: tuple[str, ...] = ("all_to_all", "low_latency")
    """Exchanges that a graph may hold: those that never wait for the host."""
    turns_baked: bool = False
    """Whether a graph keeps which of two windows was next when it was captured."""


class Heading(Record):
    name: str
    title: str
    device: str
    """`cpu`, `cuda` or `npu`: flags of a runtime may be read on some devices only."""
    extends: str = ""
    """A target to build on: a name, or the path of a file beside this one."""
    runtimes: tuple[str, ...] = ()
    """Runtimes whose variables are known: names, or paths of files beside this one."""
    costs: str = ""
    """A cost profile: the path of a file beside this one."""


class Target(Record):
    name: str
    title: str
    device: str
    streams: Streams
    events: Events
    graphs: Graphs
    exchange: Exchange | None
    """None: there is no exchange library."""
    registries: tuple[Registry, ...]
    """Of its runtimes, and of its own `[[flags]]`."""
    sha256: str
    """Of every file read, in order, but for costs, which change no schedule."""
    costs: Path | None
    """A cost profile, to foretell times from; None: there is none."""

    @property
    def limits_graphs(self) -> bool:
        """Whether it says how much graphs may take, of anything."""
        limits = (
            self.streams.budget,
            self.streams.quota,
            self.graphs.tasks,
            self.graphs.memory_mib,
        )
        return any(limit is not None for limit in limits)


TABLES: dict[str, type[Record]] = {
    "streams": Streams,
    "events": Events,
    "graphs": Graphs,
    "exchange": Exchange,
}
DEVICES = ("cpu", "cuda", "npu")


def known_targets() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def shipped_registries() -> list[Registry]:
    """Those of every runtime that comes with Plait."""
    from plait.compiler.registry import read_registry

    paths = sorted((FOLDER / "flags").glob("*.toml"))
    return [read_registry(path, path.name, hashlib.sha256()) for path in paths]


def load_target(name: str) -> Target:
    """A target by its name, or by the path of a `.toml` file. Raises TargetError."""
    if not name.endswith(".toml") and name not in known_targets():
        raise TargetError(f"there is no target `{name}`: {did_you_mean(name, known_targets())}")
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    where = name if name.endswith(".toml") else path.name
    digest = hashlib.sha256()
    values = _merged(path, where, digest, [])
    heading = built(Heading, {k: v for k, v in values.items() if k not in TABLES}, where)
    if heading.device not in DEVICES:
        raise TargetError(f"{where}: `device` is one of {', '.join(DEVICES)}")
    tables = {
        key: built(table, values.get(key, {}), where, key)
        for key, table in TABLES.items()
        if key in values or key != "exchange"
    }
    if tables["streams"].pool < 1:  # type: ignore[attr-defined]
        raise TargetError(f"{where}: `streams.pool` is 1 or more")
    return Target(
        name=heading.name,
        title=heading.title,
        device=heading.device,
        streams=tables["streams"],  # type: ignore[arg-type]
        events=tables["events"],  # type: ignore[arg-type]
        graphs=tables["graphs"],  # type: ignore[arg-type]
        exchange=tables.get("exchange"),  # type: ignore[arg-type]
        registries=_registries(values, where, digest),
        sha256=digest.hexdigest(),
        costs=Path(heading.costs) if heading.costs else None,
    )


def _merged(path: Path, where: str, digest: Any, seen: list[Path]) -> dict[str, Any]:
    """A file's values over those of the target it extends; each file's own keys are checked."""
    if path.resolve() in seen:
        raise TargetError(f"{where}: extends itself")
    if len(seen) == MOST_FILES:
        raise TargetError(f"{where}: extends more than {MOST_FILES} files")
    values = read_toml(path, where, digest)
    own = {k: v for k, v in values.items() if k not in TABLES and k != "flags"}
    checked(Heading, own, where, known=(*TABLES, "flags"))
    for key, table in TABLES.items():
        if key in values:
            if not isinstance(values[key], dict):
                raise TargetError(f"{where}: `{key}` is a table; write its keys below `[{key}]`")
            checked(table, values[key], where, key)
    flags = values.pop("flags", [])
    if not isinstance(flags, list):
        raise TargetError(f"{where}: write each flag below `[[flags]]`")
    values["flags"] = [(where, flag) for flag in flags]
    values["runtimes"] = [
        (where, *_beside(one, path, FOLDER / "flags")) for one in values.get("runtimes", ())
    ]
    if costs := values.get("costs") or _shipped_costs(path):
        values["costs"] = str(path.parent / costs)
    base = values.get("extends", "")
    if not base:
        return values
    if "name" not in values:
        raise TargetError(f"{where}: there should be a line `name = ...` with a text")
    if not base.endswith(".toml") and base not in known_targets():
        help = did_you_mean(base, known_targets())
        raise TargetError(f"{where}: extends `{base}`, which is no target: {help}")
    below = _merged(*_beside(base, path, FOLDER), digest, [*seen, path.resolve()])
    for key in TABLES:
        if key in values and key in below:
            values[key] = below[key] | values[key]
    values["flags"] = below["flags"] + values["flags"]
    values["runtimes"] = below["runtimes"] + values["runtimes"]
    return below | values


def _shipped_costs(path: Path) -> str:
    """Of a target that comes with Plait, relative to its file."""
    return f"costs/{path.name}" if path.parent == FOLDER else ""


def _beside(name: str, path: Path, folder: Path) -> tuple[Path, str]:
    """The file that a target names, and how messages call it: the user's beside it, or one of ours."""
    if name.endswith(".toml"):
        return path.parent / name, name
    return folder / f"{name}.toml", f"{name}.toml"


def _registries(values: dict[str, Any], where: str, digest: Any) -> tuple[Registry, ...]:
    if not values["runtimes"] and not values["flags"]:
        return ()
    from plait.compiler.registry import own_flags, read_registry

    found: dict[Path, Registry] = {}
    for named_by, path, called in values["runtimes"]:
        if not path.is_file() and path.parent == FOLDER / "flags":
            known = did_you_mean(path.stem, [one.stem for one in path.parent.glob("*.toml")])
            raise TargetError(f"{named_by}: there is no runtime `{path.stem}`: {known}")
        if path.resolve() not in found:
            found[path.resolve()] = read_registry(path, called, digest)
    if values["flags"]:
        found[Path(where)] = own_flags(values["name"], values["flags"])
    return tuple(found.values())
