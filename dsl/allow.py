"""`# allow PL901: the reason`: a note that the author has answered, on its line or the one below.

Notes alone can be silenced, and only with a reason; an error never.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence

from plait.dsl.codes import severity_of
from plait.dsl.diagnostic import Diagnostic
from plait.dsl.record import Record
from plait.dsl.span import Source, Span
from plait.dsl.suggest import did_you_mean

UNUSED = "PL902"
MOST_MISTAKES = 100
"""Of a text; what stands behind them is not read."""
_TEXT_OR_COMMENT = re.compile(r'"[^"\n]*"|#[^\n]*')  # as in the grammar: a `#` in a text is none
_ALLOW = re.compile(r"#\s*allow\s+(PL[0-9]\w*)\s*(?::(.*))?", re.IGNORECASE)


class Allow(Record):
    span: Span
    code: str
    reason: str
    line: int
    """The line it speaks for: its own, or, of a comment that stands alone, the next."""


class Allows:
    """The comments of a spec and of what it uses that silence notes, and which of them did."""

    def __init__(self, sources: Sequence[Source], codes: Callable[[], Collection[str]]):
        """The spec comes first. `codes` gives those there are, when a comment names one."""
        self.spec = sources[0]
        self.mistakes: list[Diagnostic] = []
        self.good: dict[tuple[int, str, int], list[Allow]] = {}
        """By the text, the code and the line they speak for."""
        self.used: set[Allow] = set()
        known: Collection[str] | None = None
        for one in (one for source in sources for one in _written(source)):
            known = codes() if known is None else known
            if len(self.mistakes) == MOST_MISTAKES:
                break
            if (mistake := _mistake(one, known)) is None:
                key = (id(one.span.source), one.code, one.line)
                self.good.setdefault(key, []).append(one)
            else:
                self.mistakes.append(mistake)

    def left(self, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Those that no comment silences."""
        left = []
        for diagnostic in diagnostics:
            span = diagnostic.span
            answers = self.good.get((id(span.source), diagnostic.code, span.line), [])
            self.used.update(answers)
            if not answers:
                left.append(diagnostic)
        return left

    def unused(self) -> list[Diagnostic]:
        """Notes on comments that silenced nothing, less those that others of them silence."""
        of_rules = self.left(_unused(one) for one in self._idle() if one.code != UNUSED)
        return of_rules + [_unused(one) for one in self._idle() if one.code == UNUSED]

    def _idle(self) -> list[Allow]:
        """Of the spec itself: a file that is used may answer notes of other specs."""
        own = (one for alike in self.good.values() for one in alike if one.span.source is self.spec)
        return [one for one in own if one not in self.used]


def _written(source: Source) -> Iterable[Allow]:
    for match in _TEXT_OR_COMMENT.finditer(source.text):
        parts = _ALLOW.match(match[0])
        if parts is not None:
            line, column = source.place(match.start())
            alone = not source.line(line)[: column - 1].strip()
            span = Span(source, match.start(), match.start() + len(match[0].rstrip()))
            yield Allow(span, parts[1], (parts[2] or "").strip(), line + alone)


def _mistake(one: Allow, codes: Collection[str]) -> Diagnostic | None:
    notes = [code for code in codes if severity_of(code) == "note"]
    if one.code not in codes:
        message, help = f"there is no {one.code} to allow", did_you_mean(one.code, notes)
    elif one.code not in notes:
        message, help = f"{one.code} is an error, which no comment silences", "mend it"
    elif not one.reason:
        message = f"this allows {one.code} and does not say why"
        help = f"write `# allow {one.code}: REASON`"
    else:
        return None
    return Diagnostic("PL005", message, one.span, help=help)


def _unused(one: Allow) -> Diagnostic:
    message = f"this allows {one.code}, which is not found on line {one.line}"
    return Diagnostic(UNUSED, message, one.span, severity_of(UNUSED), help="remove the comment")
