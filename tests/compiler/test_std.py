"""The standard library: what comes out in order when a pipeline calls each of its modules."""

from __future__ import annotations

from pathlib import Path

import pytest

from plait.compiler.compile import Asked, prove, read_source
from plait.compiler.order import Order
from plait.dsl.library import STANDARD
from plait.dsl.parser import parse
from plait.dsl.span import Source
from plait.dsl.syntax import Call, Capture, For, Interleave, Module, Pipeline, When

Pair = tuple[str, str]


@pytest.fixture
def routes(root: Path):
    """The orders of an example, the smallest bucket first: `routes("moe", variant="side")`."""

    def proven(name: str, **asked) -> list[Order]:
        return prove(read_source(root / "examples" / f"{name}.spec"), Asked(**asked)).orders

    return proven


def waits(order: Order) -> list[Pair]:
    """What waits for what, in issue order."""
    round = order.round
    return [(round.item_name(wait.source), round.item_name(wait.target)) for wait in order.waits]


def rows(order: Order) -> dict[str, int]:
    return {capture.name: capture.rows for capture in order.round.captures}


def phases(order: Order, stream: str | None = None) -> list[str]:
    """The phases of a round, or those on one stream."""
    round = order.round
    return [p.name for p in round.phases if stream in (None, round.stream_name(p.stream))]


def at(orders: list[Order], **settled) -> Order:
    """The order of the route with these sizes and answers."""
    return next(
        one for one in orders if settled.items() <= {**one.round.sizes, **one.round.route}.items()
    )


# Every module


def standard() -> list[Path]:
    return sorted(STANDARD.glob("*.spec"))


def calls_in(nodes) -> set[str]:
    found: set[str] = set()
    for node in nodes:
        match node:
            case Call(module=path):
                found.add(path[-1].text)
            case Interleave(first=first, second=second):
                found |= calls_in((first, second))
            case When(body=body, otherwise=otherwise):
                found |= calls_in((*body, *otherwise))
            case Pipeline(body=body) | Module(body=body) | Capture(body=body) | For(body=body):
                found |= calls_in(body)
    return found


@pytest.mark.parametrize("path", standard(), ids=lambda path: path.stem)
def test_every_module_is_called_by_an_example(path: Path, root: Path) -> None:
    """What is not called here is tested nowhere; and each file begins with what it is."""
    files = [*standard(), *(root / "examples").glob("*.spec")]
    parsed = [parse(Source(one.name, one.read_text(encoding="utf-8"))) for one in files]
    called = set().union(*(calls_in((*file.pipelines, *file.modules)) for file in parsed))
    text = path.read_text(encoding="utf-8")
    own = parse(Source(path.name, text))
    assert {module.name.text for module in own.modules} <= called
    assert not own.pipelines and "Source: " in text.split("module ")[0]


# eagle


def test_a_chain_is_one_graph_of_all_its_steps(routes) -> None:
    """Three steps are two forwards; draft is one row wide, verify and extend steps + 1."""
    (*_, widest) = routes("draft_steps", variant="three")
    assert [name for name in phases(widest) if "nextn[" in name] == [
        "draft.chain.nextn[1]",
        "draft.chain.nextn[2]",
    ]
    assert rows(widest) == {
        "draft.chain.rollout": 8,
        "verify.forward": 32,
        "extend.chain.forward": 32,
    }
    assert waits(widest) == []


def test_a_tree_is_as_wide_as_its_beam(routes) -> None:
    """Draft rows are bs * topk; the accepted path is brought together before the extend reads it."""
    (*_, widest) = routes("tree")
    assert rows(widest) == {"draft.rollout": 32, "verify.forward": 128, "extend.forward": 128}
    order = phases(widest)
    assert order.index("accept.compact") < order.index("extend.nextn")


def test_a_tree_has_as_many_nodes_as_its_steps_give(findings, root) -> None:
    """More rows than nodes is refused."""
    source = read_source(root / "examples" / "tree.spec")
    (found,) = findings(source, settings={"num_draft_tokens": 38})
    assert found.code == "PL110" and "more rows than the tree has nodes" in found.message


SAMPLED = """\
spec 1
use eagle
pipeline p {
  group tp
  dim bs in [1, 4] same over tp
  param num_steps = 2
  stream main
  buffer logits      : bf16[bs * 3, 8] carried
  buffer rows_hidden : bf16[bs * 3, 8] carried
  buffer tree        : i64[bs, 3] carried
  buffer seq_lens    : i64[bs] carried
  buffer accepted    : i64[bs, 3]
  buffer accept_lens : i32[bs]
  buffer bonus       : i64[bs]
  buffer target_kv   : opaque carried
  call eagle.accept(sampled = true) as chain
  call eagle.tree_accept() as tree
}
"""


