"""An engine is a guest in its process: what torch was told there stays as it was."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import asyncio

import torch

from drawing.counted import Counted, counted, plain
from plait import Engine, Prompt

prompt = Prompt((1,), 8)


async def threads():
    return torch.get_num_threads(), await asyncio.to_thread(torch.get_num_threads)


async def work():
    async with Engine(Counted(counted())) as engine:
        assert list((await engine.submit(prompt).whole()).tokens) == plain(prompt)
        during = await threads()
    return [during, await threads()]


torch.set_num_threads(3)
print(asyncio.run(work()))
"""


def test_threads_that_come_later_have_what_the_program_has_set(root: Path) -> None:
    """While rounds run on threads of one each, and when they have ended, the program's as any new one's; in a
    process of its own, as what tests before have left running may tell torch something too."""
    path = os.pathsep.join([str(root / "src"), str(root / "tests")])
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        timeout=300,
    )
    assert ran.stdout == "[(3, 3), (3, 3)]\n", ran.stderr[-2000:]
