"""Signature check of DeepEP: every call that the exchange makes fits both libraries as published.

Neither can be installed here, so this asserts names, order and defaults, and no values.
"""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from plait.runtime.exchange import deep_ep, flavours
from plait.runtime.exchange.deep_ep import DeepEp
from plait.runtime.exchange.flavours import Flavour
from plait.runtime.exchange.sizes import ExchangeError, Sizes

FACTS = sorted((Path(__file__).parent / "signatures").glob("*.json"))
SIZES = Sizes(ranks=2, rank=0, experts=8, choices=2, hidden=2048, capacity=64)


class Hollow:
    """A result that nothing may be done with but pass it on."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"`{name}` of a result of the library was used")


def signed(facts: dict[str, Any]) -> tuple[type, list[tuple[str, dict[str, Any]]], list[str]]:
    """A class of the library's signatures that records calls and hooks; it does nothing else."""
    calls: list[tuple[str, dict[str, Any]]] = []
    hooks: list[str] = []

    def method(name: str, fact: dict[str, Any]) -> Callable[..., Any]:
        signature = signature_of(fact)

        def call(*given: Any, **named: Any) -> Any:
            assert not given, "arguments are passed by keyword, for their orders differ"
            calls.append((name, dict(signature.bind(**named).arguments)))
            if "returns" not in fact:
                return None
            results: list[Any] = [Hollow() for _ in range(fact["returns"])]
            if name.startswith("low_latency"):
                results[-1] = lambda: hooks.append(name)
            return tuple(results)

        if fact.get("static"):
            return staticmethod(call)  # type: ignore[return-value]
        return lambda self, *given, **named: call(*given, **named)

    methods = {name: method(name, fact) for name, fact in facts["methods"].items()}
    return type("SignatureCheck", (), methods), calls, hooks


def signature_of(fact: dict[str, Any]) -> inspect.Signature:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature(
        [
            inspect.Parameter(name, kind)
            if default == "required"
            else inspect.Parameter(name, kind, default=ast.literal_eval(default))
            for name, default in fact["arguments"]
        ]
    )


def everything(exchange: DeepEp) -> None:
    """Every operation of the interface, once."""
    rows = torch.zeros(4, SIZES.hidden, dtype=torch.bfloat16)
    ids, weights = torch.zeros(4, 2, dtype=torch.int64), torch.ones(4, 2)
    received = exchange.send(rows, ids).receive()
    exchange.send_back(received.rows, ids, weights, received.handle).receive()
    received = exchange.exchange(rows, ids)
    exchange.exchange_back(received.rows, ids, weights, received.handle)
    gathered = exchange.dispatch(rows, ids, weights)
    assert (gathered.weights is None) == (exchange.flavour.normal == "by choice")
    exchange.combine(gathered.rows, gathered.handle)
    exchange.send(rows, ids).receive()
    exchange.close()


@pytest.mark.parametrize("path", FACTS, ids=lambda path: path.stem)
def test_every_call_fits(path: Path) -> None:
    """All calls bind; the hook is asked for and called only where it is real; events are left alone."""
    facts = json.loads(path.read_text(encoding="utf-8"))
    flavour: Flavour = getattr(flavours, facts["flavour"])
    make, calls, hooks = signed(facts)
    everything(DeepEp(SIZES, object(), flavour, make=make))
    names = [name for name, _ in calls]
    assert set(names) == methods_called(flavour)
    real = flavour.hook == "real"
    asked = [given.get("return_recv_hook") for name, given in calls if name.startswith("low_lat")]
    assert asked == [real, real, False, False, real]
    assert len(hooks) == (3 if real else 0)
    clean = names.index("clean_low_latency_buffer")
    assert names[clean - 1 : clean + 2] == [
        "combine",
        "clean_low_latency_buffer",
        "low_latency_dispatch",
    ]


def methods_called(flavour: Flavour) -> set[str]:
    """Methods of the library that the source names, `destroy` and the hint where a flavour has them."""
    tree = ast.parse(Path(deep_ep.__file__).read_text(encoding="utf-8"))
    found = {
        node.func.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and ast.unparse(node.func.value) in ("self._buffer", "make")
    }
    without = {"destroy": flavour.closes, "get_low_latency_rdma_size_hint": flavour.sized}
    return {"__init__"} | {name for name in found if without.get(name, True)}


@pytest.mark.parametrize("path", FACTS, ids=lambda path: path.stem)
def test_a_call_that_does_not_fit_is_seen(path: Path) -> None:
    """With an argument that the exchange passes renamed in the facts, the check fails."""
    facts = json.loads(path.read_text(encoding="utf-8"))
    arguments = facts["methods"]["low_latency_combine"]["arguments"]
    facts["methods"]["low_latency_combine"]["arguments"] = [
        ["indices" if name == "topk_idx" else name, default] for name, default in arguments
    ]
    make, _, _ = signed(facts)
    with pytest.raises(TypeError):
        everything(DeepEp(SIZES, object(), getattr(flavours, facts["flavour"]), make=make))


def test_without_the_library() -> None:
    """One line says that it is not installed, and what to do."""
    if deep_ep_is_here():
        pytest.skip("needs a machine without DeepEP; it is installed here")
    with pytest.raises(ExchangeError) as error:
        DeepEp(SIZES, object(), flavours.CUDA)
    assert str(error.value) == (
        "DeepEP is not here (No module named 'deep_ep'); install it for this accelerator, or exchange "
        "over torch.distributed"
    )


def deep_ep_is_here() -> bool:
    from importlib.util import find_spec

    return find_spec("deep_ep") is not None
