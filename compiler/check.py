"""All rules over all buckets, each finding once."""

from __future__ import annotations

from dataclasses import replace

from plait.compiler import rules
from plait.compiler.order import Order, order
from plait.compiler.round import Round
from plait.compiler.rules import never_comes_back, race, switch, too_many_streams
from plait.compiler.rules.families import FAMILIES, modules
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic, Report


def check(rounds: list[Round], target: Target, report: Report) -> list[Order]:
    """The order of every round, in the order given. What is wrong goes to `report`, once."""
    orders: dict[tuple, Order] = {}
    seen: set[tuple] = set()
    judged: set[tuple] = set()
    here = [one for one in FAMILIES if one.on(target)]
    result = []
    for round in rounds:
        structure = round.structure
        if structure not in orders:
            orders[structure] = order(round)
        found = replace(orders[structure], round=round)  # same order, other sizes
        result.append(found)
        meeting = round.meeting
        always = rules.OF_SIZES if meeting in judged else rules.MODULES
        findings = [finding for module in always for finding in module.check(round, found)]
        concerned = [one for one in here if one.each + one.of_order and one.concerns(round)]
        names = [one.each if meeting in judged else one.of_order + one.each for one in concerned]
        late = [module for some in names for module in modules(some)]
        judged.add(meeting)
        for module in late:
            findings += module.check(round, found, target)
        for diagnostic in attached(findings):
            key = (diagnostic.code, diagnostic.span, diagnostic.facts)
            if key not in seen:
                seen.add(key)
                report.add(diagnostic)
    report.diagnostics += too_many_streams.check(rounds, target)
    if not report.errors:
        across = [found for rule in rules.ACROSS for found in rule.check(result)]
        families = [one for one in here if any(map(one.concerns, rounds))]
        late = [module for one in families for module in modules(one.across)]
        across += [found for rule in late for found in rule.check(result, target)]
        report.diagnostics += attached(across)
    return result


def attached(findings: list[Diagnostic]) -> list[Diagnostic]:
    """Findings with the races that follow from another under it: mending that mends them.

    From a branch that never comes back follow those with what it was still doing, from a use before an
    await those of the same two phases, from a wait for a point that moves those that it should have ended.
    """
    causes = [one for one in findings if one.code in _CAUSES]
    taken: set[int] = set()
    following: dict[int, tuple[Diagnostic, ...]] = {}
    for cause in causes:
        races = [
            (place, f)
            for place, f in enumerate(findings)
            if f.code in _RACES and place not in taken and _follows(f, cause)
        ]
        taken |= {place for place, _ in races}
        # What a fix of the cause mends needs none of its own; of a branch, the races know the place.
        fixed = cause.fix is not None and cause.code != never_comes_back.RULE.code
        following[id(cause)] = tuple(f.replace(fix=None) if fixed else f for _, f in races)
    return [
        _with_following(one, following[id(one)]) if id(one) in following else one
        for place, one in enumerate(findings)
        if place not in taken
    ]


def _with_following(cause: Diagnostic, races: tuple[Diagnostic, ...]) -> Diagnostic:
    late = cause.code == never_comes_back.RULE.code and races
    return cause.replace(because=races, fix=None if late else cause.fix)


_CAUSES = (never_comes_back.RULE.code, "PL404", "PL406")
_RACES = (*race.CODES, switch.RULE.code)


def _follows(finding: Diagnostic, cause: Diagnostic) -> bool:
    of, by = dict(finding.facts), dict(cause.facts)
    if cause.code == never_comes_back.RULE.code:
        return of["streams"].split(", ")[0] == by["stream"]
    if cause.code == "PL404":
        return of["phases"] == by.get("phases")
    return of["missing edge"] == by["edge"]
