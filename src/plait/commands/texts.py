"""Decoded texts, printed as they come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plait.commands.progress import progress

if TYPE_CHECKING:
    from plait.runtime.eagle.request import Request
    from plait.runtime.models.tokenizer import Tokenizer

MARK = "\N{BLACK RIGHT-POINTING SMALL TRIANGLE}"
"""Before a prompt."""


class Printer:
    """Prints the first unfinished text at once, the others when it is their turn."""

    def __init__(self, tokenizer: Tokenizer, prompts: list[str]):
        self.tokenizer = tokenizer
        self.prompts = prompts
        self.order: list[Request] = []
        self.shown = 0
        self.at = 0

    def take(self, request: Request, count: int) -> None:
        if not self.order:
            progress("")
        if request not in self.order:  # requests are first heard of in the order they were given
            self.order.append(request)
        self._advance()

    def finish(self, requests: list[Request]) -> None:
        self.order = requests
        self._advance()

    def _advance(self) -> None:
        while self.at < len(self.order):
            request = self.order[self.at]
            if not self.shown:
                write_text(f"\n{MARK} {self.prompts[self.at]}")
            text = self.tokenizer.decode(request.tokens)
            if not request.done:
                text = text.rstrip("\N{REPLACEMENT CHARACTER}")  # bytes still to come
            new = text[max(self.shown - 1, 0) :]
            write_text(new)
            self.shown = len(text) + 1
            if not request.done:
                return
            write_text("\n")
            self.at += 1
            self.shown = 0


def write_text(text: str) -> None:
    print(text, end="", flush=True)  # unlike `write`, it allows for a closed stdout
