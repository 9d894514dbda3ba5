"""Which way kernels are launched is chosen once, the best first; what it cannot take, the next does."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from plait.runtime.devices import interpreted, replayers
from plait.runtime.devices.base import DeviceError
from plait.runtime.devices.cpu import Cpu
from plait.runtime.devices.graph import PythonReplayer
from plait.runtime.devices.interpreted import InterpretedReplayer
from plait.runtime.devices.job import job
from plait.runtime.devices.recording import Kernel, record
from plait.runtime.devices.replayers import here, replayer
from plait.runtime.devices.tiers import NotHere, NotTaken, Tiers

INTERPRETED = "interpreter: replay of recorded kernels from torch's interpreter"


@pytest.fixture
def without_a_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CXX", "no-such-compiler")
    here.cache_clear()
    yield
    here.cache_clear()


def test_the_best_that_is_here_is_taken(without_a_compiler, monkeypatch) -> None:
    """Without a compiler torch's interpreter, without that Python."""
    assert replayer().kind == INTERPRETED
    monkeypatch.setattr(interpreted, "NEEDED", ("gone",))
    here.cache_clear()
    assert replayer().kind == PythonReplayer.kind
    assert str(here("interpreter")) == f"torch {torch.__version__} has no torch._C.gone"


def test_the_environment_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    """None better than what it says; an unknown name is refused."""
    for kind in replayers.KINDS:
        if isinstance(here(kind), NotHere):
            continue
        monkeypatch.setenv("PLAIT_CPU_REPLAY", kind)
        assert replayer().kind.startswith(f"{kind}: ")
    monkeypatch.setenv("PLAIT_CPU_REPLAY", "fortran")
    with pytest.raises(DeviceError) as caught:
        replayer()
    assert str(caught.value) == (
        "PLAIT_CPU_REPLAY=fortran: kernels are replayed from native or interpreter or python"
    )


def test_what_is_asked_for_and_not_here_is_said(without_a_compiler, monkeypatch, caplog) -> None:
    """The next is taken, with a warning that says why."""
    monkeypatch.setenv("PLAIT_CPU_REPLAY", "native")
    assert replayer().kind == INTERPRETED
    assert "PLAIT_CPU_REPLAY=native: there is no C++ compiler no-such-compiler" in caplog.text


def small(x: Tensor, o: Tensor) -> None:
    """A number of many digits with one of few."""
    o.copy_((x.bfloat16().sum() * 1.1).float())


def plain(x: Tensor, o: Tensor) -> None:
    o.copy_(x + 1)


def captured(device: Cpu, body: Callable) -> tuple[Tensor, Tensor]:
    x, o = torch.arange(4.0), torch.zeros(4)
    graph = device.capture(
        "g", "test:1", [("run", None, job("b", "test:1", body, x=x, o=o), ())], [o]
    )
    x.add_(1)
    graph.replay()
    expected = torch.zeros(4)
    body(x, expected)
    return o, expected


def test_what_one_cannot_take_over_the_next_does() -> None:
    """Each graph by the best that can, and how many fell is part of how the device captures."""
    device = Cpu(replayer("interpreter"))
    for body in (plain, small, plain):
        found, expected = captured(device, body)
        assert found.tolist() == expected.tolist()
    assert device.capture_kind == (
        f"{INTERPRETED}; 1 of 3 graphs python: replay of recorded kernels from Python"
    )
    device.close()


def kernels_of(body: Callable, **given: Tensor) -> list[Kernel]:
    return record("g", [job("b", "test:1", body, **given)], list(given.values())).kernels


@torch.library.custom_op("plait_test::as_long_as_said", mutates_args=())
def as_long_as_said(count: Tensor) -> Tensor:
    return torch.ones(int(count))


def test_a_size_that_depends_on_data_is_seen_by_every_tier(replayer: Tiers) -> None:
    """One row does for four rows as far as a copy is concerned, so each looks at the size."""
    count, o = torch.tensor(4), torch.zeros(4)
    launch = replayer.tiers[0].function(
        kernels_of(
            lambda count, o: o.copy_(torch.ops.plait_test.as_long_as_said(count)), count=count, o=o
        )
    )
    launch()
    count.fill_(1)
    with pytest.raises(RuntimeError, match="size"):
        launch()


def test_results_that_cannot_be_told_are_not_taken() -> None:
    """Two of an operator that the interpreter knows to give one."""
    one = torch.zeros(4)
    kernel = Kernel(torch.ops.aten.add.Tensor, (one, one, 1), into=(one, one))
    with pytest.raises(NotTaken, match="aten::add gives tensors in a way that is not known"):
        InterpretedReplayer().function([kernel])


def test_the_settings_of_a_thread_are_put_back(monkeypatch) -> None:
    """Torch optimizes what else runs on it, even after a replay that failed."""
    place, o = torch.tensor([0]), torch.zeros(1)
    launch = InterpretedReplayer().function(
        kernels_of(lambda p, o: torch.index_select(torch.arange(4.0), 0, p, out=o), p=place, o=o)
    )
    found = []

    def work() -> None:
        for one in (0, 9):
            place.fill_(one)
            try:
                launch()
            except RuntimeError as error:
                found.append(str(error))
            found.append(torch._C._get_graph_executor_optimize())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [True, "RuntimeError: index out of range in self", True]
