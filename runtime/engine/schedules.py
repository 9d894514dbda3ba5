"""The schedules that rounds may have, bound: one that may be swapped, or those that a policy chooses from."""

from __future__ import annotations

from collections.abc import Sequence

from plait.runtime.engine.bound import Bound
from plait.runtime.engine.policy import Policy
from plait.runtime.runner import BindError
from plait.runtime.schedule import Schedule


class Schedules:
    def __init__(self, policy: Policy | None):
        self._policy = policy
        self._bounds: list[Bound] = []
        """In the order that the policy knows them by."""

    def add(self, bound: Bound) -> None:
        self._bounds.append(bound)

    def first(self, wanted: Schedule) -> Bound:
        """The one to begin with, of those that were added. Raises BindError when they have other rows."""
        if len({bound.slots for bound in self._bounds}) > 1:
            raise BindError("the schedules of a policy should have one largest bucket")
        found = (bound for bound in self._bounds if bound.schedule == wanted)
        return next(found, self._bounds[0])

    def next(self, now: Bound, live: int) -> Bound:
        """That of the next round, which has so many requests."""
        if self._policy is None or not live:
            return now
        buckets = [
            one.runner.sizes[one.runner.bucket_for(**one.sizes(live))][one.decoder.dim]
            for one in self._bounds
        ]
        chosen = self._policy.choose(buckets)
        if type(chosen) is not int or not 0 <= chosen < len(self._bounds):
            raise ValueError(
                f"the policy chose {chosen!r}: should be the number of a schedule, from 0 to "
                f"{len(self._bounds) - 1}"
            )
        return self._bounds[chosen]

    def saw(self, bound: Bound, bucket: int, committed: Sequence[int], nanoseconds: int) -> None:
        """The tokens of a round of one of them were taken."""
        if self._policy is not None:
            self._policy.saw(self._bounds.index(bound), bucket, committed, nanoseconds)

    def swap(self, bound: Bound) -> None:
        """For the others, which are closed."""
        self.close()
        self._bounds = [bound]

    def close(self) -> None:
        for bound in self._bounds:
            bound.runner.close()
