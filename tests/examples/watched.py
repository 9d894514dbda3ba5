"""The service of `examples/service/`, and beside it a line in WATCHED for each request that ended."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path

import plait
from plait import Observer
from plait.runtime.engine.observer import Ended


class Ends(Observer):
    def ended(self, told: Ended) -> None:
        with Path(os.environ["WATCHED"]).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"end": told.end, "tokens": told.tokens}) + "\n")


def watched() -> object:
    """Its `app`, for a process of its own: in this one every engine is watched from now on."""
    plait.__dict__["Engine"] = partial(plait.Engine, observers=[Ends()])
    from service import app  # pyright: ignore[reportMissingImports]

    return app
