"""Requests that come to an engine and leave it, drawn at random, and what must hold of each."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from drawing.counted import Counted, counted, plain
from plait import Engine, Observer, Prompt, QueueFull, RequestError
from plait.runtime.engine.piece import End, Piece

SCHEDULES = [counted(), counted(most=1), counted(most=4, buckets=[2, 4]), counted(buckets=[4, 8])]

PLAYS = {
    "requests": st.lists(st.deferred(lambda: asked()), min_size=1, max_size=12),
    "broken": st.sets(st.integers(1, 40), max_size=6),
    "swaps": st.lists(st.sampled_from(SCHEDULES), max_size=3),
    "room": st.sampled_from([40, 90, 1 << 30]),
    "queue": st.integers(0, 12),
}
"""Arguments of `play`."""


@dataclass(frozen=True)
class Asked:
    prompt: Prompt
    after: int
    """Turns of the event loop before it is submitted."""
    leaves: int | None
    """Pieces after which its reader cancels; None: it reads to the end."""
    how: str
    """`cancel`, `break` or `task`."""
    wait: bool


@st.composite
def asked(draw: st.DrawFn) -> Asked:
    prompt = Prompt(
        tuple(draw(st.lists(st.integers(0, 96), min_size=1, max_size=14))),
        draw(st.integers(1, 24)),
        stop_tokens=frozenset(draw(st.sets(st.integers(0, 96), max_size=4))),
        priority=draw(st.integers(0, 2)),
        deadline=draw(st.sampled_from([None, None, None, 0.0, 0.002, 30.0])),
        name=draw(st.sampled_from(["", "", "", "", "never"])),
    )
    leaves = draw(st.none() | st.integers(0, 5))
    how = draw(st.sampled_from(["cancel", "break", "task"]))
    return Asked(prompt, draw(st.integers(0, 30)), leaves, how, draw(st.booleans()))


class Ends(Observer):
    def __init__(self) -> None:
        self.ends: list[tuple[int, End, int]] = []

    def ended(self, told: Any) -> None:
        self.ends.append((told.request.number, told.end, told.tokens))


async def read(engine: Engine, one: Asked) -> tuple[list[Piece], bool]:
    """Pieces, and whether it was accepted."""
    for _ in range(one.after):
        await asyncio.sleep(0)
    try:
        stream = engine.submit(one.prompt, wait=one.wait)
    except (QueueFull, RequestError):
        return [], False
    pieces: list[Piece] = []
    if one.leaves == 0 and one.how == "cancel":
        stream.cancel()
    async for piece in stream:
        pieces.append(piece)
        if len(pieces) == one.leaves:
            if one.how == "break":
                break
            if one.how == "task":
                task = asyncio.ensure_future(anext(stream))
                await asyncio.sleep(0)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                break
            stream.cancel()
    return pieces, True


def play(
    requests: list[Asked], broken: set[int], swaps: list[Any], room: int, queue: int
) -> dict[End, int]:
    """How many ended how. What comes of each is the beginning of what plain decoding gives, all of it if
    nothing was in the way; each ends once, and nothing is held afterwards."""
    decoder, ends = Counted(SCHEDULES[0], room), Ends()
    decoder.broken = broken

    async def swapping(engine: Engine) -> None:
        for schedule in swaps:
            await engine.swap(schedule)

    async def work() -> list[tuple[list[Piece], bool]]:
        async with Engine(decoder, queue=queue, observers=[ends]) as engine:
            results = asyncio.gather(*(read(engine, one) for one in requests))
            await swapping(engine)
            found = await results
            await engine.drain()
            assert set((await engine.held()).values()) == {0}
            assert engine.live == engine.waiting == 0
            return found

    found = asyncio.run(asyncio.wait_for(work(), 60))
    assert [number for number, *_ in sorted(ends.ends)] == list(range(sum(ok for _, ok in found)))
    for one, (pieces, accepted) in zip(requests, found, strict=True):
        if not accepted:
            continue
        tokens = [token for piece in pieces for token in piece.tokens]
        want = plain(one.prompt)
        assert tokens == want[: len(tokens)]
        assert [piece.end for piece in pieces[:-1]] == [None] * len(pieces[:-1])
        end = pieces[-1].end if pieces else None
        if end in (End.STOP, End.LENGTH):
            assert tokens == want
            assert (end is End.STOP) == (len(want) < one.prompt.max_tokens)
        elif end is End.FAILED:
            assert (
                one.prompt.name == "never"
                or len(one.prompt.tokens) + one.prompt.max_tokens > room
                or broken
            )
        elif end is End.DEADLINE:
            assert one.prompt.deadline is not None
        else:
            assert one.leaves is not None
    assert decoder.rows == {} and decoder.begun == []
    return Counter(end for _, end, _ in ends.ends)
