"""The adversary as a device: what it may not do, what it does, and the same again for one seed."""

from __future__ import annotations

import pytest
import torch

from plait.runtime.devices.adversary.device import Adversary
from plait.runtime.devices.base import DeviceError
from plait.runtime.devices.job import PhaseError, job
from plait.runtime.runner import BindError
from plait.runtime.schedule import Schedule

SEEDS = range(20)

UNORDERED = """\
spec 1
pipeline p {
  stream a
  stream b
  buffer x : i64[2] carried
  buffer y : i64[2] carried
  fork b from a
  phase left on a { updates x }
  phase right on b { updates y }
  join b into a
}
"""

LIVES = """\
spec 1
pipeline p {
  stream a
  buffer x : i64[2] carried
  buffer y : i64[2]
  phase make on a { reads x  writes y }
  phase take on a { reads y  updates x }
}
"""

ROWS = """\
spec 1
pipeline p {
  dim bs in [1, 4]
  stream a
  buffer x : TYPE[bs, 2] carried PAD
  buffer y : TYPE[bs, 2]
  buffer z : TYPE[bs, 2] carried
  phase make on a { reads x  writes y }
  phase take on a { reads y  updates z }
}
"""


def order(schedule: Schedule, seed: int, rounds: int) -> str:
    """The two phases as they ran, by their initials."""
    seen: list[str] = []
    bodies = {"left": lambda x: seen.append("l"), "right": lambda y: seen.append("r")}
    with schedule.bind(bodies, device=Adversary(seed)) as runner:
        for _ in range(rounds):
            runner.step()
    return "".join(seen)


def test_one_seed_is_one_interleaving(compiled) -> None:
    """The order of two streams is the same again, and for some other seed another."""
    schedule = compiled(UNORDERED)
    orders = [order(schedule, seed, 4) for seed in SEEDS]
    assert orders == [order(schedule, seed, 4) for seed in SEEDS]
    assert len(set(orders)) > 3


def test_either_of_two_without_an_order_comes_first(compiled) -> None:
    """In the first round already, for some seed."""
    schedule = compiled(UNORDERED)
    assert {order(schedule, seed, 1) for seed in SEEDS} == {"lr", "rl"}


@pytest.mark.parametrize("pad", ["", "pad 0"])
@pytest.mark.parametrize("dtype", ["i64", "f32"])
def test_rows_that_only_pad_hold_what_nobody_may_read(compiled, dtype: str, pad: str) -> None:
    """A phase that sums over all rows is not right here, unless they are padded; one that keeps apart is."""
    schedule = compiled(ROWS.replace("TYPE", dtype).replace("PAD", pad))
    mixed = {"make": lambda x, y: y.copy_(x.sum(0).expand_as(y)), "take": lambda y, z: z.add_(y)}
    apart = {"make": lambda x, y: y.copy_(x + 1), "take": lambda y, z: z.add_(y)}

    def left(bodies, device) -> list:
        with schedule.bind(bodies, device=device) as runner:
            runner.buffer("x")[:3] = torch.arange(6).view(3, 2)
            for bs in (3, 1, 2):
                runner.step(bs=bs)
            runner.drain()
            return runner.buffer("z")[:2].tolist()

    for bodies, right in ((mixed, pad != ""), (apart, True)):
        expected = left(bodies, "cpu")
        assert {left(bodies, Adversary(seed)) == expected for seed in SEEDS} == {right}


def test_a_body_sees_what_was_there_when_it_began(compiled) -> None:
    """Not what appeared while it was in flight: what it changed appears when it ends."""
    text = UNORDERED.replace("updates y", "reads x  updates y")

    def left(x) -> None:
        x.add_(1)

    def right(x, y) -> None:
        y.copy_(x)

    schedule = compiled(text, unchecked=True)
    found = set()
    for seed in SEEDS:
        with schedule.bind({"left": left, "right": right}, device=Adversary(seed)) as runner:
            runner.step()
            runner.drain()
            found.add(tuple(runner.buffer("y").tolist()))
    assert found == {(0, 0), (1, 1)}


def test_two_that_write_one_place_leave_the_one_that_ended_last(compiled) -> None:
    """And of two that write parts of it, each leaves its part."""
    text = UNORDERED.replace("updates y", "updates x")
    schedule = compiled(text, unchecked=True)
    found = set()
    for seed in SEEDS:

        def left(x) -> None:
            x[0] = 1

        def right(x) -> None:
            x[:] = torch.tensor([2, 2])

        with schedule.bind({"left": left, "right": right}, device=Adversary(seed)) as runner:
            runner.step()
            runner.drain()
            found.add(tuple(runner.buffer("x").tolist()))
    assert found == {(1, 2), (2, 2)}


