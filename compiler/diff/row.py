"""One difference: what it is of, what each side calls it, and what each side says of it."""

from __future__ import annotations

from typing import Literal

from plait.dsl.record import Record

Change = Literal["added", "removed", "renamed", "moved", "changed"]


class Row(Record):
    """`was` and `before` are of the first side, `now` and `after` of the second: empty where it is not."""

    kind: str
    was: str
    now: str
    before: str
    after: str
    moved: bool = False
    """Whether it runs elsewhere: on another stream, or in another capture."""

    @property
    def change(self) -> Change:
        if not self.was:
            return "added"
        if not self.now:
            return "removed"
        if self.moved:
            return "moved"
        return "renamed" if self.before == self.after else "changed"

    @property
    def name(self) -> str:
        """As the second side has it, with the other name before it where it has another."""
        if self.was == self.now:
            return self.now
        return " = ".join(name for name in (self.was, self.now) if name)

    def mirrored(self) -> Row:
        """The same difference with the sides swapped."""
        return Row(self.kind, self.now, self.was, self.after, self.before, self.moved)
