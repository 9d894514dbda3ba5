"""Which bucket a round runs at: the smallest that holds its sizes.

Depends on the standard library alone: a schedule emitted as Python carries this file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def smallest_bucket(
    name: str, buckets: Sequence[Mapping[str, int]], live: Mapping[str, int]
) -> int:
    """The number of the first bucket that holds these sizes. `name` is of the round, for messages.

    Raises ValueError when no bucket holds them, when a dim is missing or unknown, and for a size that is
    no whole number from 1.
    """
    dims = buckets[-1].keys()
    if live.keys() != dims:
        wanted = ", ".join(dims) or "no sizes"
        given = ", ".join(live) or "none"
        raise ValueError(f"a round of {name} is given {wanted}; here: {given}")
    for dim, size in live.items():
        if type(size) is not int or size < 1:
            raise ValueError(f"{dim} = {size!r}: a size is an int, 1 or more")
    for number, sizes in enumerate(buckets):
        if all(live[dim] <= size for dim, size in sizes.items()):
            return number
    raise ValueError(
        f"no bucket of {name} holds {shown_sizes(live)}; the largest has {shown_sizes(buckets[-1])}"
    )


def shown_sizes(sizes: Mapping[str, int]) -> str:
    """Sizes in the words of messages: `bs = 4, q = 2`."""
    return ", ".join(f"{dim} = {size}" for dim, size in sizes.items()) or "no sizes"
