"""Rounds of different routes one after the other, on real threads."""

from __future__ import annotations

import time

import pytest
import torch

SPEC = """\
spec 1
pipeline p {
  param steps in [1, 3] = 1
  dim n in [2, 4]
  guard extra
  stream main
  stream side
  buffer x : i64[4] carried
  buffer seen : i64[4] carried
  fork side from main
  phase look on side { reads x  writes seen }
  join side into main
  capture g on main rows n when steps > 1 {
    for i in 1 .. steps { phase step[i] on main { updates x } }
  }
  when extra {
    join prev add into host
    phase add on main { updates x }
  }
}
"""
BODIES = {
    "look": lambda x, seen: seen.copy_(x),
    "step": lambda x, index: x.add_(index),
    "add": lambda x: x.add_(100),
}


def test_each_round_takes_the_route_it_is_given(compiled) -> None:
    """Phases of other routes do not run; a point that did not run is no reason to wait for ever."""
    with compiled(SPEC).bind(BODIES) as runner:
        expected = 0
        for steps, extra in [
            (3, False),
            (1, True),
            (3, True),
            (1, False),
            (1, False),
            (3, False),
        ] * 5:
            runner.step(n=3, steps=steps, extra=extra)
            expected += (6 if steps == 3 else 1) + (100 if extra else 0)
        runner.drain()
        assert runner.buffer("x").tolist() == [expected] * 4
        used = {
            (entry["route"]["steps"], entry["route"]["extra"]): entry["rounds"]
            for entry in runner.counts()
            if entry["rounds"]
        }
    assert used == {(3, False): 10, (1, True): 5, (3, True): 5, (1, False): 10}


def test_a_point_of_another_route_holds_a_stream_back(compiled) -> None:
    """A round without it waits for the round that had it, however slow that was."""
    schedule = compiled(
        """\
spec 1
pipeline p {
  guard extra
  stream main
  stream side
  buffer x : i64[4] carried
  buffer log : i64[40] carried
  buffer at : i64[1] carried
  fork side from prev add
  phase look on side { reads x  updates log, at }
  join side into main
  when extra { phase add on main { updates x } }
}
"""
    )

    def add(x):
        time.sleep(0.005)
        x.add_(1)

    def look(x, log, at):
        log[int(at)] = x[0]
        at.add_(1)

    asked = [True, False, False, True, False, True, True, False] * 5
    with schedule.bind({"add": add, "look": look}) as runner:
        for extra in asked:
            runner.step(extra=extra)
        runner.drain()
        assert runner.buffer("log").tolist() == [sum(asked[:n]) for n in range(40)]


@pytest.mark.parametrize(
    ("live", "message"),
    [
        ({"n": 3}, "a round of p is given n, steps, extra; here: n"),
        ({"n": 3, "steps": 2, "extra": True}, "steps = 2: a round of p has 1, 3"),
        ({"n": 3, "steps": 1, "extra": 1}, "no bucket of p holds n = 3, steps = 1, extra = 1"),
        ({"n": 5, "steps": 1, "extra": True}, "no bucket of p holds n = 5"),
    ],
)
def test_a_route_is_named_whole_and_by_its_values(live: dict, message: str, compiled) -> None:
    """Nothing is guessed: a param or guard that is left out, or of no route, is an error."""
    with compiled(SPEC).bind(BODIES) as runner, pytest.raises(ValueError) as caught:
        runner.step(**live)
    assert message in str(caught.value)


def test_a_graph_with_side_streams_gives_what_its_phases_give(compiled) -> None:
    """A launch, an await and a forked stream in a capture run in an order that the graph allows."""
    schedule = compiled(
        """\
spec 1
pipeline p {
  group ep
  stream main
  stream side
  buffer x : i64[4] carried
  buffer y : i64[4]
  buffer z : i64[4]
  capture g on main rows 4 {
    fork side from main
    phase double on side { reads x  writes y }
    launch send on main { reads x  writes z  collective all_to_all over ep }
    join side into main
    await send on main
    phase both on main { reads y, z  writes x }
  }
}
"""
    )
    bodies = {
        "double": lambda x, y: torch.mul(x, 2, out=y),
        "send": lambda x, z: z.copy_(x + 1),
        "both": lambda x, y, z: torch.add(y, z, out=x),
    }
    with schedule.bind(bodies) as runner:
        for _ in range(4):
            runner.step()
        runner.drain()
        assert runner.buffer("x").tolist() == [40] * 4  # 0, 1, 4, 13, 40
