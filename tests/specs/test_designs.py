"""The schedules that the language was designed on parse, check and lower with their verdicts."""

from __future__ import annotations

from pathlib import Path

import pytest

from plait.compiler.compile import Asked, compile_source, prove, prove_all, read_source
from plait.dsl.diagnostic import SpecError
from plait.dsl.span import Source
from plait.runtime.schedule_json import to_json
from plait.runtime.schedule_reader import from_json

FOLDER = Path(__file__).parent
CLEAN = {
    "a_eagle_full": ["eagle"],
    "d_moe": ["decode"],
    "e_two_batch": ["two_batch"],
    "f_dspark": ["dspark"],
    "g_attention_dp": ["attention_dp"],
    "h_task_update": ["task_update"],
    "i_adaptive": ["adaptive"],
    "j_tree": ["tree_draft"],
    "k_rejection": ["rejection"],
    "l_offload": ["offload", "prefill"],
}
SMALLER = {"a_eagle_full": {"buckets": [1, 32]}, "e_two_batch": {"count": 6}}
"""Settings under which the largest are judged: fewer of what is alike."""
BOTH = {"overlap_plan": True, "multi_stream": True}


def spec(name: str) -> Source:
    return read_source(FOLDER / f"{name}.spec")


def found(source: Source, **asked) -> list[tuple[str, str]]:
    """The code and severity of every finding."""
    judged = prove_all(source, Asked(**asked))
    return [(d.code, d.severity) for one in judged for d in one.findings]


def test_every_design_has_a_verdict() -> None:
    """Nothing lies here that no test reads."""
    others = {"b_extend_planning", "c_layer", "canonical_eagle"}
    assert {path.stem for path in FOLDER.glob("*.spec")} == {*CLEAN, *others}


NOTED = {"d_moe": [("PL903", "note")], "j_tree": [("PL903", "note")]}
"""Each has a fork beside which nothing runs."""


@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_design_checks_and_lowers(name: str) -> None:
    """No error in any pipeline or variant, no note but those known, and a schedule that loads again."""
    source, settings = spec(name), SMALLER.get(name)
    assert found(source, settings=settings) == NOTED.get(name, [])
    for pipeline in CLEAN[name]:
        schedule = compile_source(source, Asked(pipeline=pipeline, settings=settings))
        assert from_json(to_json(schedule)) == schedule


@pytest.mark.parametrize("target", ["cuda", "ascend910c"])
def test_two_batch_overlap_is_captured_in_the_mode_that_can_be(target: str) -> None:
    """With `all_to_all` no graph of an accelerator holds it; with `low_latency` it is clean."""
    source = spec("e_two_batch")
    settings = SMALLER["e_two_batch"]
    assert {code for code, _ in found(source, settings=settings, target=target)} == {"PL853"}
    text = source.text.replace("all_to_all", "low_latency")
    assert found(Source(source.name, text), settings=settings, target=target) == []


@pytest.fixture(scope="module")
def shorter(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """The whole serving round with three target layers instead of 61: one of each ratio."""
    folder = tmp_path_factory.mktemp("designs")
    layers = spec("c_layer").text
    assert "for l in 0 .. 60 {" in layers
    (folder / "c_layer.spec").write_text(layers.replace("0 .. 60", "0 .. 2"))
    (folder / "round.spec").write_text(spec("a_eagle_full").text)
    return read_source(folder / "round.spec")


EDGES = [
    number
    for number, line in enumerate(spec("a_eagle_full").text.splitlines())
    if line.strip().startswith(("fork", "join")) or " { join" in line
]


def test_the_serving_round_is_clean_with_every_stream(shorter: Source) -> None:
    """Planning streams and streams of the layers add no race; one fork waits for more than data needs."""
    assert len(EDGES) == 12
    assert found(shorter, settings=BOTH) == [("PL906", "note")]


@pytest.mark.parametrize("number", EDGES)
def test_each_edge_of_the_serving_round_is_needed(number: int, shorter: Source) -> None:
    """Taking any of the twelve out is refused."""
    lines = shorter.text.splitlines(keepends=True)
    text = "".join(lines[:number] + lines[number + 1 :])
    broken = Source(shorter.name, text, shorter.folder)
    with pytest.raises(SpecError):
        prove(broken, Asked(settings=BOTH))


def test_the_serving_round_forks_by_the_bucket() -> None:
    """48 rows fork all 61 layers, 96 rows none."""
    settings = {**BOTH, "buckets": [16, 32]}
    proven = prove(spec("a_eagle_full"), Asked(settings=settings))
    for order in proven.orders:
        round = order.round
        branches = [p for p in round.phases if p.base.endswith((".kv_branch", ".q_branch"))]
        aside = [p for p in branches if round.stream_name(p.stream) in ("kv", "q")]
        assert len(branches) == 2 * 61
        assert len(aside) == (2 * 61 if round.sizes["bs"] == 16 else 0)


def test_early_planning_is_clean_and_fenced_planning_noted() -> None:
    """Nothing needs the fence while planning reads nothing of accept's; the racy form does need it."""
    source = spec("b_extend_planning")
    without = source.text.replace("variant racy ", "#")
    (note,) = prove_all(Source(source.name, without), Asked())[0].findings
    assert (note.code, note.severity, note.span.text) == ("PL901", "note", "fork plan from main")
    assert found(source, variant="early") == []


def test_racy_planning_is_refused() -> None:
    """A cast of accepted ids on a planning stream that does not wait for them."""
    with pytest.raises(SpecError) as error:
        prove(spec("b_extend_planning"), Asked(variant="racy"))
    (race,) = error.value.diagnostics
    facts = dict(race.facts)
    assert (race.code, facts["buffer"]) == ("PL201", "accepted")
    assert facts["missing edge"] == "fork plan from accept"


def test_the_column_that_nothing_writes_is_refused() -> None:
    """Why the copy of the adaptive round differs from the design."""
    source = spec("i_adaptive")
    designed = source.text.replace("max(num_steps, 1)", "num_steps + 1")
    with pytest.raises(SpecError) as error:
        prove(Source(source.name, designed), Asked())
    assert {d.code for d in error.value.diagnostics} == {"PL301"}
