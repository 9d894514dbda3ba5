"""The examples are sound, load from JSON, and state what their table says of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from plait.compiler.branches import branches
from plait.compiler.compile import Asked, compile_source, prove, prove_all, read_source
from plait.compiler.diff.diff import diff
from plait.compiler.order import Order
from plait.compiler.round import HOST
from plait.dsl.diagnostic import SpecError
from plait.dsl.parser import parse
from plait.dsl.settings import variants_of
from plait.dsl.span import Source
from plait.runtime.schedule import Bucket, Schedule
from plait.runtime.schedule_json import to_json
from plait.runtime.schedule_reader import from_json

FOLDER = Path(__file__).parents[2] / "examples"
NAMES = sorted(path.stem for path in FOLDER.glob("*.spec"))
SMALLER = {"eagle_full": {"layers": 3}, "expert_parallel": {"layers": 2}, "two_batch": {"count": 2}}
"""Settings under which the largest are compiled."""


def example(name: str) -> Source:
    return read_source(FOLDER / f"{name}.spec")


def schedule(name: str, **asked) -> Schedule:
    return compile_source(example(name), Asked(**asked))


def routes(name: str, **asked) -> list[Order]:
    return prove(example(name), Asked(**asked)).orders


def widths(schedule: Schedule, bucket: Bucket) -> dict[str, int]:
    """The rows of every graph that a bucket replays."""
    return {
        schedule.captures[one.of].name: bucket.rows[one.of]
        for one in schedule.program_of(bucket)
        if one.op == "replay"
    }


def issued(order: Order) -> list[str]:
    return [phase.name for phase in order.round.phases]


# Every example


@pytest.mark.parametrize("name", NAMES)
def test_it_is_sound(name: str) -> None:
    """No error and no note, at the default settings and in every variant."""
    judged = prove_all(example(name), Asked())
    assert [finding for one in judged for finding in one.findings] == []


@pytest.mark.parametrize("name", NAMES)
def test_it_loads_again(name: str) -> None:
    """In every variant its schedule is JSON that reads back as the same schedule."""
    file = parse(example(name))
    (pipeline,) = file.pipelines
    for variant in (None, *(v.name.text for v in variants_of(file, pipeline))):
        made = schedule(name, variant=variant, settings=SMALLER.get(name))
        assert from_json(to_json(made)) == made


@pytest.mark.parametrize("name", NAMES)
def test_it_opens_with_what_it_shows(name: str) -> None:
    """Two sentences in two lines of comment, above the pipeline; and the table has it."""
    text = example(name).text
    comment = re.search(r"\n\n((?:#[^\n]*\n)+)pipeline ", text)
    assert comment is not None
    sentences = re.sub(r"\n?# ", " ", comment[1]).strip()
    assert sentences.count(". ") == 1 and sentences.endswith(".")
    assert f"[`{name}.spec`]({name}.spec)" in (FOLDER / "README.md").read_text(encoding="utf-8")


# The facts of a round


def test_r1_the_phases_of_a_round() -> None:
    """In this order; the last writes what the first of the next round reads."""
    order = routes("eagle")[-1]
    steps = ["first", "plan_verify", "target", "accept", "plan_extend", "nextn_extend"]
    assert [name for name in issued(order) if name in steps] == steps
    phases = {phase.name: phase for phase in order.round.phases}
    candidate = next(b for b in order.round.buffers if b.name == "candidate")
    number = order.round.buffers.index(candidate)
    assert candidate.carried
    assert any(a.writes and a.buffer == number for a in phases["nextn_extend"].accesses)
    assert any(a.reads and a.buffer == number for a in phases["first"].accesses)


def test_r2_forwards_of_a_draft() -> None:
    """One less than candidates; no graph at one step, no draft at none."""
    forwards = {}
    for variant, steps in (("zero", 0), ("one", 1), (None, 2), ("three", 3)):
        order = routes("draft_steps", variant=variant)[-1]
        forwards[steps] = len([name for name in issued(order) if "nextn[" in name])
        graphs = {capture.name: capture.rows for capture in order.round.captures}
        assert ("draft.chain.rollout" in graphs) == (steps > 1)
        assert graphs["verify.forward"] == 8 * (steps + 1)
    assert forwards == {0: 0, 1: 0, 2: 1, 3: 2}


def test_r3_rows_a_request() -> None:
    """Four in the draft of a tree, sixteen in verify and extend; a chain has one more than its steps."""
    made = schedule("tree")
    assert widths(made, made.widest) == {
        "draft.rollout": 8 * 4,
        "verify.forward": 8 * 16,
        "extend.forward": 8 * 16,
    }
    with pytest.raises(SpecError, match="a chain verifies num_steps"):
        schedule("tree", settings={"topk": 1})


def test_r4_one_answer_for_all_ranks() -> None:
    """The wish is a vote over the group that the draft's collective is over, and has two routes."""
    made = schedule("graph_vote")
    (vote,) = made.votes
    assert vote.names == ("seed_ready",) and vote.group is not None
    collectives = {p.name: p.collective.group for p in made.phases if p.collective}
    assert collectives == {"nextn[1]": vote.group} and made.groups[vote.group].name == "tp"
    graphs = {b.route: "draft" in widths(made, b) for b in made.buckets}
    assert graphs == {(("seed_ready", True),): True, (("seed_ready", False),): False}


