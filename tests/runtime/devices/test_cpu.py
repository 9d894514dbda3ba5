"""Streams and events on threads: in order, awaited when waited for, never hanging."""

from __future__ import annotations

import random
import threading
import time
from itertools import pairwise

import pytest

from plait.runtime.devices.cpu import Cpu
from plait.runtime.devices.job import job


@pytest.fixture
def device():
    made = Cpu()
    yield made
    made.close()


def note(seen: list, what: object, seconds: float = 0.0):
    def body() -> None:
        time.sleep(seconds)
        seen.append(what)

    return job(str(what), "test:1", body)


def test_a_stream_does_its_jobs_in_order(device: Cpu) -> None:
    """First in, first out, on a thread of its own."""
    stream, seen = device.stream("a", "compute"), []
    for number in range(100):
        stream.run(note(seen, number))
    device.synchronize()
    assert seen == list(range(100))


def test_a_wait_holds_up_what_comes_after_it(device: Cpu) -> None:
    """What follows a wait starts after all that came before the record, however slow that is."""
    a, b, seen = device.stream("a", "compute"), device.stream("b", "compute"), []
    (event,) = device.events("slow", 1)
    a.run(note(seen, "slow", 0.05))
    a.record(event)
    b.run(note(seen, "first"))
    b.wait(event)
    b.run(note(seen, "second"))
    device.synchronize()
    assert seen.index("slow") < seen.index("second")


def test_streams_run_side_by_side(device: Cpu) -> None:
    """Two streams that do not wait for each other are both under way at once."""
    a, b = device.stream("a", "compute"), device.stream("b", "compute")
    both = threading.Barrier(2)
    a.run(job("a", "test:1", both.wait, 10))
    b.run(job("b", "test:1", both.wait, 10))
    device.synchronize()


def test_an_event_never_recorded_holds_nobody_up(device: Cpu) -> None:
    """The first round's waits on the round before are no waits."""
    stream, seen = device.stream("a", "compute"), []
    (event,) = device.events("never", 1)
    stream.wait(event)
    stream.run(note(seen, 1))
    device.host().wait(event)
    device.synchronize()
    assert seen == [1]


def test_a_wait_means_the_record_there_was_when_it_was_given(device: Cpu) -> None:
    """A later record of the same event does not delay an earlier wait."""
    a, b, seen = device.stream("a", "compute"), device.stream("b", "compute"), []
    (event,) = device.events("e", 1)
    gate = threading.Event()
    a.record(event)
    b.wait(event)
    b.run(note(seen, "b"))
    a.run(job("hold", "test:1", gate.wait, 10))
    a.record(event)
    deadline = time.monotonic() + 10
    while not seen and time.monotonic() < deadline:
        time.sleep(0.001)
    assert seen == ["b"]
    gate.set()
    device.synchronize()


def test_a_waiting_stream_does_what_is_missing_itself(device: Cpu) -> None:
    """A chain that goes to and fro between two streams is done without a hand-over for each step."""
    a, b, threads = device.stream("a", "compute"), device.stream("b", "compute"), []
    events = device.events("e", 200)

    def body() -> None:
        threads.append(threading.current_thread().name)

    for number in range(100):
        a.run(job("x", "test:1", body))
        a.record(events[2 * number])
        b.wait(events[2 * number])
        b.run(job("y", "test:1", body))
        b.record(events[2 * number + 1])
        a.wait(events[2 * number + 1])
    device.synchronize()
    changes = sum(one != other for one, other in pairwise(threads))
    assert len(threads) == 200 and changes < 150


@pytest.mark.parametrize("seed", range(20))
def test_random_programs_keep_every_order_that_events_give(seed: int) -> None:
    """Random jobs, records and waits on four streams: each sees all that it waited for, in order."""
    chance = random.Random(seed)
    device = Cpu()
    streams = [device.stream(f"s{n}", "compute") for n in range(4)]
    host = device.host()
    done: list[tuple[int, int]] = []
    given = [0] * 4
    recorded: dict[int, list[int]] = {}
    known = [[0] * 4 for _ in range(4)]
    events = device.events("e", 400)
    checks: list[tuple[int, int, list[int]]] = []
    for number in range(400):
        who = chance.randrange(4)
        kind = chance.choice(["run", "run", "record", "wait", "host"])
        if kind == "run":
            index = given[who] = given[who] + 1
            known[who][who] = index
            checks.append((who, index, list(known[who])))
            pause = 0.0005 if chance.random() < 0.05 else 0.0

            def body(who=who, index=index, pause=pause) -> None:
                time.sleep(pause)
                done.append((who, index))

            streams[who].run(job("x", "test:1", body))
        elif kind == "record":
            streams[who].record(events[number])
            recorded[number] = list(known[who])
        elif recorded:
            event = chance.choice(list(recorded))
            if kind == "wait":
                streams[who].wait(events[event])
                known[who] = [max(a, b) for a, b in zip(known[who], recorded[event], strict=True)]
            else:
                host.wait(events[event])
                for one in range(4):
                    known[one] = [
                        max(a, b) for a, b in zip(known[one], recorded[event], strict=True)
                    ]
    device.synchronize()
    device.close()
    place = {one: n for n, one in enumerate(done)}
    assert len(done) == sum(given)
    for who, index, before in checks:
        for other, newest in enumerate(before):
            if newest and (other, newest) != (who, index):
                last = newest - 1 if other == who else newest
                if last:
                    assert place[(other, last)] < place[(who, index)]


def test_a_failure_travels_with_the_records(device: Cpu) -> None:
    """Whoever waits for a failed stream fails too, and is told why; nobody hangs."""
    a, b, seen = device.stream("a", "compute"), device.stream("b", "compute"), []
    (event,) = device.events("e", 1)

    def fail() -> None:
        raise ValueError("boom")

    a.begin(7)
    a.run(job("bad", "test.spec:3", fail))
    a.run(note(seen, "after"))
    a.record(event)
    b.wait(event)
    b.run(note(seen, "elsewhere"))
    with pytest.raises(
        RuntimeError, match="test.spec:3: `bad` failed on a in round 7: ValueError: boom"
    ):
        device.host().wait(event)
    with pytest.raises(RuntimeError, match="boom"):
        b.synchronize()
    assert seen == []
