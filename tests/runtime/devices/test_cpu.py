"""Streams and events on threads: in order, awaited when waited for, never hanging."""

from __future__ import annotations

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


def test_streams_run_side_by_side(device: Cpu) -> None:
    """Two streams that do not wait for each other are both under way at once."""
    a, b = device.stream("a", "compute"), device.stream("b", "compute")
    both = threading.Barrier(2)
    a.run(job("a", "test:1", both.wait, 10))
    b.run(job("b", "test:1", both.wait, 10))
    device.synchronize()


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
