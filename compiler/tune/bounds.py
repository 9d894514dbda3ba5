"""Times that no schedule of a round can beat, so that what is not worth looking at is not looked at.

- data: of all circles of phases that wait for each other's values, over rounds, the longest a round
- a resource: all the work that needs it, at full speed
- the host: what its own phases take
- this schedule alone: what the host takes to issue it, and its busiest stream
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TypeAlias

from plait.compiler.races.conflicts import regions_meet, vouched
from plait.compiler.round import Access, Round
from plait.compiler.timing.costs import Profile
from plait.compiler.timing.engine import Block, Issue
from plait.compiler.timing.issue import Issuer, Lanes
from plait.compiler.timing.sharing import WHOLE
from plait.dsl.record import Record
from plait.runtime.schedule import HOST, Schedule

MOST_PHASES = 200
"""Of a round whose data is looked at."""

Need: TypeAlias = "tuple[int, int, int]"
"""A phase, one that needs what it wrote, and how many rounds later."""


class Bound(Record):
    """Nanoseconds of a round, and what takes them."""

    time: Fraction
    what: str


def relaxed(schedule: Schedule, profile: Profile, bucket: int, round: Round) -> Bound:
    """Of every schedule of these phases: on as many streams as there may be, in graphs or not."""
    issuer = Issuer(schedule, profile, Lanes(schedule, 1), 0, 1)
    at = schedule.buckets[bucket]
    numbers = {phase.name: number for number, phase in enumerate(schedule.phases)}
    times: list[int] = []
    used = [0] * len(profile.resources)
    host = profile.host.round
    for phase in round.phases:
        number = numbers[phase.name]
        if phase.stream == HOST:
            cost = issuer.cost(number, bucket)
            times.append(profile.host.run + cost.law.time(at.work[number][0]) + cost.host)
            host += times[-1]
            continue
        works = list(issuer.works(number, 0, bucket, at, issuer.doing("phase", "", 0, number)))
        times.append(sum(work.time for work in works))
        for work in works:
            for resource, share in work.uses:
                used[resource] += work.time * share
    found = [Bound(Fraction(host), "the host's own work")]
    found += [
        Bound(Fraction(each, WHOLE), f"all work on {name}")
        for name, each in zip(profile.resources, used, strict=True)
    ]
    if 0 < len(times) <= MOST_PHASES:
        time, circle = longest_circle(times, list(needs(round)))
        names = [round.phases[number].name for number in circle]
        found.append(Bound(time, "data: " + " -> ".join([*names, names[0]])))
    return max(found, key=lambda one: one.time)


def own(schedule: Schedule, profile: Profile, bucket: int) -> Bound:
    """Of this schedule: the host issues all of it, and each stream does all that it is issued."""
    rounds = 1 + max((event.depth for event in schedule.events), default=1)
    lanes = Lanes(schedule, 1)
    host = 0
    busy = [0] * len(lanes.places)
    for one in Issuer(schedule, profile, lanes, 0, 1).rounds([bucket] * rounds):
        if not isinstance(one, Issue | Block) or one.what.round != rounds - 1:
            continue
        host += one.time
        for item in one.issued if isinstance(one, Issue) else ():
            busy[item.stream] += item.time
    found = [Bound(Fraction(host), "the host, which issues it")]
    for (_, _, stream), time in zip(lanes.places, busy, strict=True):
        found.append(Bound(Fraction(time), f"all work on stream {schedule.streams[stream].name}"))
    return max(found, key=lambda one: one.time)


def needs(round: Round) -> Iterable[Need]:
    """Phases that write and those that read or write it after them; each follows itself."""
    for place in range(len(round.phases)):
        yield place, place, 1
    touched: dict[int, list[tuple[int, Access]]] = {}
    for place, phase in enumerate(round.phases):
        for access in phase.accesses:
            touched.setdefault(access.buffer, []).append((place, access))
    nearest: dict[tuple[int, int], int] = {}
    for buffer, touches in touched.items():
        copies = round.buffers[buffer].copies
        for one, a in touches:
            for other, b in touches if a.writes else ():
                parts = (buffer, a.region), (buffer, b.region)
                if one == other or not regions_meet(a.region, b.region) or vouched(round, *parts):
                    continue
                apart = (b.rounds_back - a.rounds_back) % copies
                apart += copies if not apart and other < one else 0
                nearest[one, other] = min(apart, nearest.get((one, other), apart))
    for (one, other), apart in sorted(nearest.items()):
        yield one, other, apart


def longest_circle(times: list[int], edges: list[Need]) -> tuple[Fraction, list[int]]:
    """Of all circles, the most time over the rounds it goes through, and the circle.

    Those that pass from a round to a later one just once come first, then any that is longer, until none
    is (Dinkelbach, On nonlinear fractional programming, 1967): one shows as a way that Bellman and Ford's
    search can make longer without end.
    """
    best, circle = _of_one_passage(times, edges)
    while (found := _longer(times, edges, best)) is not None:
        best, circle = found
    return best, circle


def _of_one_passage(times: list[int], edges: list[Need]) -> tuple[Fraction, list[int]]:
    """The longest of them, where edges within a round lead to what stands further down."""
    within: list[list[int]] = [[] for _ in times]
    back: dict[int, list[tuple[int, int]]] = {}
    for one, other, apart in edges:
        if apart:
            back.setdefault(other, []).append((one, apart))
        else:
            within[one].append(other)
    best, circle = Fraction(-1), [0]
    for first, passages in back.items():
        reached, before = {first: times[first]}, {first: -1}
        for one in range(first, len(times)):
            for other in within[one] if one in reached else ():
                length = reached[one] + times[other]
                if length > reached.get(other, -1):
                    reached[other], before[other] = length, one
        for last, apart in passages:
            if last in reached and Fraction(reached[last], apart) > best:
                best, circle = Fraction(reached[last], apart), [last]
                while before[circle[-1]] >= 0:
                    circle.append(before[circle[-1]])
    return best, circle[::-1]


def _longer(
    times: list[int], edges: list[Need], than: Fraction
) -> tuple[Fraction, list[int]] | None:
    over, under = than.numerator, than.denominator
    reached = [0] * len(times)
    before: list[tuple[int, int]] = [(-1, 0)] * len(times)
    last = -1
    for _ in range(len(times) + 1):
        last = -1
        for one, other, apart in edges:
            length = reached[one] + times[one] * under - over * apart
            if length > reached[other]:
                reached[other], before[other], last = length, (one, apart), other
        if last < 0:
            return None
    for _ in times:  # back onto the circle
        last = before[last][0]
    circle, rounds, at = [], 0, last
    while True:
        one, apart = before[at]
        circle.append(one)
        rounds += apart
        at = one
        if at == last:
            break
    return Fraction(sum(times[one] for one in circle), rounds), circle[::-1]
