"""Failures that only a run shows: each is injected, and what a run says of it is what it should."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from cases.test_cases import CASES

from plait.runtime.comparing import Comparing
from plait.runtime.devices.job import PhaseError
from plait.runtime.devices.named import device
from plait.runtime.devices.refusals import CaptureError

ELSEWHERE = {
    "B08": "conformance/test_conformance.py::test_planted_faults_are_told_in_the_real_words",
    "B31": "runtime/checked/test_checked.py::test_memory_that_is_no_buffers_may_not_join_phases",
    "B41": "conformance/test_conformance.py::test_planted_faults_are_told_in_the_real_words",
    "B43": "runtime/checked/test_checked.py::test_a_body_that_ends_the_capture_is_named",
    "B47": "runtime/ranks/test_processes.py::test_a_rank_keeps_a_log_of_what_it_came_to",
    "B89": "runtime/ranks/test_processes.py::test_a_rank_keeps_a_log_of_what_it_came_to",
    "B93": "runtime/ranks/test_processes.py::test_a_rank_that_is_late_is_named_and_names_itself",
    "B98": "runtime/ranks/test_processes.py::"
    "test_all_take_the_bucket_of_the_largest_and_a_graph_only_if_all_would",
    "S15": "runtime/exchange/test_limits.py::test_out_of_turn",
    "S22": "runtime/ranks/test_processes.py::"
    "test_what_is_the_same_by_construction_is_compared_when_checked",
}
"""Rows that a test of another part injects."""


def test_every_failure_that_a_run_shows_is_injected(root: Path) -> None:
    """Here by a test that has its name, or by one that is listed."""
    here = {name.upper() for name in re.findall(r"^def test_([bs]\d+)_", _text(__file__), re.M)}
    assert {case.name for case in CASES if case.verdict == "runtime"} == here | set(ELSEWHERE)
    for test in ELSEWHERE.values():
        path, _, name = test.partition("::")
        tree = ast.parse(_text(root / "tests" / path))
        assert name in {one.name for one in tree.body if isinstance(one, ast.FunctionDef)}, test


def _text(path: str | Path) -> str:
    return Path(path).read_text(encoding="utf-8")


def said(run: Callable[[], Any]) -> str:
    """What a run ends with."""
    with pytest.raises((PhaseError, CaptureError)) as error:
        run()
    return str(error.value)


SLOTS = """\
spec 1
pipeline paged {
  dim n in [2, 4]
  stream main
  buffer slots : i64[n] carried
  buffer value : i64[n] carried
  buffer cache : i64[n, 2] carried
  capture g on main rows n {
    phase store on main { reads slots, value  updates cache }
  }
}
"""


def store(slots, value, cache):
    """A slot of -1, which only pads, is the last row to an index."""
    cache[slots, 0] = value


def test_b63_a_padded_slot_is_an_index_into_real_rows(compiled) -> None:
    """Checked mode fills the rows of one request twice, and sees that another's change with them."""
    schedule = compiled(SLOTS)

    def run() -> None:
        with schedule.bind({"store": store}, checked=True) as runner:
            runner.buffer("slots").fill_(-1)
            runner.step(n=4)

    assert said(run) == (
        "test.spec:9: `store`: CheckError: lets the rows of one request into those of others in `cache`, and "
        "past the live rows anything may stand: keep rows apart, or declare it `across_rows`"
    )


IDLE = """\
spec 1
pipeline idle {
  dim n in [2]
  stream main
  buffer live  : i64[1] carried
  buffer row   : i64[n] carried
  buffer state : i64[1] carried
  phase last on main SKIP { reads live, row  updates state }
}
"""


def last(live, row, state):
    """The newest of the live rows moves what is kept."""
    state.add_(row[: int(live)][-1] + 1)


