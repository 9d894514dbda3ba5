"""What every device keeps: streams in order, waits for records, whatever runs beside whatever."""

from __future__ import annotations

import random
import time

import pytest

from plait.runtime.devices.adversary.device import Adversary
from plait.runtime.devices.cpu import Cpu
from plait.runtime.devices.job import job

MAKERS = {"cpu": Cpu, "adversary": lambda: Adversary(3), "in order": lambda: Adversary(None)}


@pytest.fixture(params=MAKERS.values(), ids=list(MAKERS))
def device(request):
    made = request.param()
    yield made
    made.close()


def note(seen: list, what: object, seconds: float = 0.0):
    def body() -> None:
        time.sleep(seconds)
        seen.append(what)

    return job(str(what), "test:1", body)


def test_a_stream_does_its_jobs_in_order(device) -> None:
    """First in, first out."""
    stream, seen = device.stream("a", "compute"), []
    for number in range(100):
        stream.run(note(seen, number))
    device.synchronize()
    assert seen == list(range(100))


def test_a_wait_holds_up_what_comes_after_it(device) -> None:
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


def test_an_event_never_recorded_holds_nobody_up(device) -> None:
    """The first round's waits on the round before are no waits."""
    stream, seen = device.stream("a", "compute"), []
    (event,) = device.events("never", 1)
    stream.wait(event)
    stream.run(note(seen, 1))
    device.host().wait(event)
    device.synchronize()
    assert seen == [1]


@pytest.mark.parametrize("seed", range(20))
def test_random_programs_keep_every_order_that_events_give(seed: int, device) -> None:
    """Random jobs, records and waits on four streams: each sees all that it waited for, in order."""
    chance = random.Random(seed)
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
