"""The tiny model as an engine's decoder on several ranks, greedy: a slot of caches a row, on rank 0.

Every rank makes one. The routed experts lie on all of them, so all take part in each round and prompt;
a slot holds a whole context, so there is room for a request whenever there is a row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from plait.runtime.eagle.parallel import exchange_of, group_of
from plait.runtime.eagle.parallel_chain import ParallelChain, check_split
from plait.runtime.eagle.request import RequestError
from plait.runtime.eagle.sizes import check_fits, check_room, dim_of, rows_of
from plait.runtime.engine.decoder import Entered
from plait.runtime.engine.prompt import Prompt
from plait.runtime.models.tiny.model import TinyModel
from plait.runtime.models.tiny.split import SplitModel
from plait.runtime.ranks.group import Ranks
from plait.runtime.schedule import Schedule


class ParallelDecoder:
    """Raises BindError for a round that is not this model's, and ExchangeError."""

    def __init__(self, schedule: Schedule, model: TinyModel, ranks: Ranks | None = None):
        self.schedule = schedule
        self.dim = dim_of(schedule)
        self.vocab = model.shape.vocab
        self.context = model.shape.context
        self.group = group_of(schedule)
        check_split(schedule, model.shape)
        self._split = SplitModel(model, exchange_of(schedule, model, self.group, ranks))
        slots, rows = dict(schedule.widest.sizes)[self.dim], rows_of(schedule)
        span = -(-(self.context + 3 * rows) // 64) * 64
        check_room(schedule, model, slots, span)
        opaque = [buffer.name for buffer in schedule.buffers if buffer.opaque]
        self._chain = ParallelChain(self._split, slots, span, rows, opaque)
        self._rows: set[int] = set()
        check_fits(schedule, model, {**self.bodies(), "commit": None})

    def pass_by(self) -> None:
        self._split.pass_by()

    def bodies(self) -> Mapping[str, Callable[..., object]]:
        return self._chain.bodies()

    def opaque(self) -> Mapping[str, object]:
        return self._chain.opaque()

    def has_room(self, prompt: Prompt, known: Sequence[int]) -> bool:
        return True

    def enter(self, row: int, prompt: Prompt, known: Sequence[int]) -> Entered:
        token, logits, carried = self._chain.prefill([*prompt.tokens, *known], row)
        self._rows.add(row)
        logprobs = None if prompt.logprobs is None else logits.float().log_softmax(-1)
        return Entered(token, carried, logprobs)

    def move(self, source: int, target: int) -> None:
        self._chain.move(source, target)
        self._rows.remove(source)
        self._rows.add(target)

    def leave(self, row: int, tokens: Sequence[int]) -> None:
        self._rows.remove(row)

    def held(self) -> Mapping[str, int]:
        return {"slots": len(self._rows)}

    def check(self, prompt: Prompt) -> None:
        if prompt.sampling.temperature:
            raise RequestError(
                f"a temperature of {prompt.sampling.temperature:g}: on several ranks the likeliest token is "
                "taken and none is drawn; ask for temperature 0"
            )
        if prompt.logprobs is not None:
            raise RequestError("log probabilities: on several ranks none go out; ask without")
