"""A changed text made whole: the edges written in that its data then needs, those left out that it no longer
does, and all of it proven, in every variant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from plait.compiler.compile import Asked, Proven, prove
from plait.compiler.order import Order
from plait.compiler.rules import meanings as codes
from plait.compiler.rules import narrower_edge, never_comes_back, race, unneeded_edge
from plait.dsl.allow import Allows
from plait.dsl.diagnostic import Diagnostic, Fix, SpecError
from plait.dsl.edits import edited
from plait.dsl.format import formatted
from plait.dsl.parser import parse
from plait.dsl.settings import choose_pipeline, variants_of
from plait.dsl.span import Source, Span

MENDED = (*race.CODES, never_comes_back.RULE.code)
"""Findings that an edge mends."""
MOST_TRIES = 12
"""Times that a text is given other edges and proven again."""


class Refused(Exception):
    """A text that is not sound, whatever edges it is given; by the code of what is wrong with it."""


class Worthless(Exception):
    """A text that is sound as it was asked for, and not worth to be proven any further."""

    def __init__(self, source: Source):
        self.source = source
        super().__init__()


@dataclass(frozen=True)
class Fitted:
    source: Source
    proven: tuple[Proven, ...]
    """As asked for, then in every other variant."""
    added: tuple[str, ...] = ()
    """Edges that were written in."""
    dropped: tuple[str, ...] = ()
    """What was done to edges that are not needed any more."""
    noted: frozenset[str] = frozenset()
    """Edges that no data needs, or that could be narrower, and that were so before."""
    spare: tuple[tuple[str, str], ...] = ()
    """For each of them, what leaving it out or narrowing it is called, and the text without it."""


def fitted(
    source: Source,
    asked: Asked,
    known: frozenset[str] | None = None,
    worth: Callable[[Source, Proven], bool] | None = None,
) -> Fitted:
    """`known`: the edges that were not needed before, and stay; None: all stay.

    `worth` is asked when the text is sound as it was asked for. Raises Refused, Worthless, TargetError.
    """
    added: list[str] = []
    dropped: list[str] = []
    for _ in range(MOST_TRIES):
        source = laid_out(source)
        try:
            proven = _proven(source, asked, worth)
        except SpecError as error:
            source = _mended(source, error.diagnostics, added)
            continue
        noted = _noted(source, proven)
        fresh = [one for one in noted if known is not None and _said(one) not in known]
        shorter, made = edited(source, [one.fix for one in fresh if one.fix and one.fix.edits])
        if not made:
            said = frozenset(map(_said, noted))
            spare = tuple((_spared(d), edited(source, [d.fix])[0].text) for d in noted if d.fix)
            return Fitted(source, tuple(proven), tuple(added), tuple(dropped), said, spare)
        dropped += [_dropped(one) for one in fresh if one.fix in made]
        source = shorter
    raise Refused(race.RULE.code)


def laid_out(source: Source) -> Source:
    """In the one layout. Raises Refused."""
    try:
        return Source(source.name, formatted(source), source.folder)
    except SpecError as error:
        raise Refused(error.diagnostics[0].code) from None


def _proven(
    source: Source, asked: Asked, worth: Callable[[Source, Proven], bool] | None
) -> list[Proven]:
    """Raises SpecError, Worthless."""
    found: list[Proven] = []
    for variant in variants(source, asked):
        found.append(prove(source, replace(asked, variant=variant)))
        if len(found) == 1 and worth is not None and not worth(source, found[0]):
            raise Worthless(source)
    return found


def variants(source: Source, asked: Asked) -> list[str | None]:
    """As asked for, then the default and every other variant of the pipeline. Raises SpecError."""
    file = parse(source)
    pipeline = choose_pipeline(file, asked.pipeline, asked.variant)
    names = [one.name.text for one in variants_of(file, pipeline)]
    return list(dict.fromkeys([asked.variant, None, *names]))


def _mended(source: Source, diagnostics: Sequence[Diagnostic], added: list[str]) -> Source:
    """With the edges that findings offer. Raises Refused where nothing that is wrong can be mended so."""
    errors = [one for d in diagnostics for one in d.with_following() if one.severity == "error"]
    beyond = next((one.code for one in errors if one.code not in MENDED), None)
    fixes = [one.fix for one in errors if one.fix and one.fix.edits]
    mended, made = edited(source, fixes)
    if beyond is not None or not made:
        raise Refused(beyond or errors[0].code)
    added += [edit.text.strip() for fix in made for edit in fix.edits if edit.text.strip()]
    return mended


def _noted(source: Source, proven: Sequence[Proven]) -> list[Diagnostic]:
    """Edges that are not needed, or not so wide, and that no comment keeps."""
    orders: list[Order] = [order for one in proven for order in one.orders]
    target = proven[0].target
    unneeded = [*unneeded_edge.check(orders, target), *_idle(source, orders)]
    spans = {one.span for one in unneeded}
    narrower = [one for one in narrower_edge.check(orders, target) if one.span not in spans]
    return Allows(proven[0].sources, codes).left([*unneeded, *narrower])


def _idle(source: Source, orders: Sequence[Order]) -> list[Diagnostic]:
    """Edges from a stream to itself, which it keeps anyway, on every route."""
    between: dict[Span, bool] = {}
    texts: dict[Span, str] = {}
    for round in (order.round for order in orders):
        for edge in round.edges:
            if edge.span.source is source and edge.word in ("fork", "join"):
                apart = edge.target != round.origin(edge.source)
                between[edge.span] = apart or between.get(edge.span, False)
                texts[edge.span] = round.edge_text(edge)
    return [
        Diagnostic(
            unneeded_edge.RULE.code,
            f"`{text}` says what its stream does anyway",
            span,
            "note",
            facts=(("edge", text),),
            fix=Fix(f"remove `{text}`", unneeded_edge.removal(span)),
        )
        for span, text in texts.items()
        if not between[span]
    ]


def _said(finding: Diagnostic) -> str:
    return dict(finding.facts)["edge"]


def _dropped(finding: Diagnostic) -> str:
    fact = dict(finding.facts)
    narrower = fact.get("narrower edge")
    return f"`{narrower}` for `{fact['edge']}`" if narrower else f"without `{fact['edge']}`"


def _spared(finding: Diagnostic) -> str:
    fact = dict(finding.facts)
    narrower = fact.get("narrower edge")
    if narrower:
        return f"`{narrower}` in place of `{fact['edge']}`, as no data needs more"
    return f"`{fact['edge']}` left out, as no data needs it"
