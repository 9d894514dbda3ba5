"""The real torch_npu above a fake driver: asked for what the schedule promises, which is enough."""

from __future__ import annotations

import pytest

from conformance.built import Absent, installed
from conformance.compared import Difference
from conformance.readable import Readable
from conformance.suite import EXAMPLES, HERE, NAMES, QUEUED, Suite


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    try:
        return Suite(installed(), tmp_path_factory.mktemp("fake driver"))
    except Absent as absent:
        pytest.skip(str(absent))


def test_it_says_that_it_is_a_fake(suite: Suite) -> None:
    """One process for all examples: in what it prints, and first in every log."""
    assert suite.said.splitlines()[-1] == f"fake driver, no NPU: {len(suite.trials)} schedules"
    for path in EXAMPLES:
        with (suite.folder / f"{path.stem}.log").open(encoding="utf-8") as log:
            assert next(log) == "fake driver, no NPU\n"


@pytest.mark.parametrize("name", NAMES)
def test_the_driver_is_asked_for_what_is_promised(suite: Suite, name: str) -> None:
    """Call by call: streams, records, waits, captures and what is in them, executes, tasks, and memory."""
    assert suite.logged(name).compared() > 0


@pytest.mark.parametrize("name", NAMES)
def test_the_log_alone_orders_all_that_touches_the_same_bytes(suite: Suite, name: str) -> None:
    """Happens-before, rebuilt from the driver's calls, leaves no two of them unordered."""
    assert suite.logged(name).unordered() == []


def test_one_round_is_as_it_was_written_by_hand(suite: Suite) -> None:
    """The second round of a small spec, and the graph that it executes."""
    logged = suite.logged("one_round")
    read = Readable(logged.memory)
    rounds, graphs = logged.log
    (graph,) = [line.of for line in rounds[1] if line.op == "execute"]
    found = f"{read.text(graphs[graph])}\nround 1\n{read.text(rounds[1])}"
    written = (HERE / "one_round.txt").read_text(encoding="utf-8")
    assert found == written.partition("\n\n")[2]


@pytest.mark.parametrize("name", QUEUED)
def test_the_queue_of_tasks_changes_nothing(suite: Suite, name: str) -> None:
    """With torch_npu's own thread between, as is usual, every stream and the host are asked for the same."""
    asked = suite.asked(name, queued=True)
    assert asked == suite.asked(name, queued=False) and len(asked) > 2


# The suite has teeth


def test_each_call_that_is_left_out_is_missed(suite: Suite) -> None:
    """Any one line of a log of a few rounds, whichever it is."""
    logged = suite.logged("one_round")
    rounds, graphs = logged.log
    compared = 0
    for lines in [*rounds[:-1], *graphs.values()]:
        for place in range(lines[0].op == "finish", len(lines)):
            line = lines.pop(place)
            with pytest.raises(Difference):
                logged.compared()
            lines.insert(place, line)
            compared += 1
    assert compared > 100


def test_each_wait_that_is_taken_away_is_missed(suite: Suite) -> None:
    """By the log alone: something that touches the same bytes has no order any more."""
    trials = [name for name in suite.trials if " without " in name]
    assert len(trials) > 12
    assert [name for name in trials if not suite.logged(name).unordered()] == []


def test_each_record_that_moves_is_seen(suite: Suite) -> None:
    """At the first call that the schedule does not promise, which is named."""
    trials = [name for name in suite.trials if name.endswith(" moved")]
    assert len(trials) > 12
    for name in trials:
        schedule = suite.trials[name.partition(" with ")[0]].schedule
        with pytest.raises(Difference, match=r"round 0, .*: promised is .* was asked for `record "):
            suite.logged(name).compared(schedule)


# Faults


def test_planted_faults_are_told_in_the_real_words(suite: Suite) -> None:
    """Those of torch_npu first, then Plait's sentence with the place in the spec."""
    found = "\n".join(
        "\n".join([name, *(f"  {line}" for line in said)]) for name, said in suite.planted().items()
    )
    assert f"{found}\n" == (HERE / "faults.txt").read_text(encoding="utf-8")


SLOTS = {
    "the record comes first": "update record replay",
    "the record comes last": "replay update record",
    "the rebind fails, and the replay waits": "replay record replay update record",
    "the replay is never issued": "update record wait replay update record",
    "a round without the graph, then the record first": ("update record update wait record replay"),
    "a round without the graph, then the record last": "update record wait replay update record",
    "of a round before the first": "wait record replay",
}


def test_a_graph_waits_for_its_own_record_whatever_happens(suite: Suite) -> None:
    """None waits for ever, and none is let through by a record that another round has left."""
    assert {name: " ".join(said) for name, said in suite.slots().items()} == SLOTS
