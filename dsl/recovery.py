"""Where reading goes on after a mistake: at the next statement, with what was half written let go.

The parser is put back to the innermost construct that may go on with the word found there. Braces
that open and close on the way are passed over together, so a statement with a mistake in its head
takes its block with it and what stands behind the block is read as what it is.
"""

from __future__ import annotations

import re
from typing import Any

from plait.dsl.words import STATEMENTS, TOP_LEVEL

_WORDS = frozenset([*STATEMENTS, *TOP_LEVEL, "reads", "updates", "writes", "rows", "set"])
_STEP = re.compile(r'"[^"\n]*"?|#[^\n]*|[A-Za-z_0-9]+|[{}]')


def go_on(text: str, error: Any) -> bool:
    """Puts the parser of a failed parse at the next word that can go on. False: there is none."""
    stacks = error.interactive_parser.parser_state
    lexer = error.interactive_parser.lexer_thread.state
    depth = 0
    for found in _STEP.finditer(text, _start(text, error)):
        word = found[0]
        if word == "{":
            depth += 1
        elif word == "}" and depth:
            depth -= 1
        elif depth == 0 and (word == "}" or word in _WORDS) and _back_to(stacks, word):
            lexer.line_ctr.char_pos = found.start()
            lexer.last_token = None
            return True
    return False


def _start(text: str, error: Any) -> int:
    """The mistake itself where it opens a line, as a statement may; else what stands behind it."""
    token = getattr(error, "token", None)
    if token is None:
        return (error.pos_in_stream or 0) + 1
    start = token.start_pos or 0
    opens = not text[text.rfind("\n", 0, start) + 1 : start].strip()
    return start if opens or token in ("{", "}") else token.end_pos or start


def _back_to(stacks: Any, word: str) -> bool:
    """Drops what is half written until `word` may follow; leaves all as it is where it never may."""
    terminal = "RBRACE" if word == "}" else word.upper()
    states = stacks.parse_conf.states
    for size in range(len(stacks.state_stack), 0, -1):
        if _follows(states, stacks.state_stack[:size], terminal):
            del stacks.state_stack[size:]
            del stacks.value_stack[size - 1 :]
            return True
    return False


def _follows(states: Any, stack: list[int], terminal: str) -> bool:
    """Whether the terminal can be shifted, after the reductions that it asks for."""
    stack = list(stack)
    while terminal in states[stack[-1]]:
        _, arg = states[stack[-1]][terminal]
        if not hasattr(arg, "expansion"):
            return True
        if arg.expansion:
            del stack[-len(arg.expansion) :]
        stack.append(states[stack[-1]][arg.origin.name][1])
    return False
