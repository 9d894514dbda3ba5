"""Many clients at once, of which some leave and some send nonsense, and a judge of what they were told."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from plait.compiler.compile import Asked, compile_source, read_source
from plait.runtime.eagle.decoder import TinyDecoder
from plait.runtime.eagle.plain import Plain
from plait.runtime.eagle.request import Request
from plait.runtime.engine.engine import Engine
from plait.runtime.engine.prompt import Prompt, Sampling
from plait.runtime.models.tiny.checkpoint import Checkpoint
from serving.events import asked, events, status_of
from serving.process import Served

EXAMPLE = Path(__file__).parents[2] / "examples" / "service.spec"
CLIENTS = 64
NONSENSE: Sequence[tuple[bytes, str, str, int]] = [
    (b'{"model": "plait-tiny", "prompt": "a', "/v1/completions", "application/json", 400),
    (b"[" * 20_000, "/v1/completions", "application/json", 400),
    (b'{"model": "plait-tiny", "prompt": "\\ud800"}', "/v1/completions", "application/json", 400),
    (b'{"model": "plait-tiny", "temperature": -1}', "/v1/completions", "application/json", 400),
    (b'{"model": "plait-tiny", "best": 3}', "/v1/completions", "application/json", 400),
    (b'{"model": "plait-tiny", "messages": []}', "/v1/chat/completions", "application/json", 400),
    (b'{"model": "another"}', "/v1/completions", "application/json", 404),
    (b'{"model": "plait-tiny"}', "/v1/nothing", "application/json", 404),
    (b'{"model": "plait-tiny"}', "/v1/completions", "text/plain", 415),
    (b" " * 300_000, "/v1/completions", "application/json", 413),
]
"""A body, its path and kind, and what it is refused with."""


@dataclass
class Case:
    text: str
    most: int
    sampling: Sampling
    leaves: int | None
    """Events after which the client goes; None: it reads to the end."""
    got: str = ""
    reasons: list[str] = field(default_factory=list)
    done: int = 0
    tokens: int | None = None
    problem: str = ""

    def body(self) -> bytes:
        return json.dumps(
            {
                "model": "plait-tiny",
                "prompt": self.text,
                "max_tokens": self.most,
                "temperature": self.sampling.temperature,
                "seed": self.sampling.seed,
                "stream": True,
                "stream_options": {"include_usage": True},
            }
        ).encode()


def cases(checkpoint: Checkpoint, count: int, seed: int) -> list[Case | int]:
    """All prompts differ; a third of the clients leave, a tenth send nonsense, which has a number."""
    drawn = random.Random(seed)
    found: list[Case | int] = []
    for number in range(count):
        if number % 10 == 0:
            found.append(number // 10 % len(NONSENSE))
            continue
        prompt = drawn.choice(checkpoint.prompts)[: drawn.randint(8, 80)]
        sampling = Sampling(drawn.choice([0.0, 0.0, 0.0, 0.8]), seed=drawn.randint(0, 1 << 40))
        leaves = drawn.randint(0, 6) if drawn.random() < 1 / 3 else None
        found.append(Case(f"# {seed}.{number}\n{prompt}", drawn.randint(4, 24), sampling, leaves))
    return found


async def load(port: int, given: list[Case | int]) -> None:
    """Has so many clients at a time ask for all of it."""
    left = iter(given)

    async def client() -> None:
        for one in left:
            await (_nonsense(port, one) if isinstance(one, int) else _ask(port, one))

    async with asyncio.TaskGroup() as group:
        for _ in range(CLIENTS):
            group.create_task(client())


async def load_until(
    port: int, given: Sequence[Case], begun: int, tell: Callable[[], object]
) -> None:
    """Has them ask, and calls `tell` while so many of them are being answered."""
    loading = asyncio.ensure_future(load(port, list(given)))
    while sum(bool(case.got) for case in given) < begun and not loading.done():
        await asyncio.sleep(0.01)
    tell()
    await loading


async def _nonsense(port: int, number: int) -> None:
    data, path, kind, wanted = NONSENSE[number]
    async with asked(port, data, path, kind) as reader:
        assert await status_of(reader) == wanted, NONSENSE[number][0][:40]
        error = json.loads(await reader.read())["error"]
        assert error["type"] == "invalid_request_error" and error["message"], error


async def _ask(port: int, case: Case) -> None:
    try:
        async with asked(port, case.body()) as reader:
            if case.leaves == 0:
                return
            status = await status_of(reader)
            if status != 200:
                case.problem = f"status {status}"
                return
            seen = 0
            async for event in events(reader):
                _saw(case, event)
                seen += 1
                if seen == case.leaves:
                    return
    except (ConnectionError, asyncio.IncompleteReadError) as error:
        case.problem = f"{type(error).__name__}: {error}"


def _saw(case: Case, event: dict[str, Any] | None) -> None:
    if event is None:
        case.done += 1
        return
    if "error" in event:
        case.problem = event["error"]["message"]
        return
    for choice in event["choices"]:
        case.got += choice["text"]
        if choice["finish_reason"]:
            case.reasons.append(choice["finish_reason"])
    if event["usage"]:
        case.tokens = event["usage"]["completion_tokens"]


def expected(checkpoint: Checkpoint, given: Sequence[Case]) -> list[list[int]]:
    """Tokens by plain decoding: greedy ones by the judge's own loop, sampled ones one token a round."""
    torch.set_num_threads(1)  # more of them only wait for each other, on matrices this small
    bos = checkpoint.shape.bos
    prompts = [[bos, *checkpoint.tokenizer.encode(case.text)] for case in given]
    model = checkpoint.model("exact")
    greedy = [
        Request(prompt, case.most, bos)
        for prompt, case in zip(prompts, given, strict=True)
        if not case.sampling.temperature
    ]
    plain = Plain(model, greedy, [16])
    while plain.advance(1 << 10):
        pass
    sampled = [
        Prompt(tuple(prompt), case.most, case.sampling, frozenset({bos}))
        for prompt, case in zip(prompts, given, strict=True)
        if case.sampling.temperature
    ]
    drawn = asyncio.run(_one_by_one(model, sampled)) if sampled else []
    first, second = iter(greedy), iter(drawn)
    return [next(second) if case.sampling.temperature else next(first).tokens for case in given]


