"""A small editor: starts `plait lsp`, speaks the protocol, and counts columns as UTF-16 does."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

PATIENCE = 60
"""Seconds that an answer may take."""


class ServerError(Exception):
    """What the server answered in place of a result."""


class Client:
    def __init__(self, folder: Path, encodings: list[str] | None = None):
        self.folder = folder
        environment = {k: v for k, v in os.environ.items() if not k.startswith("SGLANG_")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "plait", "lsp", "--stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=environment,
        )
        self.errors: list[bytes] = []
        self.messages: queue.Queue[dict | None] = queue.Queue()
        self.published: list[dict] = []
        self.count = 0
        self.versions: dict[str, int] = {}
        self.texts: dict[str, str] = {}
        self.readers = [threading.Thread(target=w) for w in (self._read, self._read_errors)]
        for reader in self.readers:
            reader.start()
        general = {} if encodings is None else {"positionEncodings": encodings}
        self.capabilities = self.ask(
            "initialize",
            processId=None,
            rootUri=folder.as_uri(),
            capabilities={"general": general},
        )["capabilities"]
        self.tell("initialized")

    # Messages

    def _read(self) -> None:
        """Every message from stdout; anything else there ends the reading, and so the test."""
        out = self.process.stdout
        assert out is not None
        while header := out.readline():
            length = None
            while header.strip():
                name, _, value = header.decode().partition(":")
                if name.lower() == "content-length":
                    length = int(value)
                header = out.readline()
            if length is None:
                break
            self.messages.put(json.loads(out.read(length)))
        self.messages.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self.errors += self.process.stderr

    def send(self, message: dict) -> None:
        self.send_bytes(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def send_bytes(self, body: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def tell(self, method: str, **params: Any) -> None:
        self.send({"method": method, "params": params})

    def ask(self, method: str, **params: Any) -> Any:
        """The result of a request. Raises ServerError."""
        self.count += 1
        self.send({"id": self.count, "method": method, "params": params})
        while True:
            message = self.next()
            if message.get("id") == self.count and "method" not in message:
                if "error" in message:
                    raise ServerError(message["error"]["message"])
                return message["result"]

    def next(self) -> dict:
        message = self.messages.get(timeout=PATIENCE)
        assert message is not None, b"".join(self.errors).decode()
        if message.get("method") == "textDocument/publishDiagnostics":
            self.published.append(message["params"])
        return message

    # Documents

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, name: str, text: str) -> str:
        """Opens a document; its name for the protocol."""
        uri = self.uri(name)
        self.versions[uri], self.texts[uri] = 1, text
        item = {"uri": uri, "languageId": "plait", "version": 1, "text": text}
        self.tell("textDocument/didOpen", textDocument=item)
        return uri

    def change(self, uri: str, text: str) -> None:
        self.versions[uri] += 1
        self.texts[uri] = text
        document = {"uri": uri, "version": self.versions[uri]}
        self.tell("textDocument/didChange", textDocument=document, contentChanges=[{"text": text}])

    def findings(self, uri: str) -> list[dict]:
        """What is published of the newest version of a document."""
        while True:
            for params in self.published:
                if params["uri"] == uri and params.get("version") == self.versions[uri]:
                    return params["diagnostics"]
            self.next()

    def place(self, uri: str, before: str, shift: int = 0) -> dict:
        """Where a text first stands in a document, or some characters further."""
        return position(self.texts[uri], self.texts[uri].index(before) + shift)

    def at(self, method: str, uri: str, before: str, shift: int = 0, **params: Any) -> Any:
        """The answer to a question about the place of a text."""
        place = self.place(uri, before, shift)
        name = f"textDocument/{method}"
        return self.ask(name, textDocument={"uri": uri}, position=place, **params)

    def edited(self, uri: str, edits: list[dict]) -> str:
        text = self.texts[uri]
        ordered = sorted(edits, key=lambda e: offset(text, e["range"]["start"]), reverse=True)
        for edit in ordered:
            start, end = (offset(text, edit["range"][one]) for one in ("start", "end"))
            text = text[:start] + edit["newText"] + text[end:]
        return text

    def texts_at(self, uri: str, places: list[dict]) -> list[str]:
        """`line:text` of ranges, lines counted from 1."""
        text = self.texts[uri]
        return [
            f"{r['start']['line'] + 1}:{text[offset(text, r['start']) : offset(text, r['end'])]}"
            for r in (place["range"] for place in places)
        ]

    def end(self) -> int:
        """Says good-bye as an editor does; the exit code."""
        self.ask("shutdown")
        self.tell("exit")
        return self.left()

    def left(self) -> int:
        """The exit code, once the server is gone."""
        try:
            return self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            for reader in self.readers:
                reader.join()
            for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
                assert pipe is not None
                pipe.close()


def position(text: str, at: int) -> dict:
    line = text.count("\n", 0, at)
    start = text.rfind("\n", 0, at) + 1
    return {"line": line, "character": len(text[start:at].encode("utf-16-le")) // 2}


def offset(text: str, position: dict) -> int:
    lines = text.split("\n")
    start = sum(len(line) + 1 for line in lines[: position["line"]])
    line = lines[position["line"]].encode("utf-16-le")
    return start + len(line[: 2 * position["character"]].decode("utf-16-le"))
