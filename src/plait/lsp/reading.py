"""What is known of one version of a text, right or half right."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls.uris import from_fs_path, to_fs_path

from plait.compiler.elaboration.elaborate import elaborate
from plait.compiler.round import Round
from plait.dsl import syntax
from plait.dsl.diagnostic import Report, SpecError
from plait.dsl.library import Library, load_library
from plait.dsl.names import names_in, used_as
from plait.dsl.parser import readable
from plait.dsl.settings import settings_for
from plait.dsl.span import Source, Span
from plait.dsl.symbols import Names, Occurrence
from plait.lsp.positions import Lines

MOST_PHASES = 50_000
"""That are unrolled to say what a name is; a proof goes further."""
_BRACE = re.compile(r'"[^"\n]*"|#[^\n]*|[{}]')


@dataclass(eq=False)
class Reading:
    uri: str
    source: Source
    encoding: str

    @cached_property
    def lines(self) -> Lines:
        return Lines(self.source.text, self.encoding)

    @cached_property
    def library(self) -> Library | None:
        """The file with what it uses, as far as it can be read; None where it cannot."""
        file = readable(self.source)
        if file is None:
            file = readable(_closed(self.source))
        if file is None:
            return None
        library = Library(file, {module.name.text: module for module in file.modules})
        for use in file.uses:
            if (used := _used(use, self.source)) is not None:
                library.used.setdefault(used_as(use), used)
        return library

    @cached_property
    def names(self) -> Names | None:
        return None if self.library is None else names_in(self.library)

    @cached_property
    def rounds(self) -> list[Round]:
        """Of each pipeline, the round at default settings and the largest bucket, where there is one."""
        if (library := self.library) is None:
            return []
        found = []
        for pipeline in library.file.pipelines:
            try:
                settings = settings_for(library.file, pipeline, environment=os.environ)
                rounds = elaborate(pipeline, library, settings, Report(), most_phases=MOST_PHASES)
            except SpecError:
                continue
            if rounds:
                sizes = rounds[-1].sizes
                found.append(next(one for one in rounds if one.sizes == sizes))
        return found

    def at(self, offset: int) -> Occurrence | None:
        """The name at an offset of this text."""
        if self.names is None or self.library is None:
            return None
        return self.names.at(self.library.file.span.source, offset)

    def uri_of(self, source: Source) -> str:
        """The document that a source is the text of: this one, or a file it uses."""
        if self.library is None or source is self.library.file.span.source:
            return self.uri
        return uri_of(source) or self.uri

    def range_of(self, span: Span) -> types.Range:
        if self.uri_of(span.source) == self.uri:
            return self.lines.range(span)
        return Lines(span.source.text, self.encoding).range(span)

    def location(self, span: Span) -> types.Location:
        return types.Location(self.uri_of(span.source), self.range_of(span))


def source_of(uri: str, text: str) -> Source:
    """A document's text, in its folder where it is a file."""
    path = to_fs_path(uri) if urlsplit(uri).scheme == "file" else None
    if path is None:
        return Source(_shown(unquote(uri).rpartition("/")[2]), text)
    return Source(_shown(Path(path).name), text, Path(path).parent)


def uri_of(source: Source) -> str | None:
    if source.folder is None:
        return None
    return from_fs_path(str(source.folder / Path(source.name).name))


def _shown(name: str) -> str:
    return name if name.isprintable() else name.encode("unicode_escape", "replace").decode()


def _closed(source: Source) -> Source:
    """The text with the braces closed that are open at its end, as they are while one is typed."""
    depth = 0
    for found in _BRACE.finditer(source.text):
        depth = max(depth + {"{": 1, "}": -1}.get(found[0], 0), 0)
    return Source(source.name, source.text + "\n" + "}" * depth, source.folder)


def _used(use: syntax.Use, source: Source) -> Library | None:
    """What one `use` brings, by itself, so that one that is wrong hides no other."""
    try:
        (found,) = load_library(Source(source.name, use.span.text, source.folder)).used.values()
    except SpecError:
        return None
    return found
