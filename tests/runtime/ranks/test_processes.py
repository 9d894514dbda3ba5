"""Ranks as processes of their own, over gloo: what they agree on, and how they end when one does not come."""

from __future__ import annotations

from typing import Any

import pytest

Found = dict[str, list[Any]]


@pytest.fixture(scope="module")
def two(launch) -> Found:
    return launch(2, "agreed", "other_schedule", "same", "fails", "closes", "late", "killed")


@pytest.fixture(scope="module")
def four(launch) -> Found:
    return launch(4, "nested", "killed_of_four")


def test_all_take_the_bucket_of_the_largest_and_a_graph_only_if_all_would(two: Found) -> None:
    """With one smaller, one unwilling, one idle, both have these sizes, answers, rounds and replays."""
    used = [[1, True, 1, 1], [1, False, 1, None], [2, True, 1, 1], [4, True, 1, 1]]
    assert [found["used"] for found in two["agreed"]] == [used, used]


def test_sums_over_ranks_meet_each_other_in_graphs_and_out_of_them(two: Found) -> None:
    """One and two make three, and every further round doubles it."""
    assert [found["x"] for found in two["agreed"]] == [[24] * 4, [24] * 4]
    assert [found["counts"] for found in two["agreed"]] == [[1, 2, 0, 0], [1, 2, 0, 0]]


def test_an_idle_rank_leaves_out_what_says_so(two: Found) -> None:
    """Of four rounds rank 0 was idle in one, and rank 1 in two."""
    assert [found["taken"] for found in two["agreed"]] == [[3], [2]]


def test_a_rank_keeps_a_log_of_what_it_came_to(two: Found) -> None:
    """Every communicator is used once before the rounds, in one order; then as each round has it."""
    expected = """\
tp on the host 1: the first use of tp on the host
tp on the host 2: the vote on bs, ready over tp of round 0
tp on the host 3: `count` (all_gather over tp) of round 0
tp on the host 4: the vote on bs, ready over tp of round 1
tp on the host 5: `count` (all_gather over tp) of round 1
tp on the host 6: the vote on bs, ready over tp of round 2
tp on the host 7: `count` (all_gather over tp) of round 2
tp on the host 8: the vote on bs, ready over tp of round 3
tp on the host 9: `count` (all_gather over tp) of round 3
tp 1: the first use of tp
tp 2: `step` (all_reduce over tp) in a capture
tp 3: `step` (all_reduce over tp) in a capture
tp 4: `step` (all_reduce over tp) in a capture
tp 5: the graph `g` with `step` (all_reduce over tp) of round 0
tp 6: `step` (all_reduce over tp) of round 1
tp 7: the graph `g` with `step` (all_reduce over tp) of round 2
tp 8: the graph `g` with `step` (all_reduce over tp) of round 3""".splitlines()
    assert [found["log"] for found in two["agreed"]] == [expected, expected]


def test_another_schedule_is_named_on_every_rank(two: Found) -> None:
    """Both know which ranks differ, and in what."""
    one, other = two["other_schedule"]
    assert one == other
    start, rest = one.split(" has ", 1)
    assert start == "BindError: ranks have different schedules of p: rank 0"
    assert rest.endswith(
        "; they differ in settings: compile it once, and give all ranks one file and one environment"
    )


def test_what_is_the_same_by_construction_is_compared_when_checked(two: Found) -> None:
    """No vote is spent on it; checked mode says which value differs, and between what."""
    where = "round.spec:{}: `{}` is `same over tp`, and in round 1 its ranks give {}"
    expected = [
        "no error",
        "no error",
        "RankError: " + where.format(5, "ready", "ready = False to True"),
        "RankError: " + where.format(4, "bs", "bs = 1 to 2"),
    ]
    assert two["same"] == [expected, expected]


def test_a_rank_that_is_late_is_named_and_names_itself(two: Found) -> None:
    """The one that waited says in what, where that stands, how long, and where the other was last."""
    vote = "RankError: round.spec:5: the vote on bs, ready over tp of round 2"
    assert two["late"] == [
        f"{vote}: rank 1 did not come within 2 s; "
        "it came last to `count` (all_gather over tp) of round 1",
        f"{vote}: this rank came too late: rank 0 has given up on it",
    ]


def test_a_failure_of_one_rank_is_told_on_the_others(two: Found) -> None:
    """They end with its error in place of a guess."""
    error = "round.spec:15: `take` failed on main in round 1: ValueError: no tokens"
    vote = "round.spec:5: the vote on bs, ready over tp of round 2"
    assert two["fails"] == [
        f"RankError: {vote}: rank 1 has failed: {error}",
        f"PhaseError: {error}",
    ]


def test_a_rank_that_has_ended_is_not_waited_for(two: Found) -> None:
    """Ranks step the same number of rounds; one that has closed its runner steps no more."""
    vote = "round.spec:5: the vote on bs, ready over tp of round 1"
    assert two["closes"] == [f"RankError: {vote}: rank 1 has closed its runner", "no error"]


def test_a_killed_rank_ends_the_other_in_the_graph_that_waits_for_it(two: Found) -> None:
    """Killed in the middle of a round, between a collective of the host and one in a graph."""
    assert two["killed"] == [
        "RankError: round.spec:12: the graph `g` with `step` (all_reduce over tp) of round 1: "
        "rank 1 did not come, and is not heard of since the vote on bs, ready over tp of round 1"
    ]


def test_groups_in_groups_agree_each_for_itself(four: Found) -> None:
    """All run the bucket of the largest; of two pairs one replays and one does not."""
    graph, eager = [[4, True, 1, 1]], [[4, False, 1, None]]
    assert [found["used"] for found in four["nested"]] == [graph, graph, eager, eager]
    assert [found["x"][0] for found in four["nested"]] == [3, 3, 7, 7]


def test_a_killed_rank_is_named_by_all_that_are_left(four: Found) -> None:
    """In a collective of three others, one of them in a smaller group with it."""
    message = (
        "RankError: round.spec:13: `sum` (all_reduce over world) of round 1: "
        "rank 3 did not come, and is not heard of since the vote on ready over tp of round 1"
    )
    assert four["killed_of_four"] == [message] * 3
