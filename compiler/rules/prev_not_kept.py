"""`prev x` where the value of that round is no longer kept."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.round import Phase, Round
from plait.compiler.rules.rule import Rule
from plait.dsl.diagnostic import Diagnostic, Label

RULE = Rule(
    code="PL302",
    title="a value of an earlier round is read after it is gone",
    why="""\
Rounds take turns at the copies of a buffer. The value of k rounds ago is there as long as fewer than
k rounds have written since: with `copies` above k always, with `copies k` until this round's own
write. Give the buffer more `copies`, or read the value above the write.""",
    bad="""\
spec 1
pipeline p {
  stream main
  buffer x : i64[4]
  buffer y : i64[4]
  phase make on main { writes x }
  phase look on main { reads prev x  writes y }
}
""",
    mended="""\
spec 1
pipeline p {
  stream main
  buffer x : i64[4] copies 2
  buffer y : i64[4]
  phase make on main { writes x }
  phase look on main { reads prev x  writes y }
}
""",
)


def check(round: Round, found: Order) -> list[Diagnostic]:
    diagnostics = []
    writers: dict[int, list[Phase]] = {}
    for phase in round.phases:
        for access in phase.accesses:
            if access.writes:
                writers.setdefault(access.buffer, []).append(phase)
    for phase in round.phases:
        for access in phase.accesses:
            back, buffer = access.rounds_back, round.buffers[access.buffer]
            if not back:
                continue
            above = [w for w in writers.get(access.buffer, []) if w.number < phase.number]
            labels: tuple[Label, ...] = ()
            if access.buffer not in writers:
                message = f"no phase writes `{buffer.name}`, so no round has a value of it"
                needed = "write it in some phase"
            elif buffer.copies < back or (buffer.copies == back and above):
                ago = "the round before" if back == 1 else f"{back} rounds before"
                message = (
                    f"`{phase.name}` reads `{buffer.name}` of {ago}, which is overwritten by then"
                )
                needed = f"declare `{buffer.name}` with `copies {back + 1}`"
                if above:
                    labels = (Label(above[-1].span, f"`{above[-1].name}` overwrites it"),)
            else:
                continue
            facts = (("buffer", buffer.name), ("phase", phase.name), ("copies", str(buffer.copies)))
            diagnostics.append(
                Diagnostic(RULE.code, message, access.span, labels=labels, facts=facts, help=needed)
            )
    return diagnostics
