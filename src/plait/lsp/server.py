"""The server: one reading a document, proofs beside it, an answer for each question of the protocol."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterable
from typing import BinaryIO, Protocol, TypeVar

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from plait import __version__
from plait.compiler.compile import Judged
from plait.dsl.span import Source
from plait.lsp.actions import actions
from plait.lsp.completion import completions
from plait.lsp.definitions import definitions, highlights, references
from plait.lsp.diagnostics import Shown, shown
from plait.lsp.formatting import can_format, formatting
from plait.lsp.hover import hover
from plait.lsp.judge import Judge, judged
from plait.lsp.reading import Reading, source_of
from plait.lsp.rename import NoRename, rename, renameable
from plait.lsp.symbols import outline

Answer = TypeVar("Answer")


class Place(Protocol):
    """What a question about a place in a document has."""

    text_document: types.TextDocumentIdentifier
    position: types.Position


class PlaitServer(LanguageServer):
    def __init__(self) -> None:
        # Whole texts: a spec is small, and a text put together from edits is one more thing to be wrong.
        kind = types.TextDocumentSyncKind.Full
        super().__init__("plait", __version__, text_document_sync_kind=kind)
        self.readings: dict[str, Reading] = {}
        self.sound: dict[str, Reading] = {}
        """Of each document, the newest text before this one that could be read at all."""
        self.findings: dict[str, list[Shown]] = {}
        """Those of the text as it is; none while it is being judged."""
        self.judge: Judge | None = None
        self.ended = False

    def take(self, uri: str) -> None:
        """Reads a document anew, and has it judged."""
        text = self.workspace.get_text_document(uri).source
        encoding = str(self.workspace.position_encoding or types.PositionEncodingKind.Utf16)
        reading = Reading(uri, source_of(uri, text), encoding)
        if (before := self.readings.get(uri)) is not None and before.library is not None:
            self.sound[uri] = before
        self.readings[uri] = reading
        self.findings.pop(uri, None)
        if self.judge is None:
            loop = asyncio.get_running_loop()

            def tell(uri: str, source: Source, found: list[Judged]) -> None:
                loop.call_soon_threadsafe(self.tell, uri, source, found)

            self.judge = Judge(tell)
        self.judge.ask(uri, reading.source)

    def tell(self, uri: str, source: Source, found: list[Judged]) -> None:
        """Publishes what was found, unless the text has changed since."""
        reading = self.readings.get(uri)
        if reading is not None and reading.source is source:
            self.findings[uri] = shown(reading, found)
            self.publish(uri, [published for _, published in self.findings[uri]])

    def publish(self, uri: str, found: list[types.Diagnostic]) -> None:
        version = self.workspace.get_text_document(uri).version
        params = types.PublishDiagnosticsParams(uri, found, version)
        self.text_document_publish_diagnostics(params)

    def drop(self, uri: str) -> None:
        if self.judge is not None:
            self.judge.forget(uri)
        for table in (self.readings, self.sound, self.findings):
            table.pop(uri, None)
        self.publish(uri, [])

    def at(
        self, params: Place, answer: Callable[[Reading, int], Answer], otherwise: Answer
    ) -> Answer:
        """The answer for a place in an open document."""
        reading = self.readings.get(params.text_document.uri)
        if reading is None:
            return otherwise
        return answer(reading, reading.lines.offset(params.position))


def serve(stdin: BinaryIO, stdout: BinaryIO) -> int:
    """Speaks the protocol until the client says so or is gone; whether it said so first, as its exit code."""
    server = make_server()
    server.start_io(stdin, stdout)
    return 0 if server.ended else 1


def make_server() -> PlaitServer:
    server = PlaitServer()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        server.take(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        server.take(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        for uri in list(server.readings):  # what is used is read from the disk
            server.take(uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.drop(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hovered(params: types.HoverParams) -> types.Hover | None:
        # Elsewhere, as it may compile the round.
        return await asyncio.to_thread(server.at, params, hover, None)

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def defined(params: types.DefinitionParams) -> list[types.Location]:
        return server.at(params, definitions, [])

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    def referred(params: types.ReferenceParams) -> list[types.Location]:
        declared = params.context.include_declaration
        others = server.readings.values()
        return server.at(params, lambda one, at: references(one, at, declared, others), [])

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    def highlighted(params: types.DocumentHighlightParams) -> list[types.DocumentHighlight]:
        return server.at(params, highlights, [])

    @server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
    def asked_to_rename(
        params: types.PrepareRenameParams,
    ) -> types.PrepareRenamePlaceholder | None:
        try:
            found = server.at(params, renameable, None)
        except NoRename:
            return None
        return found and types.PrepareRenamePlaceholder(*found)

    @server.feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))
    def renamed(params: types.RenameParams) -> types.WorkspaceEdit | None:
        name = params.new_name
        try:
            others = server.readings.values()
            changes = server.at(params, lambda one, at: rename(one, at, name, others), {})
        except NoRename as error:
            raise JsonRpcInvalidParams(str(error)) from None
        return types.WorkspaceEdit(changes=changes)

    @server.feature(
        types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=["."])
    )
    def completed(params: types.CompletionParams) -> list[types.CompletionItem]:
        return server.at(params, completions, [])

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def outlined(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        uri = params.text_document.uri
        for reading in (server.readings.get(uri), server.sound.get(uri)):
            if reading is not None and reading.library is not None:
                return outline(reading.library.file, reading.lines)
        return []

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix]),
    )
    async def acted(params: types.CodeActionParams) -> list[types.CodeAction]:
        uri = params.text_document.uri
        reading = server.readings.get(uri)
        if reading is None or not _wants_fixes(params.context.only):
            return []
        if uri not in server.findings:  # changed a moment ago
            found = await asyncio.to_thread(judged, reading.source)
            server.tell(uri, reading.source, found)
        return actions(reading, server.findings.get(uri, []), params.range)

    if can_format():

        @server.feature(types.TEXT_DOCUMENT_FORMATTING)
        def laid_out(params: types.DocumentFormattingParams) -> list[types.TextEdit]:
            reading = server.readings.get(params.text_document.uri)
            return [] if reading is None else formatting(reading)

    @server.feature(types.SHUTDOWN)
    def shut_down(params: None) -> None:
        server.ended = True

    @server.feature(types.EXIT)
    def exited(params: None) -> None:
        # At once: a thread that reads from a pipe would be waited for until the client closes it.
        sys.stdout.flush()
        os._exit(0 if server.ended else 1)

    return server


def _wants_fixes(only: Iterable[str] | None) -> bool:
    """Whether fixes are among the kinds of action asked for; a kind stands for all below it."""
    kind = types.CodeActionKind.QuickFix.value
    return only is None or any(one in ("", kind) for one in only)
