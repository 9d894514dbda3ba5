"""What the house asks of the docstring of a public name, held against the modules of the API reference.

A class, a function and a property has one of its own, which begins with a sentence. It names each error
that is raised there, and none that nobody could catch. Of a tensor it says the shape, of a float the unit,
if its name does not.
"""

from __future__ import annotations

import ast
import builtins
import re
import textwrap
from collections.abc import Iterable, Iterator
from inspect import formatannotation
from types import ModuleType
from typing import TypeGuard

from pdoc import doc

import plait

SENTENCE = re.compile(r"[A-Z0-9`].*?[.:;](\s|$)", re.DOTALL)
ERROR = re.compile(r"\b[A-Z]\w*(?:Error|Full|Closed)\b")
SHAPE = re.compile(r"`(\w+)?\[[^]`]+\]`")
UNIT = re.compile(
    r"\b((nano)?seconds|bytes|share|probabilit(y|ies)|without a unit)\b", re.IGNORECASE
)
ASKED = {"Tensor": (SHAPE, "shape"), "float": (UNIT, "unit")}
"""Of a type, what is said of a value of it."""


def lacking(module: ModuleType) -> list[str]:
    """What the page of a module lacks, a line each, in its order."""
    package = module.__name__.partition(".")[0]
    shown = _ours(doc.Module(module).members.values(), package)
    return [f"{one.fullname}: {what}" for one in shown for what in _lacks(one, package)]


def _ours(shown: Iterable[doc.Doc], package: str) -> Iterator[doc.Doc]:
    """All that is shown, with what is in classes; not what they have from Python's own."""
    for one in shown:
        if not one.name.startswith("_") and one.taken_from[0].partition(".")[0] == package:
            yield one
            if isinstance(one, doc.Class):
                yield from _ours(one.members.values(), package)


def _is_written(one: doc.Doc | None, package: str) -> TypeGuard[doc.Function]:
    """Whether it is a function of our text: not so what `dataclass` and `Protocol` make."""
    return (
        isinstance(one, doc.Function)
        and bool(one.source)
        and one.obj.__module__.partition(".")[0] == package
    )


def _lacks(one: doc.Doc, package: str) -> Iterator[str]:
    text = one.docstring
    if isinstance(one, doc.Variable):
        yield from _unsaid(one.annotation_str.removeprefix(": "), f"{one.name}: {text}")
    elif not text or one.obj.__doc__ is None:
        yield "has no docstring"
    else:
        if not SENTENCE.match(text):
            yield "does not begin with a sentence"
        called = one.get("__init__") if isinstance(one, doc.Class) else one
        if _is_written(called, package):
            for name, parameter in called.signature.parameters.items():
                yield from _unsaid(formatannotation(parameter.annotation), f"{name}: {text}")
            for error in sorted(_raised(called.source) - set(ERROR.findall(text))):
                yield f"raises {error} and does not say so"
    if isinstance(one, doc.Class):
        for name, member in vars(one.obj).items():
            if isinstance(member, property) and not name.startswith("_") and not member.__doc__:
                yield f"its property {name} has no docstring"
    for error in sorted(set(ERROR.findall(text))):
        if not hasattr(builtins, error) and error not in plait.__all__:
            yield f"speaks of {error}, which `plait` does not have"


def _unsaid(annotation: str, text: str) -> Iterator[str]:
    kind = annotation.removesuffix(" | None").rpartition(".")[2]
    if kind in ASKED and not ASKED[kind][0].search(text):
        yield f"has a {kind} and does not say its {ASKED[kind][1]}"


def _raised(source: str) -> set[str]:
    """Errors that a function raises itself, by their names."""
    tree = ast.parse(textwrap.dedent(source))
    raised = [one.exc for one in ast.walk(tree) if isinstance(one, ast.Raise)]
    called = [one.func if isinstance(one, ast.Call) else one for one in raised]
    return {one.id for one in called if isinstance(one, ast.Name) and ERROR.fullmatch(one.id)}
