"""What the rounds of ranks are, as far as one rank can tell."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch.distributed as dist
from torch.distributed import HashStore  # pyright: ignore[reportPrivateImportUsage]

from plait.runtime.ranks.environment import sizes_of
from plait.runtime.ranks.group import Member, Ranks, seconds_to_wait
from plait.runtime.ranks.votes import votes_of
from plait.runtime.runner import BindError

VOTES = """\
spec 1
pipeline p {
  group world = 8
  group tp = 4 in world
  group one = 1 in tp
  dim bs in [1, 2] over tp
  guard first over tp if bs > 1 else true
  guard wide over world
  guard alone over one
  stream main
  buffer x : i64[bs] carried
  phase look on main { updates x }
  guard second over tp
  guard third over tp
  when second and third and first and wide and alone {
    phase more on main { updates x }
  }
}
"""
IDLE = """\
spec 1
pipeline p {
  dim bs in [1, 2]
  stream main
  buffer x : i64[2] carried
  buffer y : i64[2] carried
  buffer z : i64[2] carried
  capture part on main rows bs {
    phase both on main { updates x }
    phase busy[1] on main skip_idle { updates y }
  }
  capture whole on main rows bs {
    phase busy[2] on main skip_idle { updates z }
  }
  join main into host
  phase count on host skip_idle { reads x }
}
"""


@pytest.fixture
def one_rank() -> Iterator[Ranks]:
    """A process group of this process alone."""
    store = HashStore()
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    assert dist.group.WORLD is not None
    member = Member(dist.group.WORLD, dist.group.WORLD)
    yield Ranks(member, {"tp": member}, store, 5.0)
    dist.destroy_process_group()


def test_votes_do_not_depend_on_what_they_settle(compiled) -> None:
    """Those of one group in a row are one collective, in which a guard is voted on that may not be asked."""
    found = [(vote.group, vote.names, vote.place) for vote in votes_of(compiled(VOTES))]
    assert found == [
        (1, ("bs", "first"), "test.spec:6"),
        (0, ("wide",), "test.spec:8"),
        (1, ("second", "third"), "test.spec:13"),
    ]


def test_an_idle_round_replays_graphs_without_what_is_left_out(compiled) -> None:
    """A graph of which all is left out is not replayed, nor is its host phase run."""
    counted = []
    bodies = {
        "both": lambda x: x.add_(1),
        "busy": lambda index, **buffers: [buffer.add_(1) for buffer in buffers.values()],
        "count": lambda x: counted.append(len(counted)),
    }
    with compiled(IDLE).bind(bodies) as runner:
        assert [runner.step(bs=2), runner.idle(), runner.step(bs=1), runner.idle()] == [0, 1, 2, 3]
        runner.drain()
        assert [runner.buffer(name).tolist() for name in "xyz"] == [[4, 4], [2, 2], [2, 2]]
        used = [(entry["sizes"]["bs"], entry["rounds"]) for entry in runner.counts()]
    assert counted == [0, 1]
    assert used == [(1, 3), (2, 1)]


def test_a_group_of_one_rank_waits_for_nobody(compiled, one_rank: Ranks) -> None:
    """Its votes are its own answers, in a step and when it is idle."""
    text = VOTES.replace("group world = 8\n", "").replace("group tp = 4 in world", "group tp")
    text = text.replace("  group one = 1 in tp\n", "").replace("  guard wide over world\n", "")
    text = text.replace("  guard alone over one\n", "").replace(" and wide and alone", "")
    ran = []
    bodies = {"look": lambda x: x.add_(1), "more": lambda x: ran.append(x)}
    with compiled(text).bind(bodies, ranks=one_rank) as runner:
        runner.step(bs=1, first=True, second=True, third=False)
        runner.idle()
        runner.drain()
    assert len(ran) == 1


def test_a_group_without_ranks_is_refused(compiled, one_rank: Ranks) -> None:
    """So is one of another size."""
    with pytest.raises(BindError) as caught:
        compiled(VOTES).bind({}, ranks=one_rank)
    line = "test.spec: the group `world` has no ranks; `Ranks(groups=...)` is given tp"
    assert str(caught.value) == line
    text = VOTES.replace("  group world = 8\n", "").replace("4 in world", "4")
    with pytest.raises(BindError) as caught:
        compiled(text.replace("over world", "over tp")).bind({}, ranks=one_rank)
    assert str(caught.value) == "test.spec: the group `tp` has 4 ranks, and 1 are given"


GROUPS = [
    ("group tp", 4, {"tp": 4}),
    ("group world = 4 group tp = 2 in world", 4, {"world": 4, "tp": 2}),
    (
        "group tp group dp",
        4,
        "test.spec: the groups tp and dp have no sizes: give them, as in `group dp = 2 in tp`, or bind "
        "with `Ranks` of your own",
    ),
    ("group tp = 3", 4, "test.spec: 4 ranks are no groups `tp` of 3 each"),
    ("group tp = 8", 4, "test.spec: the group `tp` has 8 ranks; 4 are launched"),
    (
        "group tp = 2 group dp = 2",
        4,
        "test.spec: neither of the groups `tp` and `dp` is in the other, so it is not known which ranks "
        "they have: bind with `Ranks` of your own",
    ),
]


@pytest.mark.parametrize(("groups", "world", "expected"), GROUPS, ids=[one[0] for one in GROUPS])
def test_groups_are_runs_of_the_ranks_that_were_launched(
    compiled, groups: str, world: int, expected: dict[str, int] | str
) -> None:
    """Where sizes do not say which ranks a group has, nothing is guessed."""
    text = f"spec 1 pipeline p {{ {groups} stream main buffer x : i64[1] carried"
    schedule = compiled(f"{text} phase a on main {{ updates x }} }}")
    if isinstance(expected, str):
        with pytest.raises(BindError) as caught:
            sizes_of(schedule, world)
        assert str(caught.value) == expected
    else:
        assert sizes_of(schedule, world) == expected


def test_how_long_ranks_wait_is_read_from_the_environment(monkeypatch) -> None:
    """A minute unless told; what is no time is refused."""
    assert seconds_to_wait() == 60.0
    monkeypatch.setenv("PLAIT_WATCHDOG_S", "2.5")
    assert seconds_to_wait() == 2.5
    for wrong in ("soon", "0", "-1", "inf", "nan"):
        monkeypatch.setenv("PLAIT_WATCHDOG_S", wrong)
        with pytest.raises(ValueError) as caught:
            seconds_to_wait()
        said = (
            f"PLAIT_WATCHDOG_S={wrong!r}: should be seconds, more than 0, as in PLAIT_WATCHDOG_S=60"
        )
        assert str(caught.value) == said
