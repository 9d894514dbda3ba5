"""The waits of a round are the cross edges of the transitive reduction, with networkx as the judge."""

from __future__ import annotations

import re
from itertools import combinations
from math import comb
from pathlib import Path

import networkx
import pytest
from hypothesis import given, settings

from drawing.judge import Wait, happens, least_waits
from drawing.rounds import elaborated, round_texts
from plait.compiler.compile import Asked, prove, read_source
from plait.compiler.order import Order, order
from plait.dsl.library import load_library
from plait.dsl.settings import variants_of
from plait.dsl.span import Source

ROOT = Path(__file__).parents[2]
SPECS = sorted([*(ROOT / "examples").glob("*.spec"), *(ROOT / "tests" / "specs").glob("*.spec")])
LAYERS = re.compile(r"(0 \.\. )60|((?:layers|count) *= )61")
MOST_SETS = 3_000


def kept(found: Order) -> set[Wait]:
    return {(wait.source, wait.target, wait.rounds_back) for wait in found.waits}


def judged(found: Order) -> None:
    """The waits are the reduction's, and two more rounds change none of them."""
    round = found.round
    assert kept(found) == least_waits(happens(round, found.rounds), found.rounds - 1)
    assert found.waits == order(round, found.rounds + 2).waits


@given(round_texts())
@settings(max_examples=1000)
def test_waits_are_the_cross_edges_of_the_reduction(text: str) -> None:
    """A thousand random rounds, with captures, host waits and edges from earlier rounds."""
    judged(order(elaborated(text)))


@pytest.mark.parametrize("path", SPECS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_waits_of_every_spec_are_the_least(path: Path, tmp_path: Path) -> None:
    """Every pipeline, variant and route that we ship or design on; deep models with three layers."""
    source = _shorter(path, tmp_path)
    file = load_library(source).file
    for pipeline in file.pipelines:
        for variant in (None, *(one.name.text for one in variants_of(file, pipeline))):
            if variant == "racy":
                continue
            orders = prove(source, Asked(pipeline=pipeline.name.text, variant=variant)).orders
            for found in {one.round.structure: one for one in orders}.values():
                judged(found)


def _shorter(path: Path, folder: Path) -> Source:
    for one in path.parent.glob("*.spec"):
        text = one.read_text(encoding="utf-8")
        text = LAYERS.sub(lambda one: f"{one[1]}2" if one[1] else f"{one[2]}3", text)
        (folder / one.name).write_text(text, encoding="utf-8")
    return read_source(folder / path.name)


@given(round_texts())
@settings(max_examples=300)
def test_no_other_set_of_waits_gives_the_same_order(text: str) -> None:
    """Brute force: of all sets as large or smaller, in one round, only that of the reduction does."""
    round = elaborated(text)
    found = order(round, 1)
    graph = happens(round, 1)
    asked = [edge for edge, one in graph.edges.items() if one["asked"]]
    whole = networkx.transitive_closure_dag(graph)
    base = graph.copy()
    base.remove_edges_from(asked)
    ordered = [
        (source, target)
        for source, target in whole.edges
        if source[2] == target[2] == "run" and not networkx.has_path(base, source, target)
    ]
    ours = {((0, one.source, "run"), (0, one.target, "run")) for one in found.waits}
    for size in range(len(ours) + 1):
        if comb(len(ordered), size) > MOST_SETS:
            break
        for waits in combinations(ordered, size):
            trial = base.copy()
            trial.add_edges_from(waits)
            same = all(networkx.has_path(trial, *pair) for pair in ordered)
            assert same == (set(waits) == ours), (text, waits)
