"""More device streams than the target has."""

from __future__ import annotations

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
side by side shares a queue without anyone noticing. Streams are made once, so those of all routes count.
Let branches that never run at the same time share a stream, or choose a target with more.""",
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


def check(rounds: list[Round], target: Target) -> list[Diagnostic]:
    """Over all routes, as each stream is made once and kept for the rounds to come."""
    device = {one.name: one for round in rounds for one in round.streams[1:]}
    if len(device) <= target.streams.pool:
        return []
    first_over = list(device.values())[target.streams.pool]
    assert first_over.span is not None
    who = "the round has" if len(device) == len(rounds[0].streams) - 1 else "its routes have"
    message = f"{who} {len(device)} device streams; {target.name} has {target.streams.pool}"
    facts = (("streams", ", ".join(device)), ("target", target.name))
    help = "let branches that never overlap share a stream"
    return [Diagnostic(RULE.code, message, first_over.span, facts=facts, help=help)]
