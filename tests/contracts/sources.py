"""Python sources of a package, read and never run: what a module of it offers, and with which arguments."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from plait.runtime.devices.accelerator.names import Name

Function = ast.FunctionDef
Read = Callable[[str], str]
"""The text of a file by its path from the package's folder. Raises KeyError."""


@dataclass(frozen=True)
class Module:
    """A module by its folder, as `torch_npu/npu`: what its `__init__.py` defines or imports by name."""

    folder: str
    read: Read

    @cached_property
    def _tree(self) -> ast.Module:
        return ast.parse(self.read(f"{self.folder}/__init__.py"))

    @cached_property
    def exported(self) -> set[str] | None:
        """What `__all__` names; None where there is none."""
        return _exported(self._tree)

    def found(self, path: str) -> Function | None:
        """The function of a dotted name, or what makes an object of a class."""
        first, *rest = path.split(".")
        node = _defined(self._tree, first) or self._imported(first)
        for name in rest:
            node = _defined(node, name) if isinstance(node, ast.ClassDef) else None
        if isinstance(node, ast.ClassDef):
            node = _defined(node, "__new__") or _defined(node, "__init__")
        return node if isinstance(node, Function) else None

    def _imported(self, name: str) -> ast.stmt | None:
        for node in ast.walk(self._tree):
            if not isinstance(node, ast.ImportFrom) or not node.module or node.level != 1:
                continue
            for alias in node.names:
                if alias.name == "*" or name == (alias.asname or alias.name):
                    text = self.read(f"{self.folder}/{node.module.replace('.', '/')}.py")
                    tree = ast.parse(text)
                    if alias.name != "*":
                        return _defined(tree, alias.name)
                    if name in (_exported(tree) or ()):
                        return _defined(tree, name)
        return None


def _exported(tree: ast.Module) -> set[str] | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    return None


def broken(module: Module, names: dict[str, Name]) -> list[str]:
    """What a table asks for that a module does not have, or not so. One line each."""
    found = []
    for name in dict.fromkeys(names.values()):
        function = module.found(name.path)
        if function is None:
            found.append(f"{name.path}: is not there")
            continue
        if module.exported is not None and name.path.split(".")[0] not in module.exported:
            found.append(f"{name.path}: is not exported")
        found += [f"{name.path}: {problem}" for problem in _misfits(name, function)]
    return found


def _misfits(name: Name, function: Function) -> list[str]:
    given = function.args
    named = [*given.args, *given.kwonlyargs]
    bare = given.args[: len(given.args) - len(given.defaults)]
    bare += [a for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True) if d is None]
    of_object = bool(bare) and bare[0].arg in ("self", "cls")
    needed = [argument.arg for argument in bare[of_object:]]
    known = [argument.arg for argument in named[of_object:]]
    found = [f"has no argument `{one}`" for one in name.keywords if one not in known]
    return found + [f"needs `{one}`" for one in needed if one not in name.keywords]


def _defined(node: ast.Module | ast.ClassDef, name: str) -> Function | ast.ClassDef | None:
    for one in node.body:
        if isinstance(one, Function | ast.ClassDef) and one.name == name:
            return one
    return None
