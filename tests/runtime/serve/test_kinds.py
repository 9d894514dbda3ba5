"""`plait serve` with every kind of round: a request has the same answer whichever it is."""

from __future__ import annotations

import argparse
import asyncio
import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from plait.commands import serve
from plait.compiler.compile import Asked, compile_source, read_source
from plait.exit import Refused
from plait.runtime.serve.address import listening
from plait.runtime.serve.serving import Server

pytestmark = pytest.mark.usefixtures("one_thread")

EXAMPLES = Path(__file__).parents[3] / "examples"
ASKED = [
    {"prompt": "def add(a, b):\n", "max_tokens": 12, "temperature": 0, "logprobs": 2},
    {"prompt": "class Stack:\n", "max_tokens": 12, "temperature": 0.9, "top_p": 0.95, "seed": 7},
    {"prompt": "import ", "max_tokens": 9, "seed": -1},
]


def service_of(spec: str, *arguments: str) -> Any:
    """What `plait serve` serves, in exact mode, with room for four, every phase by itself."""
    parser = argparse.ArgumentParser()
    serve.add_arguments(parser)
    options = parser.parse_args([spec, "--mode", "exact", *arguments])
    file, _, variant = spec.partition("@")
    how: dict[str, Any] = {"settings": {"buckets": [4]}, "environment": {}, "capture": False}
    asked = Asked(variant=variant or None, **how)
    return serve._service(options, compile_source(read_source(EXAMPLES / file), asked))


def post(port: int, body: dict[str, Any]) -> Any:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/completions",
        json.dumps({"model": "plait-tiny", **body}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["choices"]


def answers(spec: str, *arguments: str) -> list[Any]:
    """To all that is asked, at once."""
    service = service_of(spec, *arguments)

    async def work() -> list[Any]:
        server, place = Server(service), listening("127.0.0.1", 0)
        port = place.getsockname()[1]
        serving = asyncio.ensure_future(server.run(place))
        while not service.ready and not serving.done():
            await asyncio.sleep(0.01)
        found = await asyncio.gather(*(asyncio.to_thread(post, port, body) for body in ASKED))
        server.stop()
        assert await serving
        return found

    return asyncio.run(work())


@pytest.fixture(scope="module")
def plain() -> list[Any]:
    return answers("service.spec@plain")


@pytest.mark.parametrize("spec", ["service_tree.spec", "service_ragged.spec", "lookup.spec"])
def test_answers_are_those_of_one_token_a_round(spec: str, plain: list[Any]) -> None:
    """Greedy and sampled, with the same log probabilities."""
    assert answers(spec) == plain
    assert {choices[0]["finish_reason"] for choices in plain} <= {"length", "stop"}


def test_another_model_is_served_by_its_name() -> None:
    """By a round that drafts without a head; one that drafts with one says what would do."""
    with pytest.raises(Refused, match="a round that drafts without one is examples/lookup.spec"):
        service_of("service.spec", "--model", "small-llama")
    found = service_of("lookup.spec", "--model", "small-llama")
    assert type(found.engine.decoder.model).__name__ == "SmallLlama"
