"""What specialises a pipeline before it is compiled: params, flags, variants, the environment.

A param or flag takes, in this order: what `--set` (or a `settings` argument) says, what the variant
sets, for a flag its environment variable, its default.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from plait.dsl import syntax
from plait.dsl.build import LARGEST
from plait.dsl.diagnostic import Diagnostic, Label, SpecError
from plait.dsl.parser import parse_expression
from plait.dsl.record import Record
from plait.dsl.span import Source, Span
from plait.dsl.suggest import did_you_mean
from plait.dsl.values import Broken, Value, evaluate, kind, written

LONGEST_HELD = 10_000
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_FRACTION = re.compile(r"[+-]?[0-9]{1,19}(\.[0-9]{1,19})?")
TRUE_WORDS = frozenset({"1", "true", "yes", "on"})
FALSE_WORDS = frozenset({"0", "false", "no", "off", ""})


class FlagRead(Record):
    """A variable of the environment that a flag reads."""

    flag: str
    variable: str
    default: Value
    span: Span
    """Of the variable's name, in its quotes."""


@dataclass
class Settings:
    """What was asked for, and, once the pipeline is read, what each name came to be."""

    given: dict[str, syntax.Expression] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    resolved: dict[str, Value] = field(default_factory=dict)
    read: dict[str, str | None] = field(default_factory=dict)
    """Environment variables that flags name, with what they held (None: not set)."""
    flags: dict[str, FlagRead] = field(default_factory=dict)
    places: Mapping[str, Span] = field(default_factory=dict)
    """Where a variable of the environment was set, if a text says so."""

    def param(self, node: syntax.Param, scope: Mapping[str, Value | Broken]) -> Value:
        """The value of a param. Raises SpecError when a given value is of another kind."""
        value = self._given(node.name.text, evaluate(node.value, scope), scope)
        self.resolved[node.name.text] = value
        return value

    def flag(self, node: syntax.Flag, scope: Mapping[str, Value | Broken]) -> Value:
        """The value of a flag: as a param, with the environment above its default."""
        name, text, default = node.name.text, *_environment_call(node)
        variable = text.value
        value = evaluate(default, scope)
        self.flags[name] = FlagRead(name, variable, value, text.span)
        held = self.environment.get(variable)
        self.read[variable] = held
        if held is not None and name not in self.given:
            value = _from_environment(node, variable, held, value, self.places.get(variable))
        value = self._given(name, value, scope)
        self.resolved[name] = value
        return value

    def _given(self, name: str, default: Value, scope: Mapping[str, Value | Broken]) -> Value:
        if name not in self.given:
            return default
        value = evaluate(self.given[name], scope)
        if kind(value) != kind(default):
            message = f"`{name}` is {kind(default)} ({written(default)}), not {kind(value)}"
            help = f"give {kind(default)}, as `{name}={written(default)}` does"
            raise SpecError([Diagnostic("PL106", message, self.given[name].span, help=help)])
        return value


def settings_for(
    file: syntax.File,
    pipeline: syntax.Pipeline,
    variant: str | None = None,
    given: Mapping[str, Value | Source] | None = None,
    environment: Mapping[str, str] | None = None,
    places: Mapping[str, Span] | None = None,
) -> Settings:
    """Settings of a pipeline.

    `given` maps names to values, or to Sources that say NAME=VALUE in the spec's notation. Raises
    SpecError for a variant, param or flag that is not there.
    """
    settings = Settings(environment=environment or {}, places=places or {})
    if variant is not None:
        for setting in _variant(file, pipeline, variant).settings:
            _known(pipeline, setting.name.text, setting.name.span)
            settings.given[setting.name.text] = setting.value
    for name, value in (given or {}).items():
        source = (
            value if isinstance(value, Source) else Source("settings", f"{name}={written(value)}")
        )
        start = source.text.index("=")
        _known(pipeline, name, Span(source, 0, start))
        settings.given[name] = parse_expression(source, start + 1)
    return settings


