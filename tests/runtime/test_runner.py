"""Binding and running: what fits, what runs, what happens when a phase fails."""

from __future__ import annotations

import gc
import queue
import signal
import threading
import time

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


async def later(y, m):
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
        (None, {"m": meta}, "`bodies` maps names to what is bound to them; given is None"),
        (BODIES, [meta], "`opaque` maps names to what is bound to them; given is ["),
        (
            BODIES | {"take": later},
            {"m": meta},
            "test.spec:13: the body of `take` is `async` or a generator: calling it would not run it",
        ),
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
    """Streams that wait for it fail too instead of hanging."""
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
    assert threading.active_count() < 20


def test_a_failing_host_phase_is_named_too(compiled) -> None:
    """The host is a stream like the others when something goes wrong on it."""
    schedule = compiled(
        "pipeline p {\n buffer x : i64[2] on host carried\n phase read on host { updates x }\n}"
    )
    with schedule.bind({"read": lambda x: 1 / 0}) as runner:
        with pytest.raises(PhaseError, match="test.spec:3: `read` failed on host in round 0"):
            runner.step()


ONE = "pipeline p {{\n stream a\n buffer {} : i64[2] carried\n phase {} on a {{ updates {} }}\n}}"


@pytest.mark.parametrize("name", ["name", "place", "function", "self", "error"])
def test_a_buffer_may_have_any_name(name: str, compiled) -> None:
    """What a body is called with never meets a name of the runtime's own."""
    with compiled(ONE.format(name, "go", name)).bind({"go": lambda **k: k[name].add_(1)}) as runner:
        runner.step()
        runner.drain()
        assert runner.buffer(name).tolist() == [1, 1]


def test_an_argument_named_index_does_not_hide_the_index(compiled) -> None:
    """A body shared by `go[1]` and others is called with the number; one of its own is not."""
    schedule = compiled(ONE.format("index", "go[1]", "index"))
    with pytest.raises(
        BindError, match="test.spec:4: `go.1.` has an argument `index`, and its body"
    ):
        schedule.bind({"go": lambda index: None})
    with schedule.bind({"go[1]": lambda index: index.add_(1)}) as runner:
        runner.step()
        runner.drain()
        assert runner.buffer("index").tolist() == [1, 1]


def test_a_buffer_there_is_no_memory_for_is_named(compiled) -> None:
    """The allocator's error is the end of one line, not a traceback of its own."""
    schedule = compiled(ONE.replace("[2]", "[281474976710656]").format("x", "go", "x"))
    with pytest.raises(BindError, match="there is no memory for the buffer `x`, 1 x i64"):
        schedule.bind({"go": lambda x: None})


def test_a_copy_that_is_not_kept_is_refused(compiled) -> None:
    """`rounds_back` goes as far back as there are copies."""
    with compiled(TWO).bind(BODIES, opaque={"m": meta}) as runner:
        for back in (-1, 1):
            with pytest.raises(ValueError, match=f"rounds_back = {back}: `x` has 1 copy"):
                runner.buffer("x", back)
        with pytest.raises(KeyError, match="`m` of two is made for each bucket anew"):
            runner.buffer("m")


SHARED = """\
spec 1
pipeline shared {
  stream a
  buffer x : i64[2]
  buffer y : i64[2]
  buffer kept : i64[2] carried
  capture g on a rows 2 {
    phase one on a { writes x }
    phase two on a { reads x  updates kept }
    phase three on a { writes y }
    phase four on a { reads y  updates kept }
  }
}
"""


def test_a_buffer_whose_memory_is_shared_is_not_given_out(compiled) -> None:
    """After the round it holds another's value; with memory of its own it may be looked at."""
    add = {"two": lambda x, kept: kept.add_(x), "four": lambda y, kept: kept.add_(y)}
    bodies = {"one": lambda x: x.fill_(1), "three": lambda y: None, **add}
    with compiled(SHARED).bind(bodies) as runner:
        runner.step()
        runner.drain()
        with pytest.raises(ValueError, match="`x` of shared shares memory with other buffers"):
            runner.buffer("x")
        assert runner.buffer("kept").tolist() == [2, 2]  # `three` left what `one` wrote there
        assert runner.memory() == 512 + 16
    with compiled(SHARED).bind(bodies, arena=False) as runner:
        runner.step()
        runner.drain()
        assert runner.buffer("x").tolist() == runner.buffer("kept").tolist() == [1, 1]
        assert runner.memory() == 3 * 16


CAPTURED = """\
spec 1
pipeline p {
  stream a
  buffer x : f32[2] carried
  buffer m : opaque carried static
  capture g on a rows 2 { phase go on a { reads m  updates x } }
}
"""


def test_what_is_bound_in_inference_mode_runs_outside(compiled) -> None:
    """Buffers, opaque ones, and the memory of captures belong to no mode."""
    with torch.inference_mode():
        runner = compiled(CAPTURED).bind(
            {"go": lambda m, x: x.add_(m * 2)}, opaque={"m": lambda: torch.ones(2)}
        )
        runner.prepare()
    with runner:
        runner.buffer("x").add_(1)
        runner.step()
        runner.drain()
        assert runner.buffer("x").tolist() == [3, 3]


