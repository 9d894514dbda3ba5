"""What graphs take: the bytes of their pool once, and of their inputs each."""

from __future__ import annotations

import pytest
import torch

from plait.runtime.devices.memory import Pool

SPEC = """\
spec 1
pipeline p {{
  dim n in [64, 128]
  {pool}
  stream main
  buffer x : f32[n] carried static
  buffer y : f32[n] carried
  capture g on main rows n {inside} {{
    phase mix on main {{ reads y  updates x }}
  }}
  phase copy on main {{ reads x  updates y }}
  capture h on main rows n {inside} {{
    phase mix2 on main {{ reads y  updates x }}
  }}
}}
"""


def mix(x, y):
    x.copy_(((x * 2).sin() + y.cos()) * (y + 1))


BODIES = {"mix": mix, "mix2": mix, "copy": lambda x, y: y.add_(x)}


def taken(compiled, inside: str, sizes: list[int]) -> dict[tuple[int, str], int]:
    pool = "pool shared" if inside else ""
    schedule = compiled(SPEC.format(pool=pool, inside=inside))
    with schedule.bind(BODIES) as runner:
        for size in sizes:
            runner.step(n=size)
        runner.drain()
        return {
            (entry["sizes"]["n"], name): graph["bytes"]
            for entry in runner.counts()
            for name, graph in entry["graphs"].items()
        }


def test_graphs_of_one_pool_share_what_the_largest_needs(compiled) -> None:
    """Captured largest first, the smaller take nothing but their inputs; each pool has its own largest."""
    inputs = {64: 64 * 4, 128: 128 * 4}
    apart = taken(compiled, "", [128, 64])
    room = apart[128, "g"] - inputs[128]
    assert room > 0
    assert apart == {
        (128, "g"): inputs[128] + room,
        (128, "h"): inputs[128] + room,
        (64, "g"): inputs[64],
        (64, "h"): inputs[64],
    }
    assert taken(compiled, "in shared", [128, 64]) == apart | {(128, "h"): inputs[128]}


def test_a_larger_graph_that_comes_later_has_memory_of_its_own(compiled) -> None:
    """Captured smallest first, every graph takes what it needs: that is why the largest goes first."""
    found = taken(compiled, "in shared", [64, 128])
    assert all(size > n * 4 for (n, name), size in found.items() if name == "g")


@pytest.mark.parametrize("inside", ["", "in shared"])
def test_graphs_that_share_give_what_phases_give(inside: str, compiled) -> None:
    """Every order of buckets leaves the values that eager phases leave."""
    pool = "pool shared" if inside else ""
    schedule = compiled(SPEC.format(pool=pool, inside=inside))
    with schedule.bind(BODIES, prepare=True) as runner, torch.no_grad():
        runner.buffer("y").copy_(torch.linspace(0, 1, 128))
        x, y = torch.zeros(128), torch.linspace(0, 1, 128)
        for size in (128, 64, 100, 1, 64, 128):
            runner.step(n=size)
            at = slice(0, 128 if size > 64 else 64)
            mix(x[at], y[at])
            y[at].add_(x[at])
            mix(x[at], y[at])
        runner.drain()
        assert torch.equal(runner.buffer("x"), x) and torch.equal(runner.buffer("y"), y)


def test_a_block_is_the_pools_only_when_its_graph_is_one() -> None:
    """A capture that failed leaves no bytes behind."""
    pool = Pool()
    pool.room()(1000)
    assert pool.block.nbytes() == 0
    room = pool.room()
    room(1000)
    assert room.keep() == pool.block.nbytes() == 1000
    again = pool.room()
    again(500)
    assert again.keep() == 0
