"""Exit codes, and the way a command ends early."""

from __future__ import annotations

FINE = 0
DIFFERS = 1
WRONG_INPUT = 2
WRONG_ENVIRONMENT = 3
CODES = "exit codes: 0 fine, 1 differs or fell short, 2 wrong input, 3 wrong environment"


class Refused(Exception):
    """A command cannot go on. The text is one clear line."""

    def __init__(self, line: str, code: int = WRONG_INPUT):
        self.code = code
        super().__init__(line)
