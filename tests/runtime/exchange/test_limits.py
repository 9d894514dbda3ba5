"""What an exchange refuses: sizes over a library's limits, slots over their number, an odd graph."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from plait.dsl.span import Source
from plait.runtime.exchange.distributed import Distributed
from plait.runtime.exchange.flavours import ASCEND, CUDA, DISTRIBUTED
from plait.runtime.exchange.link import LoneLink
from plait.runtime.exchange.parity import check_parity
from plait.runtime.exchange.sizes import ExchangeError, Sizes

FITS = Sizes(ranks=8, rank=0, experts=256, choices=8, hidden=7168, capacity=128)
WINDOW = {"HCCL_BUFFSIZE": "4096"}


@pytest.mark.parametrize("flavour", [CUDA, ASCEND, DISTRIBUTED], ids=lambda one: one.name)
def test_a_usual_size_fits(flavour) -> None:
    """What large models use is refused by none."""
    flavour.check(FITS, WINDOW)


@pytest.mark.parametrize(
    ("flavour", "changed", "environment", "message"),
    [
        (
            CUDA,
            {"hidden": 1536},
            {},
            "DeepEP on CUDA: a row is one of 2048, 2560, 3072, 4096, 5120, 6144, 7168, 8192 wide, and it "
            "is 1536 (deepseek-ai/DeepEP dd758caf, the widths its kernels are compiled for); widths can "
            "be added there",
        ),
        (
            CUDA,
            {"choices": 12},
            {},
            "DeepEP on CUDA: a row goes to at most 11 experts, and it is 12 (deepseek-ai/DeepEP dd758caf, "
            "low-latency kernels); use the normal form",
        ),
        (
            CUDA,
            {"ranks": 2, "capacity": 3},
            {},
            "DeepEP on CUDA: ranks times capacity divides by 4, and it is 6 (deepseek-ai/DeepEP dd758caf, "
            "low-latency dispatch); round the capacity up to a multiple of 4",
        ),
        (
            CUDA,
            {"capacity": 128},
            {"NVSHMEM_QP_DEPTH": "200"},
            "DeepEP on CUDA: NVSHMEM_QP_DEPTH is at least twice the capacity and one more, and it is 200 "
            "for a capacity of 128 (deepseek-ai/DeepEP dd758caf, deep_ep/buffers/legacy.py); set "
            "NVSHMEM_QP_DEPTH higher, or the capacity lower",
        ),
        (
            ASCEND,
            {"capacity": 513},
            WINDOW,
            "DeepEP on Ascend: a rank sends at most 512 rows, and it is 513 (sgl-project/sgl-kernel-npu "
            "f425bdf1, python/deep_ep/doc/LOW_LATENCY_API.md); set the capacity lower, or use the normal "
            "form",
        ),
        (
            ASCEND,
            {},
            {},
            "DeepEP on Ascend: HCCL_BUFFSIZE, in MiB, holds two halves of the window, and it is 200 where "
            "228 are needed (sgl-project/sgl-kernel-npu f425bdf1, window of the communicator); set "
            "HCCL_BUFFSIZE higher, or the capacity lower",
        ),
        (
            ASCEND,
            {"ranks": 1},
            WINDOW,
            "DeepEP on Ascend: a group has from 2 to 768 ranks, and it is 1 (sgl-project/sgl-kernel-npu "
            "f425bdf1, tiling of the A3 kernels); make groups of another size",
        ),
    ],
)
def test_a_limit_is_named(flavour, changed, environment, message) -> None:
    """One error with the limit, what was asked for, where the limit is written, and the mend."""
    with pytest.raises(ExchangeError) as error:
        flavour.check(replace(FITS, **changed), environment)
    assert str(error.value) == message


def test_received_rows_lie_as_each_library_has_them() -> None:
    """An expert's rows in a place of their own, or one behind the other without gaps."""
    assert CUDA.received(FITS, 128) == DISTRIBUTED.received(FITS, 128) == (32, 1024, 7168)
    assert ASCEND.received(FITS, 128) == (8192, 7168)
    assert (CUDA.counts, ASCEND.counts) == ("i32", "i64")


def test_experts_divide_among_ranks() -> None:
    """A number of ranks that does not divide the experts is refused before anything is made."""
    with pytest.raises(ExchangeError) as error:
        Sizes(ranks=3, rank=0, experts=8, choices=2, hidden=8, capacity=4)
    assert str(error.value) == (
        "8 experts do not divide among 3 ranks: run as many ranks as divide the number of experts"
    )


