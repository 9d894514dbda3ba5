"""A schedule written without edges gets the fewest that it needs from `plait check --fix`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from plait.compiler.compile import Asked, Proven, prove, prove_all, read_source
from plait.compiler.fix import mended
from plait.dsl.diagnostic import SpecError
from plait.dsl.library import STANDARD, load_library
from plait.dsl.settings import variants_of
from plait.dsl.span import Source

ROOT = Path(__file__).parents[2]
SPECS = sorted([*(ROOT / "examples").glob("*.spec"), *(ROOT / "tests" / "specs").glob("*.spec")])
LAYERS = re.compile(r"(0 \.\. )60|((?:layers|count) *= )61")
POINT = r"(?:prev (?:\d+ )?)?[\w.]+(?:\[[^\]]*\])?"
EDGE = re.compile(rf"(?<![\w#])(fork (\w+) from {POINT}|join {POINT} into \w+)")
INLINED = re.compile(r"^use (\w+)$", re.M)
SIDE = {"side", "on_kv", "on_q", "on_iq", "on_iw", "iq", "iw", "kv", "shared"}
"""Streams that a capture forks: each must be, whatever it does there."""
SPARED = {"offload": 2, "l_offload": 2, "eagle_full": 1}
"""Waits that a text spares as it orders more than data needs: one wait of a stream serves several needs.

In `eagle_full` the join of the planning of verify stands one copy above where it must: that one wait also
orders the copy after `alloc`, which otherwise takes a wait of its own.
"""
WITHOUT_PIPELINE = {"c_layer"}
REFUSED = {"b_extend_planning": "racy"}


def whole(path: Path, folder: Path) -> Source:
    """A spec with deep models of three layers, and in one text with its modules where names allow it."""
    for one in path.parent.glob("*.spec"):
        (folder / one.name).write_text(_shorter(one.read_text("utf-8")), "utf-8")
    source = read_source(folder / path.name)
    if path.stem in REFUSED:
        text = re.sub(rf"^variant {REFUSED[path.stem]} .*$", "", source.text, flags=re.M)
        source = Source(source.name, text, folder)
    together = Source(source.name, INLINED.sub(_module_text, source.text))
    for name in INLINED.findall(source.text):
        together = Source(together.name, together.text.replace(f"call {name}.", "call "))
    try:
        return together if not findings(together) else source
    except SpecError:
        return source


def _shorter(text: str) -> str:
    return LAYERS.sub(lambda one: f"{one[1]}2" if one[1] else f"{one[2]}3", text)


def _module_text(use: re.Match) -> str:
    return (STANDARD / f"{use[1]}.spec").read_text("utf-8").replace("spec 1\n", "", 1)


def stripped(source: Source) -> Source:
    """The text without its edges, but for the forks that a capture cannot do without."""
    lines = []
    for line in source.text.splitlines(keepends=True):
        if not line.lstrip().startswith("#"):
            line = EDGE.sub(lambda one: one[0] if one[2] in SIDE else "", line)
        lines.append(line)
    return Source(source.name, "".join(lines), source.folder)


def findings(source: Source) -> list[tuple[str, str]]:
    found = [d for one in prove_all(source, Asked()) for d in one.findings]
    return [(d.code, d.message) for d in found]


def proofs(source: Source) -> list[Proven]:
    file = load_library(source).file
    return [
        prove(source, Asked(pipeline=pipeline.name.text, variant=variant))
        for pipeline in file.pipelines
        for variant in (None, *(one.name.text for one in variants_of(file, pipeline)))
    ]


def waits(source: Source) -> list[list[int]]:
    """How many every round waits, of each pipeline and variant."""
    return [[len(order.waits) for order in proven.orders] for proven in proofs(source)]


@pytest.mark.parametrize(
    "path",
    [path for path in SPECS if path.stem not in WITHOUT_PIPELINE],
    ids=lambda path: f"{path.parent.name}/{path.stem}",
)
def test_a_spec_without_edges_gets_the_least(path: Path, tmp_path: Path) -> None:
    """Every example and design, with its modules: sound again, no edge too many, and no wait more."""
    source = whole(path, tmp_path)
    allowed = findings(source)  # what is noted stands there on purpose
    found = mended(stripped(source), Asked()).source
    assert set(findings(found)) <= set(allowed), found.text
    before, after = waits(source), waits(found)
    for ours, theirs in zip(after, before, strict=True):
        spare = SPARED.get(path.stem, 0)
        assert all(a <= b + spare for a, b in zip(ours, theirs, strict=True)), (after, before)
