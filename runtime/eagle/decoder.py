"""The tiny model as an engine's decoder: chains, trees and ragged verify, on caches in pages.

Each request samples in its own way, and has pages for its last token when it enters. The beginnings of
texts that were there before are shared, and only what follows them goes through the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from itertools import count

import torch
from torch import Tensor

from plait.runtime.eagle.chain import check_fits, check_room, dim_of
from plait.runtime.eagle.lengths import Lengths
from plait.runtime.eagle.memory import Memory
from plait.runtime.eagle.paged_chain import PagedChain
from plait.runtime.eagle.ragged import PagedRagged
from plait.runtime.eagle.request import RequestError
from plait.runtime.eagle.tree import PagedTree
from plait.runtime.engine.decoder import Entered
from plait.runtime.engine.prompt import Prompt
from plait.runtime.models.tiny.model import TinyModel
from plait.runtime.runner import BindError
from plait.runtime.sampling.prompted import first_token, logprobs_of, sampling_of
from plait.runtime.schedule import Schedule

PART = 64
"""Tokens of a prompt that run at once."""


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
        self.memory = Memory(model, pages, size, most)
        self.ahead = _ahead(schedule)
        self.lengths = Lengths()
        self._prompts: dict[int, Prompt] = {}
        """By row."""
        self._begun: dict[int, Begun] = {}
        """By the number below 0 that stands for a row until it has one."""
        self._numbers = count(-1, -1)
        self._bind(schedule)

    def _bind(self, schedule: Schedule) -> None:
        model = self.memory.model
        self.schedule = schedule
        self.dim = dim_of(schedule)
        self.vocab = model.shape.vocab
        self.context = min(model.shape.context, self.memory.rows.span - self.ahead)
        captured = any(p.body == "accept" and p.capture is not None for p in schedule.phases)
        self.chain = self._chain_of(schedule, captured)
        check_fits(schedule, model, self.chain.bodies() | {"commit": None})

    def _chain_of(self, schedule: Schedule, captured: bool) -> PagedChain | PagedTree | PagedRagged:
        rows = width_of(schedule, "tree")
        chain = PagedChain(self.memory, rows, captured)
        names = {buffer.name for buffer in schedule.buffers}
        if not names & {"verify_lens", "ancestors"}:
            return chain
        most = width_of(schedule, "candidate")
        if "verify_lens" in names:
            return PagedRagged(chain, rows, captured, self.dim, most, self.lengths)
        return PagedTree(chain, rows, captured, steps_of(schedule), most)

    def for_schedule(self, schedule: Schedule) -> TinyDecoder:
        """The same memory and rows under another schedule. Raises BindError."""
        size, most = page_size_of(schedule), width_of(schedule, "pages")
        if (size, most) != (self.memory.rows.size, self.memory.rows.most):
            raise BindError(
                f"{schedule.source.name}: {most} pages of {size} a request; the caches were made for "
                f"{self.memory.rows.most} of {self.memory.rows.size}"
            )
        if _ahead(schedule) > self.ahead:
            raise BindError(
                f"{schedule.source.name}: it writes {_ahead(schedule)} positions behind a request's last "
                f"token (most_ahead); requests have pages for {self.ahead}: begin with this schedule, or "
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

    def has_room(self, prompt: Prompt, known: Sequence[int]) -> bool:
        tokens = (*prompt.tokens, *known)
        begun = self._begun_of(prompt, tokens)
        if begun is not None:  # an equal request waits for it, and then has little left to run
            return begun.left <= PART
        return self.memory.rows.has_room(tokens, self.positions(prompt))

    def enter(self, row: int, prompt: Prompt, known: Sequence[int]) -> Entered:
        self.check(prompt)
        tokens = (*prompt.tokens, *known)
        begun = self._begun_of(prompt, tokens) or Begun(self, prompt, tokens)
        try:
            while begun.advance():
                pass
            entered = begun.end(row, self.chain.drafted)
        finally:
            begun.close()
        self._prompts[row] = prompt
        self.lengths.enter(row)
        self._settle()
        return entered

    def prefill(self, prompt: Prompt, known: Sequence[int]) -> Begun | None:
        """Of a prompt that is too long to be run at once, and of which pages can be had."""
        self.check(prompt)
        tokens = (*prompt.tokens, *known)
        if self._begun_of(prompt, tokens) is not None or not self.has_room(prompt, known):
            return None
        begun = Begun(self, prompt, tokens)
        if begun.left > PART:
            return begun
        begun.close()
        return None

    def move(self, source: int, target: int) -> None:
        self.memory.rows.move(source, target)
        self._prompts[target] = self._prompts.pop(source)
        self.lengths.move(source, target)

    def leave(self, row: int, tokens: Sequence[int]) -> None:
        """Given no tokens, nothing of it is kept but what others share: as after a fault."""
        del self._prompts[row]
        self.lengths.leave(row)
        try:
            self.memory.rows.keep(row, tokens)
        finally:
            self.memory.rows.leave(row)
            self._settle()

    def held(self) -> Mapping[str, int]:
        pages = self.memory.rows.pages
        return {
            "rows": len(self._prompts),
            "prompts": len(self._begun),
            "pages": pages.used,
            "kept": pages.idle,
        }

    def forget(self) -> None:
        """Keeps no beginning of a text that no request has."""
        self.memory.rows.pages.drop()

    def positions(self, prompt: Prompt) -> int:
        """That a request has pages for."""
        return _total(prompt) + self.ahead

    def check(self, prompt: Prompt) -> None:
        """Raises RequestError for what could never be served."""
        total = _total(prompt)
        if not prompt.tokens or not all(0 <= token < self.vocab for token in prompt.tokens):
            raise RequestError(f"a prompt has one token or more, from 0 to {self.vocab - 1}")
        if total > self.context:
            raise RequestError(
                f"a prompt of {len(prompt.tokens)} tokens that asks for {prompt.most} more; the context is "
                f"{self.context}: shorten it, or ask for fewer new tokens"
            )
        if not self.memory.rows.could_enter(total + self.ahead):
            pages = self.memory.rows.pages.count - 1
            raise RequestError(
                f"{total} tokens need more than the {pages} pages of {self.memory.rows.size} that there are: "
                "shorten the prompt, or ask for fewer new tokens"
            )

    def _begun_of(self, prompt: Prompt, tokens: tuple[int, ...]) -> Begun | None:
        begun = self._begun.values()
        return next((one for one in begun if (one.prompt, one.tokens) == (prompt, tokens)), None)

    def _settle(self) -> None:
        self.memory.sampling = any(
            prompt.sampling.temperature > 0 or prompt.logprobs is not None
            for prompt in self._prompts.values()
        )


class Begun:
    """A prompt that is under way. It has all pages of its request, but no row yet."""

    def __init__(self, decoder: TinyDecoder, prompt: Prompt, tokens: tuple[int, ...]):
        self.decoder = decoder
        self.memory = decoder.memory
        self.prompt = prompt
        self.tokens = tokens
        self.row = next(decoder._numbers)
        self.reused = self.memory.rows.enter(self.row, tokens, decoder.positions(prompt))
        self.done = self.reused
        """Positions of both caches that are filled."""
        decoder._begun[self.row] = self

    @property
    def left(self) -> int:
        """Tokens that have not been run."""
        return len(self.tokens) - self.done

    def advance(self) -> bool:
        """Runs a part, while a round may be in flight; whether there is another before the end.

        What is in its pages then may be shared already.
        """
        if self.left > PART and self.row in self.decoder._begun:
            end = self.done + PART
            with torch.no_grad():
                states = self.memory.target(self.row, self.tokens, self.done, end)
                following = self.tokens[self.done + 1 : end + 1]
                self.memory.nextn(self.row, states, following, self.done)
            self.memory.rows.keep(self.row, self.tokens[: end + 1])
            self.done = end
        return self.left > PART and self.row in self.decoder._begun

    def end(self, row: int, drafted: Callable[[Tensor], dict[str, Tensor]]) -> Entered:
        """Runs the last part, and takes it all into a row; `drafted` is of the schedule by then."""
        with torch.no_grad():
            states = self.memory.target(self.row, self.tokens, self.done, len(self.tokens))
            logits = self.memory.model.logits(states[-1])
            carried = sampling_of(self.prompt)
            token = first_token(logits, len(self.tokens), carried)
            following = (*self.tokens[self.done + 1 :], token)
            hidden = self.memory.nextn(self.row, states, following, self.done)[-1]
            carried |= drafted(hidden)
        rows = self.memory.rows
        rows.keep(self.row, (*self.tokens, token))
        rows.move(self.row, row)
        del self.decoder._begun[self.row]
        carried |= {
            "seq_lens": torch.tensor(len(self.tokens)),
            "bonus": torch.tensor(token),
            "hidden": hidden,
            "pages": torch.tensor(rows.table(row)),
        }
        logprobs = None if self.prompt.logprobs is None else logprobs_of(logits)
        return Entered(token, carried, logprobs, self.reused)

    def close(self) -> None:
        """Gives up what it holds, unless a row has it by now."""
        if self.decoder._begun.pop(self.row, None) is not None:
            self.memory.rows.leave(self.row)


def _total(prompt: Prompt) -> int:
    return len(prompt.tokens) + prompt.most


def page_size_of(schedule: Schedule) -> int:
    """Raises BindError for a round that does not say it."""
    size = dict(schedule.settings).get("page_size")
    if type(size) is not int or size < 1:
        raise BindError(
            f"{schedule.source.name}: it has no param `page_size`, the positions of a page; a round with "
            "caches in pages is examples/service.spec"
        )
    return size


def _ahead(schedule: Schedule) -> int:
    """Positions behind a request's last token that a round writes, and may not be nobody's."""
    found = dict(schedule.settings).get("most_ahead", 0)
    return found if type(found) is int else 0


def steps_of(schedule: Schedule) -> int:
    """S: each step of a draft is a phase."""
    return sum(phase.body in ("first", "nextn") for phase in schedule.phases)


def width_of(schedule: Schedule, name: str) -> int:
    """The second axis of a buffer. Raises BindError for a round that has none."""
    for number, buffer in enumerate(schedule.buffers):
        sizes = schedule.widest.shapes[number]
        if buffer.name == name and sizes is not None and len(sizes) == 2:
            return sizes[1]
    raise BindError(
        f"{schedule.source.name}: this runs rounds that have a buffer `{name}` of two axes, as that of "
        "examples/service.spec"
    )
