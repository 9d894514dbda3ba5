"""Random programs of torch's operations: what a captured segment may hold, as bodies would write it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

from plait.runtime.devices.job import job
from plait.runtime.devices.memory import compacted
from plait.runtime.devices.recording import Kernel, record

OPERATIONS = 25
SIDE = 4
"""Every value is a square of so many rows."""

Operation: TypeAlias = "Callable[[random.Random, Callable[[], Tensor]], Tensor]"
"""Of chance, and of a call that gives one of the values so far."""

KINDS: dict[str, Operation] = {
    "add": lambda r, one: torch.add(one(), one(), alpha=2),
    "a number": lambda r, one: 1 - one() * r.choice((0.5, 3, True)),
    "a number and a sum": lambda r, one: one() + (one().sum() * 0.1 + 2),
    "a number and whole numbers": lambda r, one: (one() * 3).to(torch.int32) * 0.5 / 2,
    "few digits": lambda r, one: (one().to(torch.bfloat16) * 1.1 + 0.3).float(),
    "power": lambda r, one: torch.tanh(one()).pow(2),
    "division": lambda r, one: torch.div(one(), one().abs() + 1, rounding_mode="floor"),
    "matmul": lambda r, one: one() @ one(),
    "linear": lambda r, one: torch.nn.functional.linear(one(), one(), one()[0]),
    "transpose": lambda r, one: one().t(),
    "diagonal": lambda r, one: one().diagonal().expand(SIDE, SIDE),
    "rows of a view": lambda r, one: one()[1:3].repeat(2, 1),
    "reshape": lambda r, one: one().t().reshape(2, 8).reshape(SIDE, SIDE),
    "split": lambda r, one: torch.cat(one().split(1, 1)[::-1], 1),
    "unbind": lambda r, one: torch.stack(one().unbind(1)),
    "cat": lambda r, one: torch.cat([one()[:2], one()[2:]]),
    "where": lambda r, one: torch.where(one() > 0, one(), one()),
    "where a number": lambda r, one: torch.where(one() > one(), one(), 0.25),
    "masked": lambda r, one: one().masked_fill(one() < 0, -1.0),
    "softmax": lambda r, one: one().softmax(-1),
    "norm": lambda r, one: torch.nn.functional.layer_norm(one(), (SIDE,)),
    "sort": lambda r, one: _both(one().sort(-1)),
    "max with its place": lambda r, one: _both(one().max(-1, keepdim=True)).expand(SIDE, SIDE),
    "top two": lambda r, one: _both(one().topk(2, -1)).repeat(1, 2),
    "var and mean": lambda r, one: _both(torch.var_mean(one(), 0)).expand(SIDE, SIDE),
    "gather": lambda r, one: one().gather(1, _places(r)),
    "rows by number": lambda r, one: one()[_row(r)],
    "rows by value": lambda r, one: one()[one()[0].argsort()],
    "embedding": lambda r, one: torch.nn.functional.embedding(_row(r), one()),
    "cumsum": lambda r, one: torch.tanh(one()).cumsum(0),
    "cast": lambda r, one: one().double().sum(1, keepdim=True).float().expand(SIDE, SIDE),
    "fresh memory": lambda r, one: torch.empty(SIDE, SIDE).copy_(one()),
    "filled memory": lambda r, one: torch.zeros(SIDE, SIDE).add_(one()),
    "like another": lambda r, one: torch.full_like(one(), 0.5).sub_(one()),
    "in place": lambda r, one: _into(one(), one().clone(), lambda v, x: v.add_(x)),
    "in place by a number": lambda r, one: _whole(one(), lambda v: v.mul_(0.5).clamp_(-2, 2)),
    "in place in a view": lambda r, one: _whole(one(), lambda v: v.t()[1:3].mul_(-1)),
    "copy into a view": lambda r, one: _into(
        one(), one().clone(), lambda v, x: v[1:3].copy_(x[:2])
    ),
    "fill a column": lambda r, one: _whole(one(), lambda v: v[:, 1].fill_(0.25)),
    "put and add up": lambda r, one: _into(
        one(), one().clone(), lambda v, x: v.index_put_((_row(r),), x, accumulate=True)
    ),
    "put at places": lambda r, one: _into(
        one(), one()[0].clone(), lambda v, x: v.index_put_((_order(r), _order(r)), x)
    ),
    "index_copy": lambda r, one: _into(
        one(), one().clone(), lambda v, x: v.index_copy_(0, _order(r), x)
    ),
    "index_add": lambda r, one: _into(
        one(), one().clone(), lambda v, x: v.index_add_(1, _row(r), x, alpha=0.5)
    ),
    "scatter": lambda r, one: _into(
        one().clone(), one(), lambda v, x: v.scatter_(0, _order(r).expand(1, SIDE), x)
    ),
    "scatter and add up": lambda r, one: one().scatter_add(0, _places(r), one()),
    "out": lambda r, one: torch.mul(one(), one(), out=torch.empty(SIDE, SIDE)),
    "out in a view": lambda r, one: _into(
        torch.zeros(SIDE, 2 * SIDE), one(), lambda v, x: torch.exp(x.clamp(max=1), out=v[:, ::2])
    )[:, ::2],
    "out of two": lambda r, one: _both(
        torch.max(one(), 1, out=(torch.empty(SIDE), torch.empty(SIDE, dtype=torch.int64)))
    ).expand(SIDE, SIDE),
    "out over what is read": lambda r, one: _whole(one(), lambda v: torch.tanh(v, out=v)),
    "a list": lambda r, one: torch.ops.aten._foreach_add([one(), one()], 1.5)[0],
    "a list in place": lambda r, one: _into(
        one(), one().clone(), lambda v, x: torch.ops.aten._foreach_mul_([v, x], 0.5)
    ),
}


def _both(found: tuple[Tensor, Tensor]) -> Tensor:
    return found[0] + found[1]


def _whole(value: Tensor, change: Callable[[Tensor], object]) -> Tensor:
    if 0 in value.stride():
        value = value.clone()  # torch changes no element that stands for several
    change(value)
    return value


def _into(value: Tensor, other: Tensor, change: Callable[[Tensor, Tensor], object]) -> Tensor:
    return _whole(value, lambda own: change(own, other))


def _row(chance: random.Random) -> Tensor:
    return torch.tensor([chance.randrange(SIDE) for _ in range(SIDE)])


def _order(chance: random.Random) -> Tensor:
    return torch.tensor(chance.sample(range(SIDE), SIDE))


def _places(chance: random.Random) -> Tensor:
    return torch.stack([_row(chance) for _ in range(SIDE)])


class Program:
    """Some operations, drawn by a seed, on three static tensors, with all that they gave as the result."""

    def __init__(self, seed: int):
        self.seed = seed
        self.statics = [torch.zeros(SIDE, SIDE) for _ in range(3)]
        self.out = torch.zeros(OPERATIONS * SIDE, SIDE)
        self.give(0)

    def give(self, step: int) -> None:
        """New inputs."""
        generator = torch.Generator().manual_seed(1000 * self.seed + step)
        for static in self.statics:
            static.copy_(torch.randn(SIDE, SIDE, generator=generator))
        self.out.zero_()

    @property
    def written(self) -> list[Tensor]:
        return [*self.statics, self.out]

    def __call__(self) -> None:
        chance = random.Random(self.seed)
        values, seen = list(self.statics), []
        for _ in range(OPERATIONS):
            made = KINDS[chance.choice(list(KINDS))](chance, lambda: chance.choice(values))
            values.append(torch.tanh(made) if chance.random() < 0.3 else made)
            if chance.random() < 0.5:
                del values[:-8]
            seen.append(values[-1].clone())
        torch.cat(seen, out=self.out)


def recorded(program: Program, without: int | None = None) -> list[Kernel]:
    """Its kernels, perhaps without the first, second ... of those that change what they are given."""
    recording = record("g", [job("p", "test:1", program)], program.written)
    kernels = recording.kernels
    if without is not None:
        changing = [n for n, one in enumerate(kernels) if one.operator._schema.is_mutable]
        dropped = changing[without % len(changing)]
        kernels = kernels[:dropped] + kernels[dropped + 1 :]
    return compacted(kernels, recording.intermediates)


def is_faithful(program: Program, launch: Callable[[], object], inputs: int = 2) -> bool:
    """Whether a launch leaves the bits that the program leaves, on so many new inputs."""
    twin = Program(program.seed)
    for step in range(1, inputs + 1):
        program.give(step)
        twin.give(step)
        launch()
        twin()
        if not _same_bits(program.written, twin.written):
            return False
    return True


def _same_bits(a: list[Tensor], b: list[Tensor]) -> bool:
    """A number that is none has any bits."""
    return all(
        torch.equal(torch.nan_to_num(x), torch.nan_to_num(y)) for x, y in zip(a, b, strict=True)
    )
