"""Backends that torch loads by itself, and whether each does, tried in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points

AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"
"""At 1, as it is unless set, `import torch` loads every backend, and fails when one of them does."""
LOADING = """\
import sys
from importlib.metadata import entry_points

import torch

for point in entry_points(group="torch.backends", name=sys.argv[1]):
    point.load()()
"""
PATIENCE = 120
"""Seconds for a backend to load."""


def backends() -> dict[str, dict[str, str | None]]:
    """Of each its package with its version, and why it does not load; null: it does."""
    found = {}
    for point in sorted(entry_points(group="torch.backends")):
        package = f"{point.dist.name} {point.dist.version}" if point.dist else None
        found[point.name] = {"package": package, "why_not": _why_not(point.name)}
    return found


def _why_not(name: str) -> str | None:
    """A library that is missing may end a process, so it is not this one."""
    command = [sys.executable, "-P", "-c", LOADING, name]
    environment = os.environ | {AUTOLOAD: "0"}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return f"takes more than {PATIENCE} s to load"
    if not done.returncode:
        return None
    said = done.stderr.strip().splitlines()
    if done.returncode < 0 or not said:
        return f"ends the process that loads it ({done.returncode})"
    return said[-1].partition(": ")[2] or said[-1]
