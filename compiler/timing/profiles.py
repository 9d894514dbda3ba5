"""The costs that come with Plait, one file a target: assumed, to begin with, until a run was measured."""

from __future__ import annotations

from pathlib import Path

from plait.compiler.target import Target, load_target
from plait.compiler.timing.costs import HostCosts, Profile, StreamCosts
from plait.compiler.timing.costs_file import load_profile

FOLDER = Path(__file__).parent.parent / "targets" / "costs"


def profile_of(target: Target) -> Profile:
    """The costs that a target names or inherits. Raises TargetError."""
    return load_profile(target.costs) if target.costs else _none(target.name)


def default_profile(name: str) -> Profile:
    """Of a target that comes with Plait; of any other name, what specs say alone and nothing else."""
    return profile_of(load_target(name)) if name in known_profiles() else _none(name)


def known_profiles() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def _none(name: str) -> Profile:
    return Profile(f"no profile for {name}", name, (), HostCosts(), StreamCosts(), ())
