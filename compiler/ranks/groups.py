"""Which group contains which, and what its ranks have in common."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from plait.compiler.round import HOST, Choice, Group, Phase, Round

IDLE = "idle"
"""The choice that nobody declares: whether a rank has no requests. No name in a text can be its own."""


def around(groups: tuple[Group, ...], group: int) -> list[int]:
    """The group and all that contain it, the smallest first."""
    found = [group]
    while (outer := groups[found[-1]].inside) is not None:
        found.append(outer)
    return found


def contains(groups: tuple[Group, ...], outer: int, inner: int) -> bool:
    return outer in around(groups, inner)


def alone(groups: tuple[Group, ...], group: int) -> bool:
    """Whether it is known to have one rank, which waits for nobody."""
    return groups[group].size == 1


def waiting_collectives(round: Round) -> Iterator[tuple[int, Phase, int]]:
    """Collectives of streams in which ranks may wait for others: place, phase and group."""
    for place, item in enumerate(round.items):
        if not isinstance(item, Phase) or item.collective is None or item.stream == HOST:
            continue
        if not alone(round.groups, item.collective.group):
            yield place, item, item.collective.group


def smallest_around(groups: tuple[Group, ...], inner: Collection[int]) -> int | None:
    """The smallest group that contains all of these, where one is known to."""
    first, *rest = inner
    outer = (one for one in around(groups, first) if all(contains(groups, one, r) for r in rest))
    return next(outer, None)


def agreed(groups: tuple[Group, ...], choice: Choice, group: int) -> bool:
    """Whether all ranks of a group have one value of it."""
    if choice.group is None:
        return False
    return contains(groups, choice.group, group) or _crosswise(groups, choice, group)


def idle_together(groups: tuple[Group, ...], choices: Iterable[Choice], group: int) -> bool:
    """Whether the ranks of a group are idle all at once: they hold the same requests."""
    return any(
        _crosswise(groups, one, group) if one.voted else contains(groups, one.group, group)
        for one in choices
        if one.kind == "dim" and one.group is not None
    )


def _crosswise(groups: tuple[Group, ...], choice: Choice, group: int) -> bool:
    """Whether a dim is voted on across a group: who votes on a size holds other requests.

    Of two groups neither of which is inside the other, each has its ranks along an axis of its own.
    Those along the axis on which nobody votes hold the same requests.
    """
    if choice.kind != "dim" or not choice.voted:
        return False
    assert choice.group is not None
    return not contains(groups, group, choice.group) and not contains(groups, choice.group, group)
