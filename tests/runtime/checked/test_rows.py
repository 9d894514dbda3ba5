"""Checked mode: rows that only pad do not come into those of requests."""

from __future__ import annotations

import pytest
import torch

from plait.runtime.bind import bind
from plait.runtime.devices.refusals import CaptureError

SPEC = """\
spec 1
pipeline p {
  dim bs in [1, 4]
  stream main
  buffer x : f32[bs, 2] carried
  buffer y : f32[3, bs * 2]
  buffer n : i64[bs] carried
  capture g on main rows bs {
    phase mix on main { reads x  writes y  updates n }
    phase back on main { reads y[0, _] as y  updates x }
  }
}
"""


def apart(x, y, n):
    y.copy_((x * 3 + n.unsqueeze(1)).view(1, -1))
    n.add_(1)


def back(y, x):
    x.add_(y.view(-1, 2))


def mixing(x, y, n):
    y.copy_((x - x.mean(0)).view(1, -1))
    n.add_(1)


def newest(x, y, n):
    apart(x, y, n)
    n.copy_(n.amax(0).expand(len(n)))


@pytest.mark.parametrize(("body", "buffer"), [(mixing, "y"), (newest, "n")])
def test_a_body_that_mixes_rows_is_named(body, buffer: str, compiled) -> None:
    """What one request's rows hold shows in another's: where, and what to do."""
    schedule = compiled(SPEC)
    with (
        bind(schedule, {"mix": body, "back": back}, checked=True) as runner,
        pytest.raises(
            CaptureError,
            match=f"test.spec:9: `mix`: CheckError: lets .* others in `{buffer}`, and past",
        ),
    ):
        runner.step(bs=3)


def test_bodies_whose_rows_keep_apart_run(compiled) -> None:
    """With the same values as without checks, though they are called more often."""
    found = []
    for checked in (False, True):
        schedule = compiled(SPEC)
        with bind(schedule, {"mix": apart, "back": back}, checked=checked) as runner:
            runner.buffer("x").copy_(torch.arange(8).view(4, 2))
            for live in (4, 1, 3):
                runner.step(bs=live)
            runner.drain()
            found.append((runner.buffer("x").tolist(), runner.buffer("n").tolist()))
    assert found[0] == found[1]


PADDED = """\
spec 1
pipeline p {
  dim bs in [1, 4]
  stream main
  buffer table : i64[bs] carried pad 0
  buffer x     : f32[bs] carried
  buffer pages : opaque carried static
  capture g on main rows bs {
    phase look on main { reads table  updates x, pages }
  }
}
"""


def look(table, x, pages):
    """Adds each row's number to its page; those that only pad have page 0."""
    pages.index_copy_(0, table, x)
    x.copy_(pages[table] + 1)


def look_beside(table, x, pages):
    pages.index_copy_(0, table, x)
    x.copy_(pages[table.amin()] + 1)


@pytest.mark.parametrize(("body", "fine"), [(look, True), (look_beside, False)])
def test_padded_rows_hold_what_they_are_padded_with(body, fine: bool, compiled) -> None:
    """So they meet none that is looked up by another number; what looks up that one is wrong."""
    opaque = {"pages": torch.zeros(6)}
    with bind(compiled(PADDED), {"look": body}, opaque=opaque, checked=True) as runner:
        runner.buffer("table").copy_(torch.tensor([3, 1, 4, 2]))
        if fine:
            runner.step(bs=3)
            runner.drain()
            assert runner.buffer("x").tolist()[:3] == [1, 1, 1]
        else:
            with pytest.raises(CaptureError, match="`look`: CheckError: lets .* others in `x`"):
                runner.step(bs=3)
