"""What the paths of a server share: the engine, what it serves, and the answers under way."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

from plait.runtime.eagle.request import RequestError
from plait.runtime.engine.engine import Engine, EngineClosed, QueueFull
from plait.runtime.engine.prompt import Prompt
from plait.runtime.engine.raised import words
from plait.runtime.engine.stream import Stream
from plait.runtime.serve.asked import Reader
from plait.runtime.serve.errors import ApiError
from plait.runtime.serve.metrics import Metrics
from plait.runtime.serve.page.feed import Feed
from plait.runtime.serve.served import Limits, Served

LONGEST_WAIT = 60
"""Seconds after which a client is told to try again at most."""


@dataclass
class Service:
    engine: Engine
    """It has the metrics among its observers, and decodes as the served texts do."""
    served: Served
    metrics: Metrics
    limits: Limits = field(default_factory=Limits)
    log_prompts: bool = False
    feed: Feed | None = None
    """Of the page at `/`, among the engine's observers too; None: there is no page."""
    ready: bool = False
    """Whether requests are taken: set when the engine has begun, unset when the server is to end."""

    def __post_init__(self) -> None:
        self.reader = Reader(self.served, self.limits, self.engine.decoder.context)
        self.born = int(time.time())
        self.open: set[Stream] = set()
        """Of the answers under way."""
        self.cut_off = 0
        """Requests that were ended because the server did."""

    def cut(self) -> None:
        """Ends what is under way as it stands."""
        for stream in self.open:
            stream.cancel()
        self.cut_off += len(self.open)
        self.open.clear()

    def check_ready(self) -> None:
        """Raises ApiError."""
        if (failed := self.failed) is not None:
            raise failed
        if not self.ready:
            raise _closed()

    @property
    def failed(self) -> ApiError | None:
        """What every request is answered when the engine has failed."""
        failure = self.engine.failure
        if failure is None:
            return None
        return ApiError(503, f"the engine has failed: {words(failure)}", code="engine_failed")

    def submit(self, prompt: Prompt) -> Stream:
        """Raises ApiError."""
        self.check_ready()
        try:
            return self.engine.submit(prompt)
        except QueueFull as error:
            headers = {"Retry-After": str(self._wait())}
            raise ApiError(429, str(error), code="queue_full", headers=headers) from None
        except EngineClosed:
            raise _closed() from None
        except RequestError as error:
            raise ApiError(400, str(error)) from None

    def _wait(self) -> int:
        """Seconds until somebody is likely to have ended."""
        expected = math.ceil(self.metrics.seconds / max(self.engine.live, 1))
        return min(max(expected, 1), LONGEST_WAIT)


def _closed() -> ApiError:
    message = "the server takes no requests now: it is starting or ending"
    return ApiError(503, message, headers={"Retry-After": "1"})
