"""Every name that the text gives to a phase, a capture or a call, whether it is there on a route or not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from plait.dsl import syntax
from plait.dsl.library import Library


def labels_in(pipeline: syntax.Pipeline, library: Library) -> frozenset[str]:
    return frozenset([*_labels(pipeline.body), *_module_labels(library)])


def _module_labels(library: Library) -> Iterator[str]:
    for module in library.modules.values():
        yield from _labels(module.body)
    for used in library.used.values():
        yield from _module_labels(used)


def _labels(nodes: Iterable[syntax.Statement]) -> Iterator[str]:
    for node in nodes:
        match node:
            case syntax.Phase(label=label):
                yield label.name.text
            case syntax.Capture(label=label, body=body):
                yield label.name.text
                yield from _labels(body)
            case syntax.Call(label=label, module=module):
                yield label.name.text if label else module[-1].text
            case syntax.Interleave(first=first, second=second):
                yield from _labels((first, second))
            case syntax.For(body=body):
                yield from _labels(body)
            case syntax.When(body=body, otherwise=otherwise):
                yield from _labels((*body, *otherwise))
