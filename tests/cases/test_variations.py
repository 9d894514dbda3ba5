"""Failures of the same classes in other shapes: nobody reported them, and each is found at its line.

Each file of `variations` says in its first line which class it is of, what it is judged for, and what
happens there.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from cases.marks import judged, marks, places

from plait.compiler.compile import read_source

PATHS = sorted((Path(__file__).parent / "variations").glob("*.spec"))
HEAD = re.compile(r"# (F\d\d) on (\w+)(?: --limit (\S+))?: ")


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_variation_is_found_at_its_line(path: Path, findings, shown) -> None:
    """In calls, graphs and branches of guards, on other streams, in the next round or the one behind it."""
    source = read_source(path)
    head = HEAD.match(source.text)
    assert head and head[1] == path.stem.partition("-")[0]
    limits = (head[3],) if head[3] else ()
    found = judged(findings(source, target=head[2], limits=limits))
    assert places(found, source) == marks(source), shown(found)


def test_every_class_has_its_variations() -> None:
    """At least two of each class whose failures a text shows."""
    count = Counter(path.stem.partition("-")[0] for path in PATHS)
    assert all(count[f"F{number:02}"] >= 2 for number in range(1, 19)), count
