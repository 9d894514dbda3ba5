"""The implementations of an exchange and how they differ, as data: what is real, how rows lie, limits.

Facts of DeepEP were read in its sources; a limit carries where.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from plait.runtime.exchange.sizes import ExchangeError, Sizes

MIB = 1 << 20


@dataclass(frozen=True)
class Limit:
    what: str
    """In words, for the error."""
    holds: Callable[[Sizes, Mapping[str, str]], bool]
    """Given the environment, too."""
    value: Callable[[Sizes, Mapping[str, str]], object]
    source: str
    """Where it is written."""
    mend: str


@dataclass(frozen=True)
class Flavour:
    name: str
    layout: Literal["by expert", "packed"]
    """Received rows: `[local, ranks * capacity, hidden]`, each expert's first rows live; or
    `[ranks * capacity * min(choices, local), hidden]`, expert behind expert without gaps."""
    normal: Literal["by row", "by choice"]
    """Rows in normal form: each once a rank, and what experts make of it they weigh and sum; or once for
    each of its experts there, in the order of experts, and the way back weighs."""
    counts: Literal["i32", "i64"]
    """Type of the numbers of received rows."""
    hook: Literal["real", "hollow"]
    """Whether an operation can be sent and received apart. Where it cannot, it is whole when it is sent,
    and only streams and their events give it an order."""
    event: Literal["real", "hollow"]
    """Whether what the library calls an event can be waited for."""
    parity: bool
    """Whether the host counts low-latency operations by twos, so that a graph must hold an even number."""
    one_order: bool
    """Whether all low-latency operations of a group must keep one order, whatever the data."""
    captures_normal: bool
    """Whether a graph can hold the normal form."""
    closes: bool
    """Whether the buffer is destroyed by a call."""
    sized: bool
    """Whether the library's size hint is the memory that a buffer needs."""
    in_flight: int = 2
    """Operations sent and not received, at most, in the order of sending."""
    limits: tuple[Limit, ...] = ()

    def received(self, sizes: Sizes, capacity: int) -> tuple[int, ...]:
        """The shape of what a rank receives when each sends up to `capacity` rows."""
        arriving = sizes.ranks * capacity
        if self.layout == "packed":
            return (arriving * min(sizes.choices, sizes.local), sizes.hidden)
        return (sizes.local, arriving, sizes.hidden)

    def check(self, sizes: Sizes, environment: Mapping[str, str] | None = None) -> None:
        """Raises ExchangeError for the first limit that does not hold."""
        environment = os.environ if environment is None else environment
        for limit in self.limits:
            if not limit.holds(sizes, environment):
                raise ExchangeError(
                    f"{self.name}: {limit.what}, and it is {limit.value(sizes, environment)} "
                    f"({limit.source}); {limit.mend}"
                )


def _number(environment: Mapping[str, str], name: str, default: int) -> int:
    text = environment.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 10 else default


def _queue(environment: Mapping[str, str]) -> int:
    return _number(environment, "NVSHMEM_QP_DEPTH", 1024)


def _window(environment: Mapping[str, str]) -> int:
    return _number(environment, "HCCL_BUFFSIZE", 200) * MIB


def _needed(sizes: Sizes) -> int:
    """Bytes of the HCCL window: two halves, of bfloat16 rows and two MiB."""
    rows = sizes.capacity * sizes.ranks * min(sizes.local, sizes.choices)
    return 2 * (rows * sizes.hidden * 2 + 2 * MIB)


HIDDEN = (2048, 2560, 3072, 4096, 5120, 6144, 7168, 8192)

_CUDA = "deepseek-ai/DeepEP dd758caf"
_ASCEND = "sgl-project/sgl-kernel-npu f425bdf1"

