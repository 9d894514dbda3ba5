"""The canonical round: clean as written, and every one of its six edges is needed."""

from __future__ import annotations

import pytest

from plait.compiler.order import order
from plait.dsl.span import Source

EDGES = {
    "fork plan from main": (
        "tree",
        "build_tree, plan_verify",
        "main, plan",
        "fork plan from build_tree",
    ),
    "join plan into main": (
        "verify_meta",
        "plan_verify, target",
        "plan, main",
        "join plan_verify into main",
    ),
    "fork plan from accept": (
        "accepted",
        "accept, plan_extend",
        "main, plan",
        "fork plan from accept",
    ),
    "join plan into main ": (
        "extend_meta",
        "plan_extend, nextn_extend",
        "plan, main",
        "join plan_extend into main",
    ),
    "fork copy from accept": ("accepted", "accept, publish", "main, copy", "fork copy from accept"),
    "join prev publish into host": (
        "out_tokens",
        "publish, commit",
        "copy, host",
        "join prev publish into host",
    ),
}


def edge_lines(source: Source) -> list[int]:
    lines = source.text.splitlines()
    return [n for n, line in enumerate(lines) if line.strip().startswith(("fork ", "join "))]


def without(source: Source, number: int) -> Source:
    lines = source.text.splitlines(keepends=True)
    return Source(source.name, "".join(lines[:number] + lines[number + 1 :]))


def test_the_canonical_round_is_clean(eagle: Source, findings) -> None:
    """No finding at the default, in any variant, at one step, or with every capture eager."""
    assert findings(eagle) == []
    assert findings(eagle, settings={"num_steps": 1}) == []
    assert findings(eagle, capture=False) == []


def test_the_designs_own_text_is_clean(root, findings) -> None:
    """The spec as it was designed, without the example's additions."""
    text = (root / "tests" / "specs" / "canonical_eagle.spec").read_text(encoding="utf-8")
    assert findings(text) == []
    assert findings(text, settings={"num_steps": 1}) == []


@pytest.mark.parametrize("number", range(6))
def test_deleting_any_edge_is_refused(number: int, eagle: Source, findings, shown) -> None:
    """Both phases, both streams, the buffer and the missing edge are named."""
    broken = without(eagle, edge_lines(eagle)[number])
    found = findings(broken)
    assert found and all(diagnostic.severity == "error" for diagnostic in found)
    races = [one for d in found for one in (d, *d.because) if one.code == "PL201"]
    facts = dict(races[0].facts)
    buffer, phases, streams, edge = list(EDGES.values())[number]
    assert (facts["buffer"], facts["phases"], facts["streams"]) == (buffer, phases, streams)
    assert facts["missing edge"] == edge
    text = shown(found)
    assert all(f"{name}" in text for name in (buffer, *phases.split(", "), *streams.split(", ")))


@pytest.mark.parametrize("number", range(6))
def test_the_offered_fix_mends_it(number: int, eagle: Source, findings) -> None:
    """Applying the edit of each finding gives a spec without findings."""
    broken = without(eagle, edge_lines(eagle)[number])
    races = [one for d in findings(broken) for one in (d, *d.because) if one.code == "PL201"]
    text = broken.text
    for race in races:
        assert race.fix is not None
        (edit,) = race.fix.edits
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    assert findings(Source("mended.spec", text)) == []


def test_each_edge_is_one_wait(eagle: Source, proven) -> None:
    """The six edges as written are the six waits emitted; without a plan stream two are left."""
    found = proven(eagle)
    assert len(found.waits) == 6 and not found.dropped
    assert len(proven(eagle, variant="serial").waits) == 2


def test_an_edge_beside_another_is_dropped(eagle: Source, proven) -> None:
    """The same fork written twice costs one wait."""
    text = eagle.text.replace("  fork plan from main\n", "  fork plan from main\n" * 2)
    found = proven(Source("twice.spec", text))
    assert len(found.waits) == 6 and len(found.dropped) == 1


def test_a_shorter_copy_is_refused(eagle: Source, findings) -> None:
    """With one copy of `accepted`, accept would overwrite what publish still reads."""
    found = findings(Source("one.spec", eagle.text.replace("copies 2  # the copy", "# the copy")))
    facts = dict(found[0].facts)
    assert (found[0].code, facts["buffer"], facts["phases"]) == (
        "PL201",
        "accepted",
        "publish, accept",
    )
    assert "copies" in found[0].help


def test_order_is_the_same_for_every_bucket(eagle: Source, proven) -> None:
    """The structure of a round does not depend on its bucket, so one proof holds for all."""
    found = proven(eagle)
    assert order(found.round).waits == found.waits
