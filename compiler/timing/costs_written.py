"""A cost profile written as TOML, which reads back equal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from plait.compiler.timing.costs import Cost, HostCosts, Law, Profile, StreamCosts
from plait.compiler.timing.sharing import WHOLE, Uses

BARE = re.compile(r"[A-Za-z0-9_-]+\Z")
UNITS = (("ms", 10**9), ("us", 10**6), ("ns", 10**3))
"""Each with its picoseconds, which nine decimals tell exactly."""


def written(profile: Profile, comments: Mapping[str, Sequence[str]] | None = None) -> str:
    """The text. Comments stand above the file (under the empty name) and below the heads of tables."""
    said = comments or {}
    return "\n".join(_lines(profile, said)) + "\n"


def _lines(profile: Profile, said: Mapping[str, Sequence[str]]) -> Iterator[str]:
    yield from _comments(said, "")
    yield f"name = {_text(profile.name)}"
    yield f"target = {_text(profile.target)}"
    if profile.resources:
        yield f"resources = [{', '.join(map(_text, profile.resources))}]"
    for name, costs in (("host", profile.host), ("stream", profile.stream)):
        times = _times(costs)
        if times or said.get(name):
            yield ""
            yield f"[{name}]"
            yield from _comments(said, name)
            yield from times
    for of in ("phases", "collectives", "classes"):
        for name, cost in getattr(profile, of):
            yield ""
            yield f"[{of}.{_key(name)}]"
            yield from _comments(said, f"{of}.{name}")
            yield from _cost(cost, profile.resources)


def _comments(said: Mapping[str, Sequence[str]], name: str) -> Iterator[str]:
    for line in said.get(name, ()):
        yield "# " + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in line)


def _times(costs: HostCosts | StreamCosts) -> list[str]:
    found = [(name, getattr(costs, name)) for name in costs.fields()]
    return [f'{name} = "{exact(time * 1000)}"' for name, time in found if time]


def _cost(cost: Cost, resources: Sequence[str]) -> Iterator[str]:
    yield from _law(cost.law)
    if cost.host:
        yield f'host = "{exact(cost.host * 1000)}"'
    if cost.uses:
        yield f"uses = {_uses(cost.uses, resources)}"
    if cost.eager is not None:
        yield f"eager = {{ {', '.join(_law(cost.eager))} }}"
    if cost.link is not None:
        parts = [*_law(cost.link.law)]
        if cost.link.uses:
            parts.append(f"uses = {_uses(cost.link.uses, resources)}")
        yield f"link = {{ {', '.join(parts)} }}"


def _law(law: Law) -> Iterator[str]:
    if law.points:
        points = (f'{rows} = "{exact(time * 1000)}"' for rows, time in law.points)
        yield f"rows = {{ {', '.join(points)} }}"
        return
    yield f'fixed = "{exact(law.fixed * 1000)}"'
    if law.row:
        yield f'row = "{exact(law.row)}"'


def _uses(uses: Uses, resources: Sequence[str]) -> str:
    shares = (f"{_key(resources[number])} = {_share(share)}" for number, share in uses)
    return f"{{ {', '.join(shares)} }}"


def _share(share: int) -> str:
    return f"{share // WHOLE}.{share % WHOLE:03}"


def exact(picoseconds: int) -> str:
    """In the largest unit of which there is one at least, and as specs and profiles write it."""
    if not picoseconds:
        return "0us"
    unit, each = next((one for one in UNITS if picoseconds >= one[1]), UNITS[-1])
    whole, part = divmod(picoseconds, each)
    decimals = f"{part * 10**9 // each:09}".rstrip("0")
    return f"{whole}{'.' + decimals if decimals else ''}{unit}"


def _key(name: str) -> str:
    return name if BARE.match(name) else _text(name)


def _text(value: str) -> str:
    """A basic string: what is not printable ASCII is written by its number."""
    found = []
    for letter in value:
        number = ord(letter)
        if letter in '"\\':
            found.append("\\" + letter)
        elif 32 <= number < 127:
            found.append(letter)
        else:
            found.append(f"\\u{number:04x}" if number < 1 << 16 else f"\\U{number:08x}")
    return f'"{"".join(found)}"'
