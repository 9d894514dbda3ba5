"""A schedule's rounds as what the simulation's hosts issue: each instruction with what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from plait.compiler.timing.costs import Cost, Profile
from plait.compiler.timing.engine import Block, Instruction, Issue, Key, Record, Wait, Work
from plait.compiler.timing.sharing import Uses
from plait.runtime.schedule import HOST, PHASE_OPS, Bucket, Capture, Phase, Schedule
from plait.runtime.schedule import Instruction as Step

Kind = Literal["phase", "link", "load", "replay", "record", "wait", "block", "vote", "round"]
"""A link is the part of a phase that is on its way when its kernel is done."""


class Doing(NamedTuple):
    """What a span is."""

    kind: Kind
    name: str
    round: int
    rank: int
    number: int
    """Of the phase (also of its link), capture, event or vote; else of the bucket."""
    capture: int | None = None
    """Of a phase that a graph holds."""


def kind_of(schedule: Schedule, phase: Phase) -> str:
    """By which a profile knows the cost of a phase that it does not know by name."""
    if phase.collective is not None:
        return phase.collective.kind
    return "host" if phase.stream == HOST else schedule.streams[phase.stream].kind


class Lanes:
    """Streams of the simulation, by rank, and by the capture whose side stream one is, if it is one."""

    def __init__(self, schedule: Schedule, ranks: int):
        self.places: list[tuple[int, int | None, int]] = []
        """Of each, the rank, the capture and the schedule's stream."""
        for rank in range(ranks):
            self.places += [(rank, None, stream) for stream in range(len(schedule.streams))]
            for number, capture in enumerate(schedule.captures):
                side = {one.on for one in capture.program} - {capture.stream}
                self.places += [(rank, number, stream) for stream in sorted(side)]
        self.numbers = {place: number for number, place in enumerate(self.places)}


