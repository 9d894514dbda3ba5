"""Whatever comes and goes, every accepted request ends once, with the beginning of its own tokens."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from drawing.counted import Counted, counted, plain
from plait import Engine, Observer, Prompt, QueueFull, RequestError
from plait.runtime.engine.piece import End, Piece
from plait.runtime.engine.text import Text

SCHEDULES = [counted(), counted(most=1), counted(most=4, buckets=[2, 4]), counted(buckets=[4, 8])]


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
        stop=frozenset(draw(st.sets(st.integers(0, 96), max_size=4))),
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


@settings(max_examples=40)
@given(
    requests=st.lists(asked(), min_size=1, max_size=12),
    broken=st.sets(st.integers(1, 40), max_size=6),
    swaps=st.lists(st.sampled_from(SCHEDULES), max_size=3),
    room=st.sampled_from([40, 90, 1 << 30]),
    queue=st.integers(0, 12),
)
def test_every_request_ends_once(
    requests: list[Asked], broken: set[int], swaps: list[Any], room: int, queue: int
) -> None:
    """Joins, leaves, cancels, deadlines, faults, swaps and little room change who gets how much, and nothing
    else: what comes is the beginning of what plain decoding gives, all of it if nothing was in the way."""
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
            assert (end is End.STOP) == (len(want) < one.prompt.most)
        elif end is End.FAILED:
            assert (
                one.prompt.name == "never"
                or len(one.prompt.tokens) + one.prompt.most > room
                or broken
            )
        elif end is End.DEADLINE:
            assert one.prompt.deadline is not None
        else:
            assert one.leaves is not None
    assert decoder.rows == {} and decoder.begun == []


@given(
    text=st.text("ab\N{SNOWMAN}\N{GRINNING FACE}", max_size=20),
    stops=st.lists(st.text("ab\N{SNOWMAN}", min_size=1, max_size=3), max_size=3),
    sizes=st.lists(st.integers(1, 3), min_size=1),
)
def test_text_in_parts_is_the_text_before_the_first_stop(
    text: str, stops: list[str], sizes: list[int]
) -> None:
    """Tokens of a few bytes, which break letters, give the text that all of them decode to, cut at the stop
    that was complete first; no part is taken back."""
    data, parts = text.encode(), []
    while data:
        size = sizes[len(parts) % len(sizes)]
        parts.append(data[:size])
        data = data[size:]

    def decode(tokens: Any) -> str:
        return b"".join(parts[token] for token in tokens).decode(errors="replace")

    reader, found = Text(decode, stops), ""
    for token in range(len(parts)):
        found += reader.take(token)
        if reader.stopped:
            break
    found += reader.rest()
    ends = [(at + len(stop), at) for stop in stops if (at := text.find(stop)) >= 0]
    assert reader.stopped == bool(ends)
    assert text.startswith(found)
    if not ends:
        assert found == text
    else:
        assert not any(stop in found for stop in stops)