def test_b96_a_body_selects_the_last_row_of_none(compiled) -> None:
    """An idle rank's round says which phase cannot do without rows; left out, it is not run there."""

    def run(skip: str) -> list[int]:
        with compiled(IDLE.replace("SKIP", skip)).bind({"last": last}) as runner:
            runner.idle()
            runner.drain()
            return runner.buffer("state").tolist()

    where = "test.spec:8: `last` failed on main in round 0"
    error = "IndexError: index -1 is out of bounds for dimension 0 with size 0"
    assert said(lambda: run("")) == f"{where}: {error}"
    assert run("skip_idle") == [0]


def test_b99_an_idle_rank_leaves_kept_state_alone(compiled) -> None:
    """A dummy token moves it where the phase runs idle; where that is `skip_idle`, it stays."""

    def run(skip: str) -> list[int]:
        bodies = {"last": lambda live, row, state: state.add_(1)}
        with compiled(IDLE.replace("SKIP", skip)).bind(bodies) as runner:
            runner.step(n=1)
            runner.idle()
            runner.drain()
            return runner.buffer("state").tolist()

    assert (run(""), run("skip_idle")) == ([2], [1])


DRAFT = """\
spec 1
pipeline accepting {
  dim n in [2, 4]
  stream main
  buffer tokens : i64[n] carried
  buffer taken  : i64[n] carried
  capture verify on main rows n {
    phase target on main { reads tokens  updates taken }
  }
  phase next on main { updates tokens }
}
"""


def compared(schedule, target, live: int) -> str:
    """What comparing every replay with its phases says first."""
    comparing = Comparing(device("cpu"))
    bodies = {"target": target, "next": lambda tokens: tokens.add_(1)}
    with schedule.bind(bodies, device=comparing) as runner:
        for _ in range(3):
            runner.step(n=live)
        runner.drain()
    return str(comparing.first)


def test_b146_acceptance_falls_in_graphs_alone(compiled) -> None:
    """Graph and phases run on the same inputs, and the first value that differs is named."""
    calls = iter(range(100))

    def target(tokens, taken):
        taken.copy_(tokens * next(calls))  # a graph keeps the number of its capture

    found = compared(compiled(DRAFT), target, 4)
    assert found.startswith("test.spec:8: `target` of `verify`, round 1: its graph left")


def test_b148_acceptance_falls_in_padded_graphs(compiled) -> None:
    """The same with rows that only pad: the graph's are those of its capture."""
    live = iter((4, 4, 4, *[3] * 9))

    def target(tokens, taken):
        rows = next(live)
        taken[:rows].copy_(tokens[:rows] + 1)

    assert compared(compiled(DRAFT), target, 3) == (
        "test.spec:8: `target` of `verify`, round 1: its graph left 2 in taken[3], its body 1"
    )


KEPT = """\
spec 1
pipeline kept {
  stream main
  buffer lens   : i64[2] carried
  buffer places : i64[2] carried
  buffer seen   : i64[4] on host copies 2
  phase accept on main { updates lens, places }
  phase show on main { reads lens, places  writes seen }
  join prev show into host
  phase invariant on host { reads prev seen }
}
"""


def test_b149_kept_state_goes_wrong_after_some_rounds(compiled) -> None:
    """A host phase that holds what must stay true ends the run in the round after it no longer is."""
    rounds = iter(range(100))

    def accept(lens, places):
        lens.add_(1)
        if next(rounds) != 3:
            places.add_(1)

    def show(lens, places, seen):
        seen.copy_(torch.cat([lens, places]))

    def invariant(seen):
        lens, places = seen.view(2, 2).tolist()
        if lens != places:
            raise ValueError(f"lengths {lens}, places {places}")

    def run() -> None:
        with compiled(KEPT).bind(
            {"accept": accept, "show": show, "invariant": invariant}
        ) as runner:
            for _ in range(6):
                runner.step()

    assert said(run) == (
        "test.spec:10: `invariant` failed on host in round 4: ValueError: lengths [4, 4], places [3, 3]"
    )
