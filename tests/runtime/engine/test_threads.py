"""An engine is a guest in its process: what torch was told there stays as it was."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
import torch

from drawing.counted import Counted, counted, plain
from plait import Engine, Prompt


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_threads_that_come_later_have_what_the_program_has_set() -> None:
    """While rounds run on threads of one each, and when they have ended, this one's as any new one's."""
    torch.set_num_threads(3)
    prompt = Prompt((1,), 8)

    async def threads() -> tuple[int, int]:
        return torch.get_num_threads(), await asyncio.to_thread(torch.get_num_threads)

    async def work() -> list[tuple[int, int]]:
        async with Engine(Counted(counted())) as engine:
            assert list((await engine.submit(prompt).whole()).tokens) == plain(prompt)
            during = await threads()
        return [during, await threads()]

    assert asyncio.run(work()) == [(3, 3)] * 2
