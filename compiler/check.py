"""All rules over all buckets, each finding once."""

from __future__ import annotations

from dataclasses import replace

from plait.compiler import rules
from plait.compiler.order import Order, order
from plait.compiler.round import Round
from plait.compiler.rules import never_comes_back, race, too_many_streams
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic, Report


def check(rounds: list[Round], target: Target, report: Report) -> list[Order]:
    """The order of every round, in the order given. What is wrong goes to `report`, once."""
    orders: dict[tuple, Order] = {}
    seen: set[tuple] = set()
    judged: set[tuple] = set()
    result = []
    for round in rounds:
        structure = round.structure
        if structure not in orders:
            orders[structure] = order(round)
        found = replace(orders[structure], round=round)  # same order, other sizes
        result.append(found)
        meeting = round.meeting
        modules = rules.OF_SIZES if meeting in judged else rules.MODULES
        findings = [finding for module in modules for finding in module.check(round, found)]
        families = [
            one for one in rules.FAMILIES if one.each + one.of_order and one.concerns(round)
        ]
        names = [one.each if meeting in judged else one.of_order + one.each for one in families]
        late = [module for some in names for module in rules.modules(some)]
        judged.add(meeting)
        for module in (too_many_streams, *late):
            findings += module.check(round, found, target)
        for diagnostic in attached(findings):
            key = (diagnostic.code, diagnostic.span, diagnostic.facts)
            if key not in seen:
                seen.add(key)
                report.add(diagnostic)
    if not report.errors:
        report.diagnostics += [found for rule in rules.ACROSS for found in rule.check(result)]
        families = [one for one in rules.FAMILIES if any(map(one.concerns, rounds))]
        late = [module for one in families for module in rules.modules(one.across)]
        report.diagnostics += [found for rule in late for found in rule.check(result, target)]
    return result


def attached(findings: list[Diagnostic]) -> list[Diagnostic]:
    """Findings with the races of a branch that never comes back put under that branch."""
    branches = [f for f in findings if f.code == never_comes_back.RULE.code]
    taken: set[int] = set()
    result = []
    for branch in branches:
        stream = dict(branch.facts)["stream"]
        races = [
            (place, f)
            for place, f in enumerate(findings)
            if f.code in race.CODES and place not in taken and _leaves(f, stream)
        ]
        taken |= {place for place, _ in races}
        result.append(branch.replace(because=tuple(f for _, f in races)))
    rest = [f for place, f in enumerate(findings) if place not in taken and f not in branches]
    return result + rest


def _leaves(finding: Diagnostic, stream: str) -> bool:
    """Whether a race is with work that the stream was still doing."""
    return dict(finding.facts)["streams"].split(", ")[0] == stream
