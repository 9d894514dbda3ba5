"""Continues texts by rounds that draft trees: see `tree.py` for what a round is."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from plait.runtime.eagle.speculative import Speculative
from plait.runtime.eagle.tree import Tree
from plait.runtime.models.tiny.model import TinyModel
from plait.runtime.runner import BindError
from plait.runtime.schedule import Schedule

SHAPES = {"tree": 2, "ancestors": 3, "candidate": 2, "beam": 2, "seen": 3}
"""Buffers that such a round has, and how many axes each."""


class Trees(Speculative):
    """As `Speculative`. Raises BindError for a round that is not of trees."""

    chain: Tree

    def rows_of(self, schedule: Schedule) -> int:
        return sizes(schedule)["tree"][1]

    def reach(self, schedule: Schedule) -> int:
        found = sizes(schedule)
        return max(found["tree"][1], found["seen"][2])

    def chain_of(self, schedule: Schedule, model: TinyModel, span: int) -> Tree:
        return Tree(model, self.slots, span, self.rows, sizes(schedule)["candidate"][1])

    def _accept_keeping_logits(self, logits: Tensor, **others: Any) -> None:
        self.chain.accept(logits, **others)
        along = others["path"].unsqueeze(2).expand(-1, -1, logits.shape[2])
        self._logits[self._accepting] = logits.gather(1, along).to(self.chain.model.dtype)
        self._accepting += 1


def is_tree(schedule: Schedule) -> bool:
    """Whether a round is one of trees: it knows who stands above whom."""
    return any(buffer.name == "ancestors" for buffer in schedule.buffers)


def sizes(schedule: Schedule) -> dict[str, tuple[int, ...]]:
    """Of every buffer of `SHAPES` its largest sizes. Raises BindError."""
    shapes = schedule.widest.shapes
    found = {
        b.name: shape for b, shape in zip(schedule.buffers, shapes, strict=True) if shape is not None
    }
    for name, axes in SHAPES.items():
        if len(found.get(name, ())) != axes:
            raise BindError(
                f"{schedule.source.name}: this runs rounds of trees, which have a buffer `{name}` of "
                f"{axes} axes; bind your own phases with `schedule.bind`"
            )
    return {name: found[name] for name in SHAPES}
