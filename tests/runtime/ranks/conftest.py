"""Launches ranks as torchrun does: its variables, and a store that is held by who launches."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from torch.distributed import TCPStore  # pyright: ignore[reportPrivateImportUsage]

WORKER = Path(__file__).with_name("worker.py")
LONGEST = 120
"""Seconds, after which ranks that are left are killed and the test fails."""

Launch = Callable[..., dict[str, list[Any]]]


@pytest.fixture(scope="session")
def launch() -> Launch:
    """Runs scenarios of `worker.py` on so many ranks: what each rank found, by scenario."""

    def run(ranks: int, *scenarios: str) -> dict[str, list[Any]]:
        store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
        environment = os.environ | {
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(store.port),
            "WORLD_SIZE": str(ranks),
            "TORCHELASTIC_USE_AGENT_STORE": "True",
            "OMP_NUM_THREADS": "1",
        }
        command = [sys.executable, str(WORKER), *scenarios]
        processes = [
            subprocess.Popen(
                command,
                env=environment | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(ranks)
        ]
        until = time.monotonic() + LONGEST
        found: dict[str, list[Any]] = {}
        try:
            for rank, process in enumerate(processes):
                out, errors = process.communicate(timeout=until - time.monotonic())
                if process.returncode > 0:
                    pytest.fail(f"rank {rank} ended with {process.returncode}:\n{errors}")
                for line in out.splitlines():
                    name, result = json.loads(line)
                    found.setdefault(name, []).append(result)
        except subprocess.TimeoutExpired:
            pytest.fail(f"ranks are left after {LONGEST} s")
        finally:
            for process in processes:
                process.kill()
                process.wait()
        return found

    return run