def test_r5_verify_is_padded_by_requests() -> None:
    """Five requests of three rows replay the bucket of eight: 24 rows, 9 of them padding."""
    made = schedule("eagle")
    bucket = made.bucket_for(bs=5)
    assert dict(bucket.sizes) == {"bs": 8}
    assert widths(made, bucket)["verify"] == 24 and 24 - 5 * 3 == 9


def test_r6_verify_is_padded_by_tokens() -> None:
    """Fifteen tokens of five requests replay the tier of sixteen; the fixed width would be 32."""
    ragged, fixed = (schedule("dspark", variant=v) for v in ("compact", None))
    assert widths(ragged, ragged.bucket_for(bs=5, tokens=15, in_grid=True)) == {
        "verify.forward": 16
    }
    assert widths(fixed, fixed.bucket_for(bs=5, tokens=15, in_grid=True)) == {"verify.forward": 32}
    service = schedule("service_ragged")
    assert widths(service, service.bucket_for(bs=5, tokens=15))["verify"] == 16
    graphs = [row for row in diff(fixed, ragged).rows if row.name == "verify.forward"]
    assert [row.kind for row in graphs] == ["capture"]


def test_r7_the_largest_rank_decides() -> None:
    """Bucket and graphs are one vote of the group; with 5, 2, 7 and 1 requests all ranks take 8."""
    made = schedule("attention_dp")
    (vote,) = made.votes
    assert vote.names == ("bs", "all_decode", "draft_graph") and vote.group is not None
    assert made.groups[vote.group].name == "attn_dp"
    assert dict(made.bucket_for(bs=max(5, 2, 7, 1), all_decode=True, draft_graph=True).sizes) == {
        "bs": 8
    }


def test_r8_lengths_come_a_round_later() -> None:
    """The host reads those of the round before; those of its own round would be read before any write."""
    source = example("accept_length")
    round = routes("accept_length")[0].round
    admit = next(phase for phase in round.phases if phase.stream == HOST)
    read = {round.buffers[a.buffer].name: a.rounds_back for a in admit.accesses if a.reads}
    assert read == {"out": 1, "out_lens": 1}
    own = source.text.replace("prev out_lens ", "out_lens ")
    with pytest.raises(SpecError, match="nothing above it has written this round"):
        prove(Source(source.name, own), Asked())


def test_r9_verify_planning_hides_nothing() -> None:
    """Nothing runs beside it, and it costs two waits."""
    order = routes("verify_planning")[-1]
    (branch,) = branches(order)
    assert branch.steps == ("plan_verify.prepare",) and branch.beside == ()
    assert len(order.waits) == 2
    assert routes("verify_planning", variant="serial")[-1].waits == ()


def test_r10_early_planning_hides_under_verify() -> None:
    """The fence is one wait more; a cast on the planning stream is refused for what it reads."""
    early, fenced = (routes("extend_planning", variant=v)[-1] for v in (None, "fenced"))
    assert len(fenced.waits) == len(early.waits) + 1
    with pytest.raises(SpecError) as error:
        schedule("extend_planning", settings={"early_cast": True})
    (race,) = error.value.diagnostics
    assert race.code == "PL201" and dict(race.facts)["buffer"] == "accepted"


def test_r11_branches_beside_the_indexer() -> None:
    """Attention waits for both branches, which the indexer, the compressor and they do not."""
    order = routes("deepseek_v4")[0]
    round = order.round
    waits = [(round.item_name(w.source), round.item_name(w.target)) for w in order.waits]
    layer = "target.layers[1]."
    for branch in ("kv_branch", "q_branch"):
        mine = [b for a, b in waits if a == layer + branch]
        assert mine == [layer + "attention"]


def test_r12_only_narrow_buckets_fork() -> None:
    """Three rows a request: up to 21 requests; not in a prefill, and never in the draft."""
    for variant, forked in ((None, {16, 21}), ("prefill", set()), ("one_stream", set())):
        for order in routes("deepseek_v4", variant=variant):
            round = order.round
            aside = {
                phase.base.split(".")[0]
                for phase in round.phases
                if phase.base.endswith(("kv_branch", "q_branch"))
                and round.stream_name(phase.stream) != "main"
            }
            assert aside == ({"target"} if round.sizes["bs"] in forked else set())


