"""Host work inside a capture, or what blocks the host: a graph holds device work only."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.round import HOST, Edge, Phase, Round
from plait.compiler.rules.rule import Rule
from plait.dsl.diagnostic import Diagnostic, Label

RULE = Rule(
    code="PL501",
    title="a capture holds work of the host, or what blocks it",
    why="""\
A graph records what is issued to a device. A host phase inside it would run once, while the graph is
captured, and never again; a phase marked `host_sync`, or a `join` into the host, waits for the device,
which a capture refuses or never returns from. All of them are listed, each with its usual cure. Move it
before or after the capture, or split the capture in two around it.""",
    bad="""\
spec 1
pipeline p {
  stream main
  buffer x : i64[4]
  capture g on main rows 4 {
    phase make on main { writes x }
    phase look on host { }
  }
}
""",
    mended="""\
spec 1
pipeline p {
  stream main
  buffer x : i64[4]
  capture g on main rows 4 {
    phase make on main { writes x }
  }
  phase look on host { }
}
""",
)


def check(round: Round, found: Order) -> list[Diagnostic]:
    """All of them at once, each with what usually mends it."""
    diagnostics = []
    for item in round.items:
        if not isinstance(item, Phase | Edge) or item.capture is None:
            continue
        name = round.edge_text(item) if isinstance(item, Edge) else item.name
        if isinstance(item, Edge):
            if item.target != HOST:
                continue
            what, help = "waits on the host", "wait after the brace"
        elif item.stream == HOST:
            what = "runs on the host"
            help = "do it above the capture, and let the capture read what it writes"
        elif "host_sync" in item.attributes:
            what = "blocks the host"
            help = (
                "allocate above the capture and keep on the device what the host asks it for;"
                " or move it out of the braces, or split the capture around it"
            )
        else:
            continue
        capture = round.captures[item.capture]
        diagnostics.append(
            Diagnostic(
                RULE.code,
                f"`{name}` {what}, so the capture `{capture.name}` cannot hold it",
                item.span,
                labels=(Label(capture.span, "the capture"),),
                facts=(("item", name), ("capture", capture.name)),
                help=help,
            )
        )
    return diagnostics
