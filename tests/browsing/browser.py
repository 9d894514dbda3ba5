"""Debian's Chromium without a window, spoken to over a pair of pipes, so that it opens no port."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PATIENCE = 30
"""Seconds that anything may take."""
FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",  # which root may not have
    "--no-first-run",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--hide-scrollbars",
)

AS_3_AND_4 = (
    sys.executable,
    "-c",
    "import os, sys; _, theirs, out, *found = sys.argv; "
    "os.dup2(int(theirs), 3); os.dup2(int(out), 4); os.execv(found[0], found)",
)
"""It reads from 3 and writes to 4, whatever the pipes are called here."""


def chromium() -> str | None:
    """Where it is, if it is."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One page of it. `problems`: what its console has said that it should not have."""

    def __init__(self, sent: int, heard: int):
        self._sent = sent
        self._heard = heard
        self._rest = b""
        self._number = 0
        self._session: str | None = None
        self.problems: list[str] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """What the browser answers; what it says meanwhile is looked at for problems."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._sent, data) :]
        until = time.monotonic() + PATIENCE
        while (told := self._read(until)).get("id") != self._number:
            self._look(told)
        if "error" in told:
            raise RuntimeError(f"{method}: {told['error']['message']}")
        return told["result"]

    def open(self, url: str) -> None:
        self.ask("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'")

    def value(self, expression: str) -> Any:
        """Of an expression of JavaScript in the page."""
        found = self.ask(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in found:
            raise RuntimeError(f"{expression}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def wait(self, expression: str) -> Any:
        """Until it is true."""
        until = time.monotonic() + PATIENCE
        while not (found := self.value(expression)):
            assert time.monotonic() < until, f"never true: {expression}\n{self.problems}"
            time.sleep(0.02)
        return found

    def size(self, width: int, height: int, scale: int = 1) -> None:
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=False,
        )

    def scheme(self, name: str) -> None:
        """`light` or `dark`."""
        feature = {"name": "prefers-color-scheme", "value": name}
        self.ask("Emulation.setEmulatedMedia", features=[feature])

    def picture(self) -> bytes:
        """A PNG of what is seen."""
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])

    def _look(self, told: dict[str, Any]) -> None:
        match told:
            case {"method": "Runtime.consoleAPICalled", "params": {"type": kind, "args": said}}:
                self.problems.append(f"{kind}: {[one.get('value') for one in said]}")
            case {"method": "Runtime.exceptionThrown", "params": {"exceptionDetails": said}}:
                self.problems.append(f"thrown: {said}")
            case {"method": "Log.entryAdded", "params": {"entry": said}} if (
                said["level"] != "verbose"
            ):
                self.problems.append(f"{said['level']}: {said['text']} {said.get('url', '')}")

    def _read(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._heard], [], [], max(until - time.monotonic(), 0))
            read = os.read(self._heard, 1 << 20) if ready else b""
            if not read:
                raise RuntimeError("the browser has ended" if ready else "the browser is silent")
            self._rest += read
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A fresh one whose files are in the folder; it does not outlive this."""
    found = chromium()
    assert found
    theirs, sent = os.pipe()
    heard, out = os.pipe()
    process = subprocess.Popen(
        [*AS_3_AND_4, str(theirs), str(out), found, *FLAGS, f"--user-data-dir={folder}"],
        pass_fds=(theirs, out),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    os.close(out)
    try:
        yield Browser(sent, heard)
    finally:
        os.close(sent)
        os.close(heard)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
