"""A phase that fails: what still runs, what is said of the round, and that the next one runs."""

from __future__ import annotations

import gc
import threading
import traceback
import weakref
from collections.abc import Callable

import pytest
import torch

from plait.runtime.devices.job import PhaseError
from plait.runtime.devices.refusals import CaptureError
from plait.runtime.schedule import Schedule

# `left` waits for nobody; `take` and the graph `g` wait for `look`; the host waits for the round before.
SPEC = """\
spec 1
pipeline faulty {
  stream main
  stream side
  stream free
  buffer x : i64[1] carried
  buffer y : i64[1] copies 2
  buffer z : i64[1] carried
  buffer count : i64[1] carried
  phase make on main { updates x }
  fork side from make
  phase look on side { reads x  writes y }
  join side into main
  capture g on main rows 1 {
    phase take on main { reads y  updates z }
  }
  phase left on free { updates count }
  join prev g into host
}
"""


class Boom(Exception):
    pass


def bodies(**others: Callable[..., object]) -> dict[str, Callable[..., object]]:
    return {
        "make": lambda x: x.add_(1),
        "look": lambda x, y: y.copy_(x * 10),
        "take": lambda y, z: z.add_(y),
        "left": lambda count: count.add_(1),
    } | others


def failing_once(number: int, body: Callable[..., object]) -> Callable[..., object]:
    """A body that fails the `number`-th time, from 1, half of its work done."""
    calls = []

    def run(**buffers):
        calls.append(1)
        body(**buffers)
        if len(calls) == number:
            raise Boom("no")

    return run


def failed(schedule: Schedule, **given) -> tuple[PhaseError, dict[str, list[int]]]:
    """The error that comes out of ten rounds, and the buffers ten rounds after it."""
    with schedule.bind(bodies(**given)) as runner:
        with pytest.raises(PhaseError) as caught:
            for _ in range(10):
                runner.step()
            runner.drain()
        for _ in range(10):
            runner.step()
        runner.drain()
        return caught.value, {name: runner.buffer(name).tolist() for name in ("x", "z", "count")}


@pytest.fixture(scope="module")
def schedule(compiled) -> Schedule:
    return compiled(SPEC)


def test_what_depends_on_it_does_not_run_and_all_else_does(schedule: Schedule) -> None:
    """The error says what ran in its round, what did not, and which buffers that leaves half done."""
    look = failing_once(3, lambda x, y: y.copy_(x * 10))
    error, after = failed(schedule, look=look)
    assert (error.phase, error.stream, error.round) == ("look", "side", 2)
    assert set(error.finished or ()) >= {"make"} and "left" not in error.missed.get(2, ())
    assert "take" in error.missed[2] and error.torn == ("y",) and "z" in error.stale
    assert str(error) == "test.spec:12: `look` failed on side in round 2: Boom: no"
    behind = sum("make" in names for names in error.missed.values())
    rounds = 2 + len({2, *error.missed}) + 10
    assert after["x"] == [rounds - behind]
    assert after["count"] == [rounds - sum("left" in names for names in error.missed.values())]


def test_the_account_of_a_round_is_exact(compiled) -> None:
    """Where the host waits for each round, it is the same every time."""
    text = SPEC.replace("join prev g into host", "join g into host\n  join left into host")
    error, after = failed(compiled(text), look=failing_once(3, lambda x, y: y.copy_(x * 10)))
    shown = "".join(traceback.format_exception_only(error))
    assert shown == (
        "plait.runtime.devices.job.PhaseError: test.spec:12: `look` failed on side in round 2: Boom: no\n"
        "ran in round 2: make, left\n"
        "did not run in round 2: take\n"
        "may be half written: y\n"
        "as an earlier round left it: z\n"
    )
    assert after["x"] == [13] and after["count"] == [13]


