"""What lives in pools of graphs and in slots: who may read it, and until when."""

from __future__ import annotations

from pathlib import Path

import pytest

from plait.compiler.compile import Asked, prove, read_source
from plait.dsl.diagnostic import Diagnostic, SpecError
from plait.dsl.span import Source

SPECS = Path(__file__).parent.parent / "specs"


def around(lines: str) -> str:
    return f"spec 1\npipeline p {{\n{lines}}}\n"


GRAPHS = """\
  stream main
  stream side
  pool graphs
  pool others
  buffer x : i64[4] carried
  buffer y : i64[4] carried
  buffer probs : f32[4]
  buffer seen : f32[4] carried
"""
DRAFT = (
    "  capture draft on main rows 4 in graphs { phase guess on main { updates x  writes probs } }\n"
)
PLAIN = "  capture draft on main rows 4 in graphs { phase guess on main { updates x } }\n"
VERIFY = "  capture verify on main rows 4 in graphs { phase target on main { updates y } }\n"
BESIDE = "  capture verify on side rows 4 in graphs { phase target on side { updates y } }\n"
LOOK = "  phase look on main { reads probs  writes seen }\n"


def said(found: list[Diagnostic]) -> list[tuple[str, str]]:
    return [(one.code, one.message) for one in found]


def test_two_graphs_of_a_pool_that_keep_nothing_there_are_right(findings) -> None:
    """One pool for all graphs is what servers do."""
    assert findings(around(GRAPHS + PLAIN + VERIFY)) == []


def test_replays_of_one_pool_come_one_after_another(findings) -> None:
    """On two streams they would overwrite each other; with a pool each they may run side by side."""
    text = around(GRAPHS + PLAIN + BESIDE + "  join side into main\n")
    (found,) = findings(text)
    assert said([found]) == [
        (
            "PL206",
            "`verify` on side may overwrite the pool `graphs` while `draft` on main still does",
        )
    ]
    assert found.fix and found.fix.title == "before line 12, write: fork side from draft"
    apart = findings(text.replace("side rows 4 in graphs", "side rows 4 in others"))
    assert [one.code for one in apart] == ["PL901"]  # then nothing needs the join


def test_a_read_between_two_replays_is_right(findings) -> None:
    """It is above the replay that overwrites, and on its stream."""
    assert findings(around(GRAPHS + DRAFT + LOOK + VERIFY)) == []


@pytest.mark.parametrize(
    "before", ["", "  join verify into host\n", "  join draft into side\n  join side into host\n"]
)
def test_no_wait_brings_back_what_a_replay_has_overwritten(findings, before: str) -> None:
    """The read is issued after the replay of another graph, whatever the host waits for."""
    found = [
        one for one in findings(around(GRAPHS + DRAFT + VERIFY + before + LOOK)) if one.code < "PL9"
    ]
    assert said(found) == [
        ("PL303", "`look` reads `probs`, which the replay of `verify` has overwritten by then")
    ]


def test_the_next_replay_of_the_same_graph_overwrites_too(findings) -> None:
    """A value of the round before can be read above the replay only."""
    prev = LOOK.replace("probs", "prev probs")
    twice = GRAPHS.replace("probs : f32[4]", "probs : f32[4] copies 2")
    (found,) = findings(around(twice + DRAFT + prev))
    assert said([found]) == [
        ("PL303", "`look` reads `probs`, which the next replay of `draft` has overwritten by then")
    ]
    assert findings(around(twice + prev + DRAFT)) == []
    assert findings(around(twice.replace("copies 2", "static copies 2") + DRAFT + prev)) == []


def test_a_graph_takes_in_what_another_of_its_pool_has_left(findings) -> None:
    """It is copied before the replay overwrites it; one more replay between is too many."""
    take = "  capture verify on main rows 4 in graphs { phase target on main { reads probs  updates y } }\n"
    more = "  capture more on main rows 4 in graphs { phase again on main { updates seen } }\n"
    assert findings(around(GRAPHS + DRAFT + take)) == []
    (found,) = findings(around(GRAPHS + DRAFT + more + take))
    assert (found.code, found.span.text) == ("PL303", "probs")


