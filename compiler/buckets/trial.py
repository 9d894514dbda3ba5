"""A pipeline with other buckets of one dim: whether they may be, and what their graphs take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from plait.compiler.budgets.bill import Bill, Prices
from plait.compiler.compile import Asked, expand
from plait.compiler.elaboration.limit import MOST_PHASES
from plait.compiler.round import Round
from plait.compiler.target import Target
from plait.dsl import syntax
from plait.dsl.diagnostic import Diagnostic, SpecError
from plait.dsl.library import Library
from plait.dsl.parser import parse_expression
from plait.dsl.span import Source


class TooMuch(Exception):
    """Trying all sizes would take too long. The text is one line."""


class Trial:
    def __init__(
        self,
        library: Library,
        pipeline: syntax.Pipeline,
        dim: syntax.Dim,
        asked: Asked,
        target: Target,
    ):
        self.library = library
        self.pipeline = pipeline
        self.dim = dim
        self.asked = asked
        self.target = target
        self.prices = Prices(target)
        self.wrong: dict[int, str] = {}
        """Sizes that the spec rules out, and why."""
        self.right: set[int] = set()
        self.phases = 0
        self.routes: dict[int, list[tuple[Round, frozenset[int]]]] = {}
        """Of every size that was priced, its routes and their graphs."""

    def rounds(self, sizes: Iterable[int]) -> list[Round]:
        """Every route with these buckets alone. Raises SpecError."""
        body = tuple(
            node.replace(sizes=listed(sizes)) if node is self.dim else node
            for node in self.pipeline.body
        )
        return expand(self.library, self.pipeline.replace(body=body), self.asked, self.target)

    def why_not(self, size: int) -> str | None:
        """What a size breaks by itself, in the names and sizes of the spec. Raises TooMuch."""
        if size in self.wrong or size in self.right:
            return self.wrong.get(size)
        if self.phases > MOST_PHASES:
            message = f"trying the sizes one by one unrolls more than {MOST_PHASES:,} phases"
            raise TooMuch(f"{message}: give a histogram of fewer sizes")
        try:
            self.phases += sum(len(one.phases) + 1 for one in self.rounds([size]))
            self.right.add(size)
        except SpecError as error:
            self.phases += 1
            self.rule_out(size, error.diagnostics)
        return self.wrong.get(size)

    def rule_out(self, size: int, errors: Sequence[Diagnostic]) -> None:
        self.right.discard(size)
        self.wrong[size] = errors[0].message

    def bill(self, sizes: Iterable[int]) -> Bill:
        """Of these buckets, each of which may be."""
        routes = [route for size in sizes for route in self._priced(size)]
        rounds, used = zip(*routes, strict=True)
        return Bill(self.target, rounds, tuple(self.prices.graphs), used)

    def _priced(self, size: int) -> list[tuple[Round, frozenset[int]]]:
        if size not in self.routes:
            found = self.rounds([size])
            self.routes[size] = [(round, self.prices.graphs_in(round)) for round in found]
        return self.routes[size]


def listed(sizes: Iterable[int]) -> syntax.Expression:
    return parse_expression(Source("--histogram", as_list(sizes)))


def as_list(sizes: Iterable[int]) -> str:
    return "[" + ", ".join(map(str, sizes)) + "]"