async def _one_by_one(model: Any, prompts: Sequence[Prompt]) -> list[list[int]]:
    how = Asked(variant="plain", settings={"buckets": [16]}, environment={})
    schedule = compile_source(read_source(EXAMPLE), how)
    async with Engine(TinyDecoder(schedule, model), queue=len(prompts)) as engine:
        pieces = await asyncio.gather(*(engine.submit(one).whole() for one in prompts))
    return [list(piece.tokens) for piece in pieces]


def judge(checkpoint: Checkpoint, given: Sequence[Case | int], sample: int = 1) -> list[str]:
    """What is not as it should be; tokens are looked at of every so-manieth request."""
    read = [case for case in given if isinstance(case, Case)]
    wrong = [f"{case.text!r}: {case.problem}" for case in read if case.problem]
    for case in read:
        if case.leaves is None and (len(case.reasons), case.done) != (1, 1):
            wrong.append(f"{case.text!r} has ended {len(case.reasons)} times, {case.done} marked")
    looked = read[::sample]
    for case, tokens in zip(looked, expected(checkpoint, looked), strict=True):
        text = checkpoint.tokenizer.decode(tokens)
        left = case.leaves is not None
        same = text.startswith(case.got) if left else (case.got, case.tokens) == (text, len(tokens))
        if not same:
            wrong.append(f"{case.text!r} gave {case.got!r}, not {text!r}")
    return wrong


def left_behind(server: Served) -> list[str]:
    """What a server holds, or has logged, that it should not have."""
    found = server.metrics()
    names = ("plait_requests_waiting", "plait_requests_live", "plait_held{what=rows}")
    names += ("plait_held{what=prompts}", "plait_held{what=pages}")
    wrong = [f"{name} is {found[name]:g}" for name in names if found[name]]
    lines = server.lines()
    wrong += [str(line) for line in lines if line["level"] not in ("info", "warning")]
    wrong += [
        str(line)
        for line in lines
        if line["level"] == "warning" and line["event"] != "Invalid HTTP request received."
    ]
    ids = Counter(line["id"] for line in lines if line["event"] == "request")
    wrong += [f"{id} has ended {count} times" for id, count in ids.items() if count > 1]
    ended = sum(value for name, value in found.items() if name.startswith("plait_requests_total"))
    if ended != len(ids):
        wrong.append(f"{len(ids)} requests are in the log, {ended:g} have ended")
    return wrong
