"""Files that a verb is asked to write, looked at before the work that goes into them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable

from plait.commands.asked import split_variant
from plait.exit import Refused

READ = "costs", "env", "against", "baseline", "histogram"
"""Options that name a file to read."""


def read_by(options: argparse.Namespace, *named: str) -> list[str]:
    """The files of a verb: those named, each without a variant, and what other options read."""
    others = (getattr(options, name, None) for name in READ)
    return [split_variant(path)[0] for path in (*named, *others) if path is not None]


def outputs_asked(
    options: argparse.Namespace, names: Iterable[str], inputs: Iterable[str] = ()
) -> None:
    """Raises Refused when one is in no folder, is written twice, or is what the verb reads."""
    taken = {os.path.realpath(path): path for path in inputs}
    for name in names:
        path = getattr(options, name)
        if path is None:
            continue
        place = os.path.realpath(path)
        if not os.path.isdir(os.path.dirname(place)):
            raise Refused(f"{path}: there is no folder to write it in; make it, or name another")
        if os.path.exists(place) and not os.path.isfile(place) and not os.path.isdir(place):
            continue  # a device or a pipe takes several
        if place in taken:
            raise Refused(f"{path}: would be written over {taken[place]}; name another file")
        taken[place] = f"what --{name} writes"
