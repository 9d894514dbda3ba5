"""Which bucket a round runs at: the smallest that holds its sizes, on the route that its values lead to.

Depends on the standard library alone: a schedule emitted as Python carries this file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def smallest_bucket(
    name: str,
    buckets: Sequence[Mapping[str, int]],
    routes: Sequence[Mapping[str, object]],
    live: Mapping[str, object],
) -> int:
    """The number of the first bucket that holds these sizes. `name` is of the round, for messages.

    `buckets` are the sizes of each, `routes` its run-time params and guards; those are never padded, so
    they are given as they are. Raises ValueError when no bucket fits, when a dim, param or guard is
    missing or unknown, and for a size that is no whole number from 1.
    """
    dims = buckets[-1].keys()
    choices = dict.fromkeys(choice for route in routes for choice in route)
    if live.keys() != {*dims, *choices}:
        wanted = ", ".join([*dims, *choices]) or "no sizes"
        given = ", ".join(live) or "none"
        raise ValueError(f"a round of {name} is given {wanted}; here: {given}")
    for dim in dims:
        size = live[dim]
        if type(size) is not int or size < 1:
            raise ValueError(f"{dim} = {size!r}: a size is an int, 1 or more")
    for number, (sizes, route) in enumerate(zip(buckets, routes, strict=True)):
        if all(live[dim] <= size for dim, size in sizes.items()) and all(  # type: ignore[operator]
            type(live[choice]) is type(value) and live[choice] == value
            for choice, value in route.items()
        ):
            return number
    for choice in choices:
        values = [route[choice] for route in routes if choice in route]
        if live[choice] not in values:
            shown = ", ".join(dict.fromkeys(map(str, values)))
            raise ValueError(f"{choice} = {live[choice]!r}: a round of {name} has {shown}")
    largest = shown_sizes(buckets[-1])
    raise ValueError(f"no bucket of {name} holds {shown_sizes(live)}; the largest has {largest}")


def shown_sizes(sizes: Mapping[str, object]) -> str:
    """Sizes in the words of messages: `bs = 4, q = 2`."""
    return ", ".join(f"{dim} = {size}" for dim, size in sizes.items()) or "no sizes"
