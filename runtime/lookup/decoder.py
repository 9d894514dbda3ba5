"""Any model that verifies as an engine's decoder, drafting from the texts themselves.

A request has pages for its last token when it enters, and the beginnings of texts that were there before
are shared. Its prompt is run at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy

import torch
from torch import Tensor

from plait.runtime.cache.pages import Pages
from plait.runtime.cache.prefixes import Prefixes
from plait.runtime.cache.rows import Rows
from plait.runtime.eagle.paged_rows import PagedRows
from plait.runtime.eagle.sizes import (
    captures,
    check_fits,
    check_room,
    dim_of,
    page_size_of,
    width_of,
)
from plait.runtime.engine.decoder import Entered
from plait.runtime.engine.prompt import Prompt
from plait.runtime.lookup.round import LookupRound
from plait.runtime.models.paged import PagedPlanner
from plait.runtime.models.target import Target
from plait.runtime.runner import BindError
from plait.runtime.sampling.prompted import first_token, logprobs_of, sampling_of
from plait.runtime.schedule import Schedule


class LookupDecoder:
    """`pages`: of the cache, page 0 included; None: so many that every row can be full.

    Raises BindError for a round that is not examples/lookup.spec's.
    """

    def __init__(self, schedule: Schedule, model: Target, *, pages: int | None = None):
        size, most = page_size_of(schedule), width_of(schedule, "pages")
        slots = dict(schedule.widest.sizes)[dim_of(schedule)]
        pages = slots * most + 1 if pages is None else pages
        check_room(schedule, model, pages, size)
        self.model = model
        self.vocab = model.shape.vocab
        self.context = min(model.shape.context, most * size)
        self.planner = PagedPlanner(model.planner(most * size), size, most)
        self.cache = model.target_cache(pages, size)
        self.rows = Rows(Prefixes(Pages(pages), size), most)
        self.requests = PagedRows(self.rows)
        self._bind(schedule)

    def _bind(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.dim = dim_of(schedule)
        if width_of(schedule, "text") != self.planner.span:
            raise BindError(
                f"{schedule.source.name}: `text` is {width_of(schedule, 'text')} wide; a request's pages "
                f"have {self.planner.span} positions: give it page_size * most_pages"
            )
        longest = dict(schedule.settings).get("longest")
        if type(longest) is not int or not 1 <= longest <= self.planner.span:
            raise BindError(
                f"{schedule.source.name}: its param `longest` is {longest!r}; it is how many tokens are "
                f"looked for at most, from 1 to {self.planner.span}"
            )
        self.round = LookupRound(
            self.model,
            self.planner,
            self.cache,
            self.requests,
            rows=width_of(schedule, "tree"),
            longest=longest,
            captured=captures(schedule, "accept"),
        )
        check_fits(schedule, self.model, self.round.bodies() | {"commit": None})

    def for_schedule(self, schedule: Schedule) -> LookupDecoder:
        """The same memory and rows under another schedule. Raises BindError."""
        self.requests.check_schedule(schedule)
        found = copy(self)
        found._bind(schedule)
        return found

    def bodies(self) -> Mapping[str, Callable[..., object]]:
        return self.round.bodies()

    def opaque(self) -> Mapping[str, object]:
        return self.round.opaque()

    # Requests

    def check(self, prompt: Prompt) -> None:
        """Raises RequestError for what could never be served."""
        self.requests.check(prompt, self.vocab, self.context)

    def has_room(self, prompt: Prompt, known: Sequence[int]) -> bool:
        return self.requests.has_room(prompt, known)

    def enter(self, row: int, prompt: Prompt, known: Sequence[int]) -> Entered:
        self.check(prompt)
        tokens = (*prompt.tokens, *known)
        reused = self.rows.enter(row, tokens, self.requests.positions(prompt))
        try:
            logits = self._run(row, tokens, reused)
            carried = sampling_of(prompt)
            token = first_token(logits, len(tokens), carried)
            self.rows.keep(row, (*tokens, token))
        except BaseException:
            self.rows.leave(row)
            raise
        self.requests.enter(row, prompt)
        carried |= {
            "seq_lens": torch.tensor(len(tokens)),
            "bonus": torch.tensor(token),
            "text": self._text((*tokens, token)),
            "pages": torch.tensor(self.rows.table(row)),
        }
        return Entered(
            token, carried, None if prompt.logprobs is None else logprobs_of(logits), reused
        )

    def move(self, source: int, target: int) -> None:
        self.requests.move(source, target)

    def leave(self, row: int, tokens: Sequence[int]) -> None:
        self.requests.leave(row, tokens)

    def held(self) -> Mapping[str, int]:
        return self.requests.held()

    def forget(self) -> None:
        """Keeps no beginning of a text that no request has."""
        self.requests.forget()

    @torch.no_grad()
    def _run(self, row: int, tokens: tuple[int, ...], start: int) -> Tensor:
        """A row's tokens from `start` on, through the model: the logits of the last, `[vocab]`."""
        positions = torch.arange(start, len(tokens)).unsqueeze(0)
        plan = self.planner.of(positions, torch.tensor([self.rows.table(row)]))
        states = self.model.target(torch.tensor([tokens[start:]]), plan, self.cache)
        return self.model.logits(states[0, -1])

    def _text(self, tokens: Sequence[int]) -> Tensor:
        text = torch.zeros(self.planner.span, dtype=torch.int64)
        known = tokens[: self.planner.span]
        text[: len(known)] = torch.tensor(known)
        return text