def test_what_is_not_written_is_poison(compiled) -> None:
    """A body that leaves out what it has to write leaves no old value there; without a seed, zeros."""
    schedule = compiled(LIVES)

    def make(x, y) -> None:
        y[0] = 5

    def take(y, x) -> None:
        x.copy_(y)

    def left(seed: int | None) -> list[int]:
        with schedule.bind({"make": make, "take": take}, device=Adversary(seed)) as runner:
            runner.step()
            runner.drain()
            return runner.buffer("x").tolist()

    poison = int.from_bytes(b"\xa5" * 8, signed=True)
    assert [left(seed) for seed in range(3)] == [[5, poison]] * 3


def test_what_nobody_reads_any_more_is_poison(compiled) -> None:
    """A buffer of a round's own holds nothing of the round before when its writer is left out of the next."""
    schedule = compiled(LIVES)
    runner = schedule.bind(
        {"make": lambda x, y: y.fill_(5), "take": lambda y, x: x.copy_(y)}, device=Adversary(0)
    )
    with runner:
        runner.step()
        runner.drain()
        assert runner.buffer("x").tolist() == [5, 5]
        assert runner.buffer("y").tolist() == [int.from_bytes(b"\xa5" * 8, signed=True)] * 2


def test_a_phase_that_raises_is_named(compiled) -> None:
    """With its place, stream and round, as on the CPU; what waits for it does not run."""
    ran = []

    def left(x) -> None:
        raise ValueError("no")

    with pytest.raises(
        PhaseError, match="test.spec:8: `left` failed on a in round 0: ValueError: no"
    ):
        with compiled(UNORDERED).bind(
            {"left": left, "right": lambda y: ran.append(1)}, device=Adversary(1)
        ) as runner:
            runner.step()
            runner.drain()


def test_a_wait_for_what_never_comes_is_an_error() -> None:
    """Streams that wait for each other are named, where a device would hang."""
    device = Adversary(0)
    stream, other = device.stream("a", "compute"), device.stream("b", "compute")
    (event,) = device.events("e", 1, external=True)
    graph = device.capture("g", "test:1", [("external", stream, event, ())], [])
    stream.replay(graph)
    (done,) = device.events("done", 1)
    stream.record(done)
    other.wait(done)
    other.run(job("late", "test:1", lambda: None))
    with pytest.raises(DeviceError, match="a is held up at `g`, and nothing can go on"):
        device.synchronize()


def test_a_graph_waits_for_a_record_that_is_issued_after_it() -> None:
    """What it waits for from inside is the record of its own round, whenever the host comes to it."""
    for seed in SEEDS:
        device, seen = Adversary(seed), []
        stream, other = device.stream("a", "compute"), device.stream("b", "update")
        (event,) = device.events("e", 1, external=True)
        inside = job("inside", "test:2", seen.append, "inside")
        graph = device.capture(
            "g", "test:1", [("external", stream, event, ()), ("run", stream, inside, ())], []
        )
        for number in range(3):
            stream.begin(number)
            other.begin(number)
            stream.replay(graph)
            other.run(job("update", "test:3", seen.append, "update"))
            other.record(event)
            (end,) = device.events("end", 1)
            stream.record(end)
            other.wait(end)
        device.synchronize()
        assert seen == ["update", "inside"] * 3


def test_two_calls_in_one_scratch_have_no_result(compiled) -> None:
    """Where nothing keeps them apart, some seed has them there at once, and poison comes out."""
    text = (
        UNORDERED.replace("  fork b", "  buffer s : i64[4] scratch\n  fork b", 1)
        .replace("updates x", "updates x, s")
        .replace("updates y", "updates y, s")
    )
    schedule = compiled(text, unchecked=True)
    poison = [int.from_bytes(b"\xa5" * 8, signed=True)] * 2
    bodies = {"left": lambda x, s: x.add_(1), "right": lambda y, s: y.add_(1)}
    found = []
    for seed in SEEDS:
        with schedule.bind(bodies, device=Adversary(seed)) as runner:
            runner.step()
            runner.drain()
            found.append((runner.buffer("x").tolist(), runner.buffer("y").tolist()))
    assert ([1, 1], [1, 1]) in found
    assert any(poison in pair for pair in found)


def test_it_takes_work_again_after_a_failure() -> None:
    """What went wrong is told once, what waited for it did not run, and events count as never recorded."""
    device, seen = Adversary(1), []
    one, other = device.stream("a", "compute"), device.stream("b", "compute")
    (event,) = device.events("e", 1)

    def fails() -> None:
        raise ValueError("no")

    one.run(job("fails", "test:1", fails))
    one.record(event)
    other.wait(event)
    other.run(job("behind", "test:2", seen.append, "behind"))
    (error,) = device.recover()
    assert str(error) == "test:1: `fails` failed on a in round 0: ValueError: no"
    other.wait(event)
    other.run(job("again", "test:3", seen.append, "again"))
    device.synchronize()
    assert seen == ["again"] and device.recover() == []


def test_checked_mode_is_refused(compiled) -> None:
    """It would see copies, and find nothing wrong with any body."""
    with pytest.raises(BindError, match="the adversary gives bodies copies, .*: check on the cpu"):
        compiled(UNORDERED).bind({}, device=Adversary(0), checked=True)
