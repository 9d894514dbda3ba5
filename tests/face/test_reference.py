"""The API reference: it is built without a warning, and every public name in it says what the house asks."""

from __future__ import annotations

import re
import runpy
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import plait
from pages.reference import lacking


@pytest.fixture(scope="module")
def reference(root: Path) -> dict[str, Any]:
    """What `make reference` runs."""
    return runpy.run_path(str(root / "docs" / "reference.py"))


def test_it_is_built_without_a_warning(reference: dict[str, Any], tmp_path: Path) -> None:
    """A page for each module, every name of `plait` on its own, and nothing that is fetched."""
    reference["build"](tmp_path)
    pages = {name: tmp_path / f"{name.replace('.', '/')}.html" for name in reference["MODULES"]}
    text = {name: page.read_text(encoding="utf-8") for name, page in pages.items()}
    assert [name for name in plait.__all__ if f'id="{name}"' not in text["plait"]] == []
    assert re.findall(r'(?:src|<link[^>]*href)="(?:https?:)?//[^"]*"', "".join(text.values())) == []


def test_every_public_name_says_what_it_should(reference: dict[str, Any]) -> None:
    """A docstring that begins with a sentence, its errors, the shapes of tensors and the units of floats."""
    found = [line for name in reference["MODULES"] for line in lacking(import_module(name))]
    assert found == []


PLANTED = '''
from __future__ import annotations
from dataclasses import dataclass
from torch import Tensor

def silent(): ...

def sloppy():
    """does this"""

def wait(deadline: float, patience: float) -> None:
    """Waits for the deadline."""
    if patience < deadline:
        raise ValueError("too long")

def choose(logits: Tensor) -> int:
    """Chooses a token; raises a PlanError."""
    raise TypeError

@dataclass
class Row:
    width: float
    seconds: float
    """How long it took."""

class Whole:
    """Lacks nothing. Raises ValueError; `ids` is `[rows]`."""

    def __init__(self, ids: Tensor, delay: float | None = None):
        """Seconds are counted."""
        raise ValueError

    @property
    def size(self) -> int:
        return 1
'''


def test_what_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that lacks each thing once is told of each, by its full name."""
    (tmp_path / "planted.py").write_text(PLANTED)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "planted", raising=False)  # so that it is forgotten afterwards
    assert lacking(import_module("planted")) == [
        "planted.silent: has no docstring",
        "planted.sloppy: does not begin with a sentence",
        "planted.wait: has a float and does not say its unit",
        "planted.wait: has a float and does not say its unit",
        "planted.wait: raises ValueError and does not say so",
        "planted.choose: has a Tensor and does not say its shape",
        "planted.choose: raises TypeError and does not say so",
        "planted.choose: speaks of PlanError, which `plait` does not have",
        "planted.Row: has no docstring",
        "planted.Row.width: has a float and does not say its unit",
        "planted.Whole: has a float and does not say its unit",
        "planted.Whole: its property size has no docstring",
    ]
