"""Memory that buffers share, for rounds written out by hand."""

from __future__ import annotations

from plait.compiler.arena.memory import memory, memory_text
from plait.compiler.compile import Asked, prove
from plait.dsl.span import Source

CHAIN = """\
spec 1
pipeline chain {
  stream a
  stream b
  buffer x : f32[1000]
  buffer y : f32[200]
  buffer z : f32[800]
  buffer kept : f32[1] carried
  phase first on a { writes x }
  phase second on a { reads x  writes y }
  EDGE
  phase third on b { reads y  writes z }
  phase last on b { reads z  updates kept }
  join last into a
}
"""


def page(text: str) -> str:
    return memory_text(memory(prove(Source("chain.spec", text), Asked()).orders))


def test_what_is_over_makes_room() -> None:
    """`x` is last read before `z` is written, and `z` before the next round writes `x`."""
    assert (
        page(CHAIN.replace("EDGE", "fork b from second"))
        == """\
buffers of chain that live for a part of a round, in bytes, each rounded up to 512

       apart             8,704  if no two shared memory
    laid out             5,120  of which 4,096 are the arena
    at least             5,120  of buffers of which no two may share

arena: from, bytes, buffer

           0             4,096  x
           0             3,584  z
"""
    )


def test_text_order_alone_makes_no_room() -> None:
    """On a stream that nothing orders behind it, `z` may be written while `x` is still read."""
    text = CHAIN.replace("EDGE", "fork b from first").replace("reads x  writes y", "reads x")
    text = text.replace("phase first on a { writes x }", "phase first on a { writes x, y }")
    assert "none" in page(text)


def test_what_nobody_reads_is_left_alone() -> None:
    """Who writes what no phase reads writes it for someone outside."""
    text = CHAIN.replace("EDGE", "fork b from second").replace("reads z ", "")
    assert "none" in page(text)
