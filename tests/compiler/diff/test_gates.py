"""Gates: how they are written, and when they fail."""

from __future__ import annotations

from fractions import Fraction

import pytest

from plait.compiler.diff.amounts import Amount
from plait.compiler.diff.diff import Diff
from plait.compiler.diff.gates import GateError, failures, read_gate
from plait.compiler.diff.orders import Orders
from plait.compiler.diff.row import Row

NEW = Row("hazard", "", "PL201", "", "`b` may read `x` before `a` has written it")


def found(*amounts: Amount, hazards: tuple[Row, ...] = (), stuck: bool = False) -> Diff:
    at, none = ("any", "any"), Orders((), 0, 0)
    return Diff("a", "b", at, ("costs", "costs"), (), none, hazards, (False, stuck), amounts)


def amount(name: str, before: int, after: int) -> Amount:
    return Amount(name, "ns", Fraction(before), Fraction(after))


@pytest.mark.parametrize(
    ("text", "before", "after", "fails"),
    [
        ("slower", 100, 100, False),
        ("slower", 100, 101, True),
        ("slower", 100, 99, False),
        ("slower>2%", 100, 102, False),
        ("slower > 2 %", 1000, 1021, True),
        ("slower>0.5%", 1000, 1005, False),
        ("slower>1.5us", 1000, 2500, False),
        ("slower>1.5us", 1000, 2501, True),
        ("slower>10%", 0, 1, True),
    ],
)
def test_a_gate_fails_above_its_limit(text: str, before: int, after: int, fails: bool) -> None:
    """Growth up to the limit, the limit included, passes; shares are of what it was."""
    assert bool(failures(found(amount("round", before, after)), [read_gate(text)])) == fails


def test_a_failure_says_by_how_much() -> None:
    """The figure, how much it grew, and the share of what it was."""
    made = found(amount("exposed on the path", 10_000, 16_000))
    (failed,) = failures(made, [read_gate("exposed>5us")])
    assert (failed.gate, failed.why) == ("exposed>5us", "exposed on the path: 6 us (60 %) more")


def test_a_figure_that_nobody_knows_fails_its_gate() -> None:
    """What cannot be judged does not pass."""
    (failed,) = failures(found(), [read_gate("slower")])
    assert failed.why == "nobody knows the round of both sides"


def test_a_new_hazard_fails_unasked() -> None:
    """Whatever gates there are; one that is gone does not."""
    assert [one.gate for one in failures(found(hazards=(NEW,)), [])] == ["hazard"]
    assert not failures(found(hazards=(NEW.mirrored(),)), [read_gate("hazard")])


def test_a_round_that_no_longer_ends_is_a_hazard() -> None:
    """One that waits in a circle where the other does not."""
    (failed,) = failures(found(stuck=True), [])
    assert failed.why == "b waits in a circle"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("slow", "there is no gate slow; there are slower, cost, exposed, memory, streams, "
         "records, waits, hazard"),
        ("slower>", "write it as slower>2%, exposed>5us, memory>1MiB or waits"),
        ("slower>-2%", "write it as slower>2%, exposed>5us, memory>1MiB or waits"),
        ("slower<2%", "write it as slower>2%, exposed>5us, memory>1MiB or waits"),
        ("slower>2", "slower is told in ns, us, ms, s, %"),
        ("memory>2us", "memory is told in B, KiB, MiB, GiB, %"),
        ("waits>2us", "waits is told in a count or %"),
        ("waits>2e9", "write it as slower>2%, exposed>5us, memory>1MiB or waits"),
        ("hazard>1", "takes no amount"),
        ("slower>\N{ARABIC-INDIC DIGIT TWO}%", "write it as slower>2%, exposed>5us, memory>1MiB or waits"),
    ],
)  # fmt: skip
def test_what_is_no_gate_is_refused(text: str, why: str) -> None:
    """With what was expected."""
    with pytest.raises(GateError) as error:
        read_gate(text)
    assert str(error.value) == f"{text}: {why}"
