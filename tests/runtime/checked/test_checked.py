"""Checked mode: what a body does past its phase's text is named, and what it may do is let be."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import _pop_mode

from plait.runtime.devices.job import PhaseError
from plait.runtime.devices.refusals import CaptureError
from plait.runtime.schedule import Schedule

SPEC = """\
spec 1
pipeline held {
  dim n in [2, 4]
  stream a
  stream b
  buffer x : i64[n, 2] carried
  buffer y : i64[n]
  buffer z : i64[n] carried
  buffer m : opaque carried
  phase make on a { updates x[_, 0] }
  fork b from make
  phase look on b { reads x[_, 0], m  writes y }
  join look into a
  capture g on a rows n { phase take on a { reads y  updates z } }
  join g into host
}
"""


def make(x):
    x.add_(1)


def look(x, m, y):
    y.copy_(x * m["by"])
    y.add_(1)


def take(y, z):
    z.add_(y)


BODIES: dict[str, Callable[..., Any]] = {"make": make, "look": look, "take": take}


def run(schedule: Schedule, rounds: int = 2, opaque: dict | None = None, **bodies) -> str:
    """What a checked run of these bodies says: nothing, where all is as declared."""
    given = {"m": {"by": torch.tensor(10)}} if opaque is None else opaque
    with schedule.bind(BODIES | bodies, opaque=given, checked=True) as runner:
        reached["runner"] = runner
        try:
            for _ in range(rounds):
                runner.step(**dict.fromkeys(runner.sizes[0], 2))
        except (PhaseError, CaptureError) as error:
            return re.sub(r"^.*CheckError: ", "", str(error))
        return ""


reached: dict[str, Any] = {}


def buffer(name: str) -> torch.Tensor:
    """A buffer got at past the arguments, as a body with a reference of its own would."""
    return reached["runner"].copies()[name][0]


@pytest.fixture(scope="module")
def schedule(compiled) -> Schedule:
    return compiled(SPEC)


def test_what_is_declared_is_let_be(schedule: Schedule) -> None:
    """Values are those of an unchecked run."""
    with schedule.bind(BODIES, opaque={"m": {"by": torch.tensor(10)}}, checked=True) as runner:
        for _ in range(3):
            runner.step(n=3)
        assert runner.buffer("z").tolist() == [63, 63, 63, 63]


@pytest.mark.parametrize("name", ["make", "look", "take"])
def test_what_writes_no_row_is_let_be(name: str, schedule: Schedule) -> None:
    """As a body does in the round of an idle rank: torch counts a change, and there is none."""

    def nothing(**given):
        next(reversed(given.values()))[:0] = 1
        BODIES[name](**given)

    def none(**given):
        next(reversed(given.values()))[:0] = 1

    given: list[dict[str, Any]] = [{name: nothing}, {name: none}]
    assert [run(schedule, **bodies) for bodies in given] == ["", ""]


WRONG: list[tuple[str, Callable[..., Any], str]] = [
    (
        "look",
        lambda x, m, y: x.zero_(),
        "changes `x`, which it only reads; declare `updates x`",
    ),
    (
        "look",
        lambda x, m, y: y.add_(x),
        "reads `y` before it has written it; declare `updates y`",
    ),
    (
        "look",
        lambda x, m, y: y.copy_(buffer("z")[:2]),
        "reads `z`, which it does not declare; declare `reads z`",
    ),
    (
        "look",
        lambda x, m, y: y.fill_(buffer("z").tolist()[0]),
        "reads `z`, which it does not declare; declare `reads z`",
    ),
    (
        "look",
        lambda x, m, y: m["by"].add_(1),
        "changes `m`, which it only reads; declare `updates m`",
    ),
    (
        "make",
        lambda x: buffer("z").add_(1),
        "changes `z`, which it does not declare; declare `updates z`",
    ),
    (
        "make",
        lambda x: x.copy_(buffer("x")[:2, 1]),
        "reads `x` outside of what it declares of it; declare `reads` of all it touches",
    ),
    (
        "take",
        lambda y, z: z.add_(buffer("x")[:2, 0]),
        "reads `x`, which it does not declare; declare `reads x`",
    ),
    (
        "take",
        lambda y, z: y.add_(1),
        "changes `y`, which it only reads; declare `updates y`",
    ),
]


@pytest.mark.parametrize(
    ("phase", "body", "said"), WRONG, ids=[f"{one[0]} {one[2]:.24}" for one in WRONG]
)
def test_what_is_not_declared_is_named(phase: str, body, said: str, schedule: Schedule) -> None:
    """The buffer, what is done to it, and what to declare; in a capture, when it is captured."""
    assert run(schedule, **{phase: body}) == said


def test_the_phase_and_its_line_are_named(schedule: Schedule) -> None:
    """As of any phase that fails."""
    bodies = BODIES | {"look": lambda x, m, y: x.zero_()}
    with schedule.bind(bodies, opaque={"m": torch.tensor(1)}, checked=True) as runner:
        with pytest.raises(PhaseError, match="^test.spec:12: `look` failed on b in round 0: Check"):
            runner.step(n=1)


def test_a_thread_of_the_body_is_noticed(schedule: Schedule) -> None:
    """What it changes is not seen as a kernel, but the tensor has another version."""

    def elsewhere(x, m, y):
        thread = threading.Thread(target=lambda: y.copy_(x))
        thread.start()
        thread.join()

    said = run(schedule, look=elsewhere)
    assert said.startswith("`y` changed while it ran, and not by its kernels on its own stream")


def test_memory_that_is_no_buffers_may_not_join_phases(schedule: Schedule) -> None:
    """Weights that all read are fine; what one phase leaves for another needs a buffer."""
    weight, aside = torch.ones(2, dtype=torch.int64), torch.zeros(2, dtype=torch.int64)
    reading = {"make": lambda x: x.add_(weight), "look": lambda x, m, y: y.copy_(x * weight)}
    assert run(schedule, **reading) == ""
    passing = {"make": lambda x: aside.copy_(x), "look": lambda x, m, y: y.copy_(aside)}
    assert run(schedule, **passing) == (
        "uses memory that is no buffer's and that `make` changes too; declare a buffer for it"
    )


def test_a_body_that_ends_the_capture_is_named(schedule: Schedule) -> None:
    """The state of the capture is the same after each phase of it as before."""

    def ending(y, z):
        z.add_(y)
        for _ in range(2):  # its own watch, and what records the capture
            _pop_mode()

    assert run(schedule, take=ending).startswith(
        "ends a capture, or leaves one begun: a body leaves"
    )


def test_the_environment_asks_for_it(schedule: Schedule, monkeypatch) -> None:
    """PLAIT_CHECK=1 is `checked=True` for all that does not say otherwise."""
    monkeypatch.setenv("PLAIT_CHECK", "1")
    bodies = BODIES | {"make": lambda x: buffer("z").add_(1)}
    with schedule.bind(bodies, opaque={"m": torch.tensor(1)}) as runner:
        reached["runner"] = runner
        with pytest.raises(PhaseError, match="CheckError"):
            runner.step(n=1)


POOLED = """\
spec 1
pipeline pooled {
  stream a
  pool slots = 2
  buffer x : i64[2] in slots
  buffer y : i64[2] in slots
  buffer z : i64[2] carried
  phase one on a { writes x }
  phase two on a { writes y }
  phase use_x on a { reads x  updates z }
  phase use_y on a { reads y  updates z }
}
"""


def test_a_pool_that_holds_fewer_values_is_noticed(compiled) -> None:
    """Each value lives from its write to its last read; one too many is refused with all that are alive."""
    schedule = compiled(POOLED)
    bodies = {
        "one": lambda x: x.fill_(1),
        "two": lambda y: y.fill_(2),
        "use_x": lambda x, z: z.add_(x),
        "use_y": lambda y, z: z.add_(y),
    }
    for size, said in ((2, None), (1, "`slots` holds: `x`, `y` are alive at once, and it has 1")):
        pools = tuple(replace(pool, size=size) for pool in schedule.pools)
        with replace(schedule, pools=pools).bind(bodies, checked=True) as runner:
            runner.step()
            runner.step()
            if said is None:
                runner.drain()
                assert runner.buffer("z").tolist() == [6, 6]
            else:
                with pytest.raises(PhaseError, match=re.escape(said)):
                    runner.drain()


ASSUMED = """\
spec 1
pipeline assumed {
  stream main
  stream side
  buffer pages : i64[8, 4] carried
  buffer x     : i64[4]
  assume disjoint pages[0 .. 5, _], pages[2 .. 7, _], "they share four pages, and hold none at once"
  phase make on main { writes x }
  fork side from make
  phase low on main { updates pages[0 .. 5, _] }
  phase high on side { reads x  updates pages[2 .. 7, _] }
  join side into main
  join main into host
}
"""


def test_parts_that_are_assumed_disjoint_are_held_to_it(compiled) -> None:
    """Which rows a side comes to is told from its indices, round by round."""
    schedule = compiled(ASSUMED)
    rows = {"low": torch.tensor([0, 2]), "high": torch.tensor([3, 1])}
    bodies = {
        "make": lambda x: x.fill_(1),
        "low": lambda pages: pages.index_add_(0, rows["low"], pages.new_ones(2, 4)),
        "high": lambda x, pages: pages.index_add_(0, rows["high"], x.expand(2, 4)),
    }
    with schedule.bind(bodies, checked=True) as runner:
        runner.step()
        rows["low"][1], rows["high"][1] = 3, 0  # they change places
        runner.step()
        assert runner.buffer("pages").sum(1).tolist() == [8, 0, 8, 8, 0, 8, 0, 0]
        rows["high"][0] = 1
        with pytest.raises(
            PhaseError, match="of `pages` in this round, though the two are assumed"
        ):
            runner.step()
            runner.drain()