def test_leaving_with_waits_for_what_was_issued(compiled) -> None:
    """The last round is done, and a phase that fails in it is told; after an error nothing is waited for."""
    schedule = compiled(ONE.format("x", "go", "x"))
    seen = []

    def go(x):
        time.sleep(0.01)
        seen.append(int(x[0]))
        if len(seen) > 5:
            raise ValueError("boom")

    with schedule.bind({"go": go}) as runner:
        for _ in range(5):
            runner.step()
    assert len(seen) == 5
    with pytest.raises(PhaseError, match="boom"), schedule.bind({"go": go}) as runner:
        runner.step()
    began = time.monotonic()
    with pytest.raises(KeyError), schedule.bind({"go": lambda x: time.sleep(0.01)}) as runner:
        for _ in range(1000):
            runner.step()
        runner.buffer("no")
    assert time.monotonic() - began < 5


def test_a_result_handed_over_by_a_body_comes_without_another_call(compiled) -> None:
    """A host that waits elsewhere is not waited for, however quickly it came back before."""
    schedule = compiled(
        "pipeline p {\n stream a\n stream b\n buffer x : i64[1] carried\n buffer y : i64[1]\n"
        " phase one on a { updates x }\n fork b from a\n phase two on b { reads x  writes y }\n"
        " join b into a\n join prev two into host\n}"
    )
    results: queue.Queue[int] = queue.Queue()
    bodies = {"one": lambda x: x.add_(1), "two": lambda x, y: results.put(int(x))}
    with schedule.bind(bodies) as runner:
        for burst in range(1, 6):
            for _ in range(20):
                runner.step()
            while results.get(timeout=10) < burst * 20:
                pass


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("where", ["make", "look", "tell"])
def test_an_interrupt_ends_the_runner(error, where: str, compiled) -> None:
    """It comes out once, on whatever stream it struck; a phase's own `SystemExit` is an error like others."""
    schedule = compiled(
        TWO.replace(
            "  join take into host\n", "  join take into host\n  phase tell on host { reads x }\n"
        )
    )
    calls = []

    def interrupt(**_):
        calls.append(1)
        if len(calls) == 3:
            raise error

    with schedule.bind(
        BODIES | {"tell": lambda x: None, where: interrupt}, opaque={"m": meta}
    ) as runner:
        host_sees = error if error is KeyboardInterrupt or where == "tell" else PhaseError
        with pytest.raises(host_sees):
            for _ in range(10):
                runner.step(n=1)
        for call in (lambda: runner.step(n=1), runner.drain, runner.prepare):
            if host_sees is error:
                with pytest.raises(RuntimeError, match="interrupted in round 2"):
                    call()
            else:
                call()
    assert len(calls) == (3 if host_sees is error else 4)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_at_any_moment_leaves_nothing_hanging(compiled) -> None:
    """A signal strikes rounds at a hundred moments: each runner then refuses, or goes on whole."""
    striking = False

    def strike(*_):
        if striking:
            raise KeyboardInterrupt

    schedule = compiled(TWO)
    before = signal.signal(signal.SIGALRM, strike)
    try:
        for number in range(100):
            runner = schedule.bind(BODIES, opaque={"m": meta})
            striking = True
            try:
                signal.setitimer(
                    signal.ITIMER_REAL, 0.0002 + number * 0.00003, 0.01
                )  # where Python swallows one, another comes
                while True:
                    runner.step(n=1)
            except KeyboardInterrupt:
                striking = False
            try:
                runner.drain()
            except RuntimeError as error:
                assert "interrupted in round" in str(error)
            else:
                assert runner.buffer("x")[0] == runner.rounds
            runner.close()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_runner_that_is_dropped_ends_its_threads(compiled) -> None:
    """Nobody has to close what nobody holds any more."""
    before = threading.active_count()
    runner = compiled(TWO).bind(BODIES, opaque={"m": meta})
    for _ in range(50):
        runner.step(n=2)
    runner.drain()
    del runner
    gc.collect()
    deadline = time.monotonic() + 10
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= before  # less, where those of an earlier test end now


def test_closing_ends_the_threads(compiled) -> None:
    """A closed runner leaves no thread behind and refuses to run."""
    before = threading.active_count()
    runner = compiled(TWO).bind(BODIES, opaque={"m": meta})
    runner.step(n=2)
    assert threading.active_count() == before + 2
    runner.close()
    assert threading.active_count() == before
    for call in (lambda: runner.step(n=2), runner.drain, runner.prepare):
        with pytest.raises(RuntimeError, match="is closed"):
            call()


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


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            object(),
            "what is bound to the opaque buffer `m` does not do: it is a tensor, or a dict, ",
        ),
        ({"k": [None]}, "list or tuple of them, not NoneType"),
        (lambda bs: None, "what makes the opaque buffer `m` failed for no sizes: TypeError: "),
        (lambda: 5, "what is bound to the opaque buffer `m` does not do: "),
    ],
)
def test_an_opaque_buffer_of_nothing_known_is_refused(given, message: str, compiled) -> None:
    """Only what can be copied tensor by tensor does, and the buffer is named."""
    schedule = compiled(
        "pipeline p {\n stream a\n buffer m : opaque carried\n phase look on a { updates m }\n}"
    )
    with pytest.raises(BindError) as caught:
        schedule.bind({"look": lambda m: None}, opaque={"m": given})
    assert message in str(caught.value)


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
