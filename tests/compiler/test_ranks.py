"""What ranks of a group may settle by themselves, and what they may not."""

from __future__ import annotations

import pytest

from plait.compiler.compile import Asked, prove, read_source
from plait.compiler.ranks.view import ranks, ranks_text
from plait.compiler.rules import rank_ring_likely
from plait.dsl.diagnostic import SpecError
from plait.dsl.edits import edited

VIEW = """\
ranks of attention_dp

settled each round

   13  bs           the same over attn_dp, by a vote
   14  all_decode   the same over attn_dp, by a vote
   15  draft_graph  the same over attn_dp, by a vote
   16  seed_ready   the same over attn_tp, by a vote

an idle rank leaves out accept

attn_dp on the host: its ranks agree on bs, all_decode, draft_graph

    always (32 behaviours)
   13  vote on bs, all_decode, draft_graph
   31  all_gather of gather_counts, eager

attn_dp: its ranks agree on bs, all_decode, draft_graph

    all_decode = true, draft_graph = true (8 behaviours)
   40  all_reduce of nextn[1], graph draft
   49  all_gather of target, graph verify
   62  all_reduce of nextn_extend, graph extend
"""


def spec(body: str, groups: str = "group tp") -> str:
    return f"""\
spec 1
pipeline p {{
  {groups}
  {body}
}}
"""


REDUCED = """stream main
  buffer x : i64[bs] carried
  phase reduce on main { updates x  collective all_reduce over tp }"""
