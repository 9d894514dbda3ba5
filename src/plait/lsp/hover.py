"""What a name or a word is, and what a compiled round knows of it, at default settings."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lsprotocol import types

from plait.compiler.order import order
from plait.compiler.round import Edge, Open, Phase, Round
from plait.dsl import syntax
from plait.dsl.symbols import Symbol
from plait.dsl.values import BROKEN, written
from plait.dsl.words import FORMS, RESERVED
from plait.lsp.reading import Reading

LONGEST = 200
MOST_NAMES = 12
DONE = {"reads": "read", "updates": "updated", "writes": "written"}
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SKIPPED = re.compile(r'"[^"\n]*"?|#[^\n]*')


def hover(reading: Reading, offset: int) -> types.Hover | None:
    found = reading.at(offset)
    if found is not None and reading.names is not None:
        lines = _of_symbol(reading, reading.names.of(found))
        return _shown(lines, reading.lines.range(found.span))
    for match in _WORD.finditer(reading.source.text, max(0, offset - 100)):
        if match.start() > offset:
            break
        if match.end() >= offset and match[0] in RESERVED and _is_code(reading, match.start()):
            form = _form(reading.source.text, match.start(), match[0])
            place = types.Range(*map(reading.lines.position, match.span()))
            return _shown([_code(form)], place) if form else None
    return None


def _shown(lines: list[str], place: types.Range) -> types.Hover:
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "\n".join(lines)), place)


def _code(text: str) -> str:
    return f"```plait\n{text}\n```"


def _is_code(reading: Reading, offset: int) -> bool:
    """Whether a place is in no comment and no text."""
    start = reading.source.text.rfind("\n", 0, offset) + 1
    line = reading.source.text[start:]
    return not any(
        match.start() <= offset - start < match.end()
        for match in _SKIPPED.finditer(line.partition("\n")[0])
    )


def _form(text: str, offset: int, word: str) -> str:
    """A valid form of the word, or of the statement that it stands in."""
    if word in FORMS:
        return FORMS[word]
    before = _SKIPPED.sub("", text[max(0, offset - 4000) : offset])
    return next((FORMS[one] for one in reversed(_WORD.findall(before)) if one in FORMS), "")


# Symbols


def _of_symbol(reading: Reading, symbol: Symbol) -> list[str]:
    facts = {
        "buffer": _buffer,
        "stream": _stream,
        "phase": _phase,
        "launch": _phase,
        "capture": _capture,
        "call": _call,
        "module": _module,
        "group": _named_by,
        "pool": _named_by,
    }.get(symbol.kind, _value)
    return [_code(_declaration(symbol)), "", *(f"- {fact}" for fact in facts(reading, symbol))]


def _declaration(symbol: Symbol) -> str:
    """The declaration on one line, without the block behind it."""
    node = symbol.node
    if isinstance(node, syntax.Formal):
        owner = f" of module {symbol.owner.name.text}" if symbol.owner else ""
        text = node.span.text if node.kind != "value" else f"value {node.span.text}"
        return f"{' '.join(text.split())}  # a formal{owner}"
    if isinstance(node, syntax.Access):
        return f"argument {symbol.name}  # {' '.join(node.span.text.split())}"
    text = node.span.text
    if isinstance(node, syntax.Pipeline | syntax.Module | syntax.Capture | syntax.For):
        text = _SKIPPED.sub("", text).partition("{")[0]
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[: LONGEST - 4] + " ..."


def _list(names: Iterable[str]) -> str:
    unique = list(dict.fromkeys(names))
    more = f" and {len(unique) - MOST_NAMES} more" if len(unique) > MOST_NAMES else ""
    return ", ".join(f"`{name}`" for name in unique[:MOST_NAMES]) + more


def _where(round: Round) -> str:
    return f"in `{round.name}`{round.where}"


def _buffer(reading: Reading, symbol: Symbol) -> Iterable[str]:
    spans = {one.span for one in symbol.declarations}
    known = False
    for round in reading.rounds:
        numbers = [n for n, buffer in enumerate(round.buffers) if buffer.span in spans]
        if not numbers:
            continue
        known = True
        first = round.buffers[numbers[0]]
        sizes = "" if first.shape is None else f"[{', '.join(map(str, first.shape))}]"
        times = f", {len(numbers)} of them" if len(numbers) > 1 else ""
        yield f"{_where(round)}: `{first.dtype}{sizes}`{times}"
        for kind, said in DONE.items():
            phases = [
                phase.base
                for phase in round.phases
                if any(a.buffer in numbers and a.kind == kind for a in phase.accesses)
            ]
            if phases:
                yield f"{said} by {_list(phases)}"
    if not known:
        for kind, said in DONE.items():
            phases = [
                one.phase.label.name.text
                for one in symbol.occurrences
                if one.role == kind and one.phase is not None
            ]
            if phases:
                yield f"{said} by {_list(phases)}"


def _stream(reading: Reading, symbol: Symbol) -> Iterable[str]:
    spans = {one.span for one in symbol.declarations}
    node = symbol.node
    known = False
    for round in reading.rounds:
        for number, stream in enumerate(round.streams):
            if stream.span is not None and stream.span == node.span:
                known = True
                yield f"{_where(round)}: a stream of class `{stream.kind}`"
                runs = [phase.base for phase in round.phases if phase.stream == number]
                yield f"runs {_list(runs)}" if runs else "runs nothing"
    if not known:
        runs = [
            name.text
            for name, stream in _on_streams(reading)
            if stream.span in {one.span for one in symbol.occurrences} | spans
        ]
        if runs:
            yield f"written on it: {_list(runs)}"


def _on_streams(reading: Reading) -> Iterable[tuple[syntax.Name, syntax.Name]]:
    """Each phase's name, and that of the stream it says."""
    for symbol in reading.names.symbols if reading.names else ():
        if isinstance(symbol.node, syntax.Phase):
            yield symbol.node.label.name, symbol.node.stream


