"""One difference: what it is of, what each side calls it, and what each side says of it."""

from __future__ import annotations

from typing import Literal

from plait.dsl.record import Record

PLACE = "place"
"""The part of a phase or a capture that says where it runs."""
Change = Literal["added", "removed", "renamed", "moved", "changed"]


class Row(Record):
    """`was` and `before` are of the first side, `now` and `after` of the second: empty where it is not."""

    kind: str
    was: str
    now: str
    before: str
    after: str
    parts: tuple[str, ...] = ()
    """Of what both sides have, which parts differ: `place`, `accesses`, `rows`, ..."""

    @property
    def change(self) -> Change:
        if not self.was:
            return "added"
        if not self.now:
            return "removed"
        if self.kind == "phase" and PLACE in self.parts:
            return "moved"
        return "renamed" if self.before == self.was and self.after == self.now else "changed"

    @property
    def name(self) -> str:
        """As the second side has it, with the other name before it where it has another."""
        if self.was == self.now:
            return self.now
        return " = ".join(name for name in (self.was, self.now) if name)

    def mirrored(self) -> Row:
        """The same difference with the sides swapped."""
        return Row(self.kind, self.now, self.was, self.after, self.before, self.parts)
