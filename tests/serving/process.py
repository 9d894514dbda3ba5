"""`plait serve` in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families


class Served:
    """`log`: where its lines go, behind those of servers before it. `launcher`: of Python, what starts it."""

    def __init__(
        self,
        log: Path,
        *arguments: str,
        port: int = 0,
        launcher: Sequence[str] = (),
        **environment: str,
    ):
        self.log = log
        with log.open("ab") as file:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, *launcher, "-m", "plait", "serve"),
                    *("--port", str(port), *arguments),
                ],
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
                env=os.environ | environment,
            )
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline()
        if " on http" not in self.said:
            self.process.kill()
            raise RuntimeError(f"it did not begin: {log.read_text()[-2000:]}")
        self.port = int(self.said.rpartition(":")[2].partition("/")[0])

    def wait_ready(self, seconds: float = 120) -> None:
        until = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < until:
            try:
                self.get("/readyz")
                return
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.05)
        raise RuntimeError(f"it is not ready: {self.log.read_text()[-2000:]}")

    def get(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as answer:
            return answer.read().decode()

    def metrics(self) -> dict[str, float]:
        """As `name{label="value"}`."""
        found = {}
        for family in text_string_to_metric_families(self.get("/metrics")):
            for one in family.samples:
                labels = ",".join(f"{name}={value}" for name, value in sorted(one.labels.items()))
                found[f"{one.name}{{{labels}}}" if labels else one.name] = one.value
        return found

    def lines(self) -> list[dict[str, Any]]:
        """What it has logged."""
        return lines_of(self.log)

    def resident(self) -> int:
        """Bytes of its memory."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def end(self) -> int:
        """Its exit code, when it was told to end."""
        self.process.terminate()
        return self.process.wait(60)


def lines_of(log: Path) -> list[dict[str, Any]]:
    """Those of a server; a launcher has others."""
    return [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]


@contextmanager
def served(log: Path, *arguments: str, **how: Any) -> Iterator[Served]:
    """A server that is ready; it does not outlive this."""
    found = Served(log, *arguments, **how)
    try:
        found.wait_ready()
        yield found
    finally:
        found.process.kill()
        found.process.wait(60)
        assert found.process.stdout is not None
        found.process.stdout.close()
