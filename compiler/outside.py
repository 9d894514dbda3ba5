"""What a pipeline takes from outside: variables of the environment, and the recipe it is held against."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from plait.compiler.target import Target, known_targets, load_target, shipped_registries
from plait.dsl import syntax
from plait.dsl.settings import FlagRead
from plait.dsl.suggest import nearest
from plait.dsl.values import Value

if TYPE_CHECKING:
    from plait.compiler.recipe.recipe import Given, Recipe
    from plait.compiler.registry import Option, Registry

V = TypeVar("V")


@dataclass(frozen=True)
class Outside:
    pipeline: syntax.Pipeline
    variants: tuple[syntax.Variant, ...]
    flags: tuple[FlagRead, ...]
    values: Mapping[str, Value]
    """Of params and flags."""
    sizes: Mapping[str, list[int]]
    """Of dims."""
    target: Target
    recipe: Recipe | None
    compared: bool
    """Whether the recipe should have these settings: not in a variant that nobody asked for."""

    def options(self) -> Iterable[tuple[Given, Option]]:
        """What the recipe passes, as far as a runtime of the target says what it is.

        A target without runtimes takes those that come with Plait: the recipe is some server's.
        """
        if self.recipe is None:
            return
        known = {
            name: option
            for registry in self.target.registries or shipped_registries()
            for option in registry.options
            for name in option.names
        }
        for given in self.recipe.options:
            if given.name in known:
                yield given, known[given.name]


ALIKE = 0.8
"""From here on a name is taken for a slip of another, of 1."""


@dataclass(frozen=True)
class Unread:
    """Why a variable has no effect on a target."""

    owner: Registry | None
    """The runtime that the name belongs to. None: it may be anyone's."""
    renamed: str | None
    """The name that is read in its place."""
    close: str | None
    """The nearest name that is read."""
    elsewhere: tuple[str, ...]
    """Other targets on which it is read."""


def unread(name: str, target: Target) -> Unread | None:
    """None for a variable that some runtime of the target reads."""
    if any(registry.reads(name, target.device) for registry in target.registries):
        return None
    owner = next((one for one in target.registries if one.claims(name)), None)
    renamed, names = None, []
    for registry in target.registries:
        names += registry.names(target.device)
        for flag in registry.flags.values():
            if name in flag.renamed_from and registry.reads(flag.name, target.device):
                renamed = flag.name
    others = [load_target(other) for other in known_targets()]
    elsewhere = tuple(
        other.name
        for other in others
        if other.device != target.device
        and any(registry.reads(name, other.device) for registry in other.registries)
    )
    return Unread(owner, renamed, _close(name, names, owner), elsewhere)


def _close(name: str, names: list[str], owner: Registry | None) -> str | None:
    """The name that was probably meant: what all names of a runtime begin with makes none alike."""
    head = owner.prefix(name) if owner else ""
    tails = [one.removeprefix(head) for one in names if one.startswith(head)]
    close = nearest(name.removeprefix(head), tails, ALIKE)
    return None if close is None else head + close


def as_read(variables: Mapping[str, V], target: Target) -> Mapping[str, V]:
    """Variables with the names, too, under which the runtimes of a target take them."""
    renamed = {}
    for registry in target.registries:
        for name, value in variables.items():
            if (own := registry.own_name(name)) != name:
                renamed[own] = value
    return {**variables, **renamed} if renamed else variables
