"""The tiny model as an engine's decoder: chains, trees and ragged verify, on caches in pages.

Each request samples in its own way, and has pages for its last token when it enters. The beginnings of
texts that were there before are shared, and only what follows them goes through the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy

from plait.runtime.eagle.lengths import Lengths
from plait.runtime.eagle.memory import Memory
from plait.runtime.eagle.paged_chain import PagedChain
from plait.runtime.eagle.prefilling import PART, Begun, Prefilling
from plait.runtime.eagle.ragged import PagedRagged
from plait.runtime.eagle.sizes import (
    ahead_of,
    captures,
    check_fits,
    check_room,
    dim_of,
    page_size_of,
    steps_of,
    width_of,
)
from plait.runtime.eagle.tree import PagedTree
from plait.runtime.engine.decoder import Entered
from plait.runtime.engine.prompt import Prompt
from plait.runtime.models.tiny.model import TinyModel
from plait.runtime.runner import BindError
from plait.runtime.schedule import Schedule


class TinyDecoder:
    """`pages`: of the caches, page 0 included; None: so many that every row can be full.

    Raises BindError for a round that is not this model's.
    """

    def __init__(self, schedule: Schedule, model: TinyModel, *, pages: int | None = None):
        size, most = page_size_of(schedule), width_of(schedule, "pages")
        slots = dict(schedule.widest.sizes)[dim_of(schedule)]
        pages = slots * most + 1 if pages is None else pages
        if pages <= slots:
            raise BindError(
                f"{schedule.source.name}: {pages} pages for {slots} requests: it takes one for each, and one "
                "that is nobody's"
            )
        check_room(schedule, model, pages, size)
        self.memory = Memory(model, pages, size, most, ahead_of(schedule))
        self.requests = self.memory.requests
        self.lengths = Lengths()
        self._prefilling = Prefilling(self.memory)
        self._bind(schedule)

    def _bind(self, schedule: Schedule) -> None:
        model = self.memory.model
        self.schedule = schedule
        self.dim = dim_of(schedule)
        self.vocab = model.shape.vocab
        self.context = min(model.shape.context, self.memory.rows.span - self.requests.ahead)
        self.chain = self._chain_of(schedule)
        check_fits(schedule, model, self.chain.bodies() | {"commit": None})

    def _chain_of(self, schedule: Schedule) -> PagedChain | PagedTree | PagedRagged:
        rows = width_of(schedule, "tree")
        chain = PagedChain(self.memory, rows, captures(schedule, "accept"))
        names = {buffer.name for buffer in schedule.buffers}
        if not names & {"verify_lens", "ancestors"}:
            return chain
        most = width_of(schedule, "candidate")
        if "verify_lens" in names:
            return PagedRagged(chain, self.dim, most, self.lengths)
        return PagedTree(chain, steps_of(schedule), most)

    def for_schedule(self, schedule: Schedule) -> TinyDecoder:
        """The same memory and rows under another schedule. Raises BindError."""
        self.requests.check_schedule(schedule)
        if (ahead := ahead_of(schedule)) > self.requests.ahead:
            raise BindError(
                f"{schedule.source.name}: it writes {ahead} positions behind a request's last token "
                f"(most_ahead); requests have pages for {self.requests.ahead}: begin with this schedule, or "
                "one that has as many"
            )
        found = copy(self)
        found._bind(schedule)
        return found

    def sizes(self, live: int) -> Mapping[str, int]:
        if isinstance(self.chain, PagedRagged):
            return self.chain.sizes(live)
        return {self.dim: live}

    def bodies(self) -> Mapping[str, Callable[..., object]]:
        return self.chain.bodies()

    def opaque(self) -> Mapping[str, object]:
        return self.chain.opaque()

    # Requests

    def check(self, prompt: Prompt) -> None:
        """Raises RequestError for what could never be served."""
        self.requests.check(prompt, self.vocab, self.context)

    def has_room(self, prompt: Prompt, known: Sequence[int]) -> bool:
        begun = self._prefilling.find(prompt, known)
        if begun is not None:  # an equal request waits for it, and then has little left to run
            return begun.left <= PART
        return self.requests.has_room(prompt, known)

    def prefill(self, prompt: Prompt, known: Sequence[int]) -> Begun | None:
        """Of a prompt that is too long to be run at once, and of which pages can be had."""
        self.check(prompt)
        begun = self._prefilling.find(prompt, known)
        if begun is not None or not self.has_room(prompt, known):
            return None
        begun = self._prefilling.begin(prompt, known)
        if begun.left > PART:
            return begun
        begun.close()
        return None

    def enter(self, row: int, prompt: Prompt, known: Sequence[int]) -> Entered:
        self.check(prompt)
        begun = self._prefilling.find(prompt, known) or self._prefilling.begin(prompt, known)
        try:
            while begun.advance():
                pass
            entered = begun.end(row, self.chain.drafted)
        finally:
            begun.close()
        self.requests.enter(row, prompt)
        self.lengths.enter(row)
        return entered

    def move(self, source: int, target: int) -> None:
        self.requests.move(source, target)
        self.lengths.move(source, target)

    def leave(self, row: int, tokens: Sequence[int]) -> None:
        """Given no tokens, nothing of it is kept but what others share: as after a fault."""
        self.lengths.leave(row)
        self.requests.leave(row, tokens)

    def held(self) -> Mapping[str, int]:
        return {**self.requests.held(), "prompts": len(self._prefilling.begun)}

    def forget(self) -> None:
        """Keeps no beginning of a text that no request has."""
        self.requests.forget()
