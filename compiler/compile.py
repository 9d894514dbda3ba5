"""Text to Schedule: parse, elaborate, prove, lower."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from plait.compiler.arena.arena import laid_out
from plait.compiler.check import check
from plait.compiler.elaboration.elaborate import elaborate
from plait.compiler.elaboration.limit import MOST_PHASES
from plait.compiler.lower import lower
from plait.compiler.order import Order
from plait.compiler.round import Round
from plait.compiler.rules import meanings, notes
from plait.compiler.target import Target, load_target
from plait.dsl import syntax
from plait.dsl.allow import Allows
from plait.dsl.diagnostic import Diagnostic, Report
from plait.dsl.library import Library, load_library
from plait.dsl.parser import MAX_CHARACTERS
from plait.dsl.settings import Settings, choose_pipeline, settings_for, variants_of
from plait.dsl.span import Source
from plait.dsl.values import Value
from plait.runtime.schedule import Digest, Schedule

if TYPE_CHECKING:
    from plait.compiler.recipe.recipe import Recipe

DEFAULT_TARGET = "cpu"


@dataclass(frozen=True)
class Asked:
    """What a spec is compiled for."""

    pipeline: str | None = None
    variant: str | None = None
    settings: Mapping[str, Value | Source] | None = None
    target: str = DEFAULT_TARGET
    environment: Mapping[str, str] | None = None
    """None: the recipe's, or without one the process's own."""
    recipe: Recipe | None = None
    """How the server is launched that the spec is held against."""
    capture: bool = True
    """False: every capture takes its eager route."""
    unchecked: bool = False
    """Whether a spec is lowered in spite of what the rules find in it."""
    limits: tuple[str, ...] = ()
    """Limits in place of the target's: `streams=400`."""
    most_phases: int = MOST_PHASES
    """That may be unrolled, over all routes."""


@dataclass(frozen=True)
class Proven:
    """A spec in which no rule found an error, or none that was not passed over."""

    sources: list[Source]
    """The spec, then the files it uses."""
    target: Target
    orders: list[Order]
    """Of every route, the smallest bucket first."""
    environment: dict[str, str | None]
    passed_over: tuple[Diagnostic, ...] = ()
    """What was found wrong and passed over, because that was asked for, in the order of the text."""

    @property
    def unproven(self) -> tuple[str, ...]:
        """Codes of what was passed over, and of what follows it."""
        codes = {found.code for error in self.passed_over for found in error.with_following()}
        return tuple(sorted(codes))

    @property
    def widest(self) -> Order:
        """That of the largest bucket, on its first route."""
        sizes = self.orders[-1].round.sizes
        return next(one for one in self.orders if one.round.sizes == sizes)


def read_source(path: str | PathLike[str]) -> Source:
    """The text of a spec file, called by its base name. Raises OSError or UnicodeDecodeError."""
    path = Path(path)
    with path.open("rb") as file:
        data = file.read(4 * MAX_CHARACTERS + 1)
    whole = len(data) <= 4 * MAX_CHARACTERS  # else what was cut off may be within a character
    text = data.decode("utf-8-sig", "strict" if whole else "ignore")
    return Source(_one_line(path.name), text, path.parent)


def _one_line(name: str) -> str:
    """A file's name as it may stand in messages and comments, whatever the file system allows."""
    return name if name.isprintable() else name.encode("unicode_escape", "replace").decode()


def prove(source: Source, asked: Asked) -> Proven:
    """Raises SpecError with everything that is wrong, TargetError for a target that is not there."""
    library = load_library(source)
    return _prove(library, asked)


@dataclass(frozen=True)
class Judged:
    """What was found in a pipeline at its default settings, or in a variant of it."""

    name: str
    """`default` or the variant's name; in a file of several pipelines `PIPELINE`, `PIPELINE@VARIANT`."""
    pipeline: str
    variant: str | None
    findings: list[Diagnostic]


def prove_all(source: Source, asked: Asked) -> list[Judged]:
    """The findings in every pipeline, at its default settings and in each variant, or in those asked for.

    What several of them show is reported once, by the first. A pipeline without errors is looked through
    for notes, which comments of the text may silence. Raises SpecError and TargetError as `prove` does,
    for what keeps the text from being judged at all.
    """
    library = load_library(source)
    file, target = library.file, target_of(asked)
    pipelines = list(file.pipelines)
    if asked.pipeline is not None or asked.variant is not None or not pipelines:
        pipelines = [choose_pipeline(file, asked.pipeline, asked.variant)]
    whole = asked.pipeline is None and asked.variant is None and not asked.settings
    judged = []
    seen: set[tuple] = set()
    for pipeline in pipelines:
        orders: list[Order] = []
        first = len(judged)
        variants: list[str | None] = [asked.variant]
        if asked.variant is None:
            variants += [variant.name.text for variant in variants_of(file, pipeline)]
        for variant in variants:
            report = Report()
            these = replace(asked, variant=variant)
            compared = variant == asked.variant
            orders += _findings(library, pipeline, these, target, report, compared)[0]
            new = []
            for diagnostic in sorted(report.diagnostics, key=lambda d: d.place):
                key = (diagnostic.code, diagnostic.span, diagnostic.message)
                if key not in seen:
                    seen.add(key)
                    new.append(diagnostic)
            name = pipeline.name.text
            label = f"{name}@{variant}" if variant else name
            if len(pipelines) == 1:
                label = variant or "default"
            judged.append(Judged(label, name, variant, new))
        if not any(one.findings for one in judged[first:]):
            judged[first].findings.extend(notes(orders, target, whole and asked.capture))
    return _answered(judged, Allows(library.sources, meanings), whole)