def exchange() -> Distributed:
    return Distributed(Sizes(1, 0, experts=4, choices=2, hidden=3, capacity=4), LoneLink())


def rows(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.ones(count, 3), torch.zeros(count, 2, dtype=torch.int64)


def test_more_rows_than_its_capacity() -> None:
    """A message of fixed capacity does not grow."""
    with pytest.raises(ExchangeError) as error:
        exchange().send(*rows(5))
    assert str(error.value) == (
        "torch.distributed over one rank: 5 rows with a capacity of 4; it was made for 4: make it larger, "
        "or send fewer"
    )


def test_a_third_operation_in_flight() -> None:
    """Two results may be held, so the third operation is refused until one was received."""
    made = exchange()
    first = made.send(*rows(1))
    made.send(*rows(1))
    with pytest.raises(ExchangeError) as error:
        made.send(*rows(1))
    assert str(error.value) == (
        "torch.distributed over one rank: dispatch is sent while dispatch 1 and dispatch 2 are not "
        "received; its slots hold 2: receive one before, or declare the pool in the spec so that the "
        "compiler finds this"
    )
    first.receive()
    made.send(*rows(1))


def test_out_of_turn() -> None:
    """What was sent first is received first, and once."""
    made = exchange()
    first, second = made.send(*rows(1)), made.send(*rows(1))
    with pytest.raises(
        ExchangeError, match="dispatch 2 cannot be received: dispatch 1 comes before"
    ):
        second.receive()
    first.receive()
    second.receive()
    with pytest.raises(ExchangeError, match="dispatch 2 cannot be received: it was already"):
        second.receive()


SPEC = """spec 1
pipeline p {{
  group ep
  stream main
  pool ll = 2
  buffer x    : f32[4] carried
  buffer ids  : i64[4] carried
  buffer recv : opaque in ll
  buffer y    : opaque
  {open}
  launch dispatch on main {{ reads x, ids  writes recv  collective low_latency over ep capacity 8 }}
  await dispatch on main
  phase experts on main {{ reads recv  writes y }}
  {close}
  launch combine on main {{ reads y  writes x  collective low_latency over ep capacity 8 }}
  await combine on main
  {end}
}}
"""


def test_a_graph_with_both_is_even(compiled) -> None:
    """Dispatch and combine in one graph take turns as they did when it was captured."""
    schedule = compiled(SPEC.format(open="capture g on main rows 4 {", close="", end="}"))
    check_parity(schedule, CUDA)


def test_a_graph_with_one_of_two_is_odd(compiled) -> None:
    """The graph is named with its line; a library that counts on the device has nothing against it."""
    schedule = compiled(SPEC.format(open="capture g on main rows 4 {", close="}", end=""))
    check_parity(schedule, ASCEND)
    with pytest.raises(ExchangeError) as error:
        check_parity(schedule, CUDA)
    assert str(error.value) == (
        "test.spec:10: `g` holds 1 low-latency operations of `ep`; DeepEP on CUDA counts them by twos, so "
        "a graph holds an even number: take dispatch and combine into one graph"
    )


def test_between_graphs_is_even(compiled) -> None:
    """A graph of both, and a third operation outside it: the next round's graph would find the other half."""
    once_more = """launch again on main { reads x  writes recv  collective low_latency over ep capacity 8 }
  await again on main
  phase drop on main { reads recv  writes x }"""
    text = SPEC.format(open="capture g on main rows 4 {", close="", end="}\n  " + once_more)
    with pytest.raises(ExchangeError) as error:
        check_parity(compiled(text), CUDA)
    assert str(error.value) == (
        "test.spec:18: 1 low-latency operations of `ep` run eagerly between graphs (any); DeepEP on CUDA "
        "counts them by twos, so there is an even number: take the odd one into the graph of the other"
    )


def test_the_examples_are_even(compiled, root: Path) -> None:
    """Those that exchange with low latency run on CUDA."""
    for name in ("moe", "expert_parallel"):
        text = (root / "examples" / f"{name}.spec").read_text(encoding="utf-8")
        check_parity(compiled(Source(f"{name}.spec", text), target="cuda"), CUDA)
