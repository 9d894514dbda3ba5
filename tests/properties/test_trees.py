"""Trees as tensors are those of plain walks: what is drafted, verified, seen and accepted."""

from __future__ import annotations

import math
from random import Random

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from drawing.trees import Drafted, as_tensors, drafted, grown, verified, walked
from plait.runtime.eagle import tree_nodes
from plait.runtime.eagle.tree_plan import plan_of
from plait.runtime.models.paged import PagedPlanner
from plait.runtime.models.plan import Planner
from plait.runtime.sampling.following import follow_tree


def built(tree: Drafted) -> tuple[torch.Tensor, torch.Tensor]:
    scores, above = as_tensors(tree)
    chosen = tree_nodes.chosen(scores, tree.rows - 1)
    parents = tree_nodes.parents(chosen, above)
    return parents, tree_nodes.ancestors(parents)


@settings(max_examples=50)
@given(drafted())
def test_every_candidate_hangs_on_its_own(tree: Drafted) -> None:
    """Beam by beam, with the scores of the paths."""
    scores, above = as_tensors(tree)
    nodes = grown(tree)[1:]
    assert above[0].tolist() == [node.parent.number for node in nodes if node.parent is not None]
    assert scores[0].tolist() == [node.score for node in nodes]


@settings(max_examples=50)
@given(drafted())
def test_the_best_are_verified_and_see_their_ancestors(tree: Drafted) -> None:
    """They hang together, each behind its parent, and a row sees the rows from the root to it alone."""
    parents, ancestors = built(tree)
    kept = verified(tree)
    row = {node: place for place, node in enumerate(kept)}
    assert parents[0].tolist() == [-1 if n.parent is None else row[n.parent] for n in kept]
    seen = [[other in node.line for other in kept] for node in kept]
    assert ancestors[0].tolist() == seen
    assert tree_nodes.depths(ancestors)[0].tolist() == [node.depth for node in kept]


@settings(max_examples=50)
@given(drafted(), st.integers(0, 2**32))
def test_the_path_accepted_is_that_of_a_walk(tree: Drafted, seed: int) -> None:
    """From the root to the first child that agrees, and from there on."""
    chance = Random(seed)
    kept = verified(tree)
    tokens = [0] * len(kept)
    row = {node: place for place, node in enumerate(kept)}
    for node in kept:
        for child in node.children:
            others = {tokens[row[sibling]] for sibling in node.children}
            tokens[row[child]] = chance.choice([one for one in range(1, 6) if one not in others])
    wanted = [chance.randrange(1, 6) for _ in kept]
    parents, _ = built(tree)
    found = follow_tree(torch.tensor([wanted]), torch.tensor([tokens]), parents, tree.steps)
    passed = walked(kept, tokens, wanted)
    assert [one for one in found.path[0].tolist() if one >= 0] == passed
    assert [one for one in found.tokens[0].tolist() if one >= 0] == [wanted[r] for r in passed]


@settings(max_examples=50)
@given(drafted(), st.integers(1, 20))
def test_a_plan_of_a_tree_is_its_mask(tree: Drafted, start: int) -> None:
    """A row stands at its depth, lies at its number, and sees all before the tree and its ancestors."""
    span, rope = 48, 2
    angles = torch.arange(span, dtype=torch.float64).unsqueeze(1)
    paged = PagedPlanner(Planner(angles, angles), 4, span // 4)
    pages = torch.arange(span // 4).flip(0).unsqueeze(0)
    _, ancestors = built(tree)
    starts = torch.tensor([[start]])
    depths = tree_nodes.depths(ancestors)
    plan = plan_of(paged, rope, starts, 0, depths, ancestors, pages)
    assert plan.cos(rope)[0, :, 0].tolist() == (depths + start)[0].tolist()
    lie = [start + place for place in range(tree.rows)]
    assert plan.places.tolist() == [(11 - at // 4) * 4 + at % 4 for at in lie]
    for place, line in enumerate(ancestors[0].tolist()):
        sees = [*([True] * start), *line, *([False] * (span - start - tree.rows))]
        expected = [0.0 if one else -math.inf for one in sees]
        assert plan.mask(rope)[0, place].tolist() == expected
