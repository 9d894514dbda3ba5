"""What graphs wait for from inside: events that are recorded outside, one record for each replay.

On an NPU each is a slot, which a wait empties. A record that nobody took, as the route of a round may have
no such graph, would let the next replay through before its own record: it is taken before another is made,
and before a replay whose record is still to come. On a GPU it is an ordinary event, and a graph waits for
what was recorded when it is replayed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from plait.runtime.devices.accelerator.events import Event
from plait.runtime.devices.accelerator.kinds import Kind
from plait.runtime.devices.accelerator.names import Calls


class External:
    def __init__(self, kind: Kind, calls: Calls):
        self.kind = kind
        self.calls = calls
        self.events: list[Event] = []

    def event(self, name: str, native: Any) -> Event:
        """A new one, made while that stream is free."""
        if self.kind.slots:
            made = Event(name, self.calls.event(), self.calls.external())
        else:
            outside = self.calls.external(external=True)
            # A wait for an event that was never recorded is left out of a capture without a word.
            self.calls.record(outside, stream=native)
            made = Event(name, outside, outside)
        self.events.append(made)
        return made

    def record(self, event: Event, native: Any, round: int) -> None:
        if self.kind.slots:
            self._take_what_is_left(event, native)
            self._fill(event, native)
        event.filled = round

    def wait(self, event: Event, native: Any) -> None:
        """As it stands in a graph."""
        self.calls.wait_external(event.inside, stream=native)
        event.waited = True
        if self.calls.reset_external is not None:
            self.calls.reset_external(event.inside, stream=native)

    def replayed(self, event: Event, rounds_back: int, native: Any, round: int) -> None:
        """A replay is about to wait for it. Raises RuntimeError where it cannot."""
        come = event.filled >= round - rounds_back
        if not self.kind.slots:
            if not come and not rounds_back:
                raise RuntimeError(
                    f"it waits for `{event.name}`, which comes only after it; graphs of {self.kind.name} "
                    f"wait for what is there: compile for a target of {self.kind.name}"
                )
            return
        if not come:
            self._take_what_is_left(event, native)
            if rounds_back:  # nothing was recorded so long ago, which holds nobody up
                self._fill(event, native)
        event.owed += 1

    @contextmanager
    def asked_anew(self, events: list[Event], native: Any) -> Iterator[None]:
        """Around a capture that waits for them where another graph waits, too.

        torch_npu takes no second wait at a slot before a record is asked for. What such a record fills a
        slot with is taken again, or the first replay would not wait.
        """
        again = [event for event in events if self.kind.slots and event.waited]
        for event in again:
            self._fill(event, native)
        try:
            yield
        finally:
            for event in again:
                if event.waited:
                    self._fill(event, native)
                self.wait(event, native)
                event.owed = 0

    def settle(self, native: Any) -> None:
        """A round ends in the middle: what replays wait for comes now, or never would."""
        for event in self.events:
            while event.owed > 0:
                self._fill(event, native)
            if self.kind.slots:
                self._take_what_is_left(event, native)
            event.filled = -1

    def _fill(self, event: Event, native: Any) -> None:
        self.calls.record_external(event.inside, stream=native)
        event.waited = False
        event.owed -= 1

    def _take_what_is_left(self, event: Event, native: Any) -> None:
        if event.owed < 0:
            self.wait(event, native)
            event.owed = 0
