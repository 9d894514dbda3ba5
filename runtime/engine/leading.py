"""What rank 0 tells the other ranks to do next, as a number that all of them settle on.

Requests are in rows of rank 0 alone; the others have their part of the experts, take part in each round
without rows, and in each prompt.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar, runtime_checkable

from plait.runtime.devices.base import Device
from plait.runtime.engine.bound import Binder, Bound
from plait.runtime.engine.decoder import Decoder
from plait.runtime.engine.traced import taken_out
from plait.runtime.ranks.group import Ranks
from plait.runtime.ranks.peers import Peers
from plait.runtime.runner import BindError

Found = TypeVar("Found")

NEXT = "the next step, as rank 0 says it"
NOTHING, PROMPT, ROUND, END = range(4)
BEATS = 4
"""How often rank 0 is heard of, in the time that ranks wait for each other, when it has nothing to do."""
SLOWEST = 1.0
"""Seconds from one to the next, at most: a rank that dies meanwhile is soon known of."""
IN_FLIGHT = 2
"""Rounds behind the newest, by which what is left of a trace is over."""


@runtime_checkable
class OnRanks(Protocol):
    """What a decoder has beside whose model is spread over ranks."""

    group: str
    """Whose ranks exchange rows."""

    def pass_by(self) -> None:
        """Takes part in the prompt of another rank."""
        ...


class Leader:
    """Of a rank that is alone: there is nobody to tell."""

    beat: float | None = None
    """Seconds after which the others must have heard of it."""
    asked_to_end = False
    """Whether a rank was told to end, or nobody is there any more who launched them: then all are to."""

    @staticmethod
    def of(bound: Bound) -> Leader:
        """Raises BindError for a decoder that other ranks could not take part in."""
        peers = bound.runner.peers
        return Leader() if peers is None else _First(peers, on_ranks(bound.decoder).group)

    def around(self, call: Callable[[], Found]) -> Found:
        """A call that runs a prompt."""
        return call()

    def round(self) -> None:
        """A round is about to be issued."""

    def nothing(self) -> None:
        """There is nothing to do."""

    def end(self) -> None:
        """No round comes any more."""


class _First(Leader):
    def __init__(self, peers: Peers, group: str):
        self.beat = min(peers.seconds / BEATS, SLOWEST)
        self._peers = peers
        self._group = group

    def around(self, call: Callable[[], Found]) -> Found:
        self._tell(PROMPT)
        return self._peers.between("a prompt", self._group, call)

    def round(self) -> None:
        self._tell(ROUND)

    def nothing(self) -> None:
        self._tell(NOTHING)

    def end(self) -> None:
        self._tell(END)

    def _tell(self, what: int) -> None:
        _, leaving = self._peers.settle(NEXT, what, int(self._peers.alone))
        self.asked_to_end = self.asked_to_end or bool(leaving)


def follow(
    decoder: Decoder,
    ranks: Ranks,
    *,
    device: str | Callable[[], Device] = "cpu",
    trace: bool = False,
    begun: Callable[[], None] = lambda: None,
    leaving: Callable[[], bool] = lambda: False,
) -> list[dict[str, Any]]:
    """What every rank but the first calls: takes part in all that the engine of rank 0 does, to its end.

    `trace` is as the engine has it. `begun` is called when it is bound; while `leaving` says so, rank 0 is
    asked to end, as `engine.asked_to_end` tells there. Returns what the runner counts. Raises BindError, and
    RankError when rank 0 does not come.
    """
    other = on_ranks(decoder)
    bound = Binder(_nobody, device, strict=True, traced=trace, ranks=ranks)(decoder)
    with bound.runner as runner:
        runner.prepare()
        begun()
        peers = runner.peers
        while (what := peers.settle(NEXT, NOTHING, int(leaving()))[0]) != END:
            if what == ROUND:
                taken_out(bound.trace, runner.idle() - IN_FLIGHT)
            elif what == PROMPT:
                runner.drain()
                peers.between("a prompt", other.group, other.pass_by)
        return runner.counts()


def on_ranks(decoder: Decoder) -> OnRanks:
    """Raises BindError."""
    if not isinstance(decoder, OnRanks):
        raise BindError(
            f"{type(decoder).__name__} has no `group` and no `pass_by`, which a model on several ranks needs"
        )
    return decoder


def _nobody(**published: object) -> None:
    """Takes no tokens: a rank without requests has none."""
