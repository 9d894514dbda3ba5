"""The table of names is all that the accelerator reaches of torch's modules for devices."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from plait.runtime.devices.accelerator import names
from plait.runtime.devices.accelerator.names import CUDA, NPU, Calls

FOLDER = Path(names.__file__).parent
FILES = {path.name: ast.parse(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.py")}
FIELDS = {field.name for field in fields(Calls)}
NATIVE = {"native", "inside"}
"""What holds an object of torch's own."""
TABLES = {"calls", "reached"}
MODULES = {"torch.npu", "torch.cuda", "torch_npu", "torch.get_device_module"}


def called() -> Iterator[tuple[str, ast.Call]]:
    """Every call through the table, by its field: `calls.wait(...)`, or `self._wait(...)`."""
    for tree in FILES.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                of, name = ast.unparse(node.func.value), node.func.attr
                if of.split(".")[-1] in TABLES:
                    yield name, node
                elif of == "self" and name[0] == "_" and name[1:] in FIELDS:
                    yield name[1:], node


def test_what_is_called_is_in_the_table_with_its_keywords() -> None:
    """No keyword but those that were held against the sources; in front, at most the object itself."""
    for field, call in called():
        tables = [table[field] for table in (NPU, CUDA) if field in table]
        assert tables, ast.unparse(call)
        allowed = set().union(*(name.keywords for name in tables))
        assert {keyword.arg for keyword in call.keywords} <= allowed, ast.unparse(call)
        methods = {"." in name.path for name in tables}
        assert methods == {len(call.args) == 1} and len(call.args) <= 1, ast.unparse(call)


def test_all_of_the_table_is_called() -> None:
    """What nobody calls any more leaves the table."""
    assert {field for field, _ in called()} == FIELDS


@pytest.mark.parametrize("file", sorted(FILES))
def test_nothing_else_reaches_into_a_module_of_a_device(file: str) -> None:
    """Neither the modules, nor methods and attributes of what they make; short names are the table's own."""
    reached = []
    for node in ast.walk(FILES[file]):
        if isinstance(node, ast.Attribute):
            of = ast.unparse(node.value)
            if {of, ast.unparse(node)} & MODULES or of.split(".")[-1] in NATIVE:
                reached.append(ast.unparse(node))
            elif of.split(".")[-1] in TABLES and isinstance(node.ctx, ast.Load):
                assert node.attr in FIELDS
    assert reached == (["torch.get_device_module"] if file == "here.py" else [])


def test_a_short_name_is_that_of_the_table() -> None:
    """`self._wait` is `calls.wait`, so that calls of it are seen as what they are."""
    short = [
        (ast.unparse(node.targets[0]), node.value.attr)
        for tree in FILES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute)
        if ast.unparse(node.value.value).split(".")[-1] in TABLES
    ]
    assert short and all(ours == f"self._{name}" for ours, name in short)
