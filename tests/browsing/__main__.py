"""`python -m browsing FILE.png`: the page of `plait serve` while eight clients ask, as a picture."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import threading
from pathlib import Path

from browsing.browser import browser, chromium
from serving.events import asked
from serving.process import Served, served

TEXTS = ("def add(a, b):\n", "import os\n", "class Stack:\n", "for line in open(", "while True:\n")

NEWEST = "+(document.getElementById('shown').textContent.match(/to (\\d+)/)?.[1] ?? 0)"
"""The last round that the timeline shows."""


async def _ask(port: int, number: int, done: threading.Event) -> None:
    while not done.is_set():
        body = {
            "model": "plait-tiny",
            "prompt": TEXTS[number % len(TEXTS)],
            "max_tokens": 64 + number,
        }
        async with asked(port, json.dumps({**body, "seed": number}).encode()) as reader:
            await reader.read()


async def _ask_all(port: int, done: threading.Event) -> None:
    await asyncio.gather(*(_ask(port, number, done) for number in range(7)))


def taken(server: Served, folder: Path) -> bytes:
    """A PNG of the page, some seconds after clients have begun."""
    done = threading.Event()
    clients = threading.Thread(target=lambda: asyncio.run(_ask_all(server.port, done)))
    with browser(folder) as page:
        page.size(1280, 980)
        page.scheme("light")
        page.open(f"http://127.0.0.1:{server.port}/")
        clients.start()
        try:
            page.wait(f"({NEWEST}) > 300")
            page.value("document.getElementById('hold').click()")
            return page.picture()
        finally:
            done.set()
            clients.join()


def main(path: Path) -> None:
    if chromium() is None:
        sys.exit("there is no chromium: apt-get install chromium")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        with served(Path(folder) / "log") as server:
            made = taken(server, Path(folder) / "browser")
    beside = path.with_suffix(".new")
    beside.write_bytes(made)
    beside.replace(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
