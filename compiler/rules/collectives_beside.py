"""Two collectives that nothing orders, on a device that cannot hold both."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from plait.compiler.order import Moment, Order
from plait.compiler.races.conflicts import Race, Touch
from plait.compiler.races.written import statements
from plait.compiler.ranks.groups import waiting_collectives
from plait.compiler.round import Access, Phase, Round
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic, Label
from plait.dsl.span import Span

RULE = Rule(
    code="PL455",
    title="two collectives have no order, and the device cannot hold both",
    why="""\
Where collectives run on cores that others need too, two of them on two streams may each hold what the
other waits for: one rank begins the first, another rank the second, and neither ever ends. On
a target that says so, give any two collectives of different groups an order; the edge named here does
it. Collectives of one group are another matter: those always need an order.""",
    bad="""\
spec 1
pipeline p {
  group tp
  group ep
  stream main
  stream side : comm
  buffer x : i64[4] carried
  buffer y : i64[4] carried
  buffer z : i64[4] carried
  phase reduce on main { updates x  collective all_reduce over tp }
  fork side from prev add
  phase exchange on side { updates y  collective all_to_all over ep }
  phase beside on main { updates z }
  join exchange into main
  phase add on main { reads y  updates x }
}
""",
    mended="""\
spec 1
pipeline p {
  group tp
  group ep
  stream main
  stream side : comm
  buffer x : i64[4] carried
  buffer y : i64[4] carried
  buffer z : i64[4] carried
  phase reduce on main { updates x  collective all_reduce over tp }
  fork side from reduce
  phase exchange on side { updates y  collective all_to_all over ep }
  phase beside on main { updates z }
  join exchange into main
  phase add on main { reads y  updates x }
}
""",
    target="ascend910c",
)


def check(round: Round, found: Order, target: Target) -> list[Diagnostic]:
    """One finding for every two places of the text."""
    if target.streams.collectives_beside:
        return []
    pairs: dict[frozenset[Span], Diagnostic] = {}
    for one, other in _unordered(round, found):
        earlier, later = sorted((one, other), key=lambda moment: (moment.round, moment.item))
        spans = frozenset(_phase(round, moment).span for moment in (earlier, later))
        if spans not in pairs:
            pairs[spans] = _diagnostic(round, earlier, later, target)
    return list(pairs.values())


def _unordered(round: Round, found: Order) -> Iterator[tuple[Moment, Moment]]:
    """Each collective of the first round with the next one of every queue and other group, if unordered."""
    begun = [found.at(0, place) for place, _, _ in waiting_collectives(round)]
    if len({_group(round, one) for one in begun}) < 2:
        return
    queues: dict[tuple[int, int], list[Moment]] = {}
    for number in range(found.rounds):
        for one in begun:
            moment = found.at(number, one.item)
            queues.setdefault((moment.coordinate, _group(round, one)), []).append(moment)
    indices = {queue: [one.index for one in moments] for queue, moments in queues.items()}
    for one in begun:
        for (coordinate, group), moments in queues.items():
            if coordinate == one.coordinate or group == _group(round, one):
                continue
            at = bisect_right(indices[coordinate, group], one.known[coordinate])
            if at < len(moments) and not moments[at].after(one):
                yield one, moments[at]


def _diagnostic(round: Round, earlier: Moment, later: Moment, target: Target) -> Diagnostic:
    one, other = _phase(round, earlier), _phase(round, later)
    assert one.collective is not None and other.collective is not None
    within = one.capture == other.capture is not None and earlier.round == later.round
    race = Race(_touch(one, earlier, within), _touch(other, later, within))
    (edge,) = statements(round, [race])
    streams = [round.stream_name(round.issuer(phase.stream)) for phase in (one, other)]
    groups = [round.groups[_group(round, moment)].name for moment in (earlier, later)]
    ago = {0: "", 1: " of the round before"}.get(
        later.round - earlier.round, " of an earlier round"
    )
    return Diagnostic(
        RULE.code,
        f"`{other.name}` on {streams[1]} and `{one.name}` on {streams[0]}{ago} have no order, and"
        f" {target.name} may not hold both collectives",
        other.collective.span,
        label=f"on {streams[1]}",
        labels=(Label(one.collective.span, f"on {streams[0]}"),),
        witness=(
            f"one rank: `{one.name}` has begun, and `{other.name}` waits for its cores",
            f"another rank: `{other.name}` has begun, and `{one.name}` waits for its cores",
            "each waits for the other rank, and neither ends",
        ),
        facts=(
            ("groups", ", ".join(groups)),
            ("streams", ", ".join(streams)),
            ("missing edge", edge.text),
        ),
        fix=edge.fix(),
    )


def _touch(phase: Phase, moment: Moment, within: bool) -> Touch:
    """The run of a phase, as what an edge is asked for."""
    nothing = Access(-1, "reads", "", phase.span)
    return Touch(phase, nothing, moment.round, moment.item, moment.known, moment, within=within)


def _phase(round: Round, moment: Moment) -> Phase:
    item = round.items[moment.item]
    assert isinstance(item, Phase)
    return item


def _group(round: Round, moment: Moment) -> int:
    collective = _phase(round, moment).collective
    assert collective is not None
    return collective.group
