"""What may be written at a place: words by the grammar, names by what has to be named there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from lsprotocol import types

from plait.dsl import syntax
from plait.dsl.diagnostic import SpecError
from plait.dsl.lexicon import FUNCTIONS
from plait.dsl.library import STANDARD, Library
from plait.dsl.parser import expected
from plait.dsl.span import Source
from plait.dsl.symbols import Symbol
from plait.dsl.words import (
    BUFFER_ATTRIBUTES,
    COLLECTIVES,
    DTYPES,
    FORMS,
    PHASE_ATTRIBUTES,
    RESERVED,
    STATEMENTS,
    STREAM_KINDS,
    TOP_LEVEL,
)
from plait.lsp.reading import Reading

Kind = types.CompletionItemKind
_TOKEN = re.compile(
    r'"[^"\n]*"?|#[^\n]*|[A-Za-z_][A-Za-z0-9_]*|[0-9]+(?:\.[0-9]+)?|\.\.|[=!<>]=|//|\S'
)
_PARTIAL = re.compile(r"[A-Za-z0-9_]*\Z")
_PATH = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_]*(?:\[[^\]\n]*\])?\.)+\Z")
_OPENERS = frozenset(
    [*STATEMENTS, *TOP_LEVEL, *("reads", "updates", "writes", "rows", "collective", "cost", "set")]
)
_LONGEST_LINE = 10_000

VALUES = frozenset(["param", "flag", "dim", "guard", "loop", "value"])
POINTS = frozenset(["phase", "launch", "capture", "call"])
ITEM_KINDS = {
    "pipeline": Kind.Class,
    "module": Kind.Module,
    "file": Kind.File,
    "stream": Kind.Event,
    "buffer": Kind.Variable,
    "group": Kind.Reference,
    "pool": Kind.Reference,
    "phase": Kind.Function,
    "launch": Kind.Function,
    "capture": Kind.Function,
    "call": Kind.Method,
}


def completions(reading: Reading, offset: int) -> list[types.CompletionItem]:
    text = reading.source.text[:offset]
    partial = _PARTIAL.search(text)
    text = text[: partial.start()] if partial else text
    line = text[text.rfind("\n") + 1 :]
    last = list(_TOKEN.finditer(line))[-1:] if len(line) <= _LONGEST_LINE else []
    if last and (last[0][0][0] == "#" or (last[0][0][0] == '"' and not _ends(last[0][0]))):
        return []
    terminals = expected(Source(reading.source.name, text))
    items = [] if _PATH.search(text) else list(_words(terminals))
    if "NAME" in terminals or not terminals:
        items += _names(reading, text, offset)
    return items


def _ends(token: str) -> bool:
    return len(token) > 1 and token.endswith('"')


def _words(terminals: Iterable[str]) -> Iterator[types.CompletionItem]:
    for word in sorted({terminal.lower().lstrip("_") for terminal in terminals} & RESERVED):
        yield types.CompletionItem(word, kind=Kind.Keyword, detail=FORMS.get(word))


def _plain(words: Iterable[str], kind: types.CompletionItemKind) -> list[types.CompletionItem]:
    return [types.CompletionItem(word, kind=kind) for word in words]


def _names(reading: Reading, text: str, offset: int) -> list[types.CompletionItem]:
    found = [match for match in _TOKEN.finditer(text) if match[0][0] != "#"]
    place = next((n for n in reversed(range(len(found))) if found[n][0] in _OPENERS), None)
    if place is None:
        return []
    here = _Here(reading, offset, found[place].start())
    return here.after(found[place][0], [match[0] for match in found[place + 1 :]], text)


class _Here:
    """The names that mean something at a place."""

    def __init__(self, reading: Reading, offset: int, start: int):
        self.reading = reading
        self.offset = offset
        self.start = start
        """Where the statement or clause that is being written begins."""
        self.library = reading.library
        file = self.library.file if self.library else None
        bodies = [*file.pipelines, *file.modules] if file else []
        self.owner = next((b for b in bodies if b.span.start <= offset <= b.span.end), None)

    def after(self, word: str, tail: list[str], text: str) -> list[types.CompletionItem]:
        """What is named behind the word that a statement or clause begins with, and what follows it."""
        last = tail[-1] if tail else ""
        if _PATH.search(text):
            return self.members(word, text)
        if (bracket := _open(tail)) == "[":
            return self.values()
        if bracket == "(":
            return self.in_call(tail) if word == "call" else self.values()
        back = last == "prev" or tail[-2:-1] == ["prev"]
        match word, last:
            case _, "as":
                return []
            case _, "over":
                return self.of({"group"})
            case "fork", "":
                return self.streams()
            case "fork" | "join", _ if back or last in ("", "from"):
                return self.of(POINTS, everywhere=back) + ([] if back else self.streams())
            case "join", "into":
                return [*self.streams(), *_plain(["host"], Kind.Event)]
            case "await", "":
                return self.of({"launch"})
            case "phase" | "launch" | "await" | "capture", "on":
                host = ["host"] if word == "phase" else []
                return [*self.streams(), *_plain(host, Kind.Event)]
            case "phase" | "launch", _ if "on" in tail:
                return _plain([a for a in PHASE_ATTRIBUTES if a not in tail], Kind.Property)
            case "capture" | "rows", "in":
                return self.of({"pool"})
            case "reads" | "updates" | "writes", _ if back or last in ("", ","):
                return self.of({"buffer", "call"})
            case "assume", "disjoint" | ",":
                return self.of({"buffer"})
            case "stream", ":":
                return _plain(STREAM_KINDS, Kind.EnumMember)
            case "stream", "=" | "else":
                return [*self.streams(), *_plain(["host"], Kind.Event)]
            case "buffer", ":":
                return _plain((*DTYPES, "opaque"), Kind.TypeParameter)
            case "buffer", "on":
                return _plain(("host", "pinned"), Kind.EnumMember)
            case "buffer", "in":
                return self.of({"pool"})
            case "buffer", _ if ":" in tail:
                return _plain([a for a in BUFFER_ATTRIBUTES if a not in tail], Kind.Property)
            case "group", "in":
                return self.of({"group"})
            case "collective", "":
                return _plain(COLLECTIVES, Kind.EnumMember)
            case "call", "":
                return [*self.of({"module"}, everywhere=True), *self.of({"file"})]
            case "variant", "of":
                return self.of({"pipeline"}, everywhere=True)
            case "set", "":
                return self.settings(text)
            case "use", "":
                return _plain(sorted(p.stem for p in STANDARD.glob("*.spec")), Kind.File)
            case (("require" | "rows" | "cost" | "when" | "interleave"), _):
                return self.values()
            case _, _ if tail and last not in ("", ":"):
                return self.values() if _is_operator(last) else []
        return []

    # What there is

    def symbols(self) -> tuple[Symbol, ...]:
        return self.reading.names.symbols if self.reading.names else ()

    def of(self, kinds: Iterable[str], everywhere: bool = False) -> list[types.CompletionItem]:
        """Names of some kinds, declared above in what the place stands in."""
        wanted = set(kinds)
        return [
            _item(symbol)
            for symbol in self.symbols()
            if symbol.kind in wanted and self.sees(symbol, everywhere)
        ]

    def sees(self, symbol: Symbol, everywhere: bool = False) -> bool:
        if symbol.owner is not self.owner and symbol.owner is not None:
            return symbol.kind in ("group", "pool") and isinstance(self.owner, syntax.Module)
        ours = self.library.file.span.source if self.library else None
        node = symbol.node
        if symbol.owner is None and node.span.source is not ours:
            return False
        if isinstance(node, syntax.For):
            return node.span.start <= self.offset <= node.span.end
        return everywhere or any(one.span.start < self.start for one in symbol.declarations)

    def streams(self) -> list[types.CompletionItem]:
        return self.of({"stream"})

    def values(self) -> list[types.CompletionItem]:
        return [*self.of(VALUES), *_plain((f for f in FUNCTIONS if f != "env"), Kind.Operator)]

    def settings(self, text: str) -> list[types.CompletionItem]:
        """Params and flags of the pipeline that the variant is of."""
        of = re.findall(r"\bvariant\s+\w+\s+of\s+(\w+)\s*\{", text[-_LONGEST_LINE:])
        return [
            _item(symbol)
            for symbol in self.symbols()
            if symbol.kind in ("param", "flag")
            and symbol.owner is not None
            and [symbol.owner.name.text] == of[-1:]
        ]

    # Calls

    def in_call(self, tail: list[str]) -> list[types.CompletionItem]:
        """Formals that are not given yet, or what may be given to one."""
        module = self.module("".join(tail[: tail.index("(")]).split("."), self.library)
        formals = {formal.name.text: formal for formal in module.formals} if module else {}
        if tail[-1] in ("(", ","):
            given = {name for name, equals in pairwise(tail) if equals == "="}
            return [
                types.CompletionItem(name, kind=Kind.Field, detail=f.kind, insert_text=f"{name} = ")
                for name, f in formals.items()
                if name not in given
            ]
        formal = formals.get(tail[-2]) if tail[-1] == "=" and len(tail) > 1 else None
        if formal is not None and formal.kind != "value":
            return self.of({formal.kind})
        return self.values()

    def module(self, path: list[str], library: Library | None) -> syntax.Module | None:
        for name in path[:-1]:
            library = library.used.get(name) if library else None
        return library.modules.get(path[-1]) if library else None

    def members(self, word: str, text: str) -> list[types.CompletionItem]:
        """What stands behind a dot: modules of a file, or what a call or a capture holds."""
        match = _PATH.search(text)
        path = re.sub(r"\[[^\]]*\]", "", match[0] if match else "").split(".")[:-1]
        if word == "call":
            library = self.library
            for name in path:
                library = library.used.get(name) if library else None
            return _plain(library.modules if library else (), Kind.Module)
        owner: syntax.Node | None = self.owner
        for name in path:
            found = [s for s in self.symbols() if s.name == name and s.owner is owner]
            if any(symbol.kind == "capture" for symbol in found):
                return _plain(["loaded"], Kind.Property)
            owner = next(filter(None, map(self.called, found)), None)
            if owner is None:
                owner = next((s.node for s in self.symbols() if _is_module(s, name)), None)
            if owner is None:
                return []
        wanted = {"buffer", "call"} if word in ("reads", "updates", "writes") else POINTS
        return [_item(s) for s in self.symbols() if s.owner is owner and s.kind in wanted]

    def called(self, symbol: Symbol) -> syntax.Module | None:
        if not isinstance(symbol.node, syntax.Call) or self.library is None:
            return None
        try:
            return self.library.find(symbol.node.module)[0]
        except SpecError:
            return None


def _is_module(symbol: Symbol, name: str) -> bool:
    return symbol.kind == "module" and symbol.name == name


def _item(symbol: Symbol) -> types.CompletionItem:
    kind = ITEM_KINDS.get(symbol.kind, Kind.Constant)
    return types.CompletionItem(symbol.name, kind=kind, detail=symbol.kind)


def _open(tail: list[str]) -> str:
    """The last bracket that nothing closes."""
    opened = []
    for token in tail:
        if token in "([":
            opened.append(token)
        elif token in ")]" and opened:
            opened.pop()
    return opened[-1] if opened else ""


def _is_operator(token: str) -> bool:
    words = ("in", "if", "else", "and", "or", "not", "capacity", "by")
    return token in words or not (token[0].isalnum() or token[0] in '_")]')
