"""The costs beside the examples: what they name is there, and rounds take what a sum by eye says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from plait.compiler.compile import Asked, compile_source, read_source
from plait.compiler.timing.costs import Profile
from plait.compiler.timing.costs_file import load_profile
from plait.compiler.timing.simulate import simulate
from plait.dsl.parser import parse
from plait.dsl.settings import variants_of
from plait.runtime.schedule import Schedule

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = sorted(path.name for path in (EXAMPLES / "costs").glob("*.toml"))


def profile(name: str) -> Profile:
    return load_profile(EXAMPLES / "costs" / name)


def schedule(name: str, **asked) -> Schedule:
    return compile_source(read_source(EXAMPLES / f"{name}.spec"), Asked(**asked))


def of(costs: Profile, name: str) -> int:
    """Nanoseconds of a phase, whatever its rows."""
    return costs.of(name, name, None).law.time(1)


def round_of(made: Schedule, costs: Profile, bs: int) -> int:
    bucket = next(n for n, one in enumerate(made.buckets) if dict(one.sizes)["bs"] == bs)
    return simulate(made, costs, [bucket], [0]).end


@pytest.mark.parametrize("name", FILES)
def test_every_phase_that_is_named_is_in_a_round(name: str) -> None:
    """In some variant of the specs that the first line names; and the costs are said to be assumed."""
    text = (EXAMPLES / "costs" / name).read_text(encoding="utf-8")
    bodies: set[str] = set()
    for spec in re.findall(r"(\w+)\.spec", text.splitlines()[0]):
        file = parse(read_source(EXAMPLES / f"{spec}.spec"))
        (pipeline,) = file.pipelines
        for variant in (None, *(one.name.text for one in variants_of(file, pipeline))):
            bodies |= {phase.body for phase in schedule(spec, variant=variant).phases}
    costs = profile(name)
    assert costs.phases and {phase for phase, _ in costs.phases} <= {*bodies, "*"}
    assert "assumed" in text.splitlines()[0] + costs.name


@pytest.mark.parametrize("bs", [16, 21])
def test_a_layer_takes_its_prefix_and_the_longest_branch(bs: int) -> None:
    """T_prefix + max(T_Q, T_KV, T_indexer), exactly; with contention more, and on one stream the sum."""
    costs = profile("layer.toml")

    def layer(*names: str) -> int:
        return sum(of(costs, f"target.layers.{name}") for name in names)

    branches = (
        layer("kv_branch"),
        layer("q_norm", "q_branch"),
        layer("q_norm", "indexer.index_q", "indexer.index", "compressor"),
    )
    rest = layer("wqkv_a", "attention", "routed_experts", "add")
    settings = {"layers": 1, "ratios": [4]}
    made = schedule("deepseek_v4", settings=settings)
    assert round_of(made, costs, bs) == rest + max(branches)
    assert round_of(made, profile("layer_contended.toml"), bs) > rest + max(branches)
    serial = schedule("deepseek_v4", variant="one_stream", settings=settings)
    assert round_of(serial, costs, bs) == sum(of(costs, name) for name, _ in costs.phases)


@pytest.mark.parametrize("mode", ["normal", "low_latency"])
def test_what_is_exposed_of_an_exchange_is_what_independent_work_leaves(mode: str) -> None:
    """max(0, T_comm - T_independent) on top of what computes, as long as nothing else waits."""
    costs = profile("moe.toml")
    gate, experts, add = (of(costs, f"layer.{name}") for name in ("gate", "routed.experts", "add"))
    dispatch, combine = (of(costs, f"layer.routed.{name}") for name in ("dispatch", "combine"))
    shared = of(costs, "layer.shared_expert")
    exposed = {
        "nothing": dispatch + combine,
        "dispatch": max(0, dispatch - shared) + combine,
        "combine": dispatch + max(0, combine - shared),
    }
    assert len({*exposed.values()}) == 3 and dispatch < shared < combine
    for place, left in exposed.items():
        made = schedule("moe", settings={"mode": mode, "shared_beside": place})
        assert round_of(made, costs, 8) == gate + experts + add + shared + left
