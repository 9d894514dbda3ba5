"""Which rounds a pipeline has: every bucket, every value of a run-time param, every answer of a guard.

Each combination is a route, and each is compiled; so they are counted first, and too many of them are
refused with the bill.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from plait.compiler.elaboration.declare import MOST_ELEMENTS
from plait.dsl import syntax
from plait.dsl.diagnostic import Diagnostic, Report, SpecError
from plait.dsl.settings import Settings
from plait.dsl.values import BROKEN, Broken, Silenced, Value, evaluate, kind, written

MOST_ROUTES = 4096


@dataclass(frozen=True)
class Route:
    """What is settled before a round is expanded."""

    sizes: dict[str, int]
    params: dict[str, Value]
    guards: dict[str, bool]


def routes_of(pipeline: syntax.Pipeline, settings: Settings, report: Report) -> list[Route]:
    """Every route: the smallest bucket first, the default of a param, and true before false."""
    scope: dict[str, Value | Broken] = {}
    dims: dict[str, list[int]] = {}
    params: dict[str, list[Value]] = {}
    guards: dict[str, list[bool]] = {}
    for node in pipeline.body:
        if not isinstance(node, syntax.Param | syntax.Flag | syntax.Dim | syntax.Guard):
            continue
        name = node.name.text
        scope[name] = BROKEN
        try:
            match node:
                case syntax.Param():
                    scope[name] = settings.param(node, scope)
                    if node.choices is not None:
                        params[name] = _choices(node, scope[name], scope)  # type: ignore[arg-type]
                case syntax.Flag():
                    scope[name] = settings.flag(node, scope)
                case syntax.Dim():
                    dims[name] = _sizes(node, scope)
                case syntax.Guard():
                    guards[name] = [True, False]
        except SpecError as error:
            report.diagnostics += error.diagnostics
        except Silenced:
            pass
    lists = [*dims.values(), *params.values(), *guards.values()]
    if math.prod(map(len, lists)) > MOST_ROUTES:
        report.add(_bill(pipeline, {**dims, **params, **guards}))
        return []
    return list(_combined(dims, params, guards))


def _combined(
    dims: dict[str, list[int]], params: dict[str, list[Value]], guards: dict[str, list[bool]]
) -> Iterator[Route]:
    for sizes in product(*dims.values()):
        for values in product(*params.values()):
            for answers in product(*guards.values()):
                yield Route(
                    dict(zip(dims, sizes, strict=True)),
                    dict(zip(params, values, strict=True)),
                    dict(zip(guards, answers, strict=True)),
                )


def _bill(pipeline: syntax.Pipeline, lists: dict[str, list]) -> Diagnostic:
    total = math.prod(map(len, lists.values()))
    dearest = max(lists, key=lambda name: len(lists[name]))
    factors = " x ".join(f"{len(values)} ({name})" for name, values in lists.items())
    return Diagnostic(
        "PL602",
        f"the round has {total:,} routes; the most is {MOST_ROUTES:,}",
        pipeline.name.span,
        facts=(("routes", factors),),
        help=f"list fewer values of `{dearest}`, or settle it before compiling",
    )


def _sizes(node: syntax.Dim, scope: dict[str, Value | Broken]) -> list[int]:
    sizes = evaluate(node.sizes, scope)
    good = isinstance(sizes, list) and sizes and all(type(size) is int for size in sizes)
    if not good or sorted(set(sizes)) != sizes or not 1 <= sizes[0] <= sizes[-1] <= MOST_ELEMENTS:  # type: ignore[arg-type]
        message = f"the sizes of `{node.name.text}` are not whole numbers from 1 to 2^48 that rise"
        help = "write them as `[1, 2, 4, 8]`"
        raise SpecError([Diagnostic("PL601", message, node.sizes.span, help=help)])
    return sizes  # type: ignore[return-value]


def _choices(node: syntax.Param, default: Value, scope: dict[str, Value | Broken]) -> list[Value]:
    """The values of a run-time param, its default first."""
    assert node.choices is not None
    values = evaluate(node.choices, scope)
    if not isinstance(values, list) or any(kind(value) != kind(default) for value in values):
        message = f"the choices of `{node.name.text}` are not a list of values like its default"
        help = f"write them as `[{written(default)}, ...]`"
        raise SpecError([Diagnostic("PL102", message, node.choices.span, help=help)])
    if default not in values:
        message = f"`{node.name.text}` is {written(default)}, which is none of its choices"
        raise SpecError([Diagnostic("PL106", message, node.value.span)])
    if len({written(value) for value in values}) < len(values):
        message = f"a choice of `{node.name.text}` is listed twice"
        raise SpecError([Diagnostic("PL106", message, node.choices.span)])
    return [default, *(value for value in values if value != default)]
