"""`examples/service/` in a process of its own, asked as its clients ask it."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
import torch

from plait.runtime.eagle.plain import Plain
from plait.runtime.eagle.request import Request
from plait.runtime.models.tiny.checkpoint import Checkpoint, load_checkpoint

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "service"
PAGE = (FOLDER / "README.md").read_text(encoding="utf-8")
LONG = "def main("
"""A text that the model goes on with for as long as it is asked to."""


class Service:
    """By uvicorn as the page starts it, at any port and watched."""

    def __init__(self, folder: Path):
        self.log, self.ends = folder / "log", folder / "ends"
        (command,) = re.findall(r"^    (uvicorn .*)$", PAGE, re.MULTILINE)
        arguments = command.replace("service:app", "--factory watched:watched").split()
        with self.log.open("wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *arguments, "--port", "0"],
                cwd=ROOT,
                stdout=file,
                stderr=file,
                env=os.environ
                | {
                    "OMP_NUM_THREADS": "1",
                    "WATCHED": str(self.ends),
                    "PYTHONPATH": os.pathsep.join(
                        [str(Path(__file__).parent), *filter(None, sys.path)]
                    ),
                },
            )
        self.port = int(self._said(r"running on http://[\d.]+:(\d+)")[1])

    def _said(self, words: str) -> re.Match[str]:
        until = time.monotonic() + 120
        while self.process.poll() is None and time.monotonic() < until:
            if found := re.search(words, self.log.read_text()):
                return found
            time.sleep(0.02)
        self.process.kill()
        raise RuntimeError(self.log.read_text()[-2000:])

    def asked(self, text: str, most: int) -> http.client.HTTPResponse:
        """An answer that has begun; its connection is closed with it."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        path = f"/continue/{most}?text={quote(text)}"
        connection.request("GET", path, headers={"Connection": "close"})
        return connection.getresponse()

    def tokens(self, text: str, most: int) -> list[int]:
        with self.asked(text, most) as answer:
            assert answer.status == 200
            return tokens_of(answer)

    def curl(self) -> list[dict]:
        """What the page's own command prints."""
        (command,) = re.findall(r"^    (curl .*)$", PAGE, re.MULTILINE)
        command = command.replace(":8000/", f":{self.port}/")
        done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=120)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def ended(self, count: int) -> list[dict]:
        """How the first requests ended, so many of them, as soon as they have."""
        while True:
            lines = self.ends.read_text().splitlines() if self.ends.exists() else []
            if len(lines) >= count:
                return [json.loads(line) for line in lines[:count]]
            assert self.process.poll() is None
            time.sleep(0.02)


def tokens_of(answer: http.client.HTTPResponse) -> list[int]:
    pieces = [json.loads(line) for line in answer]
    assert [piece["end"] for piece in pieces[:-1]] == [None] * (len(pieces) - 1)
    assert pieces[-1]["end"] in ("stop", "length")
    return [token for piece in pieces for token in piece["tokens"]]


@contextmanager
def running(folder: Path) -> Iterator[Service]:
    service = Service(folder)
    try:
        yield service
    finally:
        service.process.kill()
        service.process.wait(60)


@pytest.fixture(scope="module")
def checkpoint() -> Checkpoint:
    return load_checkpoint()


def plainly(checkpoint: Checkpoint, texts: Sequence[str], most: int) -> list[list[int]]:
    """What plain decoding goes on with."""
    start = checkpoint.shape.bos
    requests = [Request([start, *checkpoint.tokenizer.encode(t)], most, start) for t in texts]
    judge = Plain(checkpoint.model("exact"), requests, [len(texts)], captured=False)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # for so small a model more of them cost ten times as much
    while judge.advance(1000):
        pass
    torch.set_num_threads(threads)
    return [request.tokens for request in requests]


def test_it_is_as_short_as_it_says() -> None:
    """Under 40 lines, all of them counted."""
    assert len((FOLDER / "service.py").read_text(encoding="utf-8").splitlines()) < 40


def test_a_service_from_its_first_client_to_its_last(tmp_path: Path, checkpoint) -> None:
    """Right tokens; who leaves gives up the row; what cannot be served is refused; SIGTERM drains."""
    texts = [*checkpoint.prompts[:2], LONG]
    with (
        running(tmp_path) as service,
        ThreadPoolExecutor(len(texts)) as clients,
    ):
        found = list(clients.map(lambda text: service.tokens(text, 12), texts))
        assert found == plainly(checkpoint, texts, 12)

        leaving = [service.asked(LONG, 450) for _ in range(4)]  # all rows
        for answer in leaving:
            answer.readline()
        waiting = clients.submit(service.tokens, LONG, 12)
        for answer in leaving:
            answer.close()
        assert waiting.result() == found[-1]
        ends = service.ended(8)[3:]
        cancelled = [one for one in ends if one["end"] == "cancelled"]
        assert len(cancelled) == 4 and all(one["tokens"] < 450 for one in cancelled)

        with service.asked(LONG, 4000) as answer:
            assert answer.status == 400 and b"the context is 512" in answer.read()

        if shutil.which("curl") is not None:
            assert service.curl()[-1]["end"] == "length"

        last = service.asked(LONG, 60)
        with last:
            first = json.loads(last.readline())["tokens"]
            service.process.send_signal(signal.SIGTERM)
            assert [first + tokens_of(last)] == plainly(checkpoint, [LONG], 60)
        assert service.process.wait(60) == -signal.SIGTERM  # as uvicorn ends
        assert "Application shutdown complete" in service.log.read_text()
        with pytest.raises(ConnectionRefusedError):
            service.asked(LONG, 1)