def choose_pipeline(
    file: syntax.File, name: str | None = None, variant: str | None = None
) -> syntax.Pipeline:
    """The pipeline of that name, or the only one, or the only one with that variant. Raises SpecError."""
    pipelines = list(file.pipelines)
    names = [pipeline.name.text for pipeline in pipelines]
    if name in names:
        return pipelines[names.index(name)]
    start = Span(file.span.source, 0, 0)
    if not names:
        message, help = "there is no pipeline in this file", "write `pipeline NAME { ... }`"
        raise SpecError([Diagnostic("PL105", message, start, help=help)])
    if name is not None:
        message = f"there is no pipeline `{name}`"
        raise SpecError([Diagnostic("PL105", message, start, help=did_you_mean(name, names))])
    if variant is not None and len(pipelines) > 1:
        with_it = {v.of.text for v in file.variants if v.name.text == variant}
        pipelines = [p for p in pipelines if p.name.text in with_it] or pipelines
    if len(pipelines) == 1:
        return pipelines[0]
    message = f"there are {len(pipelines)} pipelines in this file"
    help = f"choose one by its name ({', '.join(p.name.text for p in pipelines)})"
    raise SpecError([Diagnostic("PL105", message, start, help=help)])


def variants_of(file: syntax.File, pipeline: syntax.Pipeline) -> list[syntax.Variant]:
    return [variant for variant in file.variants if variant.of.text == pipeline.name.text]


def _variant(file: syntax.File, pipeline: syntax.Pipeline, name: str) -> syntax.Variant:
    variants = variants_of(file, pipeline)
    for variant in variants:
        if variant.name.text == name:
            return variant
    message = f"`{pipeline.name.text}` has no variant `{name}`"
    help = did_you_mean(name, [variant.name.text for variant in variants])
    raise SpecError([Diagnostic("PL105", message, pipeline.name.span, help=help)])


def _known(pipeline: syntax.Pipeline, name: str, span: Span) -> None:
    names = [s.name.text for s in pipeline.body if isinstance(s, syntax.Param | syntax.Flag)]
    if name not in names:
        message = f"`{pipeline.name.text}` has no param or flag `{name}`"
        raise SpecError([Diagnostic("PL105", message, span, help=did_you_mean(name, names))])


def _environment_call(node: syntax.Flag) -> tuple[syntax.Text, syntax.Expression]:
    match node.value:
        case syntax.Function(name=name, arguments=(syntax.Text() as variable, default)):
            if name.text == "env":
                return variable, default
    message = "the value of a flag is where it comes from and its default"
    help = f'write `flag {node.name.text} = env("VARIABLE", DEFAULT)`'
    raise SpecError([Diagnostic("PL102", message, node.value.span, help=help)])


def _from_environment(
    node: syntax.Flag, variable: str, held: str, default: Value, place: Span | None
) -> Value:
    text = held.strip()
    if len(held) > LONGEST_HELD or not held.isprintable():
        message = f"the environment's {variable} is no line of at most {LONGEST_HELD:,} characters"
        raise SpecError([Diagnostic("PL106", message, node.span, help=f"correct {variable}")])
    if isinstance(default, bool):
        if text.lower() in TRUE_WORDS | FALSE_WORDS:
            return text.lower() in TRUE_WORDS
    elif isinstance(default, str):
        return held
    elif isinstance(default, int):
        if _WHOLE.fullmatch(text) and abs(int(text)) <= LARGEST:
            return int(text)
    elif isinstance(default, float) and _FRACTION.fullmatch(text):
        return float(text)
    message = f"the environment has {variable}={json.dumps(held)}, which is not {kind(default)}"
    labels = () if place is None else (Label(place, "set here"),)
    help = f"unset or correct {variable}"
    raise SpecError([Diagnostic("PL106", message, node.span, labels=labels, help=help)])
