"""Marks of a run in a profiler's trace."""

from __future__ import annotations

import pytest
from torch._C._profiler import _ExperimentalConfig
from torch.profiler import ProfilerActivity, profile

from plait.runtime.devices.base import DeviceError
from plait.runtime.devices.cpu import Cpu
from plait.runtime.devices.job import PhaseError
from plait.runtime.injected import fault, injected
from plait.runtime.runner import BindError

SPEC = """\
spec 1
pipeline toy {
  dim n in [2]
  stream a
  stream b
  buffer x : i64[n] carried
  buffer y : i64[n]
  buffer z : i64[n] on host copies 2
  phase make on a { updates x }
  capture g on a rows n { phase double on a { reads x  writes y } }
  fork b from g
  phase publish on b { reads y  writes z }
  join prev publish into host
  phase log on host { reads prev z }
  join b into a
}
"""


def bodies(seen: list) -> dict:
    return {
        "make": lambda x: x.add_(1),
        "double": lambda x, y: y.copy_(x * 2),
        "publish": lambda y, z: z.copy_(y),
        "log": lambda z: seen.append(z.tolist()),
    }


def run(schedule, marks: str | None) -> tuple[list, list[str]]:
    seen: list = []
    config = _ExperimentalConfig(profile_all_threads=True)
    with schedule.bind(bodies(seen), marks=marks) as runner:
        runner.prepare()
        with profile(activities=[ProfilerActivity.CPU], experimental_config=config) as found:
            runner.step(n=2)
            runner.step(n=2)
            runner.drain()
    return seen, sorted(one.name for one in found.events() or () if "#" in one.name)


def test_everything_that_runs_is_named_with_its_round(compiled) -> None:
    """Phases, loads, captures and rounds, on whichever thread they run; and the values stay the same."""
    seen, names = run(compiled(SPEC), "profiler")
    assert seen == [[0, 0], [2, 2]]
    each = ["toy", "toy/double", "toy/load g", "toy/g", "toy/log", "toy/make", "toy/publish"]
    assert names == sorted(
        f"{name} #{round}" for name in each if name != "toy/double" for round in (0, 1)
    )


def test_without_marks_a_profiler_sees_none(compiled) -> None:
    """And the round is the same."""
    assert run(compiled(SPEC), None) == ([[0, 0], [2, 2]], [])


def test_the_environment_can_ask_for_marks(compiled, monkeypatch) -> None:
    """So that a service is profiled without a change to it."""
    monkeypatch.setenv("PLAIT_MARKS", "profiler")
    assert "toy/publish #1" in run(compiled(SPEC), None)[1]


def test_injected_faults_are_met_under_marks(compiled) -> None:
    """A fault in a phase of a graph is found by the graph's phases, which marks leave as they are."""
    schedule = compiled(SPEC)
    device = injected(Cpu(), [fault("raise:double@1", schedule)])
    runner = schedule.bind(bodies([]), device=device, marks="profiler")
    runner.step(n=2)
    with pytest.raises(PhaseError) as error:
        runner.step(n=2)
        runner.drain()
    runner.close()
    assert str(error.value) == (
        "test.spec:10: `g` failed on a in round 1: InjectedFault: injected by raise:double@1"
    )


def test_the_adversary_is_not_marked(compiled) -> None:
    """A marked job would not say what its phase declares, and the adversary would delay nothing of it."""
    with pytest.raises(BindError) as error:
        compiled(SPEC).bind(bodies([]), device="adversary", marks="profiler")
    assert str(error.value) == "marks: the adversary keeps no time that a profiler could show"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nvtx", "marks `nvtx`: this torch is built without CUDA; `profiler` is for any"),
        ("mstx", "marks `mstx`: torch_npu is not there; `profiler` is for any"),
        ("itt", "marks `itt`: there are marks for profiler, nvtx, mstx"),
    ],
)
def test_marks_that_cannot_be_made_are_refused(name: str, said: str, compiled) -> None:
    """With what is missing, before anything runs."""
    with pytest.raises(DeviceError) as error:
        compiled(SPEC).bind(bodies([]), marks=name)
    assert str(error.value) == said
