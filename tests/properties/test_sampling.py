"""Choosing and accepting, beside the plainest way to say what they do."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from drawing.sampled import shares
from plait.runtime.engine.prompt import Sampling
from plait.runtime.sampling.accepted import NOT_ACCEPTED, Accepted
from plait.runtime.sampling.choosing import children, chosen
from plait.runtime.sampling.counter import DRAFT
from plait.runtime.sampling.filtering import kept, ranked
from plait.runtime.sampling.following import follow_chain, follow_tree
from plait.runtime.sampling.rejecting import reject_tree

# Few values, so that many are equal.
LOGITS = st.lists(st.sampled_from([-3.0, -0.5, 0.0, 0.25, 1.0, 4.0]), min_size=1, max_size=9)
ASKED = st.builds(
    Sampling,
    temperature=st.sampled_from([0.0, 0.3, 0.7, 1.0, 2.5]),
    top_k=st.integers(0, 10),
    top_p=st.sampled_from([0.0, 0.2, 0.45, 0.7, 0.95, 1.0]),
    seed=st.integers(-(2**63), 2**63 - 1),
)


def weighed(logits: list[float], asked: Sampling) -> torch.Tensor:
    return kept(
        ranked(torch.tensor([logits])),
        torch.tensor([asked.temperature], dtype=torch.float64),
        torch.tensor([asked.top_k]),
        torch.tensor([asked.top_p], dtype=torch.float64),
    )


@given(LOGITS, ASKED)
def test_weights_are_the_distribution_that_is_asked_for(logits, asked) -> None:
    """The same tokens are left, with the same shares."""
    weights = weighed(logits, asked)[0]
    wanted = torch.tensor(shares(logits, asked), dtype=torch.float64)
    assert weights.gt(0).tolist() == wanted.gt(0).tolist()
    torch.testing.assert_close(weights / weights.sum(), wanted)


@given(LOGITS, ASKED, st.integers(0, 1000))
def test_only_what_is_left_is_chosen(logits, asked, position) -> None:
    """And at temperature 0 that is the first of the largest logits."""
    weights = weighed(logits, asked)
    seed, at = torch.tensor([asked.seed]), torch.tensor([position])
    token = int(chosen(weights, seed, at))
    assert weights[0, token] > 0
    if asked.temperature == 0:
        assert token == logits.index(max(logits))


@given(LOGITS, ASKED, st.integers(1, 9))
def test_children_are_different_tokens_the_chosen_one_first(logits, asked, count) -> None:
    """Drawn without putting back; those that may be chosen come before those that may not."""
    count = min(count, len(logits))
    weights = weighed(logits, asked)
    seed, at = torch.tensor([asked.seed]), torch.tensor([4])
    found = children(weights, seed, at, count, DRAFT)[0].tolist()
    assert len(set(found)) == count
    assert found[0] == int(chosen(weights, seed, at, DRAFT))
    left = [bool(weights[0, token] > 0) for token in found]
    assert left == sorted(left, reverse=True)


@st.composite
def trees(draw) -> tuple[list[int], list[int], list[int]]:
    """Parents, tokens of which siblings may be equal, and what the target says behind each."""
    count = draw(st.integers(1, 9))
    parents = [-1, *(draw(st.integers(0, node - 1)) for node in range(1, count))]
    few = st.lists(st.integers(0, 2), min_size=count, max_size=count)
    return parents, draw(few), draw(few)


def walked(parents: list[int], tokens: list[int], target: list[int]) -> tuple[list[int], list[int]]:
    """The accepted tokens and the path, node by node."""
    at, path = 0, [0]
    while True:
        next = [n for n in range(len(tokens)) if parents[n] == at and tokens[n] == target[at]]
        if not next:
            return [target[node] for node in path], path
        at = next[0]
        path.append(at)


def shown(found: Accepted) -> tuple[list[int], list[int]]:
    """Of one request, when all that stands behind the last is marked so."""
    count = int(found.length)
    assert found.tokens[0, count:].tolist() == found.path[0, count:].tolist()
    assert set(found.tokens[0, count:].tolist()) <= {NOT_ACCEPTED}
    assert int(found.last) == found.tokens[0, count - 1]
    return found.tokens[0, :count].tolist(), found.path[0, :count].tolist()


@given(trees())
def test_a_tree_is_followed_as_one_would_by_hand(tree) -> None:
    """From the root to the first node none of whose children is what the target says."""
    parents, tokens, target = (torch.tensor([numbers]) for numbers in tree)
    found = follow_tree(target, tokens, parents, len(tree[0]))
    assert shown(found) == walked(*tree)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=6))
def test_a_chain_is_a_tree_of_only_children(rows) -> None:
    """The short way for chains gives what trees give."""
    tokens, target = (torch.tensor([numbers]) for numbers in zip(*rows, strict=True))
    parents = torch.arange(-1, len(rows) - 1).unsqueeze(0)
    found = follow_chain(target, tokens)
    assert shown(found) == shown(follow_tree(target, tokens, parents, len(rows)))


@given(trees(), st.integers(0, 2**63 - 1))
def test_certain_distributions_are_rejected_as_they_are_followed(tree, seed) -> None:
    """Greedy is the special case: all weight on one token, for the target and for the drafter."""
    parents, tokens, target = (torch.tensor([numbers]) for numbers in tree)
    wanted = torch.nn.functional.one_hot(target, 3).double()
    child = {parent: node for node, parent in reversed(list(enumerate(tree[0])))}
    offered = torch.tensor([[tree[1][child.get(node, 0)] for node in range(len(tree[0]))]])
    drafted = torch.nn.functional.one_hot(offered, 3).double()
    found = reject_tree(wanted, drafted, tokens, parents, torch.tensor([seed]), parents * 0 + 5)
    first = [node == child.get(parent) for node, parent in enumerate(tree[0])]
    first_only = [p if one else -1 for p, one in zip(tree[0], first, strict=True)]
    assert shown(found) == walked(first_only, tree[1], tree[2])
