"""Continues texts by the rounds of a service, which have caches in pages: chains or trees."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from plait.runtime.eagle.decoder import TinyDecoder, steps_of, width_of
from plait.runtime.eagle.request import Request
from plait.runtime.eagle.speculative import Bound, Speculative
from plait.runtime.engine.decoder import Decoder
from plait.runtime.engine.prompt import Prompt
from plait.runtime.models.tiny.model import TinyModel
from plait.runtime.schedule import Schedule


class Paged(Speculative):
    """As `Speculative`, greedy; logits that are kept are those of rounds, not of prompts."""

    decoder: Decoder

    def rows_of(self, schedule: Schedule) -> int:
        return width_of(schedule, "tree")

    def most_of(self, schedule: Schedule) -> int:
        return steps_of(schedule) + 1

    def _bound(self, schedule: Schedule, model: TinyModel, span: int) -> Bound:
        self.decoder = TinyDecoder(schedule, model)
        self._entered: set[int] = set()
        return self.decoder

    def _enter(
        self, request: Request, slot: int
    ) -> tuple[int, Tensor | None, Mapping[str, Tensor]]:
        self._leave(slot)
        known = tuple(request.tokens)
        entered = self.decoder.enter(slot, Prompt(tuple(request.prompt), request.most), known)
        self._entered.add(slot)
        return entered.token, None, entered.carried

    def _leave(self, slot: int) -> None:
        if slot in self._entered:
            self._entered.remove(slot)
            self.decoder.leave(slot, ())

    def _shift(self, source: int, target: int) -> None:
        self.decoder.move(source, target)
        self._entered.remove(source)
        self._entered.add(target)


def is_paged(schedule: Schedule) -> bool:
    return any(buffer.name == "pages" for buffer in schedule.buffers)