def test_the_round_that_fails_on_the_host_stops_there(compiled) -> None:
    """What was issued before ends; what stands after it in the text does not begin."""
    asks = "  phase ask on host { updates asked }\n  phase left on free"
    text = SPEC.replace("  phase left on free", asks)
    text = text.replace("  phase make", "  buffer asked : i64[1] on host carried\n  phase make")
    error, after = failed(compiled(text), ask=failing_once(3, lambda asked: asked.add_(1)))
    assert error.stream == "host" and error.finished == ("make", "look", "take")
    assert error.missed == {2: ("left",)}
    assert error.torn == ("asked",) and error.stale == ("count",)
    assert after == {"x": [13], "z": [10 * sum(range(1, 14))], "count": [12]}


def test_a_graph_that_fails_leaves_all_it_writes_in_doubt(compiled) -> None:
    """A kernel that refuses its values fails in the capture's name, and no phase of it counts as run."""
    text = SPEC.replace("buffer y : i64[1] copies 2", "buffer y : i64[1] static copies 2")
    table = torch.tensor([1, 1, 1, 1])

    def take(y, z):
        z.add_(table.index_select(0, y % 40 // 10 + y // 40))

    with compiled(text).bind(bodies(take=take)) as runner:
        errors = []
        for _ in range(10):
            try:
                runner.step()
                runner.drain()
            except PhaseError as error:
                errors.append((error.phase, error.round, error.finished, error.missed, error.torn))
        ran = ("make", "look", "left")
        assert errors == [("g", number, ran, {}, ("z",)) for number in (6, 9)]
        assert runner.buffer("z").tolist() == [8] and runner.buffer("x").tolist() == [10]


def test_two_failures_come_out_as_one(compiled) -> None:
    """The first that is met is raised; the other is with it."""
    text = SPEC.replace("join prev g into host", "join g into host\n  join left into host")
    both = threading.Barrier(2)

    def look(x, y):
        both.wait(10)
        raise Boom("look")

    def left(count):
        both.wait(10)
        raise Boom("left")

    with compiled(text).bind(bodies(look=look, left=left)) as runner:
        with pytest.raises(PhaseError) as caught:
            runner.step()
        error = caught.value
        (other,) = error.others
        assert error.phase == "look" and "`left` failed on free in round 0" in str(other)
        assert error.missed == {0: ("take",)} and error.torn == ("y", "count")
        with pytest.raises(PhaseError):
            runner.step()


def test_a_failure_is_noticed_without_a_wait(compiled) -> None:
    """A host that never waits learns of it at the start of a round, which then is not begun."""
    schedule = compiled(
        "pipeline p {\n stream a\n buffer x : i64[1] carried\n phase go on a { updates x }\n}"
    )
    failing = threading.Event()

    def go(x):
        x.add_(1)
        if x[0] == 3:
            failing.set()
            raise Boom("no")

    with schedule.bind({"go": go}) as runner:
        with pytest.raises(PhaseError, match="in round 2") as caught:
            for number in range(100_000):
                runner.step()
                if number == 2:
                    assert failing.wait(10)
        runner.step()
        runner.drain()
        assert runner.buffer("x").tolist() == [4]
        missed = sum(len(names) for names in caught.value.missed.values())
        assert runner.rounds == 4 + missed


def test_rounds_too_long_ago_are_said_to_be(compiled) -> None:
    """A thousand rounds in flight later, what ran beside the failed one is no longer known."""
    schedule = compiled(
        "pipeline p {\n stream a\n stream b\n buffer x : i64[1] carried\n buffer y : i64[1] carried\n"
        " phase go on a { updates x }\n phase on_it on b { updates y }\n}"
    )
    hold = threading.Event()

    def go(x):
        assert hold.wait(30)
        raise Boom("no")

    with schedule.bind({"go": go, "on_it": lambda y: y.add_(1)}) as runner:
        for _ in range(1100):
            runner.step()
        hold.set()
        with pytest.raises(PhaseError) as caught:
            runner.drain()
        assert caught.value.finished is None and len(caught.value.missed) == 1024
        assert caught.value.__notes__[0] == (
            "what else ran in round 0 is not known: it was idle, or is too long ago"
        )
        assert runner.buffer("y").tolist() == [1100]


def test_what_a_failed_phase_held_is_freed(schedule: Schedule) -> None:
    """Once the error is dropped, nothing of the runner keeps the frames of the body alive."""
    held: list[weakref.ref] = []

    def look(x, y):
        value = torch.zeros(1000)
        held.append(weakref.ref(value))
        raise Boom(value.shape)

    with schedule.bind(bodies(look=look)) as runner:
        with pytest.raises(PhaseError):
            runner.step()
            runner.drain()
        gc.collect()
        assert held[0]() is None


def test_a_capture_that_fails_leaves_the_runner_as_it_was(compiled) -> None:
    """Nothing was issued: the same round is captured again and runs."""
    calls = []

    def take(y, z):
        calls.append(1)
        if len(calls) == 1:
            raise Boom("no")
        z.add_(y)

    with compiled(SPEC).bind(bodies(take=take), strict=True) as runner:
        with pytest.raises(CaptureError, match="Boom"):
            runner.step()
        assert runner.step() == 0
        runner.drain()
        assert runner.buffer("z").tolist() == [10]


def test_every_phase_may_fail_in_every_round(compiled) -> None:
    """Whichever fails, and whenever, the other rounds count in every buffer that is not said to be stale."""
    schedule = compiled(
        SPEC.replace("join prev g into host", "join g into host\n  join left into host")
    )
    whole = bodies()
    for name, buffer in (("make", "x"), ("look", "y"), ("left", "count")):
        for number in range(1, 5):
            with schedule.bind(bodies(**{name: failing_once(number, whole[name])})) as runner:
                errors = []
                for _ in range(8):
                    try:
                        runner.step()
                    except PhaseError as error:
                        errors.append(error)
                runner.drain()
                (error,) = errors
                assert (error.phase, error.round, error.torn) == (name, number - 1, (buffer,))
                assert runner.buffer("count").tolist() == [8]
                late = name == "make" or name == "look"
                assert ("z" in error.stale) == late and runner.rounds == 8


AHEAD = """\
spec 1
pipeline ahead {
  stream main
  stream update
  buffer x     : i64[1] carried
  buffer at    : i64[1] carried
  buffer asked : i64[1] on host carried
  buffer t     : i64[1] task
  capture g on main rows 1 {
    phase grow on main { updates x }
    join set_t into main
    phase look on main { reads t  updates at }
  }
  phase ask on host { updates asked }
  fork update from prev g
  phase set_t on update { writes t }
}
"""


def test_a_graph_waits_no_more_for_what_a_stopped_round_does_not_issue(compiled) -> None:
    """It ends half done, which is said of what it writes; the next round's waits for its own."""
    schedule = compiled(AHEAD, target="ascend910c")
    counts = {"t": 0}

    def set_t(t):
        counts["t"] += 1
        t.fill_(counts["t"])

    given = {
        "grow": lambda x: x.add_(1),
        "look": lambda t, at: at.add_(t),
        "ask": failing_once(3, lambda asked: asked.add_(1)),
        "set_t": set_t,
    }
    with schedule.bind(given) as runner:
        for _ in range(2):
            runner.step()
        with pytest.raises(PhaseError, match="`ask` failed on host in round 2") as caught:
            runner.step()
        error = caught.value
        assert error.missed[2] in (("grow", "look", "set_t"), ("set_t", "grow", "look"))
        assert set(error.torn) | set(error.stale) == {"asked", "x", "at"} and not error.others
        runner.step()
        runner.drain()
        assert runner.buffer("x").tolist() == [4] and runner.buffer("at").tolist() == [1 + 2 + 3]
