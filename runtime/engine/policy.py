"""How many tokens rounds draft: whole schedules, of which one is chosen before each round.

The rule. Of every drafted position it is counted how often it was accepted, given that those before it
were. From that follows how many tokens a round of S drafted ones commits for each request,
1 + a1 + a1 a2 + ... (S terms), and from the time that such rounds took at the present bucket, tokens a
nanosecond. The schedule with most is chosen; but rounds go over to it only when it was best by more
than a tenth in four choices running. A schedule that has not run at a bucket is thought well of, so that
it is tried where it might pay: its rounds count as no longer than those of the nearest with fewer steps,
or else as shorter than those of the nearest with more, as the rows are fewer that it verifies. A
position that was never drafted counts like the one before it. What is known halves every 64 rounds, so
old news is forgotten, and what has not run for 512 rounds is unknown again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

MARGIN = Fraction(11, 10)
PATIENCE = 4
HALVED = 64
FORGOTTEN = 512


class Policy(Protocol):
    """What chooses before each round among the schedules of an engine, on the thread of its rounds."""

    def saw(self, schedule: int, bucket: int, committed: Sequence[int], nanoseconds: int) -> None:
        """A round of a schedule, by its place among those given, has committed so many a request."""
        ...

    def choose(self, bucket_of: Sequence[int]) -> int:
        """The schedule of the next round; `bucket_of`: of each the bucket that it would run at."""
        ...


@dataclass
class _Time:
    """Rounds of one schedule at one bucket."""

    rounds: int = 0
    nanoseconds: int = 0
    newest: int = 0


class Adaptive:
    """A policy that takes the schedule with most tokens a second, by what it has measured.

    `steps`: of each schedule how many tokens it drafts, fewest first; ValueError where they are in another
    order. `first`: the schedule to begin with. The rule stands in full at the head of
    `runtime/engine/policy.py`.
    """

    def __init__(self, steps: Sequence[int], first: int = 0):
        if list(steps) != sorted(set(steps)):
            raise ValueError(
                f"steps {list(steps)}: should be of each schedule another, fewest first"
            )
        self.steps = tuple(steps)
        self.now = first
        self._tried = [0] * max(self.steps, default=0)
        self._accepted = list(self._tried)
        self._times: dict[tuple[int, int], _Time] = {}
        self._rounds = 0
        self._wanted = (first, 0)
        """What was best in the newest choice, and in how many running."""

    def saw(self, schedule: int, bucket: int, committed: Sequence[int], nanoseconds: int) -> None:
        """Counts what was accepted at each drafted position, and how long the round took."""
        self._rounds += 1
        for count in committed:
            for position in range(min(count, self.steps[schedule])):
                self._tried[position] += 1
                self._accepted[position] += count > position + 1
        time = self._times.setdefault((schedule, bucket), _Time())
        time.rounds += 1
        time.nanoseconds += nanoseconds
        time.newest = self._rounds
        if time.rounds >= HALVED:
            time.rounds //= 2
            time.nanoseconds //= 2
        if self._rounds % HALVED == 0:
            self._tried = [count // 2 for count in self._tried]
            self._accepted = [count // 2 for count in self._accepted]

    def choose(self, bucket_of: Sequence[int]) -> int:
        """The schedule of the next round: another one only when it was best by enough for long enough."""
        if self._time(self.now, bucket_of) is None:
            return self.now
        speeds = [self._speed(schedule, bucket_of) for schedule in range(len(self.steps))]
        best = max(range(len(speeds)), key=lambda one: (speeds[one], -one))
        running = self._wanted[1] + 1 if best == self._wanted[0] else 1
        self._wanted = best, running
        if running >= PATIENCE and speeds[best] > MARGIN * speeds[self.now]:
            self.now, self._wanted = best, (best, 0)
        return self.now

    def tokens(self, steps: int) -> Fraction:
        """Those a round of so many drafted ones is expected to commit for a request."""
        found = so_far = share = Fraction(1)
        for position in range(steps):
            if self._tried[position]:
                share = Fraction(self._accepted[position], self._tried[position])
            so_far *= share
            found += so_far
        return found

    def _speed(self, schedule: int, bucket_of: Sequence[int]) -> Fraction:
        """Tokens a nanosecond, where something is known of the bucket."""
        tokens = self.tokens(self.steps[schedule])
        for one in range(schedule, -1, -1):
            if (time := self._time(one, bucket_of)) is not None:
                return tokens / time
        for one in range(schedule + 1, len(self.steps)):
            if (time := self._time(one, bucket_of)) is not None:
                share = Fraction(self.steps[schedule] + 1, self.steps[one] + 1)
                return tokens / (time * share)
        return Fraction(0)

    def _time(self, schedule: int, bucket_of: Sequence[int]) -> Fraction | None:
        """Nanoseconds of a round, as it was measured."""
        found = self._times.get((schedule, bucket_of[schedule]))
        if found is None or not found.rounds or self._rounds - found.newest >= FORGOTTEN:
            return None
        return Fraction(max(found.nanoseconds, 1), found.rounds)
