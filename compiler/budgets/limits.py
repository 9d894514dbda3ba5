"""What a person says of a target's limits: `streams=400`, `tasks=64`, `memory=2GiB`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from plait.compiler.target import Target, TargetError
from plait.dsl.suggest import did_you_mean

LIMITS = {"streams": "400", "tasks": "64", "memory": "2GiB"}
"""Each with how it may be written."""
NUMBER = re.compile(r"[0-9]{1,9}\Z")
SIZE = re.compile(r"([0-9]{1,9})(MiB|GiB)\Z")


def limited(target: Target, said: Iterable[str]) -> Target:
    """The target with those limits in place of its own. Raises TargetError."""
    for words in said:
        name, _, value = (part.strip() for part in words.partition("="))
        if name not in LIMITS:
            known = did_you_mean(name, LIMITS)
            raise TargetError(f"--limit {words}: write it as streams=400; {known}")
        size, number = SIZE.match(value), NUMBER.match(value)
        if name == "memory" and size:
            mib = int(size[1]) * (1024 if size[2] == "GiB" else 1)
            target = target.replace(graphs=target.graphs.replace(memory_mib=mib))
        elif name == "tasks" and number:
            target = target.replace(graphs=target.graphs.replace(tasks=int(value)))
        elif name == "streams" and number:
            target = target.replace(streams=target.streams.replace(quota=int(value)))
        else:
            raise TargetError(f"--limit {words}: write it as {name}={LIMITS[name]}")
    return target
