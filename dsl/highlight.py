"""The lexer that colours specs wherever Pygments does: terminals, documentation, notebooks.

Pygments comes with rich, which renders diagnostics; it finds this lexer by its entry point.
"""

from __future__ import annotations

import re

from pygments.lexer import RegexLexer, bygroups
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

from plait.dsl.lexicon import OUTERMOST, PLAIN, REGIONS, Region, Rule

TOKENS = {
    "": Whitespace,
    "comment": Comment.Single,
    "string": String,
    "number": Number,
    "declaration": Keyword.Declaration,
    "statement": Keyword,
    "clause": Keyword.Pseudo,
    "logic": Operator.Word,
    "truth": Keyword.Constant,
    "part": Name.Class,
    "leaf": Name.Function,
    "thing": Name.Variable,
    "attribute": Name.Decorator,
    "type": Keyword.Type,
    "function": Name.Builtin,
    "builtin": Name.Builtin.Pseudo,
    "name": Name,
    "operator": Operator,
    "punctuation": Punctuation,
}

_BEGINS = {region.name: region.begin for region in REGIONS}
_OPENING = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*[ \t]*(?:spec 1|pipeline [A-Za-z_]\w*\s*\{)\s")


def _matched(rule: Rule, *state: str) -> tuple:
    return (rule.pattern, bygroups(*(TOKENS[kind] for kind in rule.kinds)), *state)


def _state(inside: tuple[Rule | str, ...]) -> list[tuple]:
    entered = [_matched(_BEGINS[one], one) for one in inside if isinstance(one, str)]
    own = [_matched(one) for one in inside if isinstance(one, Rule)]
    return [*entered, *own, (r"[ \t\r\n]+", Whitespace), *map(_matched, PLAIN)]


def _region(region: Region) -> list[tuple]:
    closes = [_matched(region.close, "#pop")] if region.close else []
    return [*closes, (region.end, bygroups(), "#pop"), *_state(region.inside)]


class PlaitLexer(RegexLexer):
    """Schedules of speculative-decoding rounds."""

    name = "Plait"
    url = "https://pypi.org/project/plait"
    aliases = ["plait"]
    filenames = ["*.spec"]
    tokens = {"root": _state(OUTERMOST), **{region.name: _region(region) for region in REGIONS}}

    def analyse_text(text: str) -> float:  # type: ignore[misc] # static: Pygments makes it so
        """Packages of RPM have files named `.spec` too; only what opens like a spec of ours is one."""
        return 1.0 if _OPENING.match(text) else 0.0
