"""Two collectives of different routes that nothing orders, on a device that cannot hold both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

from plait.compiler.order import Order
from plait.compiler.ranks.groups import waiting_collectives
from plait.compiler.round import Phase, Round
from plait.compiler.rules.rule import Rule
from plait.compiler.summary import Summary, coordinates_of, summary
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic, Fix, Label
from plait.dsl.span import Span

RULE = Rule(
    code="PL456",
    title="two collectives of different routes have no order, and the device cannot hold both",
    why="""\
Where collectives run on cores that others need too, two of them on two streams may each hold what the
other waits for, and ranks hang. That goes for the last round, too, where it took another route: what it
left running on a stream may meet a collective of this one, though each route by itself, repeated,
orders all of its own. Write the edge on every route, or join the branch in its own round.""",
    bad="""\
spec 1
pipeline p {
  group all
  group tp in all
  group ep in all
  guard wide over all
  stream main
  stream side : comm
  buffer x : i64[4] carried
  buffer y : i64[4] carried
  buffer z : i64[4]
  when wide {
    join prev exchange into main
    phase reduce on main { updates x  writes z  collective all_reduce over tp }
    fork side from reduce
    phase exchange on side { reads z  updates y  collective all_to_all over ep }
    phase beside on main { updates x }
  } else {
    phase gather on main { updates x  collective all_reduce over tp }
    join side into main
    phase add on main { reads x  updates y }
  }
}
""",
    mended="""\
spec 1
pipeline p {
  group all
  group tp in all
  group ep in all
  guard wide over all
  stream main
  stream side : comm
  buffer x : i64[4] carried
  buffer y : i64[4] carried
  buffer z : i64[4]
  when wide {
    join prev exchange into main
    phase reduce on main { updates x  writes z  collective all_reduce over tp }
    fork side from reduce
    phase exchange on side { reads z  updates y  collective all_to_all over ep }
    phase beside on main { updates x }
  } else {
    join side into main
    phase gather on main { updates x  collective all_reduce over tp }
    phase add on main { reads x  updates y }
  }
}
""",
    target="ascend910c",
)


@dataclass(frozen=True, eq=False)
class _Part:
    """The collectives of one route, by the name of their group; of those that know the same, one."""

    round: Round
    ends: dict[tuple[str, int], Phase]
    """Each with the coordinates that come after it."""
    begins: dict[tuple[str, int], Phase]
    """Each with the coordinates that it comes after."""


def check(orders: list[Order], target: Target) -> list[Diagnostic]:
    """One finding for every two places of the text, with the first routes that show it."""
    if target.streams.collectives_beside:
        return []
    rounds = list({order.round.meeting: order.round for order in orders}.values())
    coordinates = coordinates_of(rounds)
    parts = [_part(round, summary(round, coordinates)) for round in rounds]
    pairs: dict[frozenset[Span], Diagnostic] = {}
    for first, then in permutations(parts, 2):
        for one, other in _unordered(first, then):
            key = frozenset((one.span, other.span))
            if key not in pairs:
                pairs[key] = _diagnostic(first, one, then, other, target)
    return list(pairs.values())


def _part(round: Round, found: Summary) -> _Part:
    part = _Part(round, {}, {})
    for place, phase, group in waiting_collectives(round):
        name = round.groups[group].name
        part.ends.setdefault((name, found.left[place]), phase)
        part.begins.setdefault((name, found.knows[place]), phase)
    return part


def _unordered(first: _Part, then: _Part) -> Iterator[tuple[Phase, Phase]]:
    for (group, left), one in first.ends.items():
        for (other_group, known), other in then.begins.items():
            if group != other_group and not left & known:
                yield one, other


def _diagnostic(first: _Part, one: Phase, then: _Part, other: Phase, target: Target) -> Diagnostic:
    assert one.collective is not None and other.collective is not None
    streams = first.round.stream_name(one.stream), then.round.stream_name(other.stream)
    groups = [
        part.round.groups[phase.collective.group].name
        for part, phase in ((first, one), (then, other))
        if phase.collective is not None
    ]
    edge = f"join prev {first.round.outside(one)} into {streams[1]}"
    return Diagnostic(
        RULE.code,
        f"`{other.name}` on {streams[1]} and `{one.name}` on {streams[0]} of the round before have no"
        f" order when the route changes, and {target.name} may not hold both collectives",
        other.collective.span,
        label=f"on {streams[1]}",
        labels=(Label(one.collective.span, f"on {streams[0]}"),),
        facts=(
            ("groups", ", ".join(groups)),
            ("streams", ", ".join(streams)),
            ("routes", "; then ".join(part.round.answers for part in (first, then))),
            ("missing edge", edge),
        ),
        help="write the edge on every route, or join the branch in its own round",
        fix=Fix(f"before line {(other.braces or other.statement).line}, write: {edge}"),
    )
