"""Who is in each row of a decoder whose cache is in pages, and the pages that each may fill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from plait.runtime.cache.rows import Rows
from plait.runtime.eagle.request import RequestError
from plait.runtime.eagle.sizes import page_size_of, width_of
from plait.runtime.engine.prompt import Prompt
from plait.runtime.runner import BindError
from plait.runtime.schedule import Schedule


class PagedRows:
    """A request has pages for its last token when it enters, and for `ahead` positions behind that."""

    def __init__(self, rows: Rows, ahead: int = 0):
        self.rows = rows
        self.ahead = ahead
        self._prompts: dict[int, Prompt] = {}
        """By row."""

    @property
    def sampling(self) -> bool:
        """Whether any request in a row samples, or wants log probabilities."""
        return any(
            prompt.sampling.temperature > 0 or prompt.logprobs is not None
            for prompt in self._prompts.values()
        )

    def positions(self, prompt: Prompt) -> int:
        """That a request has pages for."""
        return len(prompt.tokens) + prompt.max_tokens + self.ahead

    def has_room(self, prompt: Prompt, known: Sequence[int]) -> bool:
        return self.rows.has_room((*prompt.tokens, *known), self.positions(prompt))

    def check(self, prompt: Prompt, vocab: int, context: int) -> None:
        """Raises RequestError for what could never be served."""
        total = len(prompt.tokens) + prompt.max_tokens
        if not prompt.tokens or not all(0 <= token < vocab for token in prompt.tokens):
            raise RequestError(f"a prompt has one token or more, from 0 to {vocab - 1}")
        if total > context:
            raise RequestError(
                f"a prompt of {len(prompt.tokens)} tokens that asks for {prompt.max_tokens} more; the "
                f"context is {context}: shorten it, or ask for fewer new tokens"
            )
        if not self.rows.could_enter(self.positions(prompt)):
            pages = self.rows.pages.count - 1
            raise RequestError(
                f"{total} tokens need more than the {pages} pages of {self.rows.size} that there are: "
                "shorten the prompt, or ask for fewer new tokens"
            )

    def check_schedule(self, schedule: Schedule) -> None:
        """Raises BindError for one whose requests have other pages."""
        size, most = page_size_of(schedule), width_of(schedule, "pages")
        if (size, most) != (self.rows.size, self.rows.most):
            raise BindError(
                f"{schedule.source.name}: {most} pages of {size} a request; the cache was made for "
                f"{self.rows.most} of {self.rows.size}"
            )

    def enter(self, row: int, prompt: Prompt) -> None:
        """Whose pages that row has got by now."""
        self._prompts[row] = prompt

    def move(self, source: int, target: int) -> None:
        self.rows.move(source, target)
        self._prompts[target] = self._prompts.pop(source)

    def leave(self, row: int, tokens: Sequence[int]) -> None:
        """Given no tokens, nothing of it is kept but what others share: as after a fault."""
        del self._prompts[row]
        try:
            self.rows.keep(row, tokens)
        finally:
            self.rows.leave(row)

    def held(self) -> Mapping[str, int]:
        pages = self.rows.pages
        return {"rows": len(self._prompts), "pages": pages.used, "kept": pages.idle}

    def forget(self) -> None:
        """Keeps no beginning of a text that no request has."""
        self.rows.pages.drop()
