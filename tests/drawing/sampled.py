"""Many requests through whole rounds of the table model, and what their first tokens should be."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import torch
from torch import Tensor

from plait.compiler.compile import Asked, compile_source
from plait.dsl.span import Source
from plait.dsl.values import Value
from plait.runtime.bind import bind
from plait.runtime.engine.prompt import Sampling
from plait.runtime.models.table.decoder import TableDecoder
from plait.runtime.models.table.drawn import DrawnTable
from plait.runtime.models.table.model import TableModel, drawn_tables
from plait.runtime.models.table.rows import TableRows
from plait.runtime.runner import Runner
from plait.runtime.sampling.bodies import DrawnTree, chain_of
from plait.runtime.schedule import Schedule

ROOT = Path(__file__).parents[2]
SERVICE = ROOT / "examples" / "service.spec"
DRAWN = ROOT / "tests" / "runtime" / "sampling" / "drawn.spec"
VOCAB = 5
MODEL = drawn_tables(VOCAB, seed=1)
TREE = [-1, 0, 0, 1, 1, 2, 2]
TOKENS = 4
"""New tokens that are looked at jointly: one of the prompt's, and three of rounds."""
SAMPLINGS = {
    "temperature 0.5": Sampling(temperature=0.5),
    "temperature 1, top-k 4, top-p 0.9": Sampling(temperature=1.0, top_k=4, top_p=0.9),
    "temperature 1.5": Sampling(temperature=1.5),
}
ROUNDS = ("service", "chain followed", "chain rejected", "tree followed", "tree rejected")
"""Those of the example, whose drafts are the likeliest tokens, and those of drafts that are drawn."""


def compiled(path: Path, capture: bool = True, **settings: Value) -> Schedule:
    source = Source(path.name, path.read_text(encoding="utf-8"))
    return compile_source(source, Asked(settings=settings, capture=capture))


def served(batch: int, capture: bool = True, **asked: Value) -> TableDecoder:
    """The table model in the rounds of `examples/service.spec`, of so many requests at most."""
    small: dict[str, Value] = {"hidden_size": 1, "most_pages": 1, "top_logprobs": 2}
    sizes: dict[str, Value] = {"vocab": VOCAB, "buckets": [1, 2, batch]}
    return TableDecoder(compiled(SERVICE, capture, **sizes, **small, **asked), MODEL)


def decoder_of(rounds: str, batch: int, capture: bool = True) -> TableRows:
    """The table model in rounds of one of ROUNDS."""
    if rounds == "service":
        return served(batch, capture=capture)
    shape = chain_of(3) if rounds.startswith("chain") else DrawnTree(TREE)
    sizes: dict[str, Value] = {"vocab": VOCAB, "buckets": [1, 2, batch]}
    nodes: dict[str, Value] = {"nodes": len(shape.parents), "levels": shape.levels}
    schedule = compiled(DRAWN, capture, **sizes, **nodes)
    return DrawnTable(schedule, MODEL, shape, rejecting=rounds.endswith("rejected"))


@contextmanager
def running(decoder: TableRows, device: str = "cpu", checked: bool = False) -> Iterator[Runner]:
    bodies = {**decoder.bodies(), "commit": lambda **buffers: None}
    opaque, how = decoder.opaque(), {"device": device, "checked": checked, "strict": True}
    with bind(decoder.schedule, bodies, opaque=opaque, **how) as runner:
        yield runner


def started(decoder: TableRows, sampling: Sampling, seeds: Tensor, first: int = 0) -> dict:
    """What rows carry whose prompts are this token alone."""
    count = len(seeds)
    return decoder.seated(
        torch.full((count,), first),
        torch.ones(count, dtype=torch.int64),
        torch.full((count,), sampling.temperature),
        torch.full((count,), sampling.top_k),
        torch.full((count,), sampling.top_p),
        seeds,
    )


