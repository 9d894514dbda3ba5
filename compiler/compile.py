"""Text to Schedule: parse, elaborate, prove, lower."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from plait.compiler.check import check
from plait.compiler.elaborate import elaborate
from plait.compiler.lower import lower
from plait.compiler.order import Order
from plait.compiler.round import Round
from plait.compiler.target import Target, load_target
from plait.dsl import syntax
from plait.dsl.diagnostic import Diagnostic, Report
from plait.dsl.parser import MAX_CHARACTERS, parse
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


@dataclass(frozen=True)
class Proven:
    """A spec in which no rule found an error."""

    source: Source
    target: Target
    orders: list[Order]
    """Of every bucket, smallest first."""
    environment: dict[str, str | None]
    notes: list[Diagnostic]


def read_source(path: str | PathLike[str]) -> Source:
    """The text of a spec file, called by its base name. Raises OSError or UnicodeDecodeError."""
    path = Path(path)
    with path.open("rb") as file:
        data = file.read(4 * MAX_CHARACTERS + 1)
    whole = len(data) <= 4 * MAX_CHARACTERS  # else what was cut off may be within a character
    return Source(path.name, data.decode("utf-8-sig", "strict" if whole else "ignore"))


def prove(source: Source, asked: Asked) -> Proven:
    """Raises SpecError with everything that is wrong, TargetError for a target that is not there."""
    file = parse(source)
    return _prove(source, file, asked)


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

    What several of them show is reported once, by the first. Raises SpecError and TargetError as
    `prove` does, for what keeps the text from being judged at all.
    """
    file = parse(source)
    target = load_target(asked.target)
    pipelines = list(file.pipelines)
    if asked.pipeline is not None or asked.variant is not None or not pipelines:
        pipelines = [choose_pipeline(file, asked.pipeline, asked.variant)]
    judged = []
    seen: set[tuple] = set()
    for pipeline in pipelines:
        variants: list[str | None] = [asked.variant]
        if asked.variant is None:
            variants += [variant.name.text for variant in variants_of(file, pipeline)]
        for variant in variants:
            report = Report()
            these = replace(asked, variant=variant)
            _findings(file, pipeline, these, target, report, compared=variant == asked.variant)
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
    return judged


def compile_source(source: Source, asked: Asked) -> Schedule:
    """The Schedule of a spec. Raises SpecError or TargetError."""
    from plait import __version__

    proven = prove(source, asked)
    target = proven.target
    return lower(
        proven.orders,
        variant=asked.variant,
        compiler=__version__,
        source=Digest(source.name, hashlib.sha256(source.text.encode()).hexdigest()),
        target=Digest(target.name, target.sha256),
        environment=proven.environment,
    )


def _prove(source: Source, file: syntax.File, asked: Asked) -> Proven:
    report = Report()
    target = load_target(asked.target)
    pipeline = choose_pipeline(file, asked.pipeline, asked.variant)
    orders, environment = _findings(file, pipeline, asked, target, report)
    report.stop_on_errors()
    return Proven(source, target, orders, environment, report.diagnostics)


def _findings(
    file: syntax.File,
    pipeline: syntax.Pipeline,
    asked: Asked,
    target: Target,
    report: Report,
    compared: bool = True,
) -> tuple[list[Order], dict[str, str | None]]:
    settings = _settings(file, pipeline, asked, target)
    rounds = elaborate(pipeline, settings, report, asked.capture)
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
