"""Rows that only pad a bucket, taken for rows of requests."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.round import HOST, Phase, Round
from plait.compiler.rows.padding import Origin, Taken, undefined_reads
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic, Edit, Fix, Label
from plait.dsl.span import Span

RULE = Rule(
    code="PL608",
    title="rows that no request has are read as if one had",
    why="""\
A round runs at a bucket, and rows past the live ones hold what an earlier, larger round left there, or
whatever else was in the memory: a host phase loads only the live ones, a carried buffer keeps the others.
Computed row by row they stay apart. A phase that looks `across_rows` mixes them into every result, and a
collective that needs equal shapes on all ranks sends what nobody has computed. An exchange fills as many
rows as data says; a phase across all of them takes the rest for rows that came. Say with `pad` what the
other rows hold.""",
    bad="""\
spec 1
pipeline p {
  dim bs in [1, 2, 4]
  stream main
  buffer lens : i64[bs] on host copies 2
  buffer most : i64[1] copies 2
  join prev longest into host
  phase admit on host { writes lens }
  phase longest on main across_rows { reads lens  writes most }
}
""",
    mended="""\
spec 1
pipeline p {
  dim bs in [1, 2, 4]
  stream main
  buffer lens : i64[bs] on host copies 2 pad 0
  buffer most : i64[1] copies 2
  join prev longest into host
  phase admit on host { writes lens }
  phase longest on main across_rows { reads lens  writes most }
}
""",
)

SENSITIVE = ("all_reduce", "all_gather", "reduce_scatter", "broadcast")
"""Collectives to which each rank brings the same shape."""


def check(round: Round, order: Order, target: Target) -> list[Diagnostic]:
    loaded = {
        access.buffer
        for phase in round.phases
        if phase.stream == HOST
        for access in phase.accesses
        if access.writes
    }
    if not any(_looks(phase) or _sends(phase, loaded) for phase in round.phases):
        return []
    return [_found(round, taken) for taken in undefined_reads(round) if _wrong(round, taken)]


def _looks(phase: Phase) -> bool:
    return "across_rows" in phase.attributes


def _sends(phase: Phase, loaded: set[int]) -> bool:
    """Whether a collective of equal shapes takes something as the host loaded it."""
    sensitive = phase.collective is not None and phase.collective.kind in SENSITIVE
    return sensitive and any(one.reads and one.buffer in loaded for one in phase.accesses)


def _wrong(round: Round, taken: Taken) -> bool:
    if _looks(taken.phase):
        return True
    as_loaded = {
        origin.buffer
        for origin in taken.origins
        if origin.phase is not None and round.phases[origin.phase].stream == HOST
    }
    return taken.access.buffer in as_loaded and _sends(taken.phase, as_loaded)


def _found(round: Round, taken: Taken) -> Diagnostic:
    phase, name = taken.phase, round.buffers[taken.access.buffer].name
    how = "looks across the rows" if _looks(phase) else "brings to a collective the rows"
    origins = sorted(taken.origins, key=lambda one: (one.buffer, one.phase is None, one.phase or 0))
    received = any(_received(round, one) for one in origins)
    those = (
        "not all of which hold anything"
        if received
        else "and those past the live ones hold nothing"
    )
    fix = _padded(round, origins)
    buffers = ", ".join(dict.fromkeys(round.buffers[one.buffer].name for one in origins))
    return Diagnostic(
        RULE.code,
        f"`{phase.name}` {how} of `{name}`{round.where}, {those} meant",
        taken.access.span,
        labels=tuple(_label(round, one) for one in origins),
        witness=_witness(round, taken, origins[0]),
        facts=(("buffer", name), ("phase", phase.name), ("not padded", buffers)),
        help="" if fix else "declare `pad` on what is loaded, so that all its rows hold something",
        fix=fix,
    )


def _received(round: Round, origin: Origin) -> bool:
    return origin.phase is not None and round.phases[origin.phase].stream != HOST


def _label(round: Round, origin: Origin) -> Label:
    buffer = round.buffers[origin.buffer]
    if origin.phase is None:
        kept = "is carried: " if buffer.carried else ""
        return Label(buffer.span, f"`{buffer.name}` {kept}keeps rows of an earlier, larger round")
    phase = round.phases[origin.phase]
    what = "fills as many rows as come" if _received(round, origin) else "loads the live rows alone"
    span = next(one.span for one in phase.accesses if one.buffer == origin.buffer and one.writes)
    return Label(span, f"`{phase.name}` {what}")


def _witness(round: Round, taken: Taken, origin: Origin) -> tuple[str, ...]:
    """A round of the fewest requests that are padded to this bucket."""
    buffer, phase = round.buffers[origin.buffer], taken.phase
    name, read = buffer.name, round.buffers[taken.access.buffer].name
    last = f"`{phase.name}` reads all rows of {read}"
    if origin.phase is not None and _received(round, origin):
        brought = f"`{round.phases[origin.phase].name}` receives one row less than {name} has"
        return (brought, "the last row holds what an earlier round left there", last)
    axis = next(one for one in buffer.axes if one is not None and one.padded)
    live, rows = int(axis.least), int(axis.size)
    sizes = " and ".join(f"{dim}.live = {least}" for dim, least in axis.fewest)
    first = f"round r: {sizes}{round.where}, so of the {rows} rows of {name} {_first(live)} live"
    if origin.phase is not None and live:
        first += f", and `{round.phases[origin.phase].name}` loads those"
    left = f"row {live} holds what an earlier round left there"
    return (first, left, last if read == name else f"{last}, computed from it")


def _first(live: int) -> str:
    if live < 2:
        return "only row 0 is" if live else "none is"
    return f"only rows 0 .. {live - 1} are"


def _padded(round: Round, origins: list[Origin]) -> Fix | None:
    """`pad 0` behind each buffer that the rows come from."""
    edits = []
    lines = []
    for number in dict.fromkeys(one.buffer for one in origins):
        statement = round.buffers[number].statement
        if statement is None:
            return None
        lines.append(f"on line {statement.line}, add to `{round.buffers[number].name}`: pad 0")
        end = Span(statement.source, statement.end, statement.end)
        if end not in [edit.span for edit in edits]:
            edits.append(Edit(end, " pad 0"))
    return Fix("; ".join(lines), tuple(edits))