TURNS = """\
spec 1
pipeline p {
  param turn in [0, 1, 2] = 0
  group a
  group b
  group c
  stream s
  stream t
  buffer u : i64[4] carried
  buffer v : i64[4] carried
  buffer w : i64[4] carried
  fork t from s
  when turn == 0 {
    phase x on s { updates u  collective all_to_all over a }
    phase y on s { updates v  collective all_to_all over b }
    phase z on t { updates w  collective all_to_all over c }
  }
  when turn == 1 {
    phase y on s { updates v  collective all_to_all over b }
    phase z on s { updates w  collective all_to_all over c }
    phase x on t { updates u  collective all_to_all over a }
  }
  when turn == 2 {
    phase z on s { updates w  collective all_to_all over c }
    phase x on s { updates u  collective all_to_all over a }
    phase y on t { updates v  collective all_to_all over b }
  }
  join t into s
}
"""
PRECISE = {
    "a dim of a rank's own, where no shape has to be equal": spec("""\
dim bs in [1, 2]
  stream main
  buffer x : i64[bs] carried
  capture g on main rows bs {
    phase send on main { updates x  rows bs  collective low_latency over tp capacity 4 }
  }"""),
    "a dim of a rank's own beside sizes that are fixed": spec("""\
dim bs in [1, 2]
  stream main
  buffer x : i64[bs] carried
  buffer total : i64[1] carried
  phase count on main { reads x  updates total  collective all_reduce over tp }"""),
    "sizes equal by construction": spec(f"dim bs in [1, 2] same over tp\n  {REDUCED}"),
    "a vote over a group around it": spec(
        f"dim bs in [1, 2] over dp\n  {REDUCED}", "group dp\n  group tp in dp"
    ),
    "requests voted on across the group, which is idle at once": spec(
        f"dim bs in [1, 2] over dp\n  {REDUCED.replace('on main {', 'on main skip_idle {')}",
        "group dp\n  group tp",
    ),
    "a group of one rank": spec(f"dim bs in [1, 2]\n  {REDUCED}", "group tp = 1"),
    "the same collective on both ways of a guard": spec("""\
guard seeded
  stream main
  buffer x : i64[4] carried
  buffer y : i64[4] carried
  when seeded { phase reduce on main { updates x  collective all_reduce over tp } }
  else { phase reduce on main { reads y  updates x  collective all_reduce over tp } }"""),
    "a guard that nothing between ranks follows": spec("""\
guard seeded
  stream main
  buffer x : i64[4] carried
  when seeded { phase start on main { updates x } }
  phase reduce on main { updates x  collective all_reduce over tp }"""),
    "a number of steps that the ranks vote on": spec("""\
dim steps in [1, 2] over tp
  stream main
  buffer x : i64[4] carried
  for i in 1 .. steps { phase step[i] on main { updates x  collective all_reduce over tp } }"""),
    "a vote that only settings decide": spec("""\
param shared = true
  guard seeded over tp if shared else true
  stream main
  buffer x : i64[4] carried
  when seeded { phase reduce on main { updates x  collective all_reduce over tp } }"""),
}
REFUSED = {
    "a dim of a rank's own": ("PL451", spec(f"dim bs in [1, 2]\n  {REDUCED}")),
    "graphs of large batches only": (
        "PL451",
        spec("""\
dim bs in [1, 2]
  stream main
  buffer x : i64[bs] carried
  capture g on main rows bs when bs < 2 {
    phase send on main { updates x  collective low_latency over tp }
  }"""),
    ),
    "a number of steps that each rank picks": (
        "PL451",
        spec("""\
param steps in [1, 2] = 2
  stream main
  buffer x : i64[4] carried
  for i in 1 .. steps { phase step[i] on main { updates x  collective all_reduce over tp } }"""),
    ),
    "a vote that a rank's own guard decides": (
        "PL451",
        spec("""\
guard early
  guard seeded over tp if early else true
  stream main
  buffer x : i64[4] carried
  phase step on main { updates x }"""),
    ),
    "the value of a vote that was not asked": (
        "PL451",
        spec("""\
param shared = false
  guard early
  guard seeded over tp if shared else early
  stream main
  buffer x : i64[4] carried
  when seeded { phase reduce on main { updates x  collective all_reduce over tp } }"""),
    ),
    "the kind of exchange": (
        "PL451",
        spec("""\
guard decoding
  stream main
  buffer x : i64[4] carried
  when decoding { phase send on main { updates x  collective low_latency over tp } }
  else { phase send on main { updates x  collective all_to_all over tp } }"""),
    ),
    "a vote of the ranks beside": (
        "PL452",
        spec(
            """\
guard seeded over attn
  stream main
  buffer x : i64[4] carried
  when seeded { phase reduce on main { updates x  collective all_reduce over tp } }""",
            "group tp\n  group attn",
        ),
    ),
    "sizes equal in a part of the group": (
        "PL452",
        spec(f"dim bs in [1, 2] same over attn\n  {REDUCED}", "group tp\n  group attn in tp"),
    ),
    "idle ranks on one way of a guard": (
        "PL453",
        spec("""\
dim bs in [1, 2] over tp
  guard seeded
  stream main
  buffer x : i64[bs] carried
  when seeded { phase reduce on main skip_idle { updates x  collective all_reduce over tp } }
  else { phase reduce on main { updates x  collective all_reduce over tp } }"""),
    ),
    "idle ranks of a vote": (
        "PL453",
        spec(f"dim bs in [1, 2] over tp\n  {REDUCED.replace('on main {', 'on main skip_idle {')}"),
    ),
}


@pytest.mark.parametrize("name", PRECISE)
def test_what_ranks_may_do_is_passed(name: str, findings) -> None:
    """Nothing is said where every rank comes to every collective alike."""
    assert findings(PRECISE[name]) == []


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_hang_is_refused(name: str, findings) -> None:
    """One finding, and where it has an edit, the edited text is sound."""
    code, text = REFUSED[name]
    (found,) = findings(text)
    assert found.code == code and any("<- differ" in line for line in found.witness)
    if found.fix and found.fix.edits:
        mended, _ = edited(found.fix.edits[0].span.source, [found.fix])
        assert findings(mended.text) == []


def test_a_mend_covers_every_group_that_follows(findings) -> None:
    """The vote that is offered is over a group around all collectives that it decides."""
    text = spec(
        """\
guard seeded
  stream main
  buffer x : i64[4] carried
  when seeded {
    phase reduce on main { updates x  collective all_reduce over attn }
    phase gather on main { updates x  collective all_gather over ep }
  }""",
        "group world\n  group attn in world\n  group ep in world",
    )
    (found,) = findings(text)
    assert dict(found.facts)["group"] == "attn, ep"
    assert found.fix.title == "let the ranks vote: `guard seeded over world`"