def test_only_what_was_drawn_is_broadcast(proven) -> None:
    """Ranks that take the most probable token agree without a collective."""
    drawn, greedy, _ = proven(SAMPLED).round.phases
    assert drawn.collective.kind == "broadcast"
    assert greedy.collective is None


# plan_stream


def test_verify_planning_is_between_two_waits(routes) -> None:
    """It waits for the draft, and verify for it."""
    (*_, widest) = routes("verify_planning")
    plan = "plan_verify.prepare"
    assert waits(widest) == [("draft", plan), (plan, "verify.loaded")]


def test_the_fence_of_extend_planning_is_one_wait(routes) -> None:
    """Early planning waits for nothing of this round's verify; both are waited for by the extend."""
    early, fenced = (set(waits(routes("extend_planning", variant=v)[0])) for v in (None, "fenced"))
    assert fenced - early == {("cast", "plan_extend.prepare")} and early < fenced
    assert ("plan_extend.prepare", "extend.loaded") in early


# deepep

EXCHANGE = [
    ("layer.gate", "layer.routed.dispatch"),
    ("layer.routed.dispatch", "layer.routed.experts"),
    ("layer.routed.experts", "layer.routed.combine"),
    ("layer.routed.combine", "layer.add"),
]
SIDE = [
    ("layer.gate", "layer.shared_expert"),
    *EXCHANGE,
    ("layer.shared_expert", "layer.add"),
]


@pytest.mark.parametrize("mode", ["", "normal"])
def test_an_exchange_is_waited_for_where_its_rows_are_used(mode: str, routes) -> None:
    """In both modes, wherever the shared expert is; behind everything it waits as well."""

    def of(place: str) -> list[Pair]:
        variant = "_".join(filter(None, (mode, place)))
        return waits(routes("moe", variant=variant or None)[0])

    assert of("") == of("combine") == EXCHANGE
    assert of("side") == SIDE
    assert of("serial") == [*EXCHANGE[:3], ("layer.routed.combine", "layer.shared_expert")]


@pytest.mark.parametrize(
    ("variant", "before", "after"),
    [
        (None, "dispatch", "experts"),
        ("combine", "combine", "add"),
        ("serial", "combine", "add"),
        ("normal", "gate", "dispatch"),
        ("normal_combine", "experts", "combine"),
        ("normal_serial", "combine", "add"),
    ],
)
def test_the_shared_expert_is_issued_in_its_place(variant, before, after, routes) -> None:
    """In normal mode ahead of the exchange, which waits for its own input alone."""
    order = [name.split(".")[-1] for name in phases(routes("moe", variant=variant)[0])]
    here = order.index("shared_expert")
    assert (order[here - 1], order[here + 1]) == (before, after)


def test_the_mode_follows_the_kind_of_batch(routes) -> None:
    """`auto` is low latency in decoding, captured, and normal in a prefill, which no graph holds."""
    decoding = routes("moe", settings={"mode": "auto"})[0].round
    prefill = routes("moe", variant="prefill")[0].round
    assert [p.name for p in decoding.phases if p.launched] == [
        "layer.routed.dispatch",
        "layer.routed.combine",
    ]
    assert len(decoding.captures) == 1
    assert not any(p.launched for p in prefill.phases) and not prefill.captures
    kinds = {p.collective.kind for p in prefill.phases if p.collective}
    assert kinds == {"all_to_all"}


def test_low_latency_has_a_capacity(routes) -> None:
    """Rows and capacity stand side by side for every bucket."""
    for order in routes("moe"):
        dispatch = next(p for p in order.round.phases if p.name == "layer.routed.dispatch")
        assert dispatch.collective is not None and dispatch.collective.capacity == 128
        assert dispatch.rows == 3 * order.round.sizes["bs"]


# deepseek_v4


def forks(order: Order) -> int:
    """Layers whose key/value and query branches are on streams of their own."""
    kv = [n for n in phases(order, "kv") if n.endswith(".kv_branch")]
    q = [n for n in phases(order, "q") if n.endswith(".q_branch")]
    assert len(kv) == len(q)
    return len(kv)


def test_a_bucket_forks_all_layers_or_none(routes) -> None:
    """Up to 64 rows: 16 and 21 requests of three rows do, 22 and 32 do not."""
    orders = routes("deepseek_v4", settings={"layers": 61})
    assert {one.round.sizes["bs"]: forks(one) for one in orders} == {16: 61, 21: 61, 22: 0, 32: 0}


def test_branches_join_before_attention(routes) -> None:
    """One layer with an indexer: each branch starts from what it needs, and all are back in time."""
    inner = "target.layers[1]."
    order = at(routes("deepseek_v4"), bs=16)
    mine = {(a, b) for a, b in waits(order) if a.startswith(inner) or b.startswith(inner)}
    assert mine == {
        (inner + a, inner + b)
        for a, b in [
            ("wqkv_a", "kv_branch"),
            ("q_norm", "q_branch"),
            ("q_norm", "indexer.index_weights"),
            ("q_norm", "indexer.index_q"),
            ("indexer.index_weights", "indexer.index"),
            ("indexer.index_q", "indexer.index"),
            ("kv_branch", "attention"),
            ("q_branch", "attention"),
            ("attention", "shared_expert"),
            ("shared_expert", "add"),
        ]
    }


