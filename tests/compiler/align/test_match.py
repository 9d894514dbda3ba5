"""What names do not tell, told by the order."""

from __future__ import annotations

from plait.compiler.align.aligned import Aligned, align
from plait.compiler.traces.model import Lane, Slice, Trace

ROLLED = """\
spec 1
pipeline rolled {
  stream main
  buffer x : i64[4] carried
  for i in 1 .. 3 {
    phase draft[i] on main { updates x }
  }
  phase verify on main { updates x }
}
"""


def aligned(compiled, rows: list[list[str]], text: str = ROLLED) -> Aligned:
    """Of kernels that follow each other, a list for each round, a microsecond each."""
    trace = Trace("rows", "Kineto", lanes=[Lane("gpu 0", "7", "stream 7")])
    for round, names in enumerate(rows):
        for place, name in enumerate(names):
            at = 100_000 * round + 1_100 * place
            trace.slices.append(Slice(0, at, at + 1_000, name, "compute", issued=at))
    schedule = compiled(text)
    return align(schedule, schedule.widest, trace)


def given(made: Aligned, round: int) -> str:
    """The nodes of a round's kernels, each with the letter of how it was told."""
    found = []
    for number, of in enumerate(made.found.rounds):
        if of == round:
            node = made.found.nodes[number]
            title = made.declared.nodes[node].title if node >= 0 else "-"
            found.append(f"{title}{made.found.strengths[number]}")
    return " ".join(found)


STAGE = ["draft_gemm", "draft_norm"]
WHOLE = [*STAGE * 3, "verify_gemm"]


def test_phases_of_one_name_are_told_by_what_repeats(compiled) -> None:
    """Three stages launch the same kernels, and each has its own."""
    made = aligned(compiled, [WHOLE] * 4)
    assert given(made, 2) == ("draft[1]B draft[1]B draft[2]B draft[2]B draft[3]B draft[3]B verifyB")


def test_a_kernel_that_is_missing_shifts_nothing(compiled) -> None:
    """What is behind it stays where it is, and its node has no known start."""
    rows = [WHOLE] * 6
    rows[3] = [*STAGE, "draft_norm", *STAGE, "verify_gemm"]
    made = aligned(compiled, rows)
    assert given(made, 3) == "draft[1]B draft[1]B draft[2]B draft[3]B draft[3]B verifyB"
    second = made.seen.get(1, 3)
    assert second is not None and (second.begins, second.ends) == (False, True)


def test_a_kernel_under_another_name_is_told_by_what_is_left(compiled) -> None:
    """With the least letter, and the stranger behind it is nobody's."""
    rows = [WHOLE] * 6
    rows[3] = ["draft_gemm", "other", *STAGE * 2, "verify_gemm", "stranger"]
    made = aligned(compiled, rows)
    assert given(made, 3) == (
        "draft[1]B draft[1]C draft[2]B draft[2]B draft[3]B draft[3]B verifyB -"
    )
