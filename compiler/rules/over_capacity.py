"""More rows than an exchange holds."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.round import Collective, Phase, Round
from plait.compiler.rows.widths import widths
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic

RULE = Rule(
    code="PL851",
    title="more rows are exchanged than the exchange holds",
    why="""\
The window of an exchange has room for `capacity` rows of each rank. More of them are an assertion in the
middle of a round, at the first batch that is large enough, or rows written over those of another rank.
The rows are those of the phase at this bucket, requests times the rows of each; of a low-latency phase
that names none, those of the shortest buffer that it sends or gets back. Raise the capacity, and
the variable it comes from, or leave out the buckets that are too large.""",
    bad="""\
spec 1
pipeline p {
  param num_draft_tokens = 6
  dim bs in [8, 128]
  group ep
  stream main
  pool ll = 2
  buffer x : f32[bs * num_draft_tokens] carried
  buffer recv : opaque in ll
  phase dispatch on main {
    reads x
    writes recv
    rows bs * num_draft_tokens
    collective low_latency over ep capacity 512
  }
  phase experts on main { reads recv  writes x }
}
""",
    mended="""\
spec 1
pipeline p {
  param num_draft_tokens = 6
  dim bs in [8, 128]
  group ep
  stream main
  pool ll = 2
  buffer x : f32[bs * num_draft_tokens] carried
  buffer recv : opaque in ll
  phase dispatch on main {
    reads x
    writes recv
    rows bs * num_draft_tokens
    collective low_latency over ep capacity 768
  }
  phase experts on main { reads recv  writes x }
}
""",
)


def check(round: Round, found: Order, target: Target) -> list[Diagnostic]:
    # Of those that a `for` or a call of many repeats, one.
    over = {
        (phase.base, phase.collective.span): _diagnostic(round, phase, phase.collective, target)
        for phase in reversed(round.phases)
        if phase.collective is not None and _over(round, phase, phase.collective, target)
    }
    return list(over.values())[::-1]


def _limit(collective: Collective, target: Target) -> int | None:
    """What the target's exchange library holds at most."""
    if target.exchange is None or collective.kind != "low_latency":
        return None
    return target.exchange.rows


def _rows(round: Round, phase: Phase, collective: Collective) -> int:
    """Those it says; of an operation that says none, the fewest of what it touches: sent or got back."""
    if phase.rows is not None or collective.kind != "low_latency":
        return phase.rows or 0
    return min((int(one.rows.size) for one in widths(round, [phase])), default=0)


def _over(round: Round, phase: Phase, collective: Collective, target: Target) -> bool:
    limit, capacity = _limit(collective, target), collective.capacity
    rows = _rows(round, phase, collective)
    full = capacity is not None and rows > capacity
    return full or (limit is not None and max(rows, capacity or 0) > limit)


def _diagnostic(round: Round, phase: Phase, collective: Collective, target: Target) -> Diagnostic:
    limit, capacity = _limit(collective, target), collective.capacity
    rows = _rows(round, phase, collective)
    group = round.groups[collective.group].name
    help = "leave out the buckets that are too large, or exchange fewer rows at a time"
    if capacity is not None and rows > capacity:
        message = f"`{phase.name}` exchanges {rows} rows{round.where}, over its capacity: {rows} > {capacity}"
        if limit is None or rows <= limit:
            help = f"a capacity of {rows} holds them; or leave out the buckets that are too large"
    elif rows > (limit or 0):
        message = f"`{phase.name}` exchanges {rows} rows{round.where}; {target.name} holds {limit}"
    else:
        message = f"`{phase.name}` has a capacity of {capacity}; {target.name} holds {limit} rows"
        help = f"a capacity of {limit} is the most there is"
    facts = (("phase", phase.base), ("group", group))
    return Diagnostic(RULE.code, message, collective.span, facts=facts, help=help)