def _instances(reading: Reading, symbol: Symbol) -> Iterable[tuple[Round, list[Phase]]]:
    spans = {one.span for one in symbol.declarations}
    for round in reading.rounds:
        found = [
            phase
            for phase in round.phases
            if any(phase.span.source is s.source and phase.span.start == s.start for s in spans)
        ]
        if found:
            yield round, found


def _phase(reading: Reading, symbol: Symbol) -> Iterable[str]:
    for round, found in _instances(reading, symbol):
        first = found[0]
        graph = "" if first.capture is None else f", in `{round.captures[first.capture].name}`"
        times = f", {len(found)} times" if len(found) > 1 else ""
        yield f"{_where(round)}: on `{round.stream_name(first.stream)}`{graph}{times}"
        for kind in DONE:
            buffers = [
                ("prev " if a.rounds_back else "") + round.buffers[a.buffer].name
                for a in first.accesses
                if a.kind == kind
            ]
            if buffers:
                yield f"{kind} {_list(buffers)}"
        yield from _waits(round, first)


def _waits(round: Round, phase: Phase) -> Iterable[str]:
    places = {
        place
        for place, item in enumerate(round.items)
        if item is phase or (isinstance(item, Open) and item.capture == phase.capture)
    }
    waits = [wait for wait in order(round).waits if wait.target in places]
    for wait in waits:
        edge = round.items[wait.edge]
        assert isinstance(edge, Edge)
        back = {0: "", 1: " of the round before"}.get(
            wait.rounds_back, f" of {wait.rounds_back} rounds before"
        )
        text = round.edge_text(edge)
        at = f"`{text}`, line {edge.span.line}"
        yield f"waits for `{round.item_name(wait.source)}`{back} ({at})"
    if not waits:
        yield "waits for nothing but its own stream"


def _capture(reading: Reading, symbol: Symbol) -> Iterable[str]:
    spans = {one.span for one in symbol.declarations}
    for round in reading.rounds:
        for capture in round.captures:
            if any(
                capture.span.start == s.start and capture.span.source is s.source for s in spans
            ):
                phases = [p for p in round.phases if p.capture == capture.number]
                on = round.stream_name(capture.stream)
                yield f"{_where(round)}: one graph on `{on}`, {capture.rows} rows"
                yield f"holds {_list(phase.base for phase in phases)}"
                yield from _waits(round, phases[0])
                return


def _call(reading: Reading, symbol: Symbol) -> Iterable[str]:
    node = symbol.node
    if isinstance(node, syntax.Call):
        yield f"a call of `{'.'.join(name.text for name in node.module)}`"


def _module(reading: Reading, symbol: Symbol) -> Iterable[str]:
    calls = sum(1 for one in symbol.occurrences if not one.declares)
    yield f"named at {calls} other place{'s' * (calls != 1)}"


def _named_by(reading: Reading, symbol: Symbol) -> Iterable[str]:
    node = symbol.node
    if isinstance(node, syntax.Group):
        yield "ranks that communicate" + ("" if node.size else ", as many as the run has")
    elif isinstance(node, syntax.Pool):
        yield "named memory" + ("" if node.size else " of graphs")
    yield from _module(reading, symbol)


def _value(reading: Reading, symbol: Symbol) -> Iterable[str]:
    said = {
        "flag": "a setting whose default the environment may replace",
        "dim": "a run-time size, padded to the least entry that holds it",
        "guard": "a truth that bound code gives once a round",
        "loop": "the name of a loop: a number, at each turn one more",
        "variant": "a named alternative of a pipeline",
        "file": "a file whose modules can be called",
        "argument": "the name under which the phase's callable gets what it reads or writes",
    }.get(symbol.kind)
    if said:
        yield said
    for round in reading.rounds:
        if symbol.owner is None or round.name != symbol.owner.name.text:
            continue
        known = {**round.settings, **round.route, **round.sizes}
        value = known.get(symbol.name, BROKEN)
        if symbol.kind in ("param", "flag") and value is not BROKEN:
            yield f"at default settings: `{written(value)}`"  # type: ignore[arg-type]
        elif symbol.kind == "dim" and value is not BROKEN:
            yield f"at most `{written(value)}`"  # type: ignore[arg-type]
