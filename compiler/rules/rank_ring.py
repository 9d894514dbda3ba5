"""Ranks that wait for each other in a ring over several communicators."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.ranks.behaviours import Behaviour, Behaviours
from plait.compiler.ranks.judged import judged
from plait.compiler.ranks.progress import Node, Ring
from plait.compiler.ranks.sequences import Exchange, communicator_name, sequence
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.codes import severity_of
from plait.dsl.diagnostic import Diagnostic, Label

RULE = Rule(
    code="PL454",
    title="ranks wait for each other in a ring",
    why="""\
Every rank has the same collectives on each communicator, yet one starts that of `a` only after that of
`b`, and another the other way round: each waits in one for the other to come, and none ever does. Three
ranks can do so though no two of them do. Keep one order of all collectives on every rank, or let the ranks
agree on what decides it. The message shows the order that each rank has.""",
    bad="""\
spec 1
pipeline p {
  group tp
  group ep
  guard early
  stream main
  buffer x : i64[4] carried
  buffer y : i64[4] carried
  when early {
    phase reduce on main { updates x  collective all_reduce over tp }
    phase exchange on main { updates y  collective all_to_all over ep }
  } else {
    phase exchange on main { updates y  collective all_to_all over ep }
    phase reduce on main { updates x  collective all_reduce over tp }
  }
}
""",
    mended="""\
spec 1
pipeline p {
  group tp
  group ep
  guard early
  stream main
  buffer x : i64[4] carried
  buffer y : i64[4] carried
  phase reduce on main { updates x  collective all_reduce over tp }
  phase exchange on main { updates y  collective all_to_all over ep }
}
""",
)


def check(orders: list[Order], target: Target) -> list[Diagnostic]:
    """The shortest ring, once all ranks have the same sequences."""
    ranks = judged(orders)
    if ranks.ring is None or not ranks.ring.meets:
        return []
    assert ranks.behaviours is not None
    return [diagnostic(ranks.behaviours, ranks.ring, RULE.code)]


def diagnostic(found: Behaviours, around: Ring, code: str) -> Diagnostic:
    """What is said of a ring, as an error or a note."""
    ranks = list(dict.fromkeys(around.ranks))
    round = ranks[0].round
    communicators = dict.fromkeys(communicator_name(round, of) for of, _, _ in around.nodes)
    first, *rest = [
        _exchange(rank, node) for rank, node in zip(around.ranks, around.nodes, strict=True)
    ]
    spans = dict.fromkeys(one.span for one in rest if one.span != first.span)
    names = ", ".join(communicators)
    wait = "wait" if around.meets else "may wait"
    message = f"ranks {wait} for each other in a ring over {names}"
    return Diagnostic(
        code,
        message,
        first.span,
        severity=severity_of(code),
        label="one waits here",
        labels=tuple(Label(span, "another here") for span in spans),
        witness=tuple(_steps(found, around)),
        facts=(("communicators", names), ("ranks", str(len(ranks)))),
        help="give all ranks one order of these collectives, or let them agree on what decides it",
    )


def _steps(found: Behaviours, around: Ring) -> list[str]:
    """A line for each rank: which exchange it starts only when which is over."""
    lines = []
    nodes = [*around.nodes, around.nodes[0]]
    for place, rank in enumerate(around.ranks):
        one, other = _exchange(rank, nodes[place]), _exchange(rank, nodes[place + 1])
        text = f"{one.text} before {other.text}"
        if place and rank is around.ranks[place - 1]:
            lines[-1] += f" before {other.text}"
        else:
            lines.append(f"{_who(found, around, rank)}: {text}")
    return lines


def _who(found: Behaviours, around: Ring, rank: Behaviour) -> str:
    """A rank by the answers in which it differs from another."""
    differ = [
        place
        for place, answer in enumerate(rank.answers)
        if any(other.answers[place] != answer for other in around.ranks)
    ]
    named = [found.said(place, rank.answers[place]) for place in differ]
    return f"a rank with {', '.join(named)}"


def _exchange(rank: Behaviour, node: Node) -> Exchange:
    of, _, number = node
    return sequence(rank.round, of, rank.idle)[number]
