"""What each code means that is no rule's: mistakes in the text, in names and in sizes.

Rules of the round (`compiler/rules/`) document themselves; together the two tables are every code there is.
"""

from __future__ import annotations

from plait.dsl.diagnostic import Severity

CODES = {
    "PL001": "The text is not in the language: something else should stand here.",
    "PL002": "The text is too large (1,048,576 characters), nested too deep (100), or a name too long (100).",
    "PL003": "The file says another version of the language than the one that reads it.",
    "PL004": "A number stands where a number of another sort should.",
    "PL005": "An `# allow CODE: REASON` has no reason, or its code is unknown or an error's.",
    "PL101": "A name means nothing here: it is not declared, or only further down.",
    "PL102": "A value is of another kind than is needed: a truth, a number, a text or a list.",
    "PL103": "Arithmetic has no result: a division by zero, an item that is not there, over 63 bits.",
    "PL104": "A name is given to two things.",
    "PL105": "There is no such param, flag, variant or pipeline.",
    "PL106": "A setting, or a variable of the environment, does not fit what it is given to.",
    "PL107": "A word is not an attribute, a type or a class that is known there.",
    "PL108": "Two accesses would give a phase an argument of the same name.",
    "PL109": "Something is declared inside a block; declarations stand in the pipeline itself.",
    "PL110": "A `require` does not hold.",
    "PL111": "A value of an earlier round is written; `prev` only reads.",
    "PL112": "An edge names a point that is not there: `prev` of a stream, `loaded` of a phase.",
    "PL113": "A scratch buffer is read or written: it holds nothing between phases, each only updates it.",
    "PL114": "A host phase touches pinned memory, which only streams do.",
    "PL115": "A used file is not there, cannot be read, leads out of the folder, or uses this one.",
    "PL116": "A phase says something twice that it can say once.",
    "PL117": "An assumption is not about parts of one buffer, or does not say why it holds.",
    "PL118": "A call does not fit its module: a formal is not given, not there, or of another sort.",
    "PL402": "A stream waits for itself, by one name; it always goes on in order.",
    "PL403": "A launch that nothing awaits.",
    "PL503": "An edge crosses the brace of a capture.",
    "PL504": "A phase in a capture is on a stream that the capture does not fork.",
    "PL505": "A capture, a launch or an end of a stage stands where none can.",
    "PL601": "A size, an index or a region does not fit: zero, negative, or outside the shape.",
    "PL602": "The round has more routes than can be compiled (4,096).",
    "PL603": "The round has more phases than can be unrolled (1,000,000), or calls deeper than 64.",
    "PL708": "A launch recipe cannot be read: a quote without its end, a NUL, over 1,048,576 characters.",
    "PL902": "An `# allow` silences nothing: the note it names is not found there.",
}


_LIKELY = frozenset({"PL459", "PL702", "PL703", "PL707"})


def severity_of(code: str) -> Severity:
    """Notes are the family of 9, waste, and what is only likely to be wrong; the rest are errors."""
    return "note" if code.startswith("PL9") or code in _LIKELY else "error"