CUDA = Flavour(
    name="DeepEP on CUDA",
    layout="by expert",
    normal="by row",
    counts="i32",
    hook="real",
    event="real",
    parity=True,
    one_order=False,
    captures_normal=False,
    closes=True,
    sized=True,
    limits=(
        Limit(
            f"a row is one of {', '.join(map(str, HIDDEN))} wide",
            lambda s, e: s.hidden in HIDDEN,
            lambda s, e: s.hidden,
            f"{_CUDA}, the widths its kernels are compiled for",
            "widths can be added there",
        ),
        Limit(
            "a row goes to at most 11 experts",
            lambda s, e: s.choices <= 11,
            lambda s, e: s.choices,
            f"{_CUDA}, low-latency kernels",
            "use the normal form",
        ),
        Limit(
            "ranks times capacity divides by 4",
            lambda s, e: s.ranks * s.capacity % 4 == 0,
            lambda s, e: s.ranks * s.capacity,
            f"{_CUDA}, low-latency dispatch",
            "round the capacity up to a multiple of 4",
        ),
        Limit(
            "NVSHMEM_QP_DEPTH is at least twice the capacity and one more",
            lambda s, e: _queue(e) >= 2 * (s.capacity + 1),
            lambda s, e: f"{_queue(e)} for a capacity of {s.capacity}",
            f"{_CUDA}, deep_ep/buffers/legacy.py",
            "set NVSHMEM_QP_DEPTH higher, or the capacity lower",
        ),
    ),
)

ASCEND = Flavour(
    name="DeepEP on Ascend",
    layout="packed",
    normal="by choice",
    counts="i64",
    hook="hollow",
    event="hollow",
    parity=False,
    one_order=True,
    captures_normal=False,
    closes=False,
    sized=False,
    limits=(
        Limit(
            "a rank sends at most 512 rows",
            lambda s, e: s.capacity <= 512,
            lambda s, e: s.capacity,
            f"{_ASCEND}, python/deep_ep/doc/LOW_LATENCY_API.md",
            "set the capacity lower, or use the normal form",
        ),
        Limit(
            "a row is from 1024 to 8192 wide",
            lambda s, e: 1024 <= s.hidden <= 8192,
            lambda s, e: s.hidden,
            f"{_ASCEND}, tiling of the A3 kernels",
            "there is no other width",
        ),
        Limit(
            "a row is a multiple of 32 wide",
            lambda s, e: s.hidden % 32 == 0,
            lambda s, e: s.hidden,
            f"{_ASCEND}, python/deep_ep/doc/LOW_LATENCY_API.md",
            "pad the rows",
        ),
        Limit(
            "a row goes to at most 16 experts",
            lambda s, e: s.choices <= 16,
            lambda s, e: s.choices,
            f"{_ASCEND}, python/deep_ep/doc/NORMAL_API.md",
            "there is no form for more",
        ),
        Limit(
            "there are at most 512 experts",
            lambda s, e: s.experts <= 512,
            lambda s, e: s.experts,
            f"{_ASCEND}, python/deep_ep/doc/NORMAL_API.md",
            "split the experts over several groups",
        ),
        Limit(
            "a group has from 2 to 768 ranks",
            lambda s, e: 2 <= s.ranks <= 768,
            lambda s, e: s.ranks,
            f"{_ASCEND}, tiling of the A3 kernels",
            "make groups of another size",
        ),
        Limit(
            "HCCL_BUFFSIZE, in MiB, holds two halves of the window",
            lambda s, e: _window(e) >= _needed(s),
            lambda s, e: f"{_window(e) // MIB} where {-(-_needed(s) // MIB)} are needed",
            f"{_ASCEND}, window of the communicator",
            "set HCCL_BUFFSIZE higher, or the capacity lower",
        ),
    ),
)

DISTRIBUTED = Flavour(
    name="torch.distributed",
    layout="by expert",
    normal="by row",
    counts="i32",
    hook="real",
    event="hollow",
    parity=False,
    one_order=True,
    captures_normal=False,
    closes=False,
    sized=False,
)
