"""The costs that come with Plait, one file a target: assumed, to begin with, until a run was measured."""

from __future__ import annotations

from pathlib import Path

from plait.compiler.timing.costs import HostCosts, Profile, StreamCosts
from plait.compiler.timing.costs_file import load_profile

FOLDER = Path(__file__).parent.parent / "targets" / "costs"


def default_profile(target: str) -> Profile:
    """Of a target by name; of one without such a file, what specs say alone and nothing else."""
    if target in known_profiles():
        return load_profile(FOLDER / f"{target}.toml")
    return Profile(f"no profile for {target}", target, (), HostCosts(), StreamCosts(), ())


def known_profiles() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.toml"))
