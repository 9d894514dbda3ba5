"""What is compared of a schedule, as texts: of each kind, by name, a few parts that are held one against one.

Names stand in them as `called` gives them, so that two schedules can be told in the names of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from plait.compiler.diff.edges import edges
from plait.compiler.diff.names import Thing
from plait.compiler.diff.row import PLACE
from plait.compiler.measures.measures import instructions
from plait.compiler.timing.costs_written import exact
from plait.dsl.render.figures import counted
from plait.runtime.schedule import (
    PHASE_OPS,
    Argument,
    Bucket,
    Phase,
    Region,
    Schedule,
    Setting,
    Vote,
)

Texts: TypeAlias = "dict[str, str]"
"""Of every bucket, by its name, what is said; of what depends on none, by the empty name."""
Parts: TypeAlias = "dict[str, Texts]"
"""By what each part is about. Where a text is empty there is nothing to say."""
Key: TypeAlias = "tuple[Thing, ...]"
"""One thing, or two: what an edge leads from and to, or a stream and the graph that it is in."""
Facts: TypeAlias = "dict[str, dict[Key, Parts]]"
"""Of each kind, by key."""
Called: TypeAlias = "Callable[[Thing], str]"
"""What a thing is called."""
Said: TypeAlias = "Iterator[tuple[Key, dict[str, str]]]"
"""Of one bucket, parts by key."""
Of: TypeAlias = "Callable[[Bucket], Said]"


def own(thing: Thing) -> str:
    """What a schedule calls its own."""
    return thing[1]


def facts(schedule: Schedule, called: Called = own) -> Facts:
    return _Facts(schedule, called).all()


class _Facts:
    def __init__(self, schedule: Schedule, called: Called):
        self.schedule = schedule
        self.called = called

    def all(self) -> Facts:
        schedule = self.schedule
        return {
            "target": self.plain([(("target", "name"), schedule.target.name)]),
            "setting": self.plain(
                (("setting", name), _setting(value)) for name, value in schedule.settings
            ),
            "bucket": self.plain((("bucket", one.name), "") for one in schedule.buckets),
            "group": self.plain(
                (("group", one.name), _size(one.size, "rank")) for one in schedule.groups
            ),
            "vote": self.plain(self.votes("vote", schedule.votes)),
            "same": self.plain(self.votes("same", schedule.same)),
            "stream": self.plain((("stream", one.name), one.kind) for one in schedule.streams),
            "capture": self.by_bucket(self.captures),
            "phase": self.by_bucket(self.phases),
            "edge": self.by_bucket(self.edges, by_program=True),
            "issue": self.by_bucket(self.issue, by_program=True),
            "pool": self.plain(
                (("pool", one.name), _size(one.size, "value")) for one in schedule.pools
            ),
            "buffer": self.by_bucket(self.buffers),
            "apart": self.by_bucket(self.apart),
        }

    def key(self, *things: Thing) -> Key:
        return tuple((thing[0], self.called(thing)) for thing in things)

    def plain(self, said: Iterable[tuple[Thing, str]]) -> dict[Key, Parts]:
        return {self.key(thing): {"": {"": text}} for thing, text in said}

    def by_bucket(self, of: Of, by_program: bool = False) -> dict[Key, Parts]:
        found: dict[Key, Parts] = {}
        known: dict[int, list[tuple[Key, dict[str, str]]]] = {}
        for bucket in self.schedule.buckets:
            name = self.called(("bucket", bucket.name))
            if not by_program:
                said = of(bucket)
            elif bucket.program in known:
                said = known[bucket.program]
            else:
                said = known[bucket.program] = list(of(bucket))
            for key, parts in said:
                for part, text in parts.items():
                    texts = found.setdefault(key, {}).setdefault(part, {})
                    texts[name] = f"{texts[name]}; {text}" if name in texts else text
        return found

    def votes(self, kind: str, of: Iterable[Vote]) -> Iterator[tuple[Thing, str]]:
        groups = self.schedule.groups
        for one in of:
            over = "by itself"
            if one.group is not None:
                over = f"over {self.named('group', groups[one.group].name)}"
            yield (kind, ", ".join(one.names)), over

    def captures(self, bucket: Bucket) -> Said:
        schedule = self.schedule
        for one in schedule.program_of(bucket):
            if one.op == "replay":
                capture = schedule.captures[one.of]
                taken = [
                    f"{'prev ' * back}{self.named('buffer', schedule.buffers[buffer].name)}"
                    for buffer, back in capture.copied_in
                ]
                pool = None if capture.pool is None else schedule.pools[capture.pool].name
                yield (
                    self.key(("capture", capture.name)),
                    {
                        PLACE: f"on {self.stream(capture.stream)}",
                        "size": counted(len(capture.phases), "phase"),
                        "rows": counted(bucket.rows[one.of], "row"),
                        "inputs": f"copies in {', '.join(taken)}" if taken else "",
                        "pool": "" if pool is None else f"in pool {self.named('pool', pool)}",
                    },
                )

    def buffers(self, bucket: Bucket) -> Said:
        for number, one in enumerate(self.schedule.buffers):
            shape = bucket.shapes[number]
            if shape == () and not one.opaque:
                continue
            words = [word for word in ("carried", "static", "task") if getattr(one, word)]
            pool = None if one.pool is None else self.schedule.pools[one.pool].name
            yield (
                self.key(("buffer", one.name)),
                {
                    "type": one.dtype + ("" if shape is None else f"[{_list(shape)}]"),
                    "memory": f"on {one.memory}",
                    "kept": " ".join(words),
                    "copies": f"copies {one.copies}" if one.copies > 1 else "",
                    "pad": "" if one.pad is None else f"pad {one.pad}",
                    "pool": "" if pool is None else f"in pool {self.named('pool', pool)}",
                },
            )

    def apart(self, bucket: Bucket) -> Said:
        """Parts of buffers of which the author of the spec says that they never meet."""
        for number, one, other in bucket.disjoint:
            key = self.key(("buffer", self.schedule.buffers[number].name))
            yield key, {"": f"{_region(one)} never meets {_region(other)}"}

    def phases(self, bucket: Bucket) -> Said:
        schedule = self.schedule
        for number in _run(schedule, bucket):
            phase = schedule.phases[number]
            inside = ""
            if phase.capture is not None:
                inside = f" in {self.named('capture', schedule.captures[phase.capture].name)}"
            regions = bucket.regions[number]
            accesses = [
                self.access(argument, region)
                for argument, region in zip(phase.arguments, regions, strict=True)
            ]
            rows, said = bucket.work[number] if bucket.work else (0, None)
            yield (
                self.key(("phase", phase.name)),
                {
                    PLACE: f"on {self.stream(phase.stream)}{inside}",
                    "accesses": ", ".join(accesses),
                    "attributes": ", ".join((*phase.attributes, *self.collective(phase))),
                    "rows": counted(rows, "row") if rows else "",
                    "cost": "" if said is None else f"costs {exact(said * 1000)}",
                },
            )

    def access(self, argument: Argument, region: Region) -> str:
        buffer = self.named("buffer", self.schedule.buffers[argument.buffer].name)
        return f"{argument.kind} {'prev ' * argument.rounds_back}{buffer}{_region(region)}"

    def collective(self, phase: Phase) -> Iterator[str]:
        if phase.collective is not None:
            group = self.schedule.groups[phase.collective.group].name
            yield f"{phase.collective.kind} over {self.named('group', group)}"

    def issue(self, bucket: Bucket) -> Said:
        """What every stream is given, in the order it is given it; side streams of graphs apart."""
        schedule = self.schedule
        found: dict[Key, list[str]] = {}

        def given(stream: int, graph: str | None, kind: str, name: str) -> None:
            places = [("stream", schedule.streams[stream].name)]
            places += [] if graph is None else [("capture", graph)]
            found.setdefault(self.key(*places), []).append(self.named(kind, name))

        for one in schedule.program_of(bucket):
            if one.op == "replay":
                graph = schedule.captures[one.of]
                given(one.on, None, "capture", graph.name)
                for inner in graph.program:
                    if inner.op in PHASE_OPS:
                        given(inner.on, graph.name, "phase", schedule.phases[inner.of].name)
            elif one.op in PHASE_OPS:
                given(one.on, None, "phase", schedule.phases[one.of].name)
        for key, names in found.items():
            yield key, {"": ", ".join(names)}

    def edges(self, bucket: Bucket) -> Said:
        for edge in edges(self.schedule, bucket):
            ago = f", {counted(edge.rounds_back, 'round')} back" if edge.rounds_back else ""
            inside = f" in {self.named('capture', edge.capture)}" if edge.capture else ""
            yield self.key(edge.source, edge.target), {"": f"one wait{inside}{ago}"}

    def named(self, kind: str, name: str) -> str:
        return self.called((kind, name))

    def stream(self, number: int) -> str:
        return self.named("stream", self.schedule.streams[number].name)


def _run(schedule: Schedule, bucket: Bucket) -> Iterator[int]:
    """The phases of a round, in issue order."""
    return (one.of for one in instructions(schedule, bucket) if one.op in PHASE_OPS)


def _setting(value: Setting) -> str:
    if isinstance(value, list):
        return f"[{_list(map(_setting, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _size(size: int | None, of: str) -> str:
    return "" if size is None else counted(size, of)


def _region(region: Region) -> str:
    if region is None:
        return ""
    axes = (
        "" if axis is None else str(axis) if isinstance(axis, int) else f"{axis[0]} .. {axis[1]}"
        for axis in region
    )
    return f"[{', '.join(axes)}]"


def _list(values: Iterable[object]) -> str:
    return ", ".join(map(str, values))
