"""The round that repeats, and what a round's time is divided by."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from drawing.safe import safe_round
from plait.compiler.compile import Asked, compile_source
from plait.compiler.target import known_targets, load_target
from plait.compiler.timing.accepted import AcceptedError, read_accepted
from plait.compiler.timing.costs import Cost, HostCosts, Law, Link, Profile, StreamCosts
from plait.compiler.timing.drawn import drawn
from plait.compiler.timing.profiles import default_profile, known_profiles, profile_of
from plait.compiler.timing.sharing import FULL, speeds
from plait.compiler.timing.simulate import simulate
from plait.compiler.timing.steady import steady
from plait.dsl.span import Source
from plait.runtime.schedule import Schedule


def compiled(text: str) -> Schedule:
    return compile_source(Source("p.spec", text), Asked())


def profile(resources: tuple[str, ...], **phases: int | Cost) -> Profile:
    costs = tuple(
        (name, cost if isinstance(cost, Cost) else Cost(Law(cost))) for name, cost in phases.items()
    )
    return Profile("by hand", "cpu", resources, HostCosts(), StreamCosts(), costs)


def test_the_path_tiles_the_round_that_repeats() -> None:
    """From the end of the round before it to its own, to the nanosecond, in any round."""
    for number in range(150):
        random = Random(number)
        schedule = compiled(safe_round(random).text())
        costs = profile((), **{phase.name: random.randint(1, 60) for phase in schedule.phases})
        found = steady(schedule, costs, 0)
        path = found.path()
        assert sum(one.end - one.start for one in path) == found.time
        assert (path[0].start, path[-1].end) == (found.start, found.end)
        assert all(one.end == two.start for one, two in pairwise(path))


COPIES = """\
spec 1
pipeline p {
  stream a
  stream b
  buffer x : i64[4] carried copies 2
  join prev 2 read into a
  phase write on a { writes x }
  fork b from a
  phase read on b { reads x }
}
"""


def test_rounds_that_take_turns_have_a_mean() -> None:
    """Two copies let a pair of rounds go on: the mean is over both."""
    found = steady(compiled(COPIES), profile((), write=3, read=10), 0)
    assert found.mean == 10


def test_several_rounds_alike_before_the_one_that_waits_are_no_period() -> None:
    """Through more streams than a value has copies: as many rounds begin, then one waits."""
    for copies in range(1, 8):
        found = steady(compiled(_around(copies)), profile((), p=10), 0)
        assert (found.period, found.mean) == (copies, Fraction(10 * (copies + 1), copies))


def _around(copies: int) -> str:
    last = copies
    lines = ["spec 1", "pipeline q {", *(f"  stream s{n}" for n in range(last + 1))]
    lines += [f"  buffer x{n} : i64[4] copies {copies + 1}" for n in range(last)]
    lines += [f"  buffer x{last} : i64[4] carried copies {copies}"]
    for n in range(last + 1):
        ago, before = ("", n - 1) if n else (f"prev {copies} ", last)
        lines += [f"  join {ago}p[{before}] into s{n}"]
        lines += [f"  phase p[{n}] on s{n} {{ reads {ago}x{before}  writes x{n} }}"]
    return "\n".join([*lines, "}", ""])


def test_rounds_that_issue_nothing_have_no_path() -> None:
    """Nor a time, whatever a host that takes no time does."""
    found = steady(compiled("spec 1\npipeline p {\n  stream a\n}\n"), profile(()), 0)
    assert (found.mean, found.path()) == (0, [])
    assert "\ncritical path of round 7, 0 ns:\n" in drawn(found.simulation)


BESIDE = """\
spec 1
pipeline p {
  stream a
  stream b
  buffer x : i64[4]
  buffer y : i64[4] carried
  fork b from prev read
  phase write on b { writes x }
  join write into a
  phase read on a { reads x }
  phase last on a { updates y }
}
"""


def test_a_round_that_repeats_is_followed_by_another() -> None:
    """The end of one shares with the beginning of the next; that of the last of all has all to itself."""
    all_of_it = Cost(Law(10), ((0, 1000),))
    costs = profile(("cores",), write=all_of_it, read=5, last=all_of_it)
    assert steady(compiled(BESIDE), costs, 0).time == 25
    assert simulate(compiled(BESIDE), costs, [0] * 8).round_times() == [35, *[25] * 6, 15]


APART = """\
spec 1
pipeline p {
  stream a
  stream b
  buffer x : i64[4] carried
  buffer y : i64[4] carried
  phase short on a { updates x }
  phase long on b { updates y }
}
"""


def test_a_stream_that_runs_ahead_is_not_said_to_be_done() -> None:
    """The short one, which waits only for its issue, takes a part of the long one's time in every round."""
    host = HostCosts(run=10)
    all_of_it = ((0, 1000),)
    costs = Profile(
        "by hand",
        "cpu",
        ("cores",),
        host,
        StreamCosts(),
        (("short", Cost(Law(5), all_of_it)), ("long", Cost(Law(25), all_of_it))),
    )
    assert steady(compiled(APART), costs, 0).mean >= 30


