"""Programs on several ranks, launched as torchrun does it, by one who sees how each of them ends."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from torch.distributed import TCPStore  # pyright: ignore[reportPrivateImportUsage]

SERVE = ("-m", "plait", "serve", "--port", "0")
SECONDS = "20"
"""For which a rank waits for the other."""
LONGEST = 120
"""Seconds, after which a test fails that waits for a rank."""


class Ranks:
    """`arguments`: of each rank's program. What they say goes to files of the folder."""

    def __init__(
        self, folder: Path, *arguments: Sequence[str], program: Sequence[str], at: Path | None
    ):
        folder.mkdir()
        self.errors = [folder / f"{rank}.err" for rank in range(len(arguments))]
        self.out = [folder / f"{rank}.out" for rank in range(len(arguments))]
        self._store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
        environment = os.environ | {
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(self._store.port),
            "WORLD_SIZE": str(len(arguments)),
            "TORCHELASTIC_USE_AGENT_STORE": "True",
            "OMP_NUM_THREADS": "1",
            "PLAIT_WATCHDOG_S": SECONDS,
        }
        self.processes = []
        for rank, own in enumerate(arguments):
            with self.out[rank].open("wb") as out, self.errors[rank].open("wb") as errors:
                self.processes.append(
                    subprocess.Popen(
                        [sys.executable, *program, *own],
                        cwd=at,
                        stdout=out,
                        stderr=errors,
                        env=environment | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
                    )
                )

    def said(self, rank: int) -> str:
        return self.errors[rank].read_text()

    def wait_ready(self) -> int:
        """The port of the first, when all are ready."""
        until = time.monotonic() + LONGEST
        while not all('"event": "ready"' in self.said(rank) for rank in range(len(self.errors))):
            ended = [process.poll() for process in self.processes]
            assert ended == [None] * len(ended) and time.monotonic() < until, self.said(0)
            time.sleep(0.05)
        return int(self.out[0].read_text().rpartition(":")[2].partition("/")[0])

    def ends(self) -> list[int]:
        """The exit codes, in the order of ranks."""
        return [process.wait(LONGEST) for process in self.processes]


@contextmanager
def ranks(
    folder: Path,
    *arguments: Sequence[str],
    program: Sequence[str] = SERVE,
    at: Path | None = None,
) -> Iterator[Ranks]:
    """None of them outlives this. `at`: where they run."""
    found = Ranks(folder, *arguments, program=program, at=at)
    try:
        yield found
    finally:
        for process in found.processes:
            process.kill()
            process.wait(60)
