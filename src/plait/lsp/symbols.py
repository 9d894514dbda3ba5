"""The outline of a text: pipelines, modules and variants, with what each declares and issues."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lsprotocol import types

from plait.dsl import syntax
from plait.dsl.span import Span
from plait.lsp.positions import Lines

Kind = types.SymbolKind


def outline(file: syntax.File, lines: Lines) -> list[types.DocumentSymbol]:
    return sorted(
        [
            *(
                _symbol(lines, p.name, p, Kind.Class, "pipeline", _inside(p.body, lines))
                for p in file.pipelines
            ),
            *(
                _symbol(lines, m.name, m, Kind.Module, "module", _inside(m.body, lines))
                for m in file.modules
            ),
            *(
                _symbol(lines, v.name, v, Kind.EnumMember, f"variant of {v.of.text}")
                for v in file.variants
            ),
        ],
        key=lambda one: one.range.start.line,
    )


def _inside(nodes: Iterable[syntax.Statement], lines: Lines) -> Iterator[types.DocumentSymbol]:
    for node in nodes:
        match node:
            case syntax.Stream(name=name):
                yield _symbol(lines, name, node, Kind.Event, "stream")
            case syntax.Buffer(name=name):
                yield _symbol(lines, name, node, Kind.Variable, f"buffer : {node.dtype.text}")
            case syntax.Param(name=name):
                yield _symbol(lines, name, node, Kind.Constant, "param")
            case syntax.Flag(name=name):
                yield _symbol(lines, name, node, Kind.Boolean, "flag")
            case syntax.Dim(name=name):
                yield _symbol(lines, name, node, Kind.Number, "dim")
            case syntax.Guard(name=name):
                yield _symbol(lines, name, node, Kind.Boolean, "guard")
            case syntax.Group(name=name):
                yield _symbol(lines, name, node, Kind.Namespace, "group")
            case syntax.Pool(name=name):
                yield _symbol(lines, name, node, Kind.Array, "pool")
            case syntax.Phase(label=label):
                word = "launch" if node.launched else "phase"
                yield _symbol(lines, label, node, Kind.Function, f"{word} on {node.stream.text}")
            case syntax.Capture(label=label):
                detail = f"capture on {node.stream.text}"
                yield _symbol(lines, label, node, Kind.Object, detail, _inside(node.body, lines))
            case syntax.Call(label=label):
                module = ".".join(name.text for name in node.module)
                yield _symbol(lines, label or node.module[-1], node, Kind.Method, f"call {module}")
            case syntax.Interleave(first=first, second=second):
                yield from _inside((first, second), lines)
            case syntax.For(body=body):
                yield from _inside(body, lines)
            case syntax.When(body=body, otherwise=otherwise):
                yield from _inside((*body, *otherwise), lines)


def _symbol(
    lines: Lines,
    name: syntax.Node,
    node: syntax.Node,
    kind: types.SymbolKind,
    detail: str,
    children: Iterable[types.DocumentSymbol] = (),
) -> types.DocumentSymbol:
    whole = lines.range(Span(node.span.source, node.span.start, max(node.span.end, name.span.end)))
    inner = list(children)
    return types.DocumentSymbol(
        name.span.text, kind, whole, lines.range(name.span), detail, children=inner or None
    )
