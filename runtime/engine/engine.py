"""`plait.Engine`: requests in, tokens out.

Everything that is public runs on one event loop; rounds run on a thread behind it. The two hand each
other calls and share nothing else, but for the marks that a request is cancelled, or read whole.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from plait.runtime.devices.base import Device
from plait.runtime.engine import observer as told
from plait.runtime.engine.bound import Binder
from plait.runtime.engine.changes import Swap
from plait.runtime.engine.check import check_prompt
from plait.runtime.engine.decoder import Decoder
from plait.runtime.engine.observer import Observer
from plait.runtime.engine.outbox import Call
from plait.runtime.engine.piece import End, Piece
from plait.runtime.engine.places import Places
from plait.runtime.engine.policy import Policy
from plait.runtime.engine.prompt import Prompt
from plait.runtime.engine.raised import words
from plait.runtime.engine.reported import check_reports
from plait.runtime.engine.rounds import Rounds
from plait.runtime.engine.stream import Mailbox, Stream
from plait.runtime.engine.text import Decode
from plait.runtime.engine.ticket import Ticket
from plait.runtime.schedule import Schedule

if TYPE_CHECKING:
    from plait.runtime.ranks.group import Ranks

log = logging.getLogger("plait")

PREPARED = "is being prepared"


class QueueFull(Exception):
    """As many requests wait as may: try again later, or `submit(prompt, wait=True)`."""


class EngineClosed(RuntimeError):
    """The engine takes no requests: it has not begun, drains, is closed, or has failed."""


class Engine:
    """Continuous batching over a decoder; use it with `async with`, which drains it when left in peace.

    The queue is served by priority, the lowest first, and of one priority as requests came. `queue`: how
    many may wait, beside as many as there are rows. `decode` gives the text of tokens: with it pieces
    have text, and prompts may have stop texts. With `policy`, it chooses before each round among
    `schedules`. `device` is a name, or makes a device for each schedule. With `trace`, observers are told
    what ran in each round. With `ranks` this is the first of them; the others call `follow`. `prepare`
    and `strict` as in `bind`. Raises ValueError for a queue of less than none, and for schedules that no
    policy chooses from; BindError for one that gives log probabilities of fewer tokens than the decoder's.
    """

    def __init__(
        self,
        decoder: Decoder,
        *,
        device: str | Callable[[], Device] = "cpu",
        queue: int = 64,
        schedules: Sequence[Schedule] = (),
        policy: Policy | None = None,
        decode: Decode | None = None,
        observers: Iterable[Observer] = (),
        prepare: bool | Callable[[str], None] = True,
        strict: bool = False,
        trace: bool = False,
        ranks: Ranks | None = None,
    ):
        if queue < 0:
            raise ValueError(f"queue={queue}: should be how many requests may wait, from 0")
        if schedules and policy is None:
            raise ValueError("schedules are for a policy to choose from: give `policy` too")
        for schedule in schedules:
            check_reports(schedule, decoder.schedule)
        self.decoder = decoder
        self.failure: BaseException | None = None
        """Why it runs no more, if it has failed."""
        self._decode = decode
        self._observers = tuple(observers)
        self._policy = policy
        slots = dict(decoder.schedule.widest.sizes)[decoder.dim]
        self._places = Places(slots + queue)
        self._count = 0
        self._refusing = "has not begun: use `async with`"
        self._swapping = asyncio.Lock()
        traced = trace and bool(self._observers)  # else nobody would empty the trace
        self._rounds = Rounds(
            decoder,
            schedules=schedules,
            policy=policy,
            binder=lambda commit: Binder(
                commit, device, strict or ranks is not None, traced, ranks
            ),
            prepare=prepare or ranks is not None,
            say=self._say,
            watch=self._watch if self._observers else None,
        )

    async def __aenter__(self) -> Engine:
        """Binds on the thread of its rounds. Raises what `bind` raises."""
        if self._refusing != "has not begun: use `async with`":
            raise EngineClosed(f"the engine {self._refusing}")
        self._loop = asyncio.get_running_loop()
        self._home = threading.get_ident()
        self._begun: asyncio.Future[None] = self._loop.create_future()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._refusing = PREPARED
        self._thread = threading.Thread(
            target=self._rounds.run,
            args=(self._has_begun, self._has_ended),
            name="plait engine",
            daemon=True,
        )
        self._thread.start()
        try:
            await asyncio.shield(self._begun)
            if self._refusing != PREPARED:
                raise EngineClosed(f"the engine {self._refusing}")
        except BaseException:
            await self.close()
            raise
        self._refusing = ""
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *error: object) -> None:
        try:
            if kind is None and self.failure is None:
                await self.drain()
        finally:
            await self.close()

    def submit(self, prompt: Prompt, *, wait: bool = False) -> Stream:
        """Gives it a request. With `wait` one too many waits for a place, as `accepted` of its stream does.

        Raises QueueFull, EngineClosed, RequestError for one that could never be served, and RuntimeError on
        another thread than that of its event loop.
        """
        if self._refusing:
            raise EngineClosed(f"the engine {self._refusing}")
        self._check_here()
        check_prompt(prompt, self.decoder, self._decode is not None)
        if self._places.full and not wait:
            there = len(self._places.open)
            raise QueueFull(
                f"there are {there} requests, as many as are taken at a time: try again later"
            )
        number = self._count
        self._count += 1
        mailbox = Mailbox()
        ticket = Ticket(number, prompt, partial(self._deliver, number), self._decode)
        accepted = self._places.add(ticket, mailbox)
        self._watch("queued", told.Request(number, prompt), self.waiting)
        self._rounds.ask(partial(self._rounds.submit, ticket))
        return Stream(number, mailbox, ticket, partial(self._cancel, ticket), accepted)

    async def drain(self) -> None:
        """Takes no more requests, and returns when those it has have ended."""
        self._check_here()
        if self._refusing in ("", PREPARED):
            self._refusing = "drains"
        await self._places.emptied()

    async def close(self) -> None:
        """Ends what is left as cancelled, and the thread with it."""
        if not hasattr(self, "_thread"):
            return
        self._check_here()
        if self.failure is None:
            self._refusing = "is closed"
        self._rounds.ask(self._rounds.stop)
        await asyncio.shield(self._ended)
        self._thread.join()

    async def swap(self, schedule: Schedule) -> None:
        """Goes over to another schedule between two rounds; no token is another for it.

        It is bound while rounds go on; they stand still while its graphs are captured. Raises what `bind`
        raises, BindError for one the decoder has no bodies for or that gives fewer log probabilities,
        ValueError where a policy chooses, and EngineClosed; then rounds go on as before.
        """
        check_reports(schedule, self.decoder.schedule)
        if self._policy is not None:
            raise ValueError("a policy chooses the schedule of each round")
        if self._refusing:
            raise EngineClosed(f"the engine {self._refusing}")
        self._check_here()
        if self._rounds.binder.ranks is not None:
            raise ValueError("ranks have one schedule, which they have all bound")
        task = asyncio.ensure_future(self._swap(schedule))
        task.add_done_callback(_heard)  # whoever asked may have been cancelled
        await asyncio.shield(task)

    async def held(self) -> Mapping[str, int]:
        """What of the decoder's memory is in use, by name, such as `pages`. Raises EngineClosed."""
        if self._refusing not in ("", "drains"):
            raise EngineClosed(f"the engine {self._refusing}")
        self._check_here()
        found = self._loop.create_future()
        self._rounds.ask(partial(self._rounds.held, partial(_set, found)))
        await asyncio.wait([found, self._ended], return_when=asyncio.FIRST_COMPLETED)
        if not found.done():
            raise EngineClosed(f"the engine {self._refusing}")
        return found.result()

    @property
    def schedule(self) -> Schedule:
        """That of the newest round."""
        return self._rounds.schedule

    @property
    def asked_to_end(self) -> bool:
        """Whether one of its other ranks was told to end: then it should drain, which ends all."""
        return self._rounds.asked_to_end

    @property
    def places(self) -> int:
        """Requests that are taken at a time."""
        return self._places.count

    @property
    def waiting(self) -> int:
        """Requests that are in no row yet."""
        return self._places.waiting

    @property
    def live(self) -> int:
        """Requests that are in rows."""
        return self._places.live

    async def _swap(self, schedule: Schedule) -> None:
        async with self._swapping:
            rounds, done = self._rounds, self._loop.create_future()
            decoder = rounds.rows.bound.decoder
            bound = await asyncio.to_thread(rounds.bound_to, decoder, schedule)
            rounds.ask(partial(rounds.swap, Swap(bound, partial(_settle, done))))
            await asyncio.wait([done, self._ended], return_when=asyncio.FIRST_COMPLETED)
            if not done.done():  # nobody has taken it
                bound.runner.close()
                raise EngineClosed(f"the engine {self._refusing}")
            done.result()

    def _check_here(self) -> None:
        if hasattr(self, "_home") and threading.get_ident() != self._home:
            raise RuntimeError(
                "the engine is on the event loop of another thread: ask it there, as with "
                "`asyncio.run_coroutine_threadsafe`"
            )

    def _cancel(self, ticket: Ticket) -> None:
        ticket.cancelled = True
        self._rounds.ask(self._rounds.cancel)

    # From the thread of the rounds

    def _say(self, calls: list[Call]) -> None:
        try:
            self._loop.call_soon_threadsafe(_call, calls)
        except RuntimeError:  # the event loop is closed: nobody is there any more
            self._rounds.stop()

    # On the event loop again

    def _has_begun(self) -> None:
        if not self._begun.done():
            self._begun.set_result(None)

    def _has_ended(self, failure: BaseException | None) -> None:
        self.failure = failure
        if failure is not None:
            self._refusing = f"has failed: {words(failure)}"
        if not self._begun.done():
            if failure is None:
                self._begun.cancel()
            else:
                self._begun.set_exception(failure)
                _heard(self._begun)
        why, said = (End.CANCELLED, "") if failure is None else (End.FAILED, words(failure))
        for ticket in self._places.open:
            ticket.put(ticket.close(why, said))
        self._ended.set_result(None)

    def _deliver(self, number: int, piece: Piece) -> None:
        ticket = self._places.deliver(number, piece)
        if ticket is not None and piece.end is not None:
            request = told.Request(number, ticket.prompt)
            seconds = time.monotonic() - ticket.given
            ended = told.Ended(request, piece.end, len(ticket.tokens), seconds, piece.error)
            self._watch("ended", ended)

    def _watch(self, what: str, *event: Any) -> None:
        for observer in self._observers:
            try:
                getattr(observer, what)(*event)
            except (Exception, asyncio.CancelledError):
                log.exception("%r failed when it was told that %s", observer, what)


def _call(calls: Iterable[Call]) -> None:
    for call in calls:
        call()


def _heard(future: asyncio.Future[Any]) -> None:
    """What it raises is no news to asyncio's log, should nobody wait for it."""
    if not future.cancelled():
        future.exception()


def _set(future: asyncio.Future[Any], value: object) -> None:
    if not future.done():
        future.set_result(value)


def _settle(future: asyncio.Future[None], error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)