class Issuer:
    """What the host of one rank issues."""

    def __init__(self, schedule: Schedule, profile: Profile, lanes: Lanes, rank: int, ranks: int):
        self.schedule = schedule
        self.profile = profile
        self.lanes = lanes
        self.rank = rank
        self.ranks = ranks
        self.meetings = [0] * len(schedule.groups)
        """Of every group, how many collectives this rank has issued."""
        self.replays = 0
        self.looked_up: dict[tuple[int, int], Cost] = {}
        """By phase and bucket."""

    def rounds(self, buckets: Sequence[int]) -> Iterator[Instruction]:
        """Round after round, each at one of the schedule's buckets by number."""
        for round, number in enumerate(buckets):
            bucket = self.schedule.buckets[number]
            doing = Doing("round", self.schedule.name, round, self.rank, number)
            yield Issue(self.profile.host.round, doing, self.beginning(bucket, doing))
            for step in self.schedule.program_of(bucket):
                yield from self.step(step, round, number, bucket)

    def beginning(self, bucket: Bucket, doing: Doing) -> tuple[Work, ...]:
        """What serving does to the first stream that a round gives something to."""
        time = self.profile.stream.round
        streams = [one.on for one in self.schedule.program_of(bucket) if one.on != HOST]
        if not time or not streams:
            return ()
        return (Work(self.lane(None, streams[0]), time, (), doing),)

    def step(self, one: Step, round: int, number: int, bucket: Bucket) -> Iterator[Instruction]:
        schedule, host, stream = self.schedule, self.profile.host, self.profile.stream
        lane = self.lane(None, one.on)
        if one.op in PHASE_OPS:
            cost = self.cost(one.of, number)
            doing = self.doing("phase", schedule.phases[one.of].name, round, one.of)
            if one.on == HOST:
                time = cost.law.time(bucket.work[one.of][0]) + cost.host
                yield Issue(host.run + time, doing)
            else:
                works = tuple(self.works(one.of, lane, number, bucket, doing))
                yield Issue(host.run + cost.host, doing, works)
        elif one.op == "load":
            doing = self.doing("load", schedule.captures[one.of].name, round, one.of)
            yield Issue(host.load, doing, (Work(lane, stream.load, (), doing),))
        elif one.op == "replay":
            capture = schedule.captures[one.of]
            doing = self.doing("replay", capture.name, round, one.of)
            items = tuple(self.graph(one.of, capture, round, number, bucket, doing))
            yield Issue(host.replay, doing, items)
        elif one.op == "vote":
            vote = schedule.votes[one.of]
            doing = self.doing("vote", ", ".join(vote.names), round, one.of)
            yield Issue(host.vote, doing)
        else:
            yield from self.event(one, round, lane)

    def event(self, one: Step, round: int, lane: int) -> Iterator[Instruction]:
        host, stream = self.profile.host, self.profile.stream
        name = self.schedule.events[one.of].name
        if one.op == "record":
            key = self.key(one.of, round)
            doing = self.doing("record", name, round, one.of)
            if one.on == HOST:
                yield Record(0, key)
            else:
                yield Issue(host.record, doing, (Record(lane, key, stream.record, doing),))
        elif round >= one.rounds_back:  # before the first there is nothing to wait for
            key = self.key(one.of, round - one.rounds_back)
            if one.op == "block" or one.on == HOST:
                yield Block(key, host.block, self.doing("block", name, round, one.of))
            else:
                doing = self.doing("wait", name, round, one.of)
                yield Issue(host.wait, doing, (Wait(lane, key, stream.wait, doing),))

    def graph(
        self, number: int, capture: Capture, round: int, at: int, bucket: Bucket, doing: Doing
    ) -> Iterator[Work | Record | Wait]:
        """What a replay is to the streams within it: side streams begin with it, and it ends with them."""
        self.replays += 1
        replay, origin = self.replays, self.lane(None, capture.stream)
        sides = sorted({one.on for one in capture.program} - {capture.stream})
        yield Work(origin, self.profile.stream.replay, (), doing)
        yield Record(origin, (self.rank, 1, replay))
        for side in sides:
            yield Wait(self.lane(number, side), (self.rank, 1, replay))
        for one in capture.program:
            lane = origin if one.on == capture.stream else self.lane(number, one.on)
            if one.op in PHASE_OPS:
                what = self.doing("phase", self.schedule.phases[one.of].name, round, one.of, number)
                yield from self.works(one.of, lane, at, bucket, what)
            elif one.op == "record":
                yield Record(lane, (self.rank, 2, replay, one.of))
            elif one.op == "wait":
                yield Wait(lane, (self.rank, 2, replay, one.of))
            elif round >= one.rounds_back:
                yield Wait(lane, self.key(one.of, round - one.rounds_back))
        for side in sides:
            yield Record(self.lane(number, side), (self.rank, 3, replay, side))
            yield Wait(origin, (self.rank, 3, replay, side))

    def works(
        self, phase: int, lane: int, number: int, bucket: Bucket, doing: Doing
    ) -> Iterator[Work]:
        """Its kernel and, of an exchange that has a part on its way, that part: ranks meet in the last."""
        cost, rows = self.cost(phase, number), bucket.work[phase][0]
        collective = self.schedule.phases[phase].collective
        meeting = None
        if collective is not None and self.ranks > 1:
            self.meetings[collective.group] += 1
            meeting = (collective.group, self.meetings[collective.group]), self.ranks
        law = cost.law if cost.eager is None or doing.capture is not None else cost.eager
        time = law.time(rows) + self.profile.stream.gap
        if cost.link is None:
            yield Work(lane, time, self.uses(cost.uses), doing, meeting)
        else:
            yield Work(lane, time, self.uses(cost.uses), doing)
            on_its_way = doing._replace(kind="link")
            uses = self.uses(cost.link.uses)
            yield Work(lane, cost.link.law.time(rows), uses, on_its_way, meeting)

    def cost(self, phase: int, bucket: int) -> Cost:
        """By number, each looked up once."""
        known = self.looked_up.get((phase, bucket))
        if known is None:
            one, (_, said) = self.schedule.phases[phase], self.schedule.buckets[bucket].work[phase]
            known = self.profile.of(one.name, one.body, said, kind_of(self.schedule, one))
            self.looked_up[phase, bucket] = known
        return known

    def uses(self, uses: Uses) -> Uses:
        """Of this rank's own resources."""
        own = self.rank * len(self.profile.resources)
        return tuple((own + resource, share) for resource, share in uses) if own else uses

    def lane(self, capture: int | None, stream: int) -> int:
        return self.lanes.numbers[self.rank, capture, stream]

    def key(self, event: int, round: int) -> Key:
        return self.rank, 0, event, round

    def doing(
        self, kind: Kind, name: str, round: int, number: int, capture: int | None = None
    ) -> Doing:
        return Doing(kind, name, round, self.rank, number, capture)
