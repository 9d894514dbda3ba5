"""A bucket that does not divide: by the width of a request, or among the ranks that share its rows."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.round import Access, Buffer, Phase, Round
from plait.compiler.rows.extent import mend
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic, Label

RULE = Rule(
    code="PL606",
    title="a bucket does not divide by a width or among ranks",
    why="""\
A bucket of tokens holds whole requests only if it is a multiple of their width, and is shared by ranks
only if it is a multiple of their number. Otherwise a request is split, and one with the rest is taken
for something else, or rows are lost. In a size `/` has to come out whole; `//` next to an axis of what
it divides by has to leave no rest. List multiples, or list requests and multiply.""",
    bad="""\
spec 1
pipeline p {
  param width = 3
  dim tokens in [6, 8]
  stream main
  buffer tree : i64[tokens / width, width] carried
  phase step on main { updates tree }
}
""",
    mended="""\
spec 1
pipeline p {
  param width = 3
  dim tokens in [6, 9]
  stream main
  buffer tree : i64[tokens / width, width] carried
  phase step on main { updates tree }
}
""",
)


def check(round: Round, order: Order, target: Target) -> list[Diagnostic]:
    found = [one for buffer in round.buffers if (one := _cut(round, buffer))]
    for phase in round.phases:
        collective = phase.collective
        if collective is not None and collective.kind == "reduce_scatter":
            ranks = round.groups[collective.group].size
            if ranks is not None and (one := _scattered(round, phase, ranks)):
                found.append(one)
    return found


def _cut(round: Round, buffer: Buffer) -> Diagnostic | None:
    """An axis of what is left of a floor division, beside one of what it was divided by."""
    shape = buffer.shape or ()
    for place, axis in enumerate(buffer.axes):
        if axis is None or axis.cut is None:
            continue
        amount, by = axis.cut
        if by in (*shape[max(place - 1, 0) : place], *shape[place + 1 : place + 2]):
            held = amount - amount % by
            message = f"`{buffer.name}` holds {held} of {amount} rows{round.where}"
            facts = (("buffer", buffer.name), ("axis", axis.text))
            help = mend(axis.cut)
            return Diagnostic(RULE.code, message, buffer.span, facts=facts, help=help)
    return None


def _scattered(round: Round, phase: Phase, ranks: int) -> Diagnostic | None:
    """Rows that a reduce_scatter cannot share out evenly."""
    reads = [access for access in phase.accesses if access.reads and _sizes(round, access)]
    writes = [_sizes(round, access) for access in phase.accesses if access.kind == "writes"]
    for access in reads:
        sizes = _sizes(round, access)
        if sizes[0] % ranks == 0 or any(_shared(sizes, other, ranks) for other in writes):
            continue
        assert phase.collective is not None
        buffer, group = round.buffers[access.buffer], round.groups[phase.collective.group]
        message = (
            f"`{phase.name}` shares {sizes[0]} rows of `{buffer.name}` among {ranks} ranks"
            f"{round.where}"
        )
        facts = (("buffer", buffer.name), ("group", f"{group.name} = {ranks}"))
        labels = (Label(phase.collective.span, f"over {group.name}, of {ranks} ranks"),)
        help = mend((sizes[0], ranks))
        return Diagnostic(RULE.code, message, access.span, labels=labels, facts=facts, help=help)
    return None


def _shared(sizes: list[int], other: list[int], ranks: int) -> bool:
    """Whether another axis than the first is what the ranks share."""
    return len(sizes) == len(other) and any(
        a == b * ranks for a, b in zip(sizes, other, strict=True)
    )


def _sizes(round: Round, access: Access) -> list[int]:
    """The sizes of the axes that an access keeps, of a buffer whose shape a dim decides."""
    buffer = round.buffers[access.buffer]
    if buffer.shape is None or not any(buffer.axes):
        return []
    region = access.region or (None,) * len(buffer.shape)
    return [
        size if axis is None else axis[1] - axis[0]
        for axis, size in zip(region, buffer.shape, strict=True)
        if not isinstance(axis, int)
    ]
