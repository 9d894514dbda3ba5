"""What rounds have told lately, noted only while somebody watches."""

from __future__ import annotations

import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

from plait.runtime.engine import observer as told
from plait.runtime.engine.observer import Observer
from plait.runtime.serve.page.timeline import timeline

WINDOW = 30.0
"""Seconds that figures are of."""
SHOWN = 3
"""Rounds of which the timeline is at most."""
LONGEST = 16
"""Accepted lengths of more count as this."""


@dataclass
class Stretch:
    """Sums between two looks."""

    began: float
    rounds: int = 0
    idle: float = 0.0
    traced: float = 0.0
    accepted: Counter[int] = field(default_factory=Counter)
    """Requests in rounds by the tokens that they were given."""
    tokens: int = 0
    buckets: Counter[int] = field(default_factory=Counter)
    """Rounds."""
    live: Counter[int] = field(default_factory=Counter)
    """Rows that were somebody's, by bucket."""
    faults: int = 0


class Feed(Observer):
    """Of a round it keeps what it was given, of the newest few; all else is added up."""

    def __init__(self) -> None:
        self.watched = False
        self._forget()

    def begin(self) -> None:
        """Somebody watches."""
        self._forget()
        self.watched = True

    def rest(self) -> None:
        """Nobody does any more."""
        self.watched = False
        self._forget()

    def round(self, told: told.Round) -> None:
        if not self.watched:
            return
        self._newest.append(told)
        now = self._now
        now.rounds += 1
        now.tokens += sum(told.committed)
        now.accepted.update(min(count, LONGEST) for count in told.committed)
        now.buckets[told.bucket] += 1
        now.live[told.bucket] += told.live
        if told.exposed is not None and told.slices:
            now.idle += told.exposed
            now.traced += (max(s.end for s in told.slices) - told.slices[0].start) / 1e9

    def fault(self, told: told.Fault) -> None:
        if self.watched:
            self._now.faults += 1

    def look(self) -> dict[str, Any]:
        """What is to be shown now; what came since the last look joins what is known."""
        now = time.monotonic()
        self._past.append(self._now)
        self._now = Stretch(now)
        while len(self._past) > 1 and self._past[1].began < now - WINDOW:
            self._past.popleft()
        seconds = max(now - self._past[0].began, 1e-9)
        accepted, buckets, live = Counter[int](), Counter[int](), Counter[int]()
        for one in self._past:
            accepted.update(one.accepted)
            buckets.update(one.buckets)
            live.update(one.live)
        given = sum(one.tokens for one in self._past)
        traced = sum(one.traced for one in self._past)
        return {
            "tokens_a_second": round(given / seconds, 1),
            "rounds_a_second": round(sum(buckets.values()) / seconds, 1),
            "mean_accepted": _quotient(given, sum(accepted.values())),
            "accepted": [accepted[length] for length in range(max(accepted, default=-1) + 1)],
            "buckets": [[bucket, buckets[bucket], live[bucket]] for bucket in sorted(buckets)],
            "exposed": _quotient(sum(one.idle for one in self._past), traced),
            "faults": sum(one.faults for one in self._past),
            "route": self._newest[-1].route if self._newest else "",
            "timeline": timeline(list(self._newest)),
        }

    def _forget(self) -> None:
        self._newest: deque[told.Round] = deque(maxlen=SHOWN)
        self._past: deque[Stretch] = deque()
        self._now = Stretch(time.monotonic())


def _quotient(part: float, whole: float) -> float | None:
    return round(part / whole, 3) if whole else None
