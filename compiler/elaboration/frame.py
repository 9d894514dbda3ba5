"""Where a statement stands when it is expanded: the call, the loops, branches and braces around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from plait.compiler.elaboration.scope import Scope
from plait.dsl import syntax
from plait.dsl.span import Span

Around: TypeAlias = "syntax.For | syntax.When | syntax.Capture | syntax.Call | None"


@dataclass(frozen=True, eq=False, repr=False)
class Frame:
    """One body in which statements are expanded, once: two of one call, or one turn of a loop, are one."""

    outer: Frame | None
    node: Around
    """None: the pipeline's own."""
    scope: Scope
    """What its statements see."""
    value: int = 0
    """Of a loop, that of its variable; of a `when`, 1 where its condition holds."""
    statement: Span | None = None
    """What stands for it in the body around it: of a call that is interleaved, all of that."""

    @property
    def repeats(self) -> bool:
        """Whether its statements may be expanded more than once, so that an edit would touch every copy."""
        return any(isinstance(frame.node, syntax.For | syntax.Call) for frame in self.chain())

    def chain(self) -> list[Frame]:
        """The frames around a statement, outermost first, this one last."""
        found: list[Frame] = []
        frame: Frame | None = self
        while frame is not None:
            found.append(frame)
            frame = frame.outer
        return found[::-1]
