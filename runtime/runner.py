"""Runs a program: phases bound to callables, buffers allocated, one round a step.

Depends on torch and the standard library alone: a schedule emitted as Python carries this file.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch

from plait.runtime.buckets import shown_sizes, smallest_bucket
from plait.runtime.devices.job import PhaseError
from plait.runtime.faults import tell
from plait.runtime.padding import Fill

REMEMBERED = 1024
"""Rounds of which it is known, when one has failed, what of them ran."""


class BindError(Exception):
    """What is bound does not fit the schedule: which phase or buffer, its line, what was expected."""


@contextmanager
def _for_any_thread() -> Iterator[None]:
    """Around the making of tensors: what is made here may be changed on any thread, in any mode."""
    with torch.inference_mode(False), torch.no_grad():
        yield


class Runner:
    """One schedule on one device. Not for several host threads at once.

    `step` issues a round and returns while it may still run; `drain` waits for everything issued.
    After an error of either nothing runs any more, and the next round may. A bucket's graphs are captured
    the first time it is used, or by `prepare`.

    `program` is the namespace of a program text. `bodies` maps phase names to callables, which get
    their buffers as keyword arguments, by the names in the spec: tensors to read, or to change in
    place. `nextn[1]` is bound to the body of that name, or else to `nextn`, called with `index=1`.
    `opaque` maps opaque buffers to a tensor, or a dict, list or tuple of tensors, or to a callable
    that makes one for the sizes of a bucket: once, at the largest, if a later round reads it. Without
    `arena` no buffer shares memory with another, and all may be looked at. Without `fallback` a capture
    that fails is an error. `around` gives what is called in a body's place, by the number of its phase.

    Raises BindError.
    """

    def __init__(
        self,
        program: Mapping[str, Any],
        bodies: Mapping[str, Callable],
        opaque: Mapping[str, Any] | None,
        device: Any,
        arena: bool = True,
        fallback: Any = None,
        peers: Any = None,
        around: Callable[[int, Callable], Callable] | None = None,
    ):
        for what, given in (("bodies", bodies), ("opaque", {} if opaque is None else opaque)):
            if not isinstance(given, Mapping):
                raise BindError(f"`{what}` maps names to what is bound to them; given is {given!r}")
        self.name: str = program["NAME"]
        self.device = device
        self.rounds = 0
        """Rounds issued so far."""
        self._tables = program
        self._sizes: list[dict[str, int]] = [sizes for sizes, *_ in program["BUCKETS"]]
        self._routes: list[dict[str, Any]] = [route for _, route, *_ in program["BUCKETS"]]
        self._waits: list[int] = [waits for _, _, waits, *_ in program["BUCKETS"]]
        self._rows: list[list[int]] = [rows for *_, rows, _ in program["BUCKETS"]]
        self._bodies = [self._body(bodies, *phase) for phase in program["PHASES"]]
        self.peers = peers
        """The other ranks, if there are any."""
        if peers is not None:
            self._bodies = peers.bodies(self._bodies)
        if around is not None:
            self._bodies = [around(*entry) for entry in enumerate(self._bodies)]
        self._given = dict(opaque or {})
        self._once: dict[int, list[Any]] = {}
        with _for_any_thread():
            self._arena = self._block(program["ARENA"]) if arena else None
            self._buffers = [self._allocate(*entry) for entry in enumerate(program["BUFFERS"])]
        self._names = {entry[0]: number for number, entry in enumerate(program["BUFFERS"])}
        self._streams = [
            device.stream(name, kind) if number else device.host()
            for number, (name, kind) in enumerate(program["STREAMS"])
        ]
        self._events = [device.events(*event) for event in program["EVENTS"]]
        self._fallback = fallback
        self._bound: dict[int, tuple[Any, ...]] = {}
        """Of each bucket the round, of every capture its graphs and what they take in, all that the round
        runs, and last the round of a rank that is idle."""
        self._begun: deque[tuple[int, int | None]] = deque(maxlen=REMEMBERED)
        """The newest rounds, with their buckets; None: of a rank that was idle."""
        self._used = [0] * len(self._sizes)
        self._lives: deque[dict[str, int]] = deque(maxlen=program["BACK"] + 1)
        """The sizes of the newest rounds, newest first."""
        self._sized = getattr(device, "sized", None)
        """A device that wants to know them."""
        self._trace = getattr(device, "trace", None)
        """What notes which bucket is bound, and which each round has."""
        self._failure: BaseException | None = None
        """Why nothing runs any more."""
        self._at_it = False
        """Whether a call has begun and not come to its end, as when an interrupt strikes in it."""

    def step(self, /, **live: Any) -> int:
        """Issues one round at the smallest bucket that holds these sizes; returns its number.

        Every dim of the spec is given, and every run-time param and guard: `step(bs=3, ready=True)`.
        Raises ValueError when no bucket holds them, the PhaseError of a phase that has failed, in this
        round or one in flight, and RuntimeError once the runner is closed or interrupted.
        """
        return self._issue(live, False)

    def idle(self, /, **live: Any) -> int:
        """As `step`, of a rank that has no requests: less the phases that are `skip_idle`.

        Given is what `step` is given, less the sizes, and less the guards that ranks vote on.
        """
        return self._issue(dict.fromkeys(self._sizes[-1], 0) | live, True)

    def _issue(self, live: dict[str, Any], idle: bool) -> int:
        if self.peers is not None:
            live = self.peers.wished(live, idle)
        number = self.bucket_for(**self._held(live, idle))
        self._check()
        self._at_it = True
        try:
            if self.peers is not None:
                agreed = self.peers.agree(self.rounds, live)
                number = self.bucket_for(**self._held(agreed, True))
            self._bind_for(number)
            if self.peers is not None:
                self.peers.issue(number, self.rounds, idle)
            for stream in self._streams:
                stream.begin(self.rounds)
            self._begun.append((self.rounds, None if idle else number))
            self._lives.appendleft({dim: live[dim] for dim in self._sizes[number]})
            if self._sized is not None:
                self._sized(self._lives)
            if self._trace is not None:
                self._trace.begin(self.rounds, number, self._lives[0])
            self._bound[number][-1 if idle else 0](self.rounds, self._lives)
            self._streams[0].leave()
            if self.peers is not None:
                self.peers.issued()
        except Exception as error:
            self._recover(error)
            raise
        self._used[number] += 1
        self.rounds += 1
        self._at_it = False
        return self.rounds - 1

    def drain(self) -> None:
        """Waits until everything issued is done. Raises what `step` raises."""
        with self._whole():
            self.device.synchronize()

    def prepare(
        self, progress: Callable[[str], None] = lambda bucket: None, /, **live: Any
    ) -> None:
        """Binds buckets now, the largest first, so that the first rounds are not slower.

        All of them, or with sizes given those up to the one that holds them. Raises what `step` raises.
        """
        self._check()
        last = self.bucket_for(**live) if live else len(self._sizes) - 1
        if self.peers is not None and self.peers.together:
            last = len(self._sizes) - 1
        for number in reversed(range(last + 1)):
            if number not in self._bound:
                progress(self._shown(number))
                with self._whole():
                    self._bind(number)

    def follow(self, before: Runner) -> None:
        """Counts on from the rounds of another schedule, whose live rows are those of the rounds before."""
        self.rounds = before.rounds
        if self._sizes[-1].keys() == before._sizes[-1].keys():
            self._lives.extend(before._lives)

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """Around what cannot be done half: an interrupt ends the runner."""
        self._check()
        self._at_it = True
        try:
            yield
        except Exception as error:
            self._recover(error)
            raise
        self._at_it = False

    def _recover(self, error: Exception) -> None:
        """After an error: nothing runs any more, the error says what had run, and the next round may.

        Not where there are ranks: the others wait for what this one does not do.
        """
        if self.peers is not None:
            self._failure = error
            self.peers.failed(error)
            return
        try:
            others = [one for one in self.device.recover() if one is not error]
        except Exception as lost:
            self._failure = lost
            return
        begun = {
            round: self._bound[bucket][3] for round, bucket in self._begun if bucket in self._bound
        }
        if isinstance(error, PhaseError):
            tell(error, others, begun, self._tables["KEPT"])
        if self._begun and self._begun[-1][0] == self.rounds:
            self.rounds += 1  # its number is used up, as what it wrote is
        self._at_it = False

    def _check(self) -> None:
        """Raises what has gone wrong before."""
        if self._at_it and self._failure is None:
            what = f"was interrupted in round {self.rounds} and runs nothing more"
            self._failure = RuntimeError(f"the runner of {self.name} {what}")
        if self._failure is not None:
            raise self._failure

    def bucket_for(self, /, **live: Any) -> int:
        """The number of the smallest bucket that holds these sizes, on that route. Raises ValueError."""
        return smallest_bucket(self.name, self._sizes, self._routes, live)

    def buffer(self, name: str, rounds_back: int = 0) -> Any:
        """A buffer at its largest size: the copy that the newest round, or an earlier one, used.

        Before the first round, that of the round to come. Touch it only after `drain`. Raises KeyError,
        and ValueError for a buffer or a copy whose memory is another's by now.
        """
        if name not in self._names:
            raise KeyError(f"{self.name} has no buffer `{name}`; it has {', '.join(self._names)}")
        copies = self._buffers[self._names[name]]
        if self._arena is not None and self._tables["BUFFERS"][self._names[name]][5] is not None:
            raise ValueError(
                f"`{name}` of {self.name} shares memory with other buffers, so a round leaves nothing in "
                "it: declare it `carried`, or bind with `arena=False`"
            )
        if not copies:
            raise KeyError(
                f"`{name}` of {self.name} is made for each bucket anew: its maker has them"
            )
        if not 0 <= rounds_back < len(copies):
            have = f"`{name}` has {len(copies)} cop{'y' if len(copies) == 1 else 'ies'}"
            raise ValueError(
                f"rounds_back = {rounds_back}: {have}, of rounds 0 to {len(copies) - 1} back"
            )
        return copies[(max(self.rounds - 1, 0) - rounds_back) % len(copies)]

    def copies(self) -> dict[str, list[Any]]:
        """Of every buffer, its copies at their largest; none where it is made for each bucket anew."""
        return {name: list(self._buffers[number]) for name, number in self._names.items()}

    @property
    def bucket(self) -> int | None:
        """The number of the bucket of the newest round; None: there was none, or its rank was idle."""
        return self._begun[-1][1] if self._begun else None

    @property
    def sizes(self) -> list[dict[str, int]]:
        """Of every bucket, smallest first."""
        return self._sizes

    def counts(self) -> list[dict[str, Any]]:
        """What ran, bucket by bucket: rounds, waits, and for every graph its rows, replays and bytes.

        `lost` are captures that are no graphs there, each with why and how many rounds did without.
        """
        found = []
        for number, sizes in enumerate(self._sizes):
            graphs = {}
            for name, rows, turns, inputs in zip(
                self._tables["CAPTURES"], self._rows[number], *self._graphs(number), strict=True
            ):
                if not rows:
                    continue  # it has no part in this bucket
                graphs[name] = {
                    "rows": rows,
                    "replays": sum(graph.replays for graph in turns),
                    "phases": list(turns[0].phases) if turns else [],
                    "bytes": sum(graph.taken for graph in turns)
                    + sum(self.device.size(one) for one in inputs),
                }
            waits = self._waits[number] * self._used[number]
            entry = {
                "sizes": sizes,
                "route": self._routes[number],
                "rounds": self._used[number],
                "waits": waits,
                "graphs": graphs,
                "lost": []
                if self._fallback is None
                else self._fallback.in_bucket(self._shown(number)),
            }
            found.append(entry)
        return found

    def memory(self) -> int:
        """Bytes of the memory that was allocated for buffers: the arena, and what is not in it."""
        found = 0 if self._arena is None else self._tables["ARENA"]
        for entry, copies in zip(self._tables["BUFFERS"], self._buffers, strict=True):
            if self._arena is None or entry[5] is None:
                found += sum(self.device.size(copy) for copy in copies)
        return found

    def close(self) -> None:
        """Ends the device's threads; what they have not begun is not run, nor anything afterwards."""
        self._failure = self._failure or RuntimeError(f"the runner of {self.name} is closed")
        if self.peers is not None:
            self.peers.close()
        self.device.close()

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None and self._failure is None and not self._at_it:  # else it has been told
                self.drain()
        finally:
            self.close()

    def _graphs(self, number: int) -> tuple[list[list[Any]], list[list[Any]]]:
        """Of every capture its graphs at a bucket, and what they take in."""
        if number in self._bound:
            return self._bound[number][1:3]
        none: list[list[Any]] = [[] for _ in self._tables["CAPTURES"]]
        return none, none

    def _shown(self, number: int) -> str:
        """A bucket in words."""
        return shown_sizes({**self._sizes[number], **self._routes[number]})

    def _held(self, live: dict[str, Any], idle: bool) -> dict[str, Any]:
        """The sizes that a bucket has to hold: of no rows, those of one."""
        if not idle:
            return live
        return {n: 1 if n in self._sizes[-1] and size == 0 else size for n, size in live.items()}

    def _bind_for(self, number: int) -> None:
        """Binds a bucket if that is left to do: all, where ranks have to do so together."""
        if number in self._bound:
            return
        together = self.peers is not None and self.peers.together
        for one in reversed(range(len(self._sizes))) if together else (number,):
            if one not in self._bound:
                self._bind(one)

    def _bind(self, number: int) -> None:
        self.device.synchronize()  # a capture touches the buffers that rounds in flight use
        if self.peers is not None:
            self.peers.before_binding(number, shown_sizes(self._sizes[number]))
        *_, bind = self._tables["BUCKETS"][number]
        if self._fallback is not None:
            bind = partial(self._fallback.bind, self._shown(number), bind)
        if self._trace is not None:
            self._trace.binding = number
        tables = self._bodies, self._buffers, self._opaque, Fill, self._streams, self._events
        with _for_any_thread():
            self._bound[number] = bind(self.device, *tables)
        if self.peers is not None:
            self.peers.bound(self._bound[number][1])

    def _block(self, size: int) -> Any:
        """Memory for all buffers that share some; None: there are none."""
        if not size:
            return None
        try:
            return self.device.block(size)
        except (OSError, RuntimeError, MemoryError) as error:
            what = f"the {size} bytes that buffers share"
            raise BindError(f"there is no memory for {what}: {error}") from None

    def _allocate(self, number: int, entry: tuple) -> list[Any]:
        name, dtype, shape, memory, copies, offset, _ = entry
        if offset is not None and self._arena is not None:
            return [self.device.part(self._arena, offset, dtype, shape)]
        if dtype != "opaque":
            try:
                return [self.device.empty(dtype, shape, memory) for _ in range(copies)]
            except (RuntimeError, MemoryError) as error:
                what = f"the buffer `{name}`, {copies} x {dtype}{list(shape)}"
                raise BindError(f"there is no memory for {what}: {error}") from None
        if name not in self._given:
            raise BindError(f"the opaque buffer `{name}` is not bound: give `opaque` a `{name}`")
        if entry[-1] or not callable(self._given[name]):
            return self._opaque(number, self._sizes[-1], copies)
        return []

    def _opaque(self, number: int, sizes: dict[str, int], copies: int) -> list[Any]:
        """What stands for an opaque buffer at a bucket, one a copy."""
        name, *_, later = self._tables["BUFFERS"][number]
        if number in self._once:
            return self._once[number]
        given = self._given[name]
        if not callable(given):
            if copies != 1:
                what = f"the opaque buffer `{name}` has {copies} copies"
                raise BindError(f"{what}: bind it to a callable that makes one")
            self._once[number] = [self._tensors(name, given)]
            return self._once[number]
        try:
            made = [given(**sizes) for _ in range(copies)]
        except Exception as error:
            what = f"what makes the opaque buffer `{name}` failed for {shown_sizes(sizes)}"
            raise BindError(f"{what}: {type(error).__name__}: {error}") from error
        made = [self._tensors(name, one) for one in made]
        if later:
            self._once[number] = made
        return made

    def _tensors(self, name: str, value: Any) -> Any:
        try:
            self.device.tensors(value)
        except TypeError as error:
            raise BindError(
                f"what is bound to the opaque buffer `{name}` does not do: {error}"
            ) from None
        return value

    def _body(
        self,
        bodies: Mapping[str, Callable],
        name: str,
        base: str,
        index: int | None,
        arguments: list[str],
        place: str,
    ) -> Callable:
        body = bodies.get(name)
        if body is None and base in bodies:
            body = bodies[base]
        else:
            index = None
        if body is None:
            raise BindError(f"{place}: no body is bound for the phase `{name}`")
        if not callable(body):
            raise BindError(f"{place}: what is bound for `{name}` is no callable: {body!r}")
        for does_not_run in (
            inspect.iscoroutinefunction,
            inspect.isgeneratorfunction,
            inspect.isasyncgenfunction,
        ):
            if does_not_run(body) or does_not_run(getattr(body, "__call__", None)):  # noqa: B004
                raise BindError(
                    f"{place}: the body of `{name}` is `async` or a generator: calling it would not run it"
                )
        if index is not None:
            if "index" in arguments:
                raise BindError(
                    f"{place}: `{name}` has an argument `index`, and its body is called with the index "
                    f"under that name: write `as` another name, or bind `{name}` to a body of its own"
                )
            body = partial(body, index=index)
        try:
            signature = inspect.signature(body)
        except ValueError:  # a builtin without one
            return body
        try:
            signature.bind(**dict.fromkeys(arguments))
        except TypeError as error:
            given = ", ".join(arguments) or "nothing"
            message = (
                f"{place}: the body of `{name}` does not take what the phase gives it ({given})"
            )
            raise BindError(f"{message}: {error}") from None
        return body
