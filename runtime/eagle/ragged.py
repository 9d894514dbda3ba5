"""The phases of a chain round whose verify is ragged: rows of a tier, of which each request has some.

How many a request verifies, root included, is settled before the round. Its rows are packed one behind
another, and each finds its own request's pages; rows behind the last are nobody's. What the target says
is then laid out by request again, so the rest of the round is that of any chain: a candidate that was not
verified is one that does not agree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from plait.runtime.eagle.chain import build_tree
from plait.runtime.eagle.lengths import Lengths
from plait.runtime.eagle.paged_chain import PagedChain
from plait.runtime.eagle.sizes import TOKENS
from plait.runtime.eagle.tree import PagedTree
from plait.runtime.models.paged import PagedPlan
from plait.runtime.sampling.bodies import publish


class PagedRagged:
    """Bodies and opaque buffers; a request verifies up to the chain's rows, and `dim` counts requests.

    `most` candidates are carried, of which the first begins the draft.
    """

    def __init__(self, chain: PagedChain, dim: str, most: int, lengths: Lengths):
        self.chain = chain
        self.model = chain.memory.model
        self.paged = chain.paged
        self.rows = chain.rows
        self.dim = dim
        self.lengths = lengths
        self._lens: list[int] = []
        """That the next round verifies, by row."""
        self._tree = PagedTree(chain, chain.rows - 1, most)

    def sizes(self, live: int) -> dict[str, int]:
        """What the next round is stepped with, of so many requests."""
        self._lens = self.lengths.of(live, self.rows)
        return {self.dim: live, TOKENS: sum(self._lens)}

    def bodies(self) -> dict[str, Callable[..., None]]:
        """By phase name; `commit` belongs to whoever takes the tokens."""
        return self.chain.bodies() | {
            "choose": self.choose,
            "first": self.first,
            "nextn": self.nextn,
            "build_tree": self.build_tree,
            "stage": self.stage,
            "layout": self.layout,
            "pack": self.pack,
            "plan_verify": self.plan_verify,
            "target": self.target,
            "accept": self.accept,
            "unpack": self.unpack,
            "nextn_extend": self._tree.nextn_extend,
            "publish": self.publish,
            "learn": self.learn,
        }

    def opaque(self) -> dict[str, Any]:
        return self.chain.opaque() | {
            "verify_meta": lambda **sizes: self.paged.empty(sizes["tokens"], 1),
            "extend_meta": lambda **sizes: self.paged.empty(sizes[self.dim], self.rows),
        }

    def drafted(self, hidden: Tensor) -> dict[str, Tensor]:
        """What the draft begins with, from NextN's state of one request."""
        return self._tree.drafted(hidden)

    # Lengths

    def choose(self, lens_host: Tensor) -> None:
        self.lengths.begin(self, len(self._lens))
        lens_host.zero_()
        lens_host[: len(self._lens)] = torch.tensor(self._lens)

    def learn(self, out_sure: Tensor) -> None:
        self.lengths.learn(self, out_sure.tolist())

    def stage(self, lens_host: Tensor, verify_lens: Tensor) -> None:
        verify_lens.copy_(lens_host)

    @staticmethod
    def layout(verify_lens: Tensor, owner: Tensor, depth: Tensor) -> None:
        ends, place = verify_lens.cumsum(0), torch.arange(len(owner))
        owner.copy_((place.unsqueeze(1) >= ends).sum(1))
        starts = torch.cat([ends - verify_lens, ends[-1:]])
        depth.copy_((place - starts[owner]) * (owner < len(ends)))

    # Draft

    def first(self, candidate: Tensor, weight: Tensor, draft_tokens: Tensor, conf: Tensor) -> None:
        draft_tokens.copy_(candidate[:, 0])
        conf.copy_(weight[:, 0])

    def nextn(
        self,
        token: Tensor,
        before: Tensor,
        seq_lens: Tensor,
        pages: Tensor,
        hidden: Tensor,
        draft_kv: list[Tensor],
        draft_tokens: Tensor,
        conf: Tensor,
        index: int,
    ) -> None:
        position = (seq_lens + (index - 1)).clamp_(max=self.paged.span - 1)
        plan = self.paged.of(position.unsqueeze(1), pages)
        states = hidden.to(self.model.dtype).unsqueeze(1)
        after = self.model.nextn(states, token.unsqueeze(1), plan, draft_kv)[:, 0]
        hidden.copy_(after)
        likely, weights = self._tree.likeliest(after, 1)
        draft_tokens.copy_(likely[:, 0])
        conf.copy_(before * weights[:, 0])

    def build_tree(self, conf: Tensor, tree: Tensor, sure: Tensor, **drafted: Tensor) -> None:
        build_tree(tree=tree, **drafted)
        sure.copy_(conf)

    # Verify

    def pack(self, tree: Tensor, owner: Tensor, depth: Tensor, packed: Tensor) -> None:
        row = owner.clamp(max=len(tree) - 1) * tree.shape[1] + depth
        torch.index_select(tree.view(-1), 0, row, out=packed)

    def plan_verify(
        self,
        owner: Tensor,
        depth: Tensor,
        seq_lens: Tensor,
        pages: Tensor,
        verify_meta: PagedPlan,
    ) -> None:
        lens = torch.cat([seq_lens, seq_lens.new_zeros(1)])
        tables = torch.cat([pages, pages.new_zeros(1, pages.shape[1])])
        start = (lens[owner] + depth).unsqueeze(1)
        self.paged.fill(verify_meta, start, torch.zeros_like(depth[:1]), tables[owner])

    def target(
        self,
        packed: Tensor,
        verify_meta: PagedPlan,
        target_kv: list[Tensor],
        logits: Tensor,
        states: Tensor,
    ) -> None:
        hidden = self.model.target(packed.unsqueeze(1), verify_meta, target_kv)[:, 0]
        states.copy_(hidden)
        logits.copy_(self.model.logits(hidden))

    def accept(
        self,
        logits: Tensor,
        tree: Tensor,
        verify_lens: Tensor,
        **others: Tensor,
    ) -> None:
        behind = torch.arange(self.rows) >= verify_lens.unsqueeze(1)
        by_request = unpacked(logits, verify_lens, self.rows)
        self.chain.accept(by_request, tree.masked_fill(behind, -1), **others)

    def unpack(self, states: Tensor, verify_lens: Tensor, rows_hidden: Tensor) -> None:
        rows_hidden.copy_(unpacked(states, verify_lens, self.rows))

    def publish(self, sure: Tensor, out_sure: Tensor, **others: Tensor) -> None:
        publish(**others)
        out_sure.copy_(sure)


def unpacked(packed: Tensor, lens: Tensor, rows: int) -> Tensor:
    """`[tokens, N]` by request, `[B, rows, N]`; behind a request's own rows stand those of others."""
    starts = lens.cumsum(0) - lens
    place = starts.unsqueeze(1) + torch.arange(rows)
    return packed[place.clamp(max=len(packed) - 1)]
