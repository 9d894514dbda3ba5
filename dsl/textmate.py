"""Colours for editors, generated: `python -m plait.dsl.textmate > editors/plait.tmLanguage.json`."""

from __future__ import annotations

import json
from typing import Any

from plait.dsl.lexicon import OUTERMOST, PLAIN, REGIONS, Region, Rule

SCOPES = {
    "comment": "comment.line.number-sign",
    "string": "string.quoted.double",
    "number": "constant.numeric",
    "declaration": "storage.type",
    "statement": "keyword.control",
    "clause": "keyword.other",
    "logic": "keyword.operator.logical",
    "truth": "constant.language",
    "part": "entity.name.type",
    "leaf": "entity.name.function",
    "thing": "variable.other.definition",
    "attribute": "storage.modifier",
    "type": "support.type",
    "function": "support.function",
    "builtin": "variable.language",
    "name": "variable.other",
    "operator": "keyword.operator",
    "punctuation": "punctuation",
}
"""The names that colour themes know; each gets `.plait` behind it."""


def grammar() -> dict[str, Any]:
    """The TextMate grammar, as a JSON value."""
    return {
        "name": "Plait",
        "scopeName": "source.plait",
        "fileTypes": ["spec"],
        "patterns": [*map(_include, OUTERMOST), _include("plain")],
        "repository": {
            **{region.name: _region(region) for region in REGIONS},
            "plain": {"patterns": [_match(rule) for rule in PLAIN]},
        },
    }


def _include(name: str) -> dict[str, str]:
    return {"include": f"#{name}"}


def _match(rule: Rule) -> dict[str, Any]:
    return {"match": rule.pattern, "captures": _captures(rule)}


def _captures(rule: Rule) -> dict[str, Any]:
    named = enumerate(rule.kinds, 1)
    return {str(number): {"name": f"{SCOPES[kind]}.plait"} for number, kind in named if kind}


def _region(region: Region) -> dict[str, Any]:
    inside = [_include(one) if isinstance(one, str) else _match(one) for one in region.inside]
    made = {"begin": region.begin.pattern, "beginCaptures": _captures(region.begin)}
    if region.close is None:
        made["end"] = region.end
    else:
        made["end"] = f"{region.close.pattern}|{region.end}"
        made["endCaptures"] = _captures(region.close)
    return {**made, "patterns": [*inside, _include("plain")]}


def text() -> str:
    """The grammar as the file in `editors/` has it."""
    return json.dumps(grammar(), indent=2) + "\n"


if __name__ == "__main__":
    print(text(), end="")
