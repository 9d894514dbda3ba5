"""Binding and running: what fits, what runs, what happens when a phase fails."""

from __future__ import annotations

import threading

import pytest
import torch

from plait.runtime.bind import bind
from plait.runtime.devices.base import DeviceError
from plait.runtime.devices.job import PhaseError
from plait.runtime.devices.refusals import CaptureError
from plait.runtime.runner import BindError

TWO = """\
spec 1
pipeline two {
  dim n in [2, 4]
  stream a
  stream b
  buffer x : i64[n] carried
  buffer y : i64[n]
  buffer m : opaque
  phase make on a { updates x }
  fork b from make
  phase look on b { reads x  writes y, m }
  join look into a
  phase take on a { reads y, m }
  join take into host
}
"""


def make(x):
    x.add_(1)


def look(x, y, m):
    y.copy_(x * 10)
    m["sum"].copy_(x.sum())


def take(y, m):
    pass


BODIES = {"make": make, "look": look, "take": take}


def meta(n: int) -> dict[str, torch.Tensor]:
    return {"sum": torch.zeros((), dtype=torch.int64)}


def test_rounds_run_and_buckets_share_their_rows(compiled) -> None:
    """Row i of a carried buffer keeps its place in every bucket; a small round leaves the rest alone."""
    with compiled(TWO).bind(BODIES, opaque={"m": meta}) as runner:
        for live in (1, 2, 4, 3, 1):
            runner.step(n=live)
        runner.drain()
        assert runner.buffer("x").tolist() == [5, 5, 2, 2]
        assert [entry["rounds"] for entry in runner.counts()] == [3, 2]


def test_a_size_over_the_largest_bucket_is_refused(compiled) -> None:
    """The message names what was asked and the largest there is."""
    with compiled(TWO).bind(BODIES, opaque={"m": meta}) as runner:
        with pytest.raises(ValueError, match="no bucket of two holds n = 5; the largest has n = 4"):
            runner.step(n=5)


@pytest.mark.parametrize(
    ("live", "message"),
    [
        ({}, "a round of two is given n; here: none"),
        ({"m": 2}, "a round of two is given n; here: m"),
        ({"n": 2, "m": 2}, "a round of two is given n; here: n, m"),
        ({"n": 0}, "n = 0: a size is an int, 1 or more"),
        ({"n": 1.5}, "n = 1.5: a size is an int, 1 or more"),
        ({"n": "2"}, "n = '2': a size is an int, 1 or more"),
    ],
)
def test_a_round_is_given_its_sizes(live: dict, message: str, compiled) -> None:
    """A size that is missing, misspelt or no count never runs a round of another size."""
    with compiled(TWO).bind(BODIES, opaque={"m": meta}) as runner:
        with pytest.raises(ValueError, match=f"^{message}$"):
            runner.step(**live)
        assert runner.rounds == 0


@pytest.mark.parametrize(
    ("bodies", "opaque", "message"),
    [
        ({"make": make}, {"m": meta}, "test.spec:11: no body is bound for the phase `look`"),
        (
            BODIES | {"take": lambda y: None},
            {"m": meta},
            "test.spec:13: the body of `take` does not take what the phase gives it (y, m)",
        ),
        (
            BODIES | {"take": 5},
            {"m": meta},
            "test.spec:13: what is bound for `take` is no callable: 5",
        ),
        (BODIES, {}, "the opaque buffer `m` is not bound: give `opaque` a `m`"),
    ],
)
def test_what_does_not_fit_is_refused_when_bound(bodies, opaque, message: str, compiled) -> None:
    """Missing bodies, wrong arguments and missing buffers name the line of the spec."""
    with pytest.raises(BindError) as caught:
        compiled(TWO).bind(bodies, opaque=opaque)
    assert message in str(caught.value)


def test_a_device_that_is_not_there_is_one_line(compiled) -> None:
    """The devices that are there are named."""
    with pytest.raises(DeviceError, match="there is no device `npu`; this Plait runs on cpu"):
        bind(compiled(TWO), BODIES, opaque={"m": meta}, device="npu")


