"""Syntax and settings to Rounds: one for every route, flat; what only all routes together show.

Limits: 1,000,000 phases unrolled over all routes, 4,096 routes.
"""

from __future__ import annotations

from plait.compiler.elaboration.expansion import Expansion, Unasked, Unmet
from plait.compiler.elaboration.labels import labels_in
from plait.compiler.elaboration.limit import MOST_PHASES, Limit, TooMuch
from plait.compiler.round import Round
from plait.compiler.routes import Route, routes_of
from plait.dsl import syntax
from plait.dsl.diagnostic import Diagnostic, Report
from plait.dsl.library import Library
from plait.dsl.settings import Settings
from plait.dsl.span import Span


def elaborate(
    pipeline: syntax.Pipeline,
    library: Library,
    settings: Settings,
    report: Report,
    *,
    capture: bool = True,
    most_phases: int = MOST_PHASES,
) -> list[Round]:
    """A Round for every route, the smallest bucket first.

    With `capture` false every capture takes its eager route. What is wrong goes to `report`, once.
    """
    rounds: list[Round] = []
    launches: list[tuple[str, set[Span], dict[int, Span]]] = []
    missing: list[tuple[int, Route]] = []
    routes = routes_of(pipeline, settings, report)
    resolved = dict(settings.resolved)  # a param that depends on a dim is no setting
    labels = labels_in(pipeline, library)
    limit = Limit(most_phases)
    seen = {(d.code, d.span) for d in report.diagnostics}
    for route in routes:
        found = Report()
        expansion = Expansion(pipeline, library, settings, route, found, capture, labels, limit, {})
        spent = False
        try:
            rounds.append(expansion.round(resolved))
            launches.append((rounds[-1].where, expansion.awaited_at, expansion.in_flight))
            if expansion.edges.missed:
                missing.append((len(rounds) - 1, route))
        except (Unmet, Unasked):
            pass
        except TooMuch as error:
            found.diagnostics += error.diagnostics
            spent = True
        # One mistake shows on every route; the first that shows it is named.
        for diagnostic in found.diagnostics:
            if (diagnostic.code, diagnostic.span) not in seen:
                seen.add((diagnostic.code, diagnostic.span))
                report.add(diagnostic)
        if spent:
            return rounds
    for diagnostic in _never_awaited(launches):
        report.add(diagnostic)
    homes = _homes(rounds) if missing and not report.errors else {}
    for place, route in missing if homes else ():
        again = Expansion(
            pipeline, library, settings, route, Report(), capture, labels, limit, homes
        )
        rounds[place] = again.round(resolved)
    return rounds


def _never_awaited(routes: list[tuple[str, set[Span], dict[int, Span]]]) -> list[Diagnostic]:
    """Launches that some route never awaits; where another does, the first route without is named."""
    somewhere = {span for _, awaited, _ in routes for span in awaited}
    found: dict[Span, Diagnostic] = {}
    for where, _, in_flight in routes:
        for span in in_flight.values():
            at = where if span in somewhere else ""
            help = "write `await NAME on STREAM`" + (
                " on every route that launches it" if at else ""
            )
            message = f"this launch is never awaited{at}"
            found.setdefault(span, Diagnostic("PL403", message, span, help=help))
    return list(found.values())


def _homes(rounds: list[Round]) -> dict[str, tuple[str, str]]:
    """Of every point that some route has, its record's name and stream: a graph's for what it holds."""
    found: dict[str, tuple[str, str]] = {}
    for round in rounds:
        for phase in round.phases:
            home = phase if phase.capture is None else round.captures[phase.capture]
            found.setdefault(phase.name, (home.name, round.stream_name(home.stream)))
        for capture in round.captures:
            stream = round.stream_name(capture.stream)
            for name in (capture.name, f"{capture.name}.loaded"):
                found.setdefault(name, (name, stream))
    return found
