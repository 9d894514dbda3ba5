"""A Schedule from JSON, read with suspicion.

Everything that can be checked without a device is: the form and its version, the digests, every name
against one pattern, every size against a bound. That the parts belong together is then checked by
`schedule_check.py`. The first fault raises ScheduleError.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NoReturn

from plait.runtime.schedule import (
    PHASE_OPS,
    VERSION,
    Argument,
    Axis,
    Bucket,
    Buffer,
    Capture,
    Collective,
    Digest,
    Event,
    Group,
    Instruction,
    Phase,
    Place,
    Pool,
    Region,
    Schedule,
    Stream,
    Vote,
)
from plait.runtime.schedule_check import Check, ScheduleError
from plait.runtime.schedule_json import FORMAT, digests_of

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}\Z")
_WORD = r"[A-Za-z_][A-Za-z0-9_]{0,99}"
_INDEX = r"(\[[0-9]{1,9}\])?"
PATH = re.compile(rf"({_WORD}\.){{0,64}}{_WORD}\Z")
INDEXED = re.compile(rf"({_WORD}{_INDEX}\.){{0,64}}{_WORD}{_INDEX}\Z")
DTYPES = frozenset(["bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "opaque"])
KINDS = frozenset({"reads", "updates", "writes"})
MEMORIES = frozenset({"device", "host", "pinned"})
STREAM_KINDS = frozenset({"host", "compute", "comm", "copy", "update"})
OPS = PHASE_OPS | {"record", "wait", "load", "replay", "block", "vote"}
INNER_OPS = frozenset({"run", "launch", "record", "wait", "external"})
ATTRIBUTES = frozenset({"across_rows", "host_sync", "raw", "skip_idle"})
COLLECTIVES = frozenset(
    {"all_gather", "all_reduce", "all_to_all", "broadcast", "low_latency", "reduce_scatter"}
)
MOST_ENTRIES = 4_000_000
MOST_ELEMENTS = 1 << 48
MOST_COPIES = 64
MOST_NESTED = 100
MOST_CHARACTERS = 1 << 28


def from_json(text: str, name: str = "schedule") -> Schedule:
    """The Schedule of a JSON text. `name` is what messages call it. Raises ScheduleError."""
    if len(text) > MOST_CHARACTERS:
        raise ScheduleError(name, f"has more than {MOST_CHARACTERS:,} characters")
    try:
        data = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ScheduleError(name, "is nested too deep to be a schedule") from None
    except ValueError as error:
        raise ScheduleError(name, f"is not JSON ({error})") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ScheduleError(name, f'is not a schedule: it has no "format": "{FORMAT}"')
    if data.get("version") != VERSION:
        found = json.dumps(data.get("version"))[:40]
        raise ScheduleError(f"{name}: version", f"is {found}; this Plait reads version {VERSION}")
    schedule = _schedule(_At(data, name))
    Check(schedule, name).all()
    return schedule


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number")


class _At:
    """A JSON value and the path to it: every step checks what it takes."""

    __slots__ = ("path", "value")

    def __init__(self, value: Any, path: str):
        self.value = value
        self.path = path

    def wrong(self, wanted: str) -> NoReturn:
        found = json.dumps(self.value, ensure_ascii=True)
        shown = found if len(found) <= 60 else found[:57] + "..."
        raise ScheduleError(self.path, f"should be {wanted}, not {shown}")

    def fields(self, *names: str) -> list[_At]:
        if not isinstance(self.value, dict) or set(self.value) != set(names):
            self.wrong("an object with " + ", ".join(names))
        return [_At(self.value[name], f"{self.path}.{name}") for name in names]

    def items(self, count: int | None = None) -> list[_At]:
        if not isinstance(self.value, list) or (count is not None and len(self.value) != count):
            self.wrong("a list" if count is None else f"a list of {count}")
        if len(self.value) > MOST_ENTRIES:
            raise ScheduleError(self.path, f"has more than {MOST_ENTRIES:,} entries")
        return [_At(item, f"{self.path}[{place}]") for place, item in enumerate(self.value)]

    def each(self, read: Callable[[_At], Any], count: int | None = None) -> tuple[Any, ...]:
        return tuple(read(item) for item in self.items(count))

    def optional(self, read: Callable[[_At], Any]) -> Any:
        return None if self.value is None else read(self)

    def text(self) -> str:
        if not isinstance(self.value, str) or len(self.value) > 10_000:
            self.wrong("a text")
        return self.value

    def line(self) -> str:
        """A text that may stand in a message or a comment: it has no line end, nor anything unseen."""
        text = self.text()
        if not text.isprintable():
            self.wrong("a text of one line")
        return text

    def matching(self, pattern: re.Pattern[str]) -> str:
        if not isinstance(self.value, str) or not pattern.match(self.value):
            self.wrong("a name of letters, digits and _")
        return self.value

    def name(self) -> str:
        return self.matching(NAME)

    def one_of(self, words: frozenset[str]) -> Any:
        if not isinstance(self.value, str) or self.value not in words:
            self.wrong("one of " + ", ".join(sorted(words)))
        return self.value

    def truth(self) -> bool:
        if not isinstance(self.value, bool):
            self.wrong("true or false")
        return self.value

    def number(self) -> int | float:
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            self.wrong("a number")
        return self.value

    def count(self, least: int = 0, most: int = MOST_ELEMENTS) -> int:
        if type(self.value) is not int or not least <= self.value <= most:
            self.wrong(f"a whole number from {least} to {most}")
        return self.value


def _schedule(at: _At) -> Schedule:
    names = (
        "format version name variant compiler source used target settings environment arena digests "
        "streams buffers groups pools votes same events phases captures buckets programs"
    )
    if isinstance(at.value, dict) and "unchecked" in at.value:
        names += " unchecked"
    parts = dict(zip(names.split(), at.fields(*names.split()), strict=True))
    source, target = parts["source"], parts["target"]
    digests = parts["digests"].fields("source", "target", "settings", "environment")
    for digest in (source, target):
        digest.items(2)
    for found, wanted in zip(digests, digests_of(at.value).values(), strict=True):
        if found.value != wanted:
            problem = "is not the digest of what the schedule says, so the file was changed"
            raise ScheduleError(found.path, problem)
    return Schedule(
        name=parts["name"].name(),
        variant=parts["variant"].optional(_At.name),
        compiler=parts["compiler"].line(),
        source=_read_digest(source),
        target=_read_digest(target),
        settings=parts["settings"].each(_read_setting),
        environment=parts["environment"].each(_read_variable),
        streams=parts["streams"].each(_read_stream),
        buffers=parts["buffers"].each(_read_buffer),
        events=parts["events"].each(_read_event),
        phases=parts["phases"].each(_read_phase),
        captures=parts["captures"].each(_read_capture),
        programs=parts["programs"].each(lambda one: one.each(_read_instruction)),
        buckets=parts["buckets"].each(_read_bucket),
        groups=parts["groups"].each(_read_group),
        pools=parts["pools"].each(_read_pool),
        votes=parts["votes"].each(_read_vote),
        same=parts["same"].each(_read_vote),
        used=parts["used"].each(_read_digest),
        arena=parts["arena"].count(),
        unchecked=parts["unchecked"].each(_read_code) if "unchecked" in parts else (),
    )


def _read_code(at: _At) -> str:
    return at.matching(re.compile(r"PL[0-9]{3}\Z"))


def _read_digest(at: _At) -> Digest:
    name, sha256 = at.items(2)
    return Digest(name.line(), sha256.matching(re.compile(r"[0-9a-f]{64}\Z")))


def _read_setting(at: _At) -> tuple[str, Any]:
    name, value = at.items(2)
    return name.name(), _read_value(value)


def _read_value(at: _At, depth: int = 0) -> Any:
    if isinstance(at.value, list) and depth < MOST_NESTED:
        return [_read_value(item, depth + 1) for item in at.items()]
    if isinstance(at.value, str):
        return at.line()
    if not isinstance(at.value, bool | int | float):
        at.wrong("a number, a text of one line, true, false or a list of them")
    return at.value


def _read_variable(at: _At) -> tuple[str, str | None]:
    name, value = at.items(2)
    return name.line(), value.optional(_At.line)


def _read_place(at: _At) -> Place:
    return Place(*at.each(_At.count, 4 if isinstance(at.value, list) and len(at.value) > 3 else 3))


def _read_group(at: _At) -> Group:
    name, size, inside = at.items(3)
    return Group(name.name(), size.optional(_At.count), inside.optional(_At.count))


def _read_pool(at: _At) -> Pool:
    name, size = at.items(2)
    return Pool(name.name(), size.optional(_At.count))


def _read_vote(at: _At) -> Vote:
    names, group, place = at.items(3)
    return Vote(names.each(_At.name), group.optional(_At.count), _read_place(place))


def _read_stream(at: _At) -> Stream:
    name, kind, place = at.items(3)
    return Stream(name.matching(PATH), kind.one_of(STREAM_KINDS), place.optional(_read_place))


def _read_buffer(at: _At) -> Buffer:
    words = "name dtype memory carried static copies task pad pool offset live place"
    name, dtype, memory, carried, static, copies, task, pad, pool, offset, live, place = at.fields(
        *words.split()
    )
    return Buffer(
        name.matching(INDEXED),
        dtype.one_of(DTYPES),
        memory.one_of(MEMORIES),
        carried.truth(),
        static.truth(),
        copies.count(1, MOST_COPIES),
        _read_place(place),
        task.truth(),
        pad.optional(_At.number),
        pool.optional(_At.count),
        offset.optional(_At.count),
        live.each(lambda axis: axis.optional(_read_live)),
    )


def _read_live(at: _At) -> tuple[str, int, int] | tuple[()]:
    if at.value == []:
        return ()
    dim, by, plus = at.items(3)
    return dim.name(), by.count(-MOST_ELEMENTS), plus.count(-MOST_ELEMENTS)


def _read_event(at: _At) -> Event:
    name, depth = at.items(2)
    return Event(name.matching(INDEXED), depth.count(1, MOST_COPIES + 1))


def _read_phase(at: _At) -> Phase:
    name, body, index, stream, capture, arguments, place, attributes, collective = at.fields(
        *[
            "name",
            "body",
            "index",
            "stream",
            "capture",
            "arguments",
            "place",
            "attributes",
            "collective",
        ]
    )
    return Phase(
        name.matching(INDEXED),
        body.matching(PATH),
        index.optional(_At.count),
        stream.count(),
        capture.optional(_At.count),
        arguments.each(_read_argument),
        _read_place(place),
        attributes.each(lambda one: one.one_of(ATTRIBUTES)),
        collective.optional(_read_collective),
    )


def _read_collective(at: _At) -> Collective:
    kind, group = at.items(2)
    return Collective(kind.one_of(COLLECTIVES), group.count())


def _read_argument(at: _At) -> Argument:
    name, buffer, kind, rounds_back = at.items(4)
    return Argument(
        name.name(), buffer.count(), kind.one_of(KINDS), rounds_back.count(0, MOST_COPIES)
    )


def _read_capture(at: _At) -> Capture:
    name, stream, phases, copied_in, place, pool, program = at.fields(
        *["name", "stream", "phases", "copied_in", "place", "pool", "program"]
    )
    return Capture(
        name.matching(INDEXED),
        stream.count(),
        phases.each(_At.count),
        copied_in.each(_read_taken),
        _read_place(place),
        program.each(lambda one: _read_instruction(one, INNER_OPS)),
        pool.optional(_At.count),
    )


def _read_taken(at: _At) -> tuple[int, int]:
    buffer, rounds_back = at.items(2)
    return buffer.count(), rounds_back.count(0, MOST_COPIES)


def _read_instruction(at: _At, ops: frozenset[str] = OPS) -> Instruction:
    op, of, on, rounds_back, place = at.items(5)
    return Instruction(
        op.one_of(ops),
        of.count(),
        on.count(),
        rounds_back.count(0, MOST_COPIES),
        place.optional(_read_place),
    )


def _read_bucket(at: _At) -> Bucket:
    sizes, route, program, shapes, regions, rows, disjoint, work = at.fields(
        "sizes", "route", "program", "shapes", "regions", "rows", "disjoint", "work"
    )
    return Bucket(
        sizes.each(_read_size),
        program.count(),
        shapes.each(lambda one: one.optional(_read_shape)),
        regions.each(lambda one: one.each(_read_region)),
        rows.each(_At.count),
        route.each(_read_setting),
        disjoint.each(_read_pair),
        work.each(_read_work),
    )


def _read_pair(at: _At) -> tuple[int, Region, Region]:
    buffer, one, other = at.items(3)
    return buffer.count(), _read_region(one), _read_region(other)


def _read_work(at: _At) -> tuple[int, int | None]:
    rows, cost = at.items(2)
    return rows.count(), cost.optional(_At.count)


def _read_size(at: _At) -> tuple[str, int]:
    name, size = at.items(2)
    return name.name(), size.count(1)


def _read_shape(at: _At) -> tuple[int, ...]:
    shape = at.each(lambda one: one.count(1))
    elements = 1
    for size in shape:
        elements *= size
    if elements > MOST_ELEMENTS:
        at.wrong(f"at most {MOST_ELEMENTS:,} elements")
    return shape


def _read_region(at: _At) -> Region:
    return at.optional(lambda one: one.each(_read_axis))


def _read_axis(at: _At) -> Axis:
    if isinstance(at.value, list):
        first, last = at.each(_At.count, 2)
        return first, last
    return at.optional(_At.count)
