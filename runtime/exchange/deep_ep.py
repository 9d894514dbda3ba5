"""DeepEP behind the interface: one `deep_ep.Buffer`, of CUDA or of Ascend, by what the flavour says.

Both take their arguments by keyword, for their orders differ. Nothing of what they return is taken to
give an order where the flavour says that it is hollow: there, streams and their events do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from plait.runtime.exchange.base import Gathered, Received
from plait.runtime.exchange.flavours import Flavour
from plait.runtime.exchange.flight import Flight, Flights
from plait.runtime.exchange.parity import check_parity
from plait.runtime.exchange.sizes import ExchangeError, Sizes
from plait.runtime.schedule import Schedule


class DeepEp:
    """`make` is the class `deep_ep.Buffer`; None: that of the module `deep_ep`.

    Raises ExchangeError for sizes that the library does not take, for graphs of `schedule` that it could
    not replay, and where it is not installed.
    """

    def __init__(
        self,
        sizes: Sizes,
        group: Any,
        flavour: Flavour,
        *,
        normal_bytes: int = 0,
        schedule: Schedule | None = None,
        make: Callable[..., Any] | None = None,
    ):
        flavour.check(sizes)
        if schedule is not None:
            check_parity(schedule, flavour)
        make = make or _buffer_class()
        self.flavour = flavour
        self.sizes = sizes
        self.name = flavour.name
        self.flights = Flights(self.name, flavour.in_flight)
        self._unclean = False
        """Whether a normal exchange has used the memory that low latency wants zeroed."""
        options: dict[str, Any] = {
            "group": group,
            "num_nvl_bytes": normal_bytes,
            "low_latency_mode": True,
            "num_qps_per_rank": sizes.local,
        }
        if flavour.sized:
            options["num_rdma_bytes"] = make.get_low_latency_rdma_size_hint(  # type: ignore[attr-defined]
                num_max_dispatch_tokens_per_rank=sizes.capacity,
                hidden=sizes.hidden,
                num_ranks=sizes.ranks,
                num_experts=sizes.experts,
            )
        if flavour.closes:
            options["explicitly_destroy"] = True
        self._buffer = make(**options)

    # Low latency

    def send(self, rows: Tensor, ids: Tensor, capacity: int | None = None) -> Flight[Received]:
        capacity = self._capacity(rows, capacity)
        found: list[Any] = []
        flight = self.flights.add("dispatch", lambda: self._arrived(found))
        found += self._out(rows, ids, capacity, self._hooks)
        return flight

    def send_back(self, rows: Tensor, ids: Tensor, weights: Tensor, handle: Any) -> Flight[Tensor]:
        found: list[Any] = []
        flight = self.flights.add("combine", lambda: self._arrived(found))
        found += self._back(rows, ids, weights, handle, self._hooks)
        return flight

    def exchange(self, rows: Tensor, ids: Tensor, capacity: int | None = None) -> Received:
        return self._out(rows, ids, self._capacity(rows, capacity), False)[1]

    def exchange_back(self, rows: Tensor, ids: Tensor, weights: Tensor, handle: Any) -> Tensor:
        return self._back(rows, ids, weights, handle, False)[1]

    def _out(
        self, rows: Tensor, ids: Tensor, capacity: int, hooks: bool
    ) -> tuple[Callable[[], object], Received]:
        self._clean()
        recv, counts, handle, _, hook = self._buffer.low_latency_dispatch(
            x=rows,
            topk_idx=ids,
            num_max_dispatch_tokens_per_rank=capacity,
            num_experts=self.sizes.experts,
            use_fp8=False,
            async_finish=False,
            return_recv_hook=hooks,
        )
        return hook, Received(recv, counts, handle)

    def _back(
        self, rows: Tensor, ids: Tensor, weights: Tensor, handle: Any, hooks: bool
    ) -> tuple[Callable[[], object], Tensor]:
        self._clean()
        combined, _, hook = self._buffer.low_latency_combine(
            x=rows,
            topk_idx=ids,
            topk_weights=weights,
            handle=handle,
            async_finish=False,
            return_recv_hook=hooks,
        )
        return hook, combined

    # Normal

    def dispatch(self, rows: Tensor, ids: Tensor, weights: Tensor) -> Gathered:
        self._unclean = True
        to_ranks, to_nodes, to_experts, in_rank, _ = self._buffer.get_dispatch_layout(
            topk_idx=ids, num_experts=self.sizes.experts
        )
        recv, their_ids, their_weights, counts, handle, _ = self._buffer.dispatch(
            x=rows,
            topk_idx=ids,
            topk_weights=weights,
            num_tokens_per_rank=to_ranks,
            num_tokens_per_rdma_rank=to_nodes,
            is_token_in_rank=in_rank,
            num_tokens_per_expert=to_experts,
        )
        if self.flavour.normal == "by choice":
            return Gathered(recv, counts, None, None, handle)
        return Gathered(recv, counts, their_ids, their_weights, handle)

    def combine(self, rows: Tensor, handle: Any) -> Tensor:
        combined, _, _ = self._buffer.combine(x=rows, handle=handle)
        return combined

    def close(self) -> None:
        if self.flavour.closes:
            self._buffer.destroy()

    @property
    def _hooks(self) -> bool:
        return self.flavour.hook == "real"

    def _arrived(self, found: list[Any]) -> Any:
        hook, result = found
        if self._hooks:
            hook()
        return result

    def _clean(self) -> None:
        if self._unclean:
            self._buffer.clean_low_latency_buffer(
                num_max_dispatch_tokens_per_rank=self.sizes.capacity,
                hidden=self.sizes.hidden,
                num_experts=self.sizes.experts,
            )
            self._unclean = False

    def _capacity(self, rows: Tensor, asked: int | None) -> int:
        capacity = self.sizes.capacity_for(rows.shape[0], asked, self.name)
        if rows.dtype is not torch.bfloat16 or rows.shape[1] != self.sizes.hidden:
            raise ExchangeError(
                f"{self.name}: rows are bfloat16 and {self.sizes.hidden} wide, not {rows.dtype} and "
                f"{rows.shape[1]}"
            )
        return capacity


def _buffer_class() -> Callable[..., Any]:
    try:
        from deep_ep import Buffer  # type: ignore[import-not-found]
    except ImportError as error:
        raise ExchangeError(
            f"DeepEP is not here ({error}); install it for this accelerator, or exchange over "
            "torch.distributed"
        ) from None
    return Buffer
