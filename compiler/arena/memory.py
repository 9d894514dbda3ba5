"""What a round's buffers take in memory, and which of them share it: for `plait explain --memory`."""

from __future__ import annotations

from dataclasses import dataclass

from plait.compiler.arena.arena import Arena, arena
from plait.compiler.order import Order
from plait.runtime.schedule import ALIGNMENT


@dataclass(frozen=True, slots=True)
class Place:
    """A buffer in the arena: the bytes from its offset on."""

    buffer: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes at the largest sizes, of buffers that live for a part of a round."""

    name: str
    apart: int
    """If none of them shared memory."""
    together: int
    """As they are laid out."""
    least: int
    """What no plan can do without."""
    arena: int
    places: tuple[Place, ...]


def memory(orders: list[Order]) -> Memory:
    found: Arena = arena(orders)
    places = tuple(
        Place(name, offset, found.sizes[name])
        for name, offset in sorted(found.offsets.items(), key=lambda entry: entry[1])
    )
    name = orders[0].round.name
    return Memory(name, found.apart, found.together, found.least, found.size, places)


def memory_text(found: Memory) -> str:
    """The memory as a page for a terminal."""
    rows = [
        ("apart", found.apart, "if no two shared memory"),
        ("laid out", found.together, f"of which {found.arena:,} are the arena"),
        ("at least", found.least, "of buffers of which no two may share"),
    ]
    head = f"buffers of {found.name} that live for a part of a round, in bytes"
    out = [f"{head}, each rounded up to {ALIGNMENT}", ""]
    out += [f"{name:>12}  {size:>16,}  {says}" for name, size, says in rows]
    out += ["", "arena: from, bytes, buffer", ""]
    out += [f"{one.offset:>12,}  {one.size:>16,}  {one.buffer}" for one in found.places]
    if not found.places:
        out.append("        none")
    return "\n".join(out) + "\n"