def _answered(judged: list[Judged], allows: Allows, whole: bool) -> list[Judged]:
    """What no comment silences, and what is wrong with the comments.

    Only where all of a file was judged as it is written, and is sound, are those that silenced nothing
    known to be of no use.
    """
    first, *rest = [replace(one, findings=allows.left(one.findings)) for one in judged]
    errors = any(d.severity == "error" for one in judged for d in one.findings)
    more = allows.mistakes + (allows.unused() if whole and not errors else [])
    found = sorted([*first.findings, *more], key=lambda d: d.place)
    return [replace(first, findings=found), *rest]


def compile_source(source: Source, asked: Asked) -> Schedule:
    """The Schedule of a spec. Raises SpecError or TargetError."""
    return lowered(prove(source, asked), asked)


def lowered(proven: Proven, asked: Asked) -> Schedule:
    """The Schedule of a spec that was proven for what is asked."""
    from plait import __version__

    target = proven.target
    orders = proven.orders
    if target.exchange is not None:
        from plait.compiler.one_order import in_one_order

        orders = in_one_order(orders, target)
    schedule = lower(
        orders,
        variant=asked.variant,
        compiler=__version__,
        sources=proven.sources,
        digests=[_digest(one) for one in proven.sources],
        target=Digest(target.name, target.sha256),
        environment=proven.environment,
    )
    if proven.unproven:  # nobody knows what may share memory
        return replace(schedule, unchecked=proven.unproven)
    return laid_out(schedule, proven.orders)


def _digest(source: Source) -> Digest:
    return Digest(source.name, hashlib.sha256(source.text.encode()).hexdigest())


def _prove(library: Library, asked: Asked) -> Proven:
    report = Report()
    target = target_of(asked)
    pipeline = choose_pipeline(library.file, asked.pipeline, asked.variant)
    orders, environment = _findings(library, pipeline, asked, target, report)
    report.diagnostics += Allows(library.sources, meanings).mistakes
    if asked.unchecked and orders:
        errors = tuple(sorted(report.errors, key=lambda d: d.place))
        return Proven(library.sources, target, orders, environment, errors)
    report.stop_on_errors()
    return Proven(library.sources, target, orders, environment)


def target_of(asked: Asked) -> Target:
    """With the limits that were asked for. Raises TargetError."""
    target = load_target(asked.target)
    if asked.limits:
        from plait.compiler.budgets.limits import limited

        target = limited(target, asked.limits)
    return target


def expand(
    library: Library, pipeline: syntax.Pipeline, asked: Asked, target: Target
) -> list[Round]:
    """Every route of a pipeline, not proven. Raises SpecError."""
    report = Report()
    settings = _settings(library.file, pipeline, asked, target)
    rounds = elaborate(
        pipeline, library, settings, report, capture=asked.capture, most_phases=asked.most_phases
    )
    report.stop_on_errors()
    return rounds


def _findings(
    library: Library,
    pipeline: syntax.Pipeline,
    asked: Asked,
    target: Target,
    report: Report,
    compared: bool = True,
) -> tuple[list[Order], dict[str, str | None]]:
    file = library.file
    settings = _settings(file, pipeline, asked, target)
    rounds = elaborate(
        pipeline, library, settings, report, capture=asked.capture, most_phases=asked.most_phases
    )
    if target.registries or asked.recipe:
        report.diagnostics += _outside(file, pipeline, settings, rounds, asked, target, compared)
    if report.errors:  # names and sizes first: rules would only repeat them
        return [], settings.read
    return check(rounds, target, report), settings.read


def _settings(
    file: syntax.File, pipeline: syntax.Pipeline, asked: Asked, target: Target
) -> Settings:
    environment, recipe = asked.environment, asked.recipe
    if environment is None:
        environment = os.environ if recipe is None else recipe.environment
    places = {export.name: export.span for export in recipe.exports} if recipe else {}
    if target.registries:
        from plait.compiler.outside import as_read

        environment, places = as_read(environment, target), as_read(places, target)
    return settings_for(file, pipeline, asked.variant, asked.settings, environment, places)


def _outside(
    file: syntax.File,
    pipeline: syntax.Pipeline,
    settings: Settings,
    rounds: list[Round],
    asked: Asked,
    target: Target,
    compared: bool,
) -> list[Diagnostic]:
    """What the runtimes of the target, and the recipe, have against the pipeline's settings."""
    from plait.compiler.outside import Outside
    from plait.compiler.rules.outside import OUTSIDE

    outside = Outside(
        pipeline,
        tuple(variants_of(file, pipeline)),
        tuple(settings.flags.values()),
        settings.resolved,
        {dim: sorted({one.sizes[dim] for one in rounds}) for dim in _dims(rounds)},
        target,
        asked.recipe,
        compared,
    )
    return [finding for module in OUTSIDE for finding in module.check(outside)]


def _dims(rounds: list[Round]) -> list[str]:
    return list(rounds[0].sizes) if rounds else []


def every_route(source: Source, asked: Asked) -> Iterator[tuple[list[Order], list[Diagnostic]]]:
    """Of every pipeline and variant asked for, the order of its routes, and the errors in it.

    The orders are there where names and sizes are right, whatever else is wrong. Raises SpecError and
    TargetError as `prove` does.
    """
    library = load_library(source)
    file, target = library.file, load_target(asked.target)
    pipelines = [one for one in file.pipelines if asked.pipeline in (None, one.name.text)]
    for pipeline in pipelines or [choose_pipeline(file, asked.pipeline, asked.variant)]:
        variants: list[str | None] = [asked.variant]
        if asked.variant is None:
            variants += [variant.name.text for variant in variants_of(file, pipeline)]
        for variant in variants:
            report = Report()
            these = replace(asked, variant=variant)
            orders, _ = _findings(library, pipeline, these, target, report)
            yield orders, report.errors
