"""A text mended by the fixes that its findings offer.

Fixes are made, the text is judged again, and so on until none is offered or MOST_TRIES were made. What
a try did is kept when every finding it was for is gone and no other error has come; otherwise it is
undone and fewer are tried at a time, so a mended text is never worse than it was.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from plait.compiler.compile import Asked, prove_all
from plait.dsl.diagnostic import Diagnostic, Fix, SpecError
from plait.dsl.edits import edited
from plait.dsl.span import Source

MOST_TRIES = 100
WASTE = ("PL901", "PL906")
"""What is only changed on request: it may stand there for what no declaration shows."""


@dataclass(frozen=True)
class Mended:
    source: Source
    count: int
    """Findings that were mended."""


def mended(source: Source, asked: Asked, waste: bool = False) -> Mended:
    """Raises TargetError."""
    count, most = 0, None
    refused: set[str] = set()
    groups = _judged(source, asked)
    for _ in range(MOST_TRIES):
        place, offered = _offered(groups, refused, waste)
        trial, made = edited(source, [fix for _, fix in offered[:most]])
        if not made:
            break
        after = _judged(trial, asked)
        findings = [finding for finding, fix in offered if fix in made]
        if _better(groups, after, place, findings):
            source, groups, count = trial, after, count + len(findings)
            refused.clear()  # what did not help before may help now
            most = 2 * len(made)
        elif len(made) > 1:
            most = len(made) // 2
        else:
            refused.add(_key(made[0]))
    return Mended(source, count)


def _judged(source: Source, asked: Asked) -> list[list[Diagnostic]]:
    """Every finding in each variant, each by itself."""
    try:
        groups = [one.findings for one in prove_all(source, asked)]
    except SpecError as error:
        groups = [error.diagnostics]
    return [[one for finding in group for one in finding.with_following()] for group in groups]


def _offered(
    groups: list[list[Diagnostic]], refused: set[str], waste: bool
) -> tuple[int, list[tuple[Diagnostic, Fix]]]:
    """The fixes of the first variant that has any: what mends it may mend the others."""
    for place, group in enumerate(groups):
        offered = [
            (finding, finding.fix)
            for finding in group
            if finding.fix
            and finding.fix.edits
            and _key(finding.fix) not in refused
            and (waste or finding.code not in WASTE)
        ]
        if offered:
            return place, offered
    return 0, []


def _key(fix: Fix) -> str:
    """The same for a fix and for the same one after others were made above it."""
    lines = [edit.span.source.line(edit.span.line) for edit in fix.edits]
    return "\n".join([*lines, *(edit.text for edit in fix.edits)])


def _better(
    before: list[list[Diagnostic]],
    after: list[list[Diagnostic]],
    place: int,
    mended: list[Diagnostic],
) -> bool:
    """Whether findings of one variant are gone, and no error of another sort has come anywhere."""
    if len(after) != len(before):
        return False
    left = {(finding.code, finding.message) for finding in after[place]}
    if any((finding.code, finding.message) in left for finding in mended):
        return False
    codes = {finding.code for finding in mended}
    new = _errors(after, codes)
    new.subtract(_errors(before, codes))
    return all(count <= 0 for count in new.values())


def _errors(groups: list[list[Diagnostic]], but: set[str]) -> Counter[str]:
    return Counter(
        finding.code
        for group in groups
        for finding in group
        if finding.severity == "error" and finding.code not in but
    )
