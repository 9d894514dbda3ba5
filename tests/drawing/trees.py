"""Draft trees at random, and what becomes of them by plain walks from node to node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from hypothesis import strategies as st

WEIGHTS = (0.0, 0.125, 0.25, 0.5, 1.0)
"""Few, and powers of two: many scores are equal, and products are the same in any order."""


@dataclass(frozen=True)
class Drafted:
    """What a drafter said of a tree of `steps`: of each beam's branches the weights of their candidates."""

    topk: int
    rows: int
    weights: Sequence[Sequence[Sequence[float]]]
    """Of each step, of each branch; the first step has one."""

    @property
    def steps(self) -> int:
        return len(self.weights)


@st.composite
def drafted(draw: st.DrawFn) -> Drafted:
    steps, topk = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    falling = st.lists(st.sampled_from(WEIGHTS), min_size=topk, max_size=topk)
    weights = [
        [sorted(draw(falling), reverse=True) for _ in range(topk if step else 1)]
        for step in range(steps)
    ]
    rows = draw(st.integers(1, min(topk + (steps - 1) * topk * topk, 15)))
    return Drafted(topk, 1 + rows, weights)


@dataclass(eq=False)
class Node:
    number: int
    score: float
    parent: Node | None
    children: list[Node] = field(default_factory=list)

    @property
    def depth(self) -> int:
        return 0 if self.parent is None else self.parent.depth + 1

    @property
    def line(self) -> list[Node]:
        """From the root down to this node."""
        return [*([] if self.parent is None else self.parent.line), self]


def grown(tree: Drafted) -> list[Node]:
    """All nodes by number, each hung on the node that it was drafted behind."""
    root = Node(0, 1.0, None)
    nodes, beam = [root], [root]
    for step in tree.weights:
        hung = []
        for parent, weights in zip(beam, step, strict=True):
            for weight in weights:
                node = Node(len(nodes), parent.score * weight, parent)
                parent.children.append(node)
                nodes.append(node)
                hung.append(node)
        beam = _best(hung, tree.topk)
    return nodes


def verified(tree: Drafted) -> list[Node]:
    """The root and the best of all others, in the order of their numbers."""
    root, *others = grown(tree)
    kept = sorted([root, *_best(others, tree.rows - 1)], key=lambda node: node.number)
    for node in kept:
        node.children = [child for child in node.children if child in kept]
    return kept


def walked(kept: list[Node], tokens: Sequence[int], wanted: Sequence[int]) -> list[int]:
    """From the root to the first child that has the wanted token, of siblings one by one; the rows passed."""
    row = {node: place for place, node in enumerate(kept)}
    at, passed = kept[0], [0]
    while True:
        for child in at.children:
            if tokens[row[child]] == wanted[row[at]]:
                break
        else:
            return passed
        at = child
        passed.append(row[at])


def as_tensors(tree: Drafted) -> tuple[torch.Tensor, torch.Tensor]:
    """Its scores and the nodes that candidates hang on, by the functions of `tree_nodes`, for one request."""
    from plait.runtime.eagle import tree_nodes

    scores = torch.tensor(tree.weights[0])
    above = torch.zeros_like(scores, dtype=torch.int64)
    beam, last = torch.arange(1, tree.topk + 1).unsqueeze(0), scores
    for step, weights in enumerate(tree.weights[1:], 1):
        if step > 1:
            beam, _ = tree_nodes.beam(last, step - 1, tree.topk)
        last = tree_nodes.grown(scores.gather(1, beam - 1), torch.tensor([weights]))
        scores = torch.cat([scores, last], 1)
        above = torch.cat([above, beam.repeat_interleave(tree.topk, 1)], 1)
    return scores, above


def _best(nodes: list[Node], count: int) -> list[Node]:
    return sorted(nodes, key=lambda node: (-node.score, node.number))[:count]
