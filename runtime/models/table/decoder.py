"""The table model as a Decoder of `examples/service.spec`: its likeliest tokens drafted in a chain."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torch import Tensor

from plait.runtime.eagle.chain import build_tree, count_of, only_root
from plait.runtime.models.table.rows import TableRows
from plait.runtime.sampling.bodies import accept_chain, publish


class TableDecoder(TableRows):
    def bodies(self) -> Mapping[str, Callable[..., object]]:
        return {
            "first": self.first,
            "nextn": self.nextn,
            "build_tree": build_tree,
            "only_root": only_root,
            "plan_verify": self.plan,
            "target": self.target,
            "accept": accept_chain,
            "plan_extend": self.plan,
            "nextn_extend": self.nextn_extend,
            "publish": publish,
        }

    def first(self, candidate: Tensor, draft_tokens: Tensor) -> None:
        draft_tokens.copy_(candidate[:, 0])

    def nextn(self, token: Tensor, draft_tokens: Tensor, index: int, **others: Tensor) -> None:
        draft_tokens.copy_(self._likeliest(token))

    def plan(self, **metadata: Tensor) -> None:
        """Without a cache there is nothing to plan."""

    def target(self, tree: Tensor, logits: Tensor, **others: Tensor) -> None:
        logits.copy_(self.model.target[tree])

    def nextn_extend(self, accepted: Tensor, candidate: Tensor, **others: Tensor) -> None:
        last = accepted.gather(1, count_of(accepted) - 1)
        candidate.copy_(self._likeliest(last))

    def drafted(self, bonus: Tensor) -> dict[str, Tensor]:
        return {"candidate": self._likeliest(bonus).unsqueeze(1)}

    def _likeliest(self, tokens: Tensor) -> Tensor:
        return self.model.drafter[tokens].argmax(-1)