def test_a_failing_phase_is_named_with_its_line_and_round(compiled) -> None:
    """Streams that wait for it fail too instead of hanging, and the runner says the same ever after."""
    rounds = []

    def failing(x, y, m):
        rounds.append(x[0].item())
        if len(rounds) == 3:
            raise ValueError("boom")
        look(x, y, m)

    with compiled(TWO).bind(BODIES | {"look": failing}, opaque={"m": meta}) as runner:
        with pytest.raises(PhaseError) as caught:
            for _ in range(10):
                runner.step(n=1)
        assert str(caught.value) == "test.spec:11: `look` failed on b in round 2: ValueError: boom"
        assert isinstance(caught.value.__cause__, ValueError)
        with pytest.raises(PhaseError):
            runner.step(n=1)
    assert threading.active_count() < 20


def test_a_failing_host_phase_is_named_too(compiled) -> None:
    """The host is a stream like the others when something goes wrong on it."""
    schedule = compiled(
        "pipeline p {\n buffer x : i64[2] on host carried\n phase read on host { updates x }\n}"
    )
    with schedule.bind({"read": lambda x: 1 / 0}) as runner:
        with pytest.raises(PhaseError, match="test.spec:3: `read` failed on host in round 0"):
            runner.step()


def test_closing_ends_the_threads(compiled) -> None:
    """A closed runner leaves no thread behind and refuses to run."""
    before = threading.active_count()
    runner = compiled(TWO).bind(BODIES, opaque={"m": meta})
    runner.step(n=2)
    assert threading.active_count() == before + 2
    runner.close()
    assert threading.active_count() == before
    with pytest.raises(RuntimeError, match="is closed"):
        runner.step(n=2)


def test_phases_run_with_one_thread_and_no_gradients(compiled) -> None:
    """Both are settings of a thread in torch: streams set their own, a host that helps puts its back."""
    found = []

    def ask(x):
        found.append((torch.get_num_threads(), torch.is_grad_enabled()))

    schedule = compiled(
        "pipeline p {\n stream a\n stream b\n buffer x : i64[2] carried\n buffer y : i64[2] carried\n"
        " phase one on a { updates x }\n phase two on b { updates y as x }\n"
        " join one into host\n join two into host\n}"
    )
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with schedule.bind({"one": ask, "two": ask}) as runner:
            for _ in range(20):
                runner.step()
            assert torch.get_num_threads() == 2 and torch.is_grad_enabled()
    finally:
        torch.set_num_threads(before)
    assert set(found) == {(1, False)} and len(found) == 40


def test_an_opaque_buffer_may_be_a_named_tuple_list_or_dict(compiled) -> None:
    """Captured, it is copied in tensor by tensor whatever holds the tensors."""
    from collections import namedtuple

    Pair = namedtuple("Pair", "first second")
    schedule = compiled(
        "pipeline p {\n stream a\n buffer m : opaque\n buffer x : i64[2]\n"
        " phase fill on a { writes m }\n capture g on a rows 2 { phase use_it on a { reads m  writes x } }\n}"
    )
    given = Pair([torch.zeros(2, dtype=torch.int64)], {"k": torch.zeros(2, dtype=torch.int64)})

    def fill(m):
        m.first[0].add_(1)
        m.second["k"].add_(10)

    def use_it(m, x):
        x.copy_(m.first[0] + m.second["k"])

    with schedule.bind({"fill": fill, "use_it": use_it}, opaque={"m": given}) as runner:
        for _ in range(2):
            runner.step()
        runner.drain()
        assert runner.buffer("x").tolist() == [22, 22]


def test_an_opaque_buffer_of_nothing_known_is_refused(compiled) -> None:
    """Only what can be copied tensor by tensor can be captured, and the message says what can."""
    schedule = compiled(
        "pipeline p {\n stream a\n buffer m : opaque\n buffer x : i64[2]\n"
        " phase fill on a { writes m }\n capture g on a rows 2 { phase look on a { reads m  writes x } }\n}"
    )
    bodies = {"fill": lambda m: None, "look": lambda m, x: None}
    with (
        schedule.bind(bodies, opaque={"m": object()}) as runner,
        pytest.raises(TypeError, match="a tensor, or a dict, list or tuple of them, not object"),
    ):
        runner.step()


def test_a_capture_that_cannot_be_is_named(compiled) -> None:
    """A body that reads a value back cannot be captured; phase, line and reason are said."""
    schedule = compiled(
        "pipeline p {\n stream a\n buffer x : i64[2] carried\n"
        " capture g on a rows 2 { phase peek on a { updates x } }\n}"
    )
    with (
        schedule.bind({"peek": lambda x: x.sum().item()}) as runner,
        pytest.raises(
            CaptureError, match="test.spec:4: `peek` failed while it was captured in `g`"
        ),
    ):
        runner.step()
