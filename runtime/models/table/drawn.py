"""The table model with drafts that are drawn, in trees of one shape: rejection sampling in whole rounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torch import Tensor

from plait.runtime.models.table.model import TableModel
from plait.runtime.models.table.rows import TableRows
from plait.runtime.sampling.bodies import DrawnTree, publish
from plait.runtime.sampling.choosing import children
from plait.runtime.sampling.counter import DRAFT, TARGET
from plait.runtime.sampling.filtering import kept, ranked
from plait.runtime.schedule import Schedule


class DrawnTable(TableRows):
    """`rejecting`: drafts are drawn apart and accepted by rejection; else as the target draws."""

    def __init__(self, schedule: Schedule, model: TableModel, shape: DrawnTree, *, rejecting: bool):
        super().__init__(schedule, model)
        self.shape = shape
        self.rejecting = rejecting

    def bodies(self) -> Mapping[str, Callable[..., object]]:
        return {
            "root": self.root,
            "grow": self.grow,
            "target": self.target,
            "accept": self.shape.accept_drawn if self.rejecting else self.follow,
            "extend": self.extend,
            "publish": publish,
        }

    def root(self, bonus: Tensor, root_logits: Tensor, tree: Tensor, draft_logits: Tensor) -> None:
        tree.zero_()
        tree[:, 0] = bonus
        draft_logits.zero_()
        draft_logits[:, 0] = root_logits

    def grow(
        self,
        seq_lens: Tensor,
        temperature: Tensor,
        top_k: Tensor,
        top_p: Tensor,
        seed: Tensor,
        tree: Tensor,
        draft_logits: Tensor,
        index: int,
    ) -> None:
        draw = DRAFT if self.rejecting else TARGET
        for parent, nodes in self.shape.families(index):
            weights = kept(ranked(draft_logits[:, parent]), temperature, top_k, top_p)
            tokens = children(weights, seed, seq_lens + index, len(nodes), draw)
            tree[:, nodes[0] : nodes[-1] + 1] = tokens
            draft_logits[:, nodes[0] : nodes[-1] + 1] = self.model.drafter[tokens]

    def target(self, tree: Tensor, logits: Tensor) -> None:
        logits.copy_(self.model.target[tree])

    def follow(self, draft_logits: Tensor, **others: Tensor) -> None:
        self.shape.accept(**others)

    def extend(self, bonus: Tensor, root_logits: Tensor) -> None:
        root_logits.copy_(self.model.drafter[bonus])

    def drafted(self, bonus: Tensor) -> dict[str, Tensor]:
        return {"root_logits": self.model.drafter[bonus]}
