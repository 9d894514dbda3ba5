"""Writes the API reference into a folder, from docstrings, by pdoc: `python docs/reference.py FOLDER`.

A warning is an error: of a name that leads nowhere, of an annotation that cannot be read.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pdoc.render

import plait

MODULES = (
    "plait",
    "plait.runtime.bind",
    "plait.runtime.engine.decoder",
    "plait.runtime.engine.observer",
    "plait.runtime.ranks.environment",
)
"""What an embedder imports: the face, and what the pages say to import beside it."""


def build(folder: Path) -> None:
    """A page for each of the modules, an index and a search, with nothing from the network."""
    warnings.simplefilter("error")
    for name in plait.__all__:
        getattr(plait, name)  # pdoc shows what is there already, and these come late
    pdoc.render.configure(
        docformat="markdown", show_source=False, footer_text=f"Plait {plait.__version__}"
    )
    pdoc.pdoc(*MODULES, output_directory=folder)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python docs/reference.py FOLDER")
    build(Path(sys.argv[1]))
