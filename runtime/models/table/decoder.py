"""The table model as a Decoder of `examples/service.spec`: its likeliest tokens drafted in a chain."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from plait.runtime.models.table.rows import TableRows
from plait.runtime.sampling.bodies import accept_chain


class TableDecoder(TableRows):
    def bodies(self) -> Mapping[str, Callable[..., object]]:
        return {
            "first": self.first,
            "nextn": self.nextn,
            "build_tree": self.build_tree,
            "only_root": self.only_root,
            "plan_verify": self.plan,
            "target": self.target,
            "accept": accept_chain,
            "plan_extend": self.plan,
            "nextn_extend": self.nextn_extend,
            "publish": self.publish,
        }

    def first(self, candidate: Tensor, draft_tokens: Tensor) -> None:
        draft_tokens.copy_(candidate[:, 0])

    def nextn(self, token: Tensor, draft_tokens: Tensor, index: int, **others: Tensor) -> None:
        draft_tokens.copy_(self._likeliest(token))

    def build_tree(
        self, draft_tokens: Tensor, bonus: Tensor, seq_lens: Tensor, tree: Tensor
    ) -> None:
        torch.cat([bonus.unsqueeze(1), draft_tokens], 1, out=tree)

    def only_root(self, bonus: Tensor, tree: Tensor) -> None:
        tree.copy_(bonus.unsqueeze(1))

    def plan(self, **metadata: Tensor) -> None:
        """Without a cache there is nothing to plan."""

    def target(self, tree: Tensor, logits: Tensor, **others: Tensor) -> None:
        logits.copy_(self.model.target[tree])

    def nextn_extend(self, accepted: Tensor, candidate: Tensor, **others: Tensor) -> None:
        last = accepted.gather(1, (accepted >= 0).sum(1, keepdim=True) - 1)
        candidate.copy_(self._likeliest(last))

    def publish(
        self,
        accepted: Tensor,
        logprobs: Tensor,
        top_tokens: Tensor,
        out_tokens: Tensor,
        out_logprobs: Tensor,
        out_top_tokens: Tensor,
    ) -> None:
        out_tokens.copy_(accepted)
        out_logprobs.copy_(logprobs)
        out_top_tokens.copy_(top_tokens)

    def drafted(self, bonus: Tensor) -> dict[str, Tensor]:
        return {"candidate": self._likeliest(bonus).unsqueeze(1)}

    def _likeliest(self, tokens: Tensor) -> Tensor:
        return self.model.drafter[tokens].argmax(-1)
