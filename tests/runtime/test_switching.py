"""Going over to another schedule between rounds: what moves, and that it is all or nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
import torch

from plait.runtime.devices.job import PhaseError
from plait.runtime.devices.refusals import CaptureError
from plait.runtime.runner import BindError, Runner
from plait.runtime.schedule import Schedule
from plait.runtime.switching import Switched, Switching

SPEC = """\
spec 1
pipeline counted {
  param wide = 2
  stream a
  stream b
  buffer x : i64[2] carried
  buffer seen : i64[2] static copies 2
  buffer wall : i64[wide] carried
  buffer cache : opaque carried static
  phase make on a { updates x, wall, cache }
  capture g on a rows 2 { phase note on a { reads x  writes seen } }
  fork b from g
  phase look on b { reads prev seen as old, seen as new }
  join look into host
}
"""


@pytest.fixture(scope="module")
def schedules(compiled) -> tuple[Schedule, Schedule]:
    return compiled(SPEC), compiled(SPEC, settings={"wide": 3})


def make(x, wall, cache):
    for one in (x, wall, cache[0]):
        one.add_(1)


class Bound:
    """Binds schedules to bodies that note what they see."""

    def __init__(self, **others: Callable) -> None:
        self.looks: list[tuple[int, int]] = []
        self.bodies = {
            "make": make,
            "note": lambda x, seen: seen.copy_(x),
            "look": lambda old, new: self.looks.append((int(old[0]), int(new[0]))),
        } | others

    def __call__(self, schedule: Schedule) -> Runner:
        opaque = {"cache": lambda: [torch.zeros(2, dtype=torch.int64)]}
        return schedule.bind(self.bodies, opaque=opaque, strict=True)


def test_what_is_carried_moves_and_rounds_go_on(schedules) -> None:
    """Of equal name, type and shape, the copies that the round before left too; numbers are counted on."""
    bound = Bound()
    with Switching(schedules[0], bound) as service:
        for _ in range(3):
            service.step()
        first = service.runner
        assert service.switch(schedules[1]) == Switched(
            ("x", "seen", "cache"), ("wall",), ("wall",)
        )
        assert service.step() == 3 and service.schedule is schedules[1]
        service.drain()
        copies = service.runner.copies()
        assert copies["cache"][0][0].tolist() == [4, 4] and copies["wall"][0].tolist() == [1, 1, 1]
        with pytest.raises(RuntimeError, match="is closed"):
            first.step()
    assert bound.looks == [(0, 1), (1, 2), (2, 3), (3, 4)]


def refuses(x, seen):
    seen.copy_(x + x.sum().item())


@pytest.mark.parametrize(
    ("others", "error"), [({"note": 5}, BindError), ({"note": refuses}, CaptureError)]
)
def test_what_cannot_be_bound_leaves_the_old_one(schedules, others, error) -> None:
    """A body that is missing, a capture that fails: the old runner goes on with the values it had."""
    bound = Bound()
    with Switching(schedules[0], bound) as service:
        service.step()
        threads, whole, kept = threading.active_count(), dict(bound.bodies), service.runner
        bound.bodies |= others
        with pytest.raises(error):
            service.switch(schedules[1])
        bound.bodies = whole
        assert service.runner is kept and threading.active_count() <= threads
        assert service.step() == 1
        service.drain()
        assert kept.buffer("x").tolist() == [2, 2]
    assert bound.looks == [(0, 1), (1, 2)]


def test_a_round_in_flight_that_fails_stops_the_switch(compiled, schedules) -> None:
    """The error is of the old schedule's round; that schedule stays, and runs on."""
    in_flight = SPEC.replace("  join look into host\n", "").replace(
        "  phase make", "  join prev look into a\n  phase make"
    )
    struck = threading.Event()

    def fails(x, wall, cache):
        make(x, wall, cache)
        if x[0] == 2:
            struck.wait(10)
            raise ValueError("boom")

    with Switching(compiled(in_flight), Bound(make=fails)) as service:
        kept = service.runner
        service.step()
        service.step()
        struck.set()
        with pytest.raises(PhaseError, match="`make` failed on a in round 1: ValueError: boom"):
            service.switch(schedules[1])
        assert service.runner is kept and service.step() == 2
        service.switch(schedules[1])
        service.step()
        service.drain()
        assert service.runner.buffer("x").tolist() == [4, 4]


def test_no_round_sees_half_of_each(schedules) -> None:
    """One thread steps while another switches to and fro: every round finds what the one before left."""
    bound = Bound()
    with Switching(schedules[0], bound) as service:
        done = threading.Event()

        def switch() -> None:
            try:
                for turn in range(1, 5):
                    service.switch(schedules[turn % 2])
            finally:
                done.set()

        thread = threading.Thread(target=switch)
        thread.start()
        while not done.is_set():
            service.step()
        thread.join(30)
        service.step()
        service.drain()
        rounds = service.runner.rounds
    assert bound.looks == [(number, number + 1) for number in range(rounds)]


PADDED = """\
spec 1
pipeline padded {
  dim bs in [2, 4]
  param wide = 2
  stream a
  buffer x : i64[bs] copies 2 pad -1
  buffer seen : i64[bs] carried
  buffer other : i64[wide] carried
  phase make on a { writes x }
  phase look on a { reads prev x  writes seen }
  phase change on a { updates other }
}
"""


def test_rows_that_were_nobodys_before_a_switch_hold_the_pad(compiled) -> None:
    """The first round of a schedule knows how many rows were live in the last of the one before."""
    bodies = {
        "make": lambda x: x.fill_(7),
        "look": lambda x, seen: seen.copy_(x),
        "change": lambda other: other.add_(1),
    }
    with Switching(compiled(PADDED), lambda one: one.bind(bodies)) as service:
        service.step(bs=1)
        service.switch(compiled(PADDED, settings={"wide": 3}))
        service.step(bs=2)
        service.drain()
        assert service.runner.buffer("seen").tolist() == [7, -1, 0, 0]