def test_the_part_that_a_second_graph_does_not_write_is_gone(findings) -> None:
    """Two graphs of a pool each write half of a buffer."""
    one = DRAFT.replace("writes probs", "writes probs[0 .. 1]")
    other = VERIFY.replace("updates y", "updates y  writes probs[2 .. 3]")
    (found,) = findings(around(GRAPHS + one + other + LOOK))
    assert found.code == "PL303"
    half = LOOK.replace("reads probs", "reads probs[2 .. 3]")
    assert findings(around(GRAPHS + one + other + half)) == []


def test_rejection_sampling_needs_its_copy() -> None:
    """Without the phase that keeps the draft's probabilities, they are read after verify has replayed."""
    source = read_source(SPECS / "k_rejection.spec")
    lines = source.text.splitlines(keepends=True)
    text = "".join(line for line in lines if "phase keep on" not in line)
    text = text.replace(
        "reads logits, draft_tokens, kept_probs", "reads logits, draft_tokens, probs"
    )
    with pytest.raises(SpecError) as error:
        prove(Source(source.name, text, source.folder), Asked())
    assert said(error.value.diagnostics) == [
        ("PL303", "`reject` reads `probs`, which the replay of `verify` has overwritten by then")
    ]


SLOTS = """\
  stream main
  stream side
  pool ll = 2
  buffer x : f32[4] carried
  buffer a : f32[4] in ll
  buffer b : f32[4] in ll
  buffer c : f32[4] in ll
  buffer u : f32[4]
  buffer v : f32[4]
  phase send_a on main { reads x  writes a }
  fork side from send_a
  phase use_a on side { reads a  writes u }
  phase send_b on main { reads x  writes b }
"""
END = "  phase use_c on main { reads u, v, c  writes x }\n"


def test_a_slot_is_free_when_its_value_surely_is_read(findings) -> None:
    """Above in the text is not before: the reader on the side stream may be late."""
    read_b = "  phase use_b on main { reads b  writes v }\n"
    text = around(
        SLOTS
        + "  phase send_c on main { reads x  writes c }\n"
        + read_b
        + "  join side into main\n"
        + END
    )
    (found,) = findings(text)
    assert said([found]) == [
        (
            "PL852",
            "`send_c` writes `c` into the pool `ll`, which holds 2 values: `a` and `b` may be alive,"
            " as `use_a` still uses `a`",
        )
    ]
    assert found.fix and found.fix.title == "before line 16, write: join use_a into main"
    assert len(found.fix.edits) == 1
    mended = text.replace("  phase send_c", "  join use_a into main\n  phase send_c")
    assert [one.code for one in findings(mended.replace("  join side into main\n", ""))] == []
    assert findings(text.replace("ll = 2", "ll = 3")) == []


def test_values_that_follow_each_other_take_one_slot(findings) -> None:
    """Two that are ordered on a stream of their own are never both alive beside a third."""
    text = SLOTS.replace("  phase send_b on main { reads x  writes b }\n", "") + (
        "  phase send_b on side { reads u  writes b }\n"
        "  phase use_b on side { reads b  writes v }\n"
        "  phase send_c on main { reads x  writes c }\n"
        "  join side into main\n"
    )
    assert findings(around(text + END)) == []
    (found,) = findings(around(text.replace("ll = 2", "ll = 1") + END))
    assert found.code == "PL852"


HELD = """\
  group ep
  stream main
  buffer x : f32[4] carried
  buffer a : f32[4]
  buffer b : f32[4]
  buffer counts : i32[4]
  buffer c : f32[4]
  launch send_a on main { reads x  writes a, counts  collective low_latency over ep }
  launch send_b on main { reads x  writes b  collective low_latency over ep }
  launch send_c on main { reads x  writes c  collective low_latency over ep }
  await send_a on main
  await send_b on main
  await send_c on main
  phase add on main { reads a, counts, b, c  writes x }
"""


def test_a_library_holds_so_many_results_whether_a_pool_says_it_or_not(findings) -> None:
    """Two on CUDA, each of one operation; where no library is known there is no such limit."""
    (found,) = findings(around(HELD), target="cuda")
    assert found.code == "PL852"
    assert (
        "the exchange of `ep` on cuda, which holds 2 values: `a` and `b` may be alive"
        in found.message
    )
    fewer = "".join(line for line in HELD.splitlines(keepends=True) if "send_c" not in line)
    assert findings(around(fewer.replace("counts, b, c", "counts, b")), target="cuda") == []
    assert findings(around(HELD)) == []