EXCHANGE = """\
spec 1
pipeline p {
  dim bs in [1, 4]
  group ep
  stream main
  buffer x : i64[bs] carried
  buffer y : i64[bs]
  buffer z : i64[bs] carried
  launch dispatch on main { reads x  writes y  rows bs  collective all_to_all over ep }
  phase shared on main { updates z }
  await dispatch on main
  phase experts on main { reads y  updates x }
}
"""


def test_an_exchange_is_on_its_way_when_its_kernel_is_done() -> None:
    """The kernel takes cores from what runs beside it, its link does not, and its stream is held by both."""
    link = Link(Law(row=5_000), ((1, 1000),))
    costs = profile(
        ("cores", "link"),
        dispatch=Cost(Law(10), ((0, 1000),), link),
        shared=Cost(Law(20), ((0, 1000),)),
    )
    found = simulate(compiled(EXCHANGE), costs, [1])
    assert [
        (span.what.kind, span.what.name, span.start, span.end)
        for span in found.spans
        if span.what.kind in ("phase", "link") and span.end > span.start
    ] == [("phase", "dispatch", 0, 20), ("phase", "shared", 0, 30), ("link", "dispatch", 20, 40)]


def test_every_target_has_costs_to_begin_with() -> None:
    """And their name says that they are assumed."""
    assert known_profiles() == known_targets()
    for name in known_targets():
        found = default_profile(name)
        assert (found.name, found.target) == (f"{name}, assumed", name)
    assert default_profile("mine").name == "no profile for mine"


def test_a_target_of_ones_own_names_or_inherits_costs(tmp_path: Path) -> None:
    """By a path beside its own file, else those of the target it extends."""
    (tmp_path / "die.toml").write_text('name = "one die"\ntarget = "mine"\n')
    target = tmp_path / "mine.toml"
    target.write_text('name = "mine"\ntitle = "ours"\nextends = "cuda"\n')
    assert profile_of(load_target(str(target))) == default_profile("cuda")
    target.write_text('name = "mine"\ntitle = "ours"\nextends = "cuda"\ncosts = "die.toml"\n')
    assert profile_of(load_target(str(target))).name == "one die"


def test_a_kind_has_a_cost_where_a_name_has_none() -> None:
    """A phase's name comes first, then what its spec says, its kind, and any."""
    found = default_profile("cuda")
    assert (
        found.known("dispatch", "dispatch", None, "all_to_all")
        == dict(found.collectives)["all_to_all"]
    )
    assert found.known("dispatch", "dispatch", 7, "all_to_all") == Cost(Law(7))
    assert found.known("commit", "commit", None, "host") == Cost(Law(20_000))
    assert found.known("publish", "publish", None, "copy") == dict(found.classes)["copy"]
    assert found.known("publish", "publish", 7, "copy") == Cost(Law(7))
    assert found.known("target", "target", None, "compute") == dict(found.phases)["*"]
    assert default_profile("mine").known("target", "target", None) is None


@pytest.mark.parametrize("name", ["ascend910c", "cuda"])
def test_each_resource_of_a_device_is_used(name: str) -> None:
    """By a phase that nothing else is known of, by what is on its way, or by a copy."""
    found = default_profile(name)
    costs = [cost for _, cost in (*found.phases, *found.collectives, *found.classes)]
    uses = [cost.uses for cost in costs] + [cost.link.uses for cost in costs if cost.link]
    assert {number for each in uses for number, _ in each} == set(range(len(found.resources)))


def test_copies_share_the_engine_that_copies() -> None:
    """Two beside each other take as long as one after the other, and beside work no longer than alone."""
    found = default_profile("ascend910c")
    copy, work = dict(found.classes)["copy"].uses, dict(found.phases)["*"].uses
    assert speeds((copy, copy)) == (FULL // 2, FULL // 2) and speeds((copy, work)) == (FULL, FULL)


@pytest.mark.parametrize(
    ("text", "mean"),
    [
        ("2.3", Fraction(23, 10)),
        ("1:1,3:1", Fraction(2)),
        ("1:0.2, 2:0.5, 3:0.3", Fraction(21, 10)),
    ],
)
def test_accept_lengths_are_a_mean_or_counts_with_weights(text: str, mean: Fraction) -> None:
    """Weights need not sum to one."""
    assert read_accepted(text).mean == mean


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ""),
        ("0", ""),
        ("1,2", "1 has no weight; it "),
        ("1:0", "all weights are 0; it "),
        ("1.5:1,2:1", "1.5 is no count of tokens; it "),
        ("1:1,1:2", ""),
        ("2e9", ""),
        ("٣", ""),
    ],
)
def test_what_are_no_accept_lengths_is_said(text: str, said: str) -> None:
    """One line, which shows both forms."""
    with pytest.raises(AcceptedError) as error:
        read_accepted(text)
    wanted = "should be a mean such as 2.3, or counts with weights such as 1:0.2,2:0.5,3:0.3"
    assert str(error.value) == f"{text}: {said}{wanted}"
