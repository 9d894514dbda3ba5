"""Other values of params and flags: both truths, what variants set, and what was asked to be varied.

A value that the command line or the environment gives is not the text's to change.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from plait.compiler.tune.move import Move, View
from plait.dsl import syntax
from plait.dsl.diagnostic import Edit
from plait.dsl.printer import printed
from plait.dsl.settings import variants_of
from plait.dsl.span import Span

TRUTHS = ("false", "true")


def moves(view: View) -> Iterator[Move]:
    asked = view.space.asked
    environment = os.environ if asked.environment is None else asked.environment
    for one in view.pipeline.body:
        if not isinstance(one, syntax.Param | syntax.Flag) or one.name.text in (
            asked.settings or {}
        ):
            continue
        if isinstance(one, syntax.Param) and one.choices is not None:
            continue
        variable = _variable(one)
        if variable and variable in environment:
            continue
        place = _place(view, one)
        now = place.text if place is not None else _value(one).span.text
        for value in _values(view, one, now):
            what = f"`{one.name.text}` set to {value}"
            if variable:
                what += f", as the environment's {variable} may"
            yield Move(
                what, view.text(_set(view, one, place, value)), one.name.text in view.space.vary
            )


def _values(view: View, one: syntax.Param | syntax.Flag, now: str) -> list[str]:
    name = one.name.text
    found = list(view.space.vary.get(name, ()))
    if isinstance(_value(one), syntax.Truth):
        found += TRUTHS
    for variant in variants_of(view.file, view.pipeline):
        found += [printed(s.value) for s in variant.settings if s.name.text == name]
    return [value for value in dict.fromkeys(found) if value != now]


def _value(one: syntax.Param | syntax.Flag) -> syntax.Expression:
    """Of a flag its default."""
    match one.value:
        case syntax.Function(arguments=(_, default)) if isinstance(one, syntax.Flag):
            return default
    return one.value


def _variable(one: syntax.Param | syntax.Flag) -> str | None:
    match one.value:
        case syntax.Function(arguments=(syntax.Text(value=variable), _)):
            return variable if isinstance(one, syntax.Flag) else None
    return None


def _place(view: View, one: syntax.Param | syntax.Flag) -> Span | None:
    """Where its value stands: in the pipeline, or in the variant that was asked for; None: not there yet."""
    asked = view.space.asked.variant
    if asked is None:
        return _value(one).span
    for setting in _variant(view, asked).settings:
        if setting.name.text == one.name.text:
            return setting.value.span
    return None


def _set(view: View, one: syntax.Param | syntax.Flag, place: Span | None, value: str) -> Edit:
    if place is not None:
        return Edit(place, value)
    asked = view.space.asked.variant
    assert asked is not None
    end = _variant(view, asked).span.end - 1
    return Edit(Span(view.source, end, end), f" set {one.name.text} = {value} ")


def _variant(view: View, name: str) -> syntax.Variant:
    return next(one for one in variants_of(view.file, view.pipeline) if one.name.text == name)
