"""Proofs beside the editor: one thread judges the newest text of each document, once typing pauses.

A text that is changed meanwhile is judged again; what was found in the old one is told to nobody.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from plait.compiler.compile import Asked, Judged, prove_all
from plait.dsl.diagnostic import SpecError
from plait.dsl.span import Source

PAUSE = 0.2
"""Seconds without a change after which a text is judged."""


class Judge:
    def __init__(self, tell: Callable[[str, Source, list[Judged]], None], pause: float = PAUSE):
        self.tell = tell
        self.pause = pause
        self.asked: dict[str, tuple[float, Source]] = {}
        """When each document is due, and its text."""
        self.changed = threading.Condition()
        # A daemon: a long proof does not keep the server alive when its client is gone.
        threading.Thread(target=self._work, name="judge", daemon=True).start()

    def ask(self, uri: str, source: Source) -> None:
        with self.changed:
            self.asked[uri] = (time.monotonic() + self.pause, source)
            self.changed.notify()

    def forget(self, uri: str) -> None:
        with self.changed:
            self.asked.pop(uri, None)

    def _work(self) -> None:
        while True:
            uri, source = self._next()
            try:
                found = judged(source)
            except (
                Exception
            ):  # a fault of ours must not end the proofs of all that is written later
                logging.getLogger(__name__).exception("a proof failed")
                continue
            self.tell(uri, source, found)

    def _next(self) -> tuple[str, Source]:
        with self.changed:
            while True:
                due = min(self.asked, key=lambda uri: self.asked[uri][0], default=None)
                if due is None:
                    self.changed.wait()
                elif (left := self.asked[due][0] - time.monotonic()) > 0:
                    self.changed.wait(left)
                else:
                    return due, self.asked.pop(due)[1]


def judged(source: Source) -> list[Judged]:
    """What `plait check` finds."""
    try:
        return prove_all(source, Asked())
    except SpecError as error:
        return [Judged("default", "", None, error.diagnostics)]