def test_a_layer_without_an_indexer_takes_two_side_streams(routes) -> None:
    """And the shared expert goes where the key/value branch was, in turn."""
    order = at(routes("deepseek_v4"), bs=16)
    assert [n for n in phases(order, "kv") if "layers[0]" in n] == [
        "target.layers[0].kv_branch",
        "target.layers[0].shared_expert",
    ]
    assert not [n for n in phases(order, "iq") if "layers[0]" in n or "layers[2]" in n]


def test_the_indexer_forks_at_every_width(routes) -> None:
    """Neither the row limit nor the mode keeps it on main; the flag does."""
    wide = at(routes("deepseek_v4"), bs=32)
    assert forks(wide) == 0 and phases(wide, "iq") and phases(wide, "iw")
    prefill = at(routes("deepseek_v4", variant="prefill"), bs=16)
    assert forks(prefill) == 0
    assert waits(at(routes("deepseek_v4", variant="one_stream"), bs=16)) == []


def test_the_draft_layer_stays_on_main(routes) -> None:
    """NextN has no side streams, at any bucket."""
    for order in routes("deepseek_v4"):
        assert len([n for n in phases(order, "main") if n.startswith("nextn.")]) == 5


# two_batch


def test_the_second_half_runs_two_stages_behind(routes) -> None:
    """Its attention is issued while the first half's rows are on their way back."""
    orders = routes("two_batch", settings={"count": 1})
    names = phases(at(orders, bs=2, both_can=True))
    first, second = "both.first.layers[0].", "both.second.layers[0]."
    assert [n for n in names if n.startswith("both.")] == [
        *(first + n for n in ("prepare", "attention", "gate", "dispatch", "shared_expert")),
        second + "prepare",
        *(first + n for n in ("experts", "combine")),
        *(second + n for n in ("attention", "gate", "dispatch", "shared_expert")),
        first + "post",
        *(second + n for n in ("experts", "combine", "post")),
    ]


def test_a_batch_that_cannot_be_cut_runs_whole(routes) -> None:
    """On the route where some rank says no, the same layers run once."""
    whole = at(routes("two_batch", settings={"count": 2}), bs=2, both_can=False)
    assert not whole.round.captures
    assert len([n for n in phases(whole) if n.endswith(".experts")]) == 2


# ragged_verify


def test_a_ragged_graph_is_as_wide_as_its_tier(routes) -> None:
    """Its rows follow the tokens, not the requests; the row map is staged before it each round."""
    orders = routes("dspark", variant="compact")
    assert rows(at(orders, bs=8, tokens=16, in_grid=True)) == {"verify.forward": 16}
    assert rows(at(orders, bs=2, tokens=16, in_grid=True)) == {"verify.forward": 16}
    assert rows(at(orders, bs=2, tokens=16, in_grid=False)) == {}
    names = phases(orders[0])
    assert names.index("layout.stage") < names.index("verify.target")
    static = {b.name for b in orders[0].round.buffers if b.static}
    assert {"verify_lens", "row_starts"} <= static


def test_a_fixed_graph_is_as_wide_as_its_requests(routes) -> None:
    """bs * num_draft_tokens, whatever the lengths."""
    widths = {o.round.sizes["bs"]: rows(o) for o in routes("dspark") if o.round.captures}
    assert widths == {bs: {"verify.forward": 4 * bs} for bs in (1, 2, 4, 8)}


# adaptive


def test_a_family_has_a_round_for_each_number_of_steps(routes) -> None:
    """No draft and one row at none; steps - 1 forwards and steps + 1 rows else; wide ones eager."""
    orders = routes("adaptive")
    none = at(orders, bs=8, num_steps=0)
    assert phases(none)[0] == "draft.root" and rows(none)["verify.forward"] == 8
    five = at(orders, bs=8, num_steps=5)
    assert len([n for n in phases(five) if "nextn[" in n]) == 4
    assert rows(five)["verify.forward"] == 48
    assert "verify.forward" not in rows(at(orders, bs=32, num_steps=5))


def test_zeros_may_stand_in_for_the_extend_of_no_step(routes) -> None:
    """Only with the flag; else a round of no step extends as any other."""
    settings = {"skip_zero": True}
    skipped = at(routes("adaptive", settings=settings), bs=1, num_steps=0)
    assert "extend.zeros" in phases(skipped) and "extend.chain.forward" not in rows(skipped)
    assert "extend.chain.forward" in rows(at(routes("adaptive"), bs=1, num_steps=0))