def _under(variant: str | None, exchange: str) -> list[str]:
    """The phases that the order lets run while an exchange is in flight."""
    order = routes("moe", variant=variant)[0]
    moments = {order.round.item_name(place): m for place, m in order.moments[0].items()}
    mine = moments[f"layer.routed.{exchange}"]
    return [
        name.split(".")[-1]
        for name, other in moments.items()
        if name.startswith("layer.") and other is not mine
        if not other.after(mine) and not mine.after(other)
    ]


def test_r13_the_normal_mode_hides_under_independent_work() -> None:
    """The shared expert under dispatch or under combine; without it nothing, and the wait is exposed."""
    assert _under("normal", "dispatch") == ["shared_expert"]
    assert _under("normal_combine", "combine") == ["shared_expert"]
    assert _under("normal_serial", "dispatch") == _under("normal_serial", "combine") == []


def test_r14_the_shared_expert_has_a_stream() -> None:
    """Beside the whole routed path, joined at its end."""
    for variant in ("side", "normal_side"):
        assert _under(variant, "dispatch") == _under(variant, "combine") == ["shared_expert"]
        round = routes("moe", variant=variant)[0].round
        edges = [round.edge_text(edge) for edge in round.edges]
        assert edges[-1] == "join side into main"


def test_r15_low_latency_leaves_a_slot() -> None:
    """Between launch and await, of dispatch or of combine."""
    assert _under(None, "dispatch") == ["shared_expert"] and _under(None, "combine") == []
    assert _under("combine", "combine") == ["shared_expert"]
    assert _under("serial", "dispatch") == []
    program = schedule("moe").captures[0].program
    assert [one.op for one in program].count("launch") == 2


def test_r16_one_variable_stops_the_extend_graph() -> None:
    """That of this name; the one that recipes export is read by nobody."""
    name = "SGLANG_DISABLE_DRAFT_EXTEND_CUDA_GRAPH"
    for variable, stopped in ((name, True), (name.replace("_CUDA", ""), False)):
        made = schedule("operating_points", environment={variable: "1"})
        assert ("extend.forward" not in widths(made, made.widest)) is stopped
        assert [key for key, _ in made.environment] == [name]


def test_r17_eager_is_a_choice_of_each_stage() -> None:
    """Graph, graph, eager has two graphs and all phases of the three."""
    made = schedule("operating_points", variant="graph_graph_eager")
    assert list(widths(made, made.widest)) == ["draft.rollout", "verify.forward"]
    assert {p.name for p in made.phases} == {p.name for p in schedule("operating_points").phases}


def test_r18_extend_is_as_wide_as_verify() -> None:
    """Three rows a request, of which the head takes one."""
    phases = {phase.name: phase for phase in routes("operating_points")[-1].round.phases}
    assert phases["extend.nextn"].rows == 24 and phases["extend.head"].rows == 8


def test_the_table_has_every_row() -> None:
    """All twenty, with files that exist, or with the reason why no spec states them."""
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| R(\d+) \|.*\| ([^|]*) \|$", text, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 21))
    tested = {int(found[1]) for name in globals() if (found := re.match(r"test_r(\d+)_", name))}
    for number, last in rows:
        files = re.findall(r"`(\w+)\.spec`", last)
        assert set(files) <= set(NAMES)
        assert bool(files) == (int(number) in tested) and (files or last.startswith("no spec: "))


def test_both_tables_say_the_same() -> None:
    """A file has the facts that name it."""
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    shown: dict[str, list[str]] = {}
    for row, last in re.findall(r"^\| (R\d+) \|.*\| ([^|]*) \|$", text, re.MULTILINE):
        for name in re.findall(r"`(\w+)\.spec`", last):
            shown.setdefault(name, []).append(row)
    rows = re.findall(r"^\| \[`(\w+)\.spec`\].*\|([^|]*)\|[^|]*\|$", text, re.MULTILINE)
    assert {name: facts.strip() for name, facts in rows} == {
        name: ", ".join(shown.get(name, [])) for name in NAMES
    }


def test_offload_computes_while_it_moves() -> None:
    """Layer 1 is loaded under layer 0, and layer 0 stored under layer 1."""
    order = routes("offload")[0]
    moments = {order.round.item_name(place): m for place, m in order.moments[0].items()}

    def beside(a: str, b: str) -> bool:
        return not moments[a].after(moments[b]) and not moments[b].after(moments[a])

    assert beside("load[1]", "attention[0]") and beside("store[0]", "attention[1]")
    assert not beside("load[2]", "attention[0]")
