"""The examples at the settings they run with here, and the tokens of those that have a model."""

from __future__ import annotations

import re
from pathlib import Path

from plait.compiler.compile import Asked, compile_source, read_source
from plait.dsl.parser import parse
from plait.dsl.settings import variants_of
from plait.runtime.devices.base import Device
from plait.runtime.eagle.compare import decode, requests_for
from plait.runtime.models.tiny.checkpoint import SHIPPED, load_checkpoint
from plait.runtime.schedule import Schedule

FOLDER = Path(__file__).parents[2] / "examples"
NAMES = sorted(path.stem for path in FOLDER.glob("*.spec"))
WITH_A_MODEL = ("eagle", "eagle_serial")
FEWER = {"layers": 4, "count": 2}
"""Of what is alike, layers."""


def example(name: str, variant: str | None = None) -> Schedule:
    source = read_source(FOLDER / f"{name}.spec")
    settings = {
        param: value
        for param, value in FEWER.items()
        if re.search(rf"^  param {param} ", source.text, re.MULTILINE)
    }
    return compile_source(source, Asked(variant=variant, settings=settings, environment={}))


def variants(name: str) -> list[str | None]:
    """The default settings, and every variant."""
    file = parse(read_source(FOLDER / f"{name}.spec"))
    (pipeline,) = file.pipelines
    return [None, *(one.name.text for one in variants_of(file, pipeline))]


class Tokens:
    """What some prompts are continued with, in exact mode."""

    def __init__(self, name: str, prompts: int, tokens: int):
        self.schedule = example(name)
        self.checkpoint = load_checkpoint(SHIPPED)
        self.model = self.checkpoint.model("exact")
        self.prompts = list(self.checkpoint.prompts)[:prompts]
        self.most = tokens

    def on(self, device: str | Device) -> list[list[int]]:
        found = decode(
            self.schedule,
            self.model,
            lambda: requests_for(self.checkpoint, self.prompts, self.most),
            with_plain=False,
            device=device,
        )
        return [request.tokens for request in found.requests]