def decoded(runner: Runner, dim: str, carried: dict[str, Tensor], tokens: int) -> Tensor:
    """The first new tokens of requests, `[requests, tokens]`, of as few rounds as surely give them."""
    count = len(carried["bonus"])
    for name, values in carried.items():
        runner.buffer(name)[:count] = values
    found = [carried["bonus"].unsqueeze(1)]
    for _ in range(tokens - 1):
        runner.step(**{dim: count})
        runner.drain()
        found.append(runner.buffer("out_tokens")[:count].clone())
    together = torch.cat(found, 1)
    order = torch.sort((together < 0).int(), dim=1, stable=True).indices
    return together.gather(1, order)[:, :tokens]


def counts(decoder: TableRows, sampling: Sampling, draws: int, batch: int) -> Tensor:
    """How often each sequence of the first tokens came, `[vocab ** TOKENS]`, of seeds from 0."""
    powers = torch.tensor([decoder.vocab**place for place in reversed(range(TOKENS))])
    found = torch.zeros(decoder.vocab**TOKENS, dtype=torch.int64)
    with running(decoder) as runner:
        for start in range(0, draws, batch):
            seeds = torch.arange(start, min(start + batch, draws))
            carried = started(decoder, sampling, seeds)
            tokens = decoded(runner, decoder.dim, carried, TOKENS)
            found += (tokens * powers).sum(1).bincount(minlength=len(found))
    return found


def shares(logits: list[float], sampling: Sampling) -> list[float]:
    """The distribution that is asked for, by the plainest way there is."""
    order = sorted(range(len(logits)), key=lambda token: (-logits[token], token))
    if not sampling.temperature:
        return [float(token == order[0]) for token in range(len(logits))]
    heaviest = logits[order[0]]
    weights = [math.exp((one - heaviest) / sampling.temperature) for one in logits]
    order = order[: sampling.top_k or None]
    total = sum(weights[token] for token in order)
    left, before = [], 0.0
    for token in order:
        if before < sampling.top_p * total or not left:
            left.append(token)
        before += weights[token]
    total = sum(weights[token] for token in left)
    return [weights[token] / total if token in left else 0.0 for token in range(len(logits))]


def expected(model: TableModel, sampling: Sampling, first: int = 0) -> list[float]:
    """The probability of each sequence of the first tokens."""
    table = [shares(row, sampling) for row in model.target.tolist()]
    found = []
    for tokens in product(range(model.vocab), repeat=TOKENS):
        steps = zip((first, *tokens), tokens, strict=False)
        found.append(math.prod(table[last][token] for last, token in steps))
    return found


@dataclass(frozen=True)
class Fit:
    """How well counts fit a distribution."""

    statistic: float
    freedom: int
    p: float
    """How likely it is to fit no better by chance."""


def chi_square(seen: list[int], probable: list[float]) -> Fit:
    """Pearson's test; what is expected less than 5 times counts as one, and what cannot be must not be."""
    draws = sum(seen)
    if any(count and not share for count, share in zip(seen, probable, strict=True)):
        return Fit(math.inf, 0, 0.0)
    cells, rest_seen, rest = [], 0, 0.0
    for count, share in zip(seen, probable, strict=True):
        if share * draws >= 5:
            cells.append((count, share * draws))
        else:
            rest_seen, rest = rest_seen + count, rest + share * draws
    if rest >= 5:
        cells.append((rest_seen, rest))
    statistic = sum((count - wanted) ** 2 / wanted for count, wanted in cells)
    half = torch.tensor([(len(cells) - 1) / 2, statistic / 2], dtype=torch.float64)
    return Fit(statistic, len(cells) - 1, float(torch.special.gammaincc(half[0], half[1])))


def fit(rounds: str, sampling: Sampling, draws: int, batch: int = 2048) -> Fit:
    seen = counts(decoder_of(rounds, batch), sampling, draws, batch)
    return chi_square(seen.tolist(), expected(MODEL, sampling))
