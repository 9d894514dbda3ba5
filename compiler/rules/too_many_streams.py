"""More device streams than the target has."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.round import Round
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic


def _streams(count: int) -> str:
    """Declarations of so many streams, eight a line."""
    lines = [range(start, min(start + 8, count)) for start in range(0, count, 8)]
    return "\n".join("  " + "  ".join(f"stream s{n}" for n in line) for line in lines)


RULE = Rule(
    code="PL801",
    title="a round has more streams than its target",
    why="""\
A target has a pool of streams; asking for more gives the same ones again, and work that should run
side by side shares a queue without anyone noticing. Let branches that never run at the same time
share a stream, or choose a target with more.""",
    bad=f"""\
spec 1
pipeline p {{
{_streams(65)}
  buffer x : i64[4]
  phase make on s0 {{ writes x }}
}}
""",
    mended=f"""\
spec 1
pipeline p {{
{_streams(64)}
  buffer x : i64[4]
  phase make on s0 {{ writes x }}
}}
""",
)


def check(round: Round, found: Order, target: Target) -> list[Diagnostic]:
    device = round.streams[1:]
    if len(device) <= target.streams.pool:
        return []
    first_over = device[target.streams.pool]
    assert first_over.span is not None
    message = f"the round has {len(device)} device streams; {target.name} has {target.streams.pool}"
    names = ", ".join(stream.name for stream in device)
    facts = (("streams", names), ("target", target.name))
    help = "let branches that never overlap share a stream"
    return [Diagnostic(RULE.code, message, first_over.span, facts=facts, help=help)]
