"""The other ranks, as a runner meets them: votes, exchanges that are logged, and what ends a wait.

Every wait for another rank ends by the timeout of its group. What ends it so is looked into here: all
ranks keep on a board how far they are, from which the error says who did not come.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

import torch
import torch.distributed as dist

from plait.runtime.buckets import shown_sizes
from plait.runtime.devices.job import Job, job
from plait.runtime.ranks.blame import blame
from plait.runtime.ranks.board import Board
from plait.runtime.ranks.error import RankError
from plait.runtime.ranks.group import ACCELERATORS, Member, Ranks, device_of, limit, ranks_of
from plait.runtime.ranks.lane import Exchange, Lane
from plait.runtime.ranks.same_schedule import difference, digests, ranks_said
from plait.runtime.ranks.votes import OutOfStep, Vote, votes_of
from plait.runtime.runner import BindError
from plait.runtime.schedule import HOST, PHASE_OPS, Bucket, Schedule
from plait.runtime.schedule import Vote as Settled

BEATS = 20
"""Entries on the board in the time that ranks wait for each other."""
SLOWEST = 1.0
"""Seconds from one to the next, at most."""
LONGEST = 2000
"""Letters of an error that others are told of."""
MOST_NAMED = 2
"""Collectives of a graph that are named in messages."""
WORLD = -1
"""Stands for all ranks where a group is named by its number."""


class Peers:
    """Made by all ranks of `ranks`, as a part of binding one schedule. Raises BindError, RankError."""

    def __init__(
        self, schedule: Schedule, ranks: Ranks, device: str = "cpu", checked: bool = False
    ):
        self.schedule = schedule
        self.seconds = ranks.seconds
        self.rank = dist.get_rank(ranks.world.host)
        self.checked = checked
        self._members = {WORLD: ranks.world} | _members(schedule, ranks)
        votes = votes_of(schedule)
        dims = dict(schedule.widest.sizes)
        self._yes = {name: True for vote in votes for name in vote.names if name not in dims}
        self.votes = [vote for vote in votes if vote.group in self._members]
        self._words = cache(self._words_of)
        self._lanes = dict(self._communicators())
        self._routes = [list(self._exchanges(bucket)) for bucket in schedule.buckets]
        self._failed: tuple[str, str, tuple[int, ...]] | None = None
        self._last = "nothing"
        """What this rank came to last, on any communicator."""
        self._ended = False
        self._at_issue = False
        for member in self._members.values():
            limit(member.host, ranks.seconds)
            limit(member.device, ranks.seconds)
        self._digests = digests(schedule, checked)
        name = f"plait/{next(ranks.binds)}"
        beat = min(ranks.seconds / BEATS, SLOWEST)
        self._board = Board(ranks.store, name, self.rank, beat, self._said)
        self._board.publish()
        self._board.begin()
        try:
            self._compare()
            self._warm(device)
        except BaseException as error:
            self.failed(error)
            self.close()
            raise

    @property
    def together(self) -> bool:
        """Whether graphs hold collectives: then all ranks capture all of them, in one order."""
        return any(item[0] == "capture" for route in self._routes for _, item in route)

    @property
    def alone(self) -> bool:
        """Whether the store is gone, and so most likely whoever launched the ranks."""
        return self._board.lost

    def wished(self, live: Mapping[str, Any], idle: bool) -> dict[str, Any]:
        """What this rank says: one that is idle says yes to all guards that are voted on."""
        return (self._yes if idle else {}) | dict(live)

    def agree(self, round: int, wished: Mapping[str, Any]) -> dict[str, Any]:
        """What the round runs at, by all votes of the round. Raises RankError."""
        found = dict(wished)
        for number, vote in enumerate(self.votes):
            most = self._meet(
                vote.group,
                Exchange(("vote", number), round, self._vote_words(vote), vote.place),
                vote.wishes(round, found),
            )
            try:
                found |= vote.outcome(round, most, found)
            except OutOfStep as error:
                raise self._error(f"{vote.place}: {self._vote_words(vote)}: {error}") from None
        if self.checked:
            for number, same in enumerate(self.schedule.same):
                self._compare_same(number, same, round, wished)
        return found

    def issue(self, number: int, round: int, idle: bool) -> None:
        """A round is about to be issued at that bucket."""
        for of, item in self._routes[number]:
            if not (idle and self._skipped(item)):
                self._lanes[of].issue(self._exchange(item, round))
        self._board.publish()

    def issued(self) -> None:
        if self._at_issue:
            for lane in self._lanes.values():
                lane.flush()

    def bodies(self, bodies: list[Callable]) -> list[Callable]:
        """Of every phase; one with a collective notes when it comes to it."""
        found = list(bodies)
        for number, phase in enumerate(self.schedule.phases):
            if phase.collective is not None:
                of = (phase.collective.group, phase.stream == HOST)
                if of in self._lanes:
                    lanes = [self._lanes[of]]
                    found[number] = partial(self._watched, bodies[number], lanes, ("phase", number))
        return found

    def before_binding(self, number: int, sizes: str) -> None:
        """Waits for all ranks where a graph that is captured for a bucket holds collectives."""
        if not any(item[0] == "capture" for _, item in self._routes[number]):
            return
        one = Exchange(("bind", number), None, f"the capture at {sizes}", self._source)
        most = self._meet(WORLD, one, [number, -number])
        if most[0] != -most[1]:
            what = (
                "ranks capture different buckets at once; have all of them call `prepare()` first"
            )
            raise self._error(f"{self._source}: {what}")

    def bound(self, graphs: list[list[Any]]) -> None:
        """The graphs of a bucket: those with collectives note when they come to them."""
        for number, turns in enumerate(graphs):
            lanes = [self._lanes[of] for of in self._of_capture(number)]
            for graph in turns if lanes else ():
                if not isinstance(getattr(graph, "job", None), Job):
                    self._at_issue = True  # a device that launches it where nobody looks on
                    continue
                run = partial(self._watched, graph.job, lanes, ("capture", number))
                graph.job = job(graph.job.name, graph.job.place, run)

    def settle(self, what: str, *numbers: int) -> list[int]:
        """The largest on any rank, of each, between rounds. Raises RankError, which says `what`."""
        return self._meet(
            WORLD, Exchange(("settle", what), None, what, self._source), list(numbers)
        )

    def between(self, what: str, group: str, call: Callable[[], Any]) -> Any:
        """A call between rounds that meets the other ranks of a group on its device. As `settle`."""
        names = [one.name for one in self.schedule.groups]
        lane = self._lanes.get((names.index(group), False))
        if lane is None:
            return call()
        return self._watch(call, [lane], Exchange(("between", what), None, what, self._source))

    def failed(self, error: BaseException) -> None:
        """Tells the others, who wait for this rank in vain."""
        if self._failed is None:
            late, why = (error.late, error.why) if isinstance(error, RankError) else ((), "")
            self._failed = (str(error)[:LONGEST], why[:LONGEST], late)
            self._board.publish()

    def close(self) -> None:
        self._ended = True
        self._board.end()

    def log(self) -> tuple[str, ...]:
        """What this rank came to last, communicator by communicator."""
        return tuple(line for lane in self._lanes.values() for line in lane.log())

    def _said(self) -> dict[str, Any]:
        counts = {lane.name: lane.count for lane in self._lanes.values()}
        entry = {"counts": counts, "last": self._last, "failed": self._failed}
        return {"digests": self._digests, **entry, "ended": self._ended}

    def _compare(self) -> None:
        """Holds the schedules of all ranks against each other."""
        all_ranks = ranks_of(self._members[WORLD].host)
        found = self._board.await_all(all_ranks, self.seconds)
        if missing := [rank for rank in all_ranks if rank not in found]:
            what = (
                f"{ranks_said(missing)} did not bind {self.schedule.name} within {self.seconds:g} s"
            )
            raise self._error(what, tuple(missing), what)
        told = {rank: said["digests"] for rank, said in found.items()}
        if differs := difference(self.schedule.name, told):
            raise BindError(differs)

    def _compare_same(
        self, number: int, same: Settled, round: int, live: Mapping[str, Any]
    ) -> None:
        """Holds against each other what ranks give that is said to be the same on all."""
        if same.group not in self._members:
            return
        (name,) = same.names
        group = self.schedule.groups[same.group].name
        place = self.schedule.place_of(same.place)
        one = Exchange(("same", number), round, f"the comparison of {name} over {group}", place)
        value = int(live[name])
        largest, least = self._meet(same.group, one, [value, -value])
        if largest != -least:
            kind = type(live[name])
            shown = f"{shown_sizes({name: kind(-least)})} to {kind(largest)}"
            what = f"`{name}` is `same over {group}`, and in round {round} its ranks give {shown}"
            raise self._error(f"{place}: {what}")

    def _warm(self, device: str) -> None:
        """Uses every communicator once, in one order: some are only made by that."""
        for of, lane in self._lanes.items():
            group, host = of
            what = f"the first use of {lane.name}"
            one = Exchange(("first", of), None, what, self._source)
            self._meet(group, one, [0], None if host else device)

    def _meet(
        self, group: int, one: Exchange, numbers: list[int], device: str | None = None
    ) -> list[int]:
        """The largest of all ranks' numbers; among their hosts, unless a device is named."""
        member = self._members[group]
        lane = self._lanes[group, device is None]
        communicator = member.host if device is None else member.device
        at = device_of(communicator)
        if device is not None and device.split(":")[0] in ACCELERATORS:
            at = device

        def reduce() -> list[int]:
            tensor = torch.tensor(numbers, device=at)
            dist.all_reduce(tensor, op=dist.ReduceOp.MAX, group=communicator)
            return tensor.tolist()

        return self._watch(reduce, [lane], one)

    def _watched(self, body: Callable, lanes: list[Lane], item: Any, **arguments: Any) -> object:
        one = self._exchange(item, None)  # where no round has issued it, a graph is captured
        return self._watch(partial(body, **arguments), lanes, one)

    def _watch(self, call: Callable[[], Any], lanes: list[Lane], one: Exchange) -> Any:
        """A call that may wait for other ranks. Raises RankError when one of them is to blame."""
        began = time.monotonic()
        for lane in lanes:
            one = lane.arrive(one)
        self._last = one.words
        try:
            found = call()
        except RuntimeError as error:
            self._board.publish()
            waits = self.seconds if time.monotonic() - began > 0.9 * self.seconds else None
            for lane in lanes:
                if isinstance(error, RankError):
                    break
                if (found := blame(self._board, lane, waits)) is not None:
                    what = f"{one.place}: {one.words}: {found.why}"
                    made = self._error(what, found.late, found.why)
                    self.failed(made)
                    raise made from error
            raise
        return found

    def _error(self, what: str, late: tuple[int, ...] = (), why: str = "") -> RankError:
        return RankError(what, self.log(), late, why)

    def _communicators(self) -> Iterator[tuple[tuple[int, bool], Lane]]:
        """Those that the schedule uses and that have more than one rank, in one order on all ranks."""
        voted = {vote.group for vote in self.votes}
        voted |= {same.group for same in self.schedule.same if self.checked}
        used = {(group, True) for group in voted} | {
            (phase.collective.group, phase.stream == HOST)
            for phase in self.schedule.phases
            if phase.collective is not None
        }
        yield (WORLD, True), Lane("all ranks", ranks_of(self._members[WORLD].host))
        for number, group in enumerate(self.schedule.groups):
            for host in (True, False):
                if (number, host) not in used or number not in self._members:
                    continue
                member = self._members[number]
                ranks = ranks_of(member.host if host else member.device)
                yield (number, host), Lane(group.name + (" on the host" if host else ""), ranks)

    def _exchanges(self, bucket: Bucket) -> Iterator[tuple[tuple[int, bool], Any]]:
        """What a round at a bucket comes to, in the order of issue, but for votes."""
        for one in self.schedule.program_of(bucket):
            if one.op in PHASE_OPS:
                phase = self.schedule.phases[one.of]
                of = phase.collective and (phase.collective.group, phase.stream == HOST)
                if of in self._lanes:
                    yield of, ("phase", one.of)
            elif one.op == "replay":
                for of in self._of_capture(one.of):
                    yield of, ("capture", one.of)

    def _of_capture(self, number: int) -> list[tuple[int, bool]]:
        """The communicators that a graph uses."""
        phases = [self.schedule.phases[phase] for phase in self.schedule.captures[number].phases]
        groups = [phase.collective.group for phase in phases if phase.collective is not None]
        return [(group, False) for group in dict.fromkeys(groups) if (group, False) in self._lanes]

    def _skipped(self, item: Any) -> bool:
        kind, number = item
        return kind == "phase" and "skip_idle" in self.schedule.phases[number].attributes

    def _exchange(self, item: Any, round: int | None) -> Exchange:
        what, place = self._words(item)
        if round is None and item[0] == "phase":
            what += " in a capture"
        return Exchange(item, round, what, place)

    def _words_of(self, item: Any) -> tuple[str, str]:
        """What an item is in messages, and where it stands."""
        kind, number = item
        if kind == "phase":
            phase = self.schedule.phases[number]
            what = f"`{phase.name}` ({self._collective(phase)})"
            return what, self.schedule.place_of(phase.place)
        capture = self.schedule.captures[number]
        phases = [self.schedule.phases[phase] for phase in capture.phases]
        within = [f"`{p.name}` ({self._collective(p)})" for p in phases if p.collective is not None]
        if len(within) > MOST_NAMED:
            within = [f"{within[0]} and {len(within) - 1} more"]
        what = f"the graph `{capture.name}` with {', '.join(within)}"
        return what, self.schedule.place_of(capture.place)

    def _collective(self, phase: Any) -> str:
        return f"{phase.collective.kind} over {self.schedule.groups[phase.collective.group].name}"

    def _vote_words(self, vote: Vote) -> str:
        group = self.schedule.groups[vote.group].name
        return f"the vote on {', '.join(vote.names)} over {group}"

    @property
    def _source(self) -> str:
        return self.schedule.source.name


def _members(schedule: Schedule, ranks: Ranks) -> dict[int, Member]:
    """Of every group with more than one rank, by its number. Raises BindError."""
    found = {}
    for number, group in enumerate(schedule.groups):
        if group.size == 1:
            continue
        if group.name not in ranks.groups:
            given = ", ".join(ranks.groups) or "none"
            raise BindError(
                f"{schedule.source.name}: the group `{group.name}` has no ranks; "
                f"`Ranks(groups=...)` is given {given}"
            )
        member = ranks.groups[group.name]
        size = dist.get_world_size(member.host)
        if group.size not in (None, size):
            raise BindError(
                f"{schedule.source.name}: the group `{group.name}` has {group.size} ranks, "
                f"and {size} are given"
            )
        if size > 1:
            found[number] = member
    return found
