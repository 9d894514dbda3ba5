"""When streams are woken: at once, or only if the host does not come back and does their jobs itself."""

from __future__ import annotations

import threading
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plait.runtime.devices.streams import Stream


class Pace:
    """Whether the host will be back soon, judged by how long it was away before.

    A host that only issues one round after another comes back within a fraction of a millisecond to wait
    for the one before. Then it does the streams' jobs itself while it waits, and no thread is woken for
    them. A host with other things to do is away for longer, and the streams' threads go ahead without it.

    A host may also not come back at all, and wait elsewhere for what a phase hands it. So while it is
    trusted to be back, a thread of its own looks now and then whether it was, and if not wakes the streams.
    """

    SOON = 300e-6
    """Seconds."""
    LOOK = 20e-3
    """Seconds from look to look. A round is left undone for at most two of them."""
    DOUBT = 100
    """Waits of a host that stayed away, before it is trusted again."""

    def __init__(self) -> None:
        self.soon = False
        self.streams: list[Stream] = []
        self.failure: BaseException | None = None
        """What went wrong last on any stream, until it is recovered from."""
        self._left = 0.0
        self._doubt = 0
        self._issued = 0
        """Rounds that were left to a host to be back soon."""
        self._resting = True
        self._bell: SimpleQueue[bool] = SimpleQueue()
        """Rung to have looks taken; False ends them."""
        self._thread: threading.Thread | None = None

    def back(self) -> None:
        """The host is here and waits."""
        self.soon = perf_counter() - self._left < self.SOON
        if self._doubt:
            self._doubt -= 1
            self.soon = False

    def leave(self) -> None:
        """The host goes on after a wait."""
        self._left = perf_counter()

    def issued(self) -> None:
        """The host has issued a round, and may be gone for long."""
        if not self.soon:
            self.wake_all()
            return
        self._issued += 1
        if self._resting:
            self._resting = False
            if self._thread is None:
                thread = threading.Thread(target=self._look, name="plait pace", daemon=True)
                thread.start()
                self._thread = thread
            self._bell.put(True)

    def wake_all(self) -> bool:
        """Whether any stream had to be woken."""
        return sum(stream.wake() for stream in self.streams) > 0

    def end(self) -> None:
        """Has all threads end when they have done the job they are at."""
        self._bell.put(False)
        for stream in self.streams:
            stream.end()

    def close(self) -> None:
        """As `end`, and waits for it."""
        self.end()
        for thread in (self._thread, *(stream.thread for stream in self.streams)):
            if thread is not None:
                thread.join()

    def _look(self) -> None:
        ring = self._bell.get()
        while ring:
            seen = self._issued
            try:
                ring = self._bell.get(timeout=self.LOOK)
            except Empty:
                if seen == self._issued:
                    ring = self._rest(seen)

    def _rest(self, seen: int) -> bool:
        """The host was not back: does without it, and looks again after the next round."""
        if self.wake_all():
            self._doubt = self.DOUBT
            self.soon = False
        self._resting = True  # before the look at the count, as `issued` looks at it after counting
        return self._bell.get() if seen == self._issued else True