def test_the_least_bucket_that_differs_is_shown(findings) -> None:
    """Two ranks side by side, with the sizes that differ."""
    (found,) = findings(spec(f"dim bs in [1, 2, 4]\n  {REDUCED}"))
    assert found.witness == (
        "tp  a rank with bs = 1                a rank with bs = 2",
        "1   all_reduce of reduce, eager, [1]  all_reduce of reduce, eager, [2]  <- differ",
    )


def test_three_ranks_hang_though_no_two_do(findings) -> None:
    """A ring over three communicators, each rank with its own two in order."""
    (found,) = findings(TURNS)
    assert found.code == "PL454" and dict(found.facts)["ranks"] == "3"
    for turn in (0, 1, 2):
        kept = str([one for one in (0, 1, 2) if one != turn])
        text = TURNS.replace("[0, 1, 2] = 0", f"{kept} = {(turn + 1) % 3}")
        assert findings(text) == []


def test_a_ring_that_no_known_ranks_make_can_be_silenced(findings) -> None:
    """It is a note, on the line that it is about, and takes a reason."""
    bad = rank_ring_likely.RULE.bad
    (found,) = findings(bad)
    line = found.span.line - 1
    lines = bad.splitlines()
    lines[line] += "  # allow PL459: ranks of b are never in two groups a"
    assert found.severity == "note"
    assert "PL459" not in {one.code for one in findings("\n".join(lines))}


def test_ranks_that_agree_on_the_order_do_not_hang(findings) -> None:
    """Who meets in a group has one order there, whichever it is."""
    text = TURNS.replace("  param turn in [0, 1, 2] = 0\n", "")
    for old, new in {
        "group b": "group b in a",
        "group c": "group c in a\n  dim turn in [1, 2, 3] over a",
        "turn == 0": "turn == 3",
    }.items():
        text = text.replace(old, new)
    assert findings(text) == []


def test_two_collectives_are_ordered_where_the_device_asks_for_it(findings) -> None:
    """Ascend takes no two at once; the edge that is offered mends it, and elsewhere nothing is wrong."""
    text = """\
spec 1
pipeline p {
  group tp
  group ep
  stream main
  stream side
  buffer x : i64[4] carried
  buffer y : i64[4] carried
  buffer z : i64[4]
  fork side from main
  phase exchange on side { updates y  collective all_to_all over ep }
  phase reduce on main { updates x  collective all_reduce over tp }
  join side into main
  phase add on main { reads x, y  writes z }
}
"""
    assert findings(text, target="cuda") == []
    (found,) = findings(text, target="ascend910c")
    assert (found.code, dict(found.facts)["missing edge"]) == ("PL455", "join exchange into main")
    mended, _ = edited(found.fix.edits[0].span.source, [found.fix])
    assert {one.severity for one in findings(mended.text, target="ascend910c")} <= {"note"}


def test_ranks_are_explained(root) -> None:
    """What is agreed, by which vote, and each sequence with the routes that have it, idle ones too."""
    proven = prove(read_source(root / "tests/specs/g_attention_dp.spec"), Asked())
    text = ranks_text(ranks([order.round for order in proven.orders]))
    assert text.startswith(VIEW)
    assert text.endswith("    idle (16 behaviours)\n       nothing\n")


def test_a_vote_in_the_wrong_part_of_the_ranks_is_refused(root) -> None:
    """The design's own vote over attn_tp, once a setting asks it, decides a graph between all of attn_dp."""
    source = read_source(root / "tests/specs/g_attention_dp.spec")
    with pytest.raises(SpecError) as error:
        prove(source, Asked(settings={"index_share": True}))
    (found,) = error.value.diagnostics
    assert (found.code, found.span.text) == ("PL452", "attn_tp")
    assert found.fix is not None and found.fix.title == "agree over attn_dp in place of attn_tp"
