"""Continues texts by the rounds of a service, which have caches in pages: chains or trees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from plait.runtime.eagle.decoder import TinyDecoder
from plait.runtime.eagle.ragged import unpacked
from plait.runtime.eagle.request import Request
from plait.runtime.eagle.sizes import TOKENS, steps_of, width_of
from plait.runtime.eagle.speculative import Bound, Speculative
from plait.runtime.eagle.tree_nodes import in_order
from plait.runtime.engine.decoder import Decoder, Sized
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

    def _by_request(self, logits: Tensor, accepting: Mapping[str, Tensor]) -> Tensor:
        return in_order(accepting["path"], logits) if "path" in accepting else logits

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


class Ragged(Paged):
    """Of each request as many rows are verified as its last candidates were sure of; of a new one all."""

    def __init__(self, *given: Any, **options: Any):
        self.verified: Counter[int] = Counter()
        """Rows that requests verified in the rounds of each bucket, by its number."""
        super().__init__(*given, **options)

    def prepare(self, progress: Callable[[str], None], count: int) -> None:
        """Nothing: most pairs of requests and tiers never meet, and the others are bound when they do."""

    def _sizes(self) -> dict[str, int]:
        assert isinstance(self.decoder, Sized)
        sizes = dict(self.decoder.sizes(len(self.live)))
        self.verified[self.runner.bucket_for(**sizes)] += sizes[TOKENS]
        return sizes

    def _by_request(self, logits: Tensor, accepting: Mapping[str, Tensor]) -> Tensor:
        return unpacked(logits, accepting["verify_lens"], self.rows)
