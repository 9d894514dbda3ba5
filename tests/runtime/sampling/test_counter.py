"""Random numbers by what they are for: the same everywhere, even, and unlike each other."""

from __future__ import annotations

import pytest
import torch

from drawing.sampled import chi_square
from plait.runtime.sampling.counter import ACCEPT, DRAFT, TARGET, bits, exponential, uniform

MASK = 2**64 - 1


def mixed(state: int) -> int:
    """SplitMix64's mixing of a number, in Python's whole numbers."""
    state = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) & MASK
    state = ((state ^ state >> 27) * 0x94D049BB133111EB) & MASK
    return state ^ state >> 31


def plain(seed: int, *names: int) -> int:
    state = mixed((seed + 0x9E3779B97F4A7C15) & MASK)
    for name in names:
        state = mixed(((state ^ name) + 0x9E3779B97F4A7C15) & MASK)
    return state


def test_a_seed_gives_the_published_number() -> None:
    """The first number of SplitMix64 from 0 is in every implementation's tests."""
    assert int(bits(torch.tensor(0))) & MASK == 0xE220A8397B1DCDAF


@pytest.mark.parametrize("seed", [0, 1, -1, 2**63 - 1, -(2**63), 123456789])
def test_bits_are_those_of_whole_numbers_without_end(seed: int) -> None:
    """Tensors wrap at 64 bits as the arithmetic is meant to, at both ends of what a seed may be."""
    positions = torch.arange(7)
    found = bits(torch.tensor(seed), positions, ACCEPT, 3)
    assert [one & MASK for one in found.tolist()] == [
        plain(seed & MASK, position, ACCEPT, 3) for position in range(7)
    ]


def test_neither_end_is_met() -> None:
    """The least and the largest bits give numbers whose logarithms are finite and not 0."""
    ends = uniform(torch.tensor([0, -1, 2**63 - 1, -(2**63)]))
    assert ends.tolist() == [2.0**-53, 1 - 2.0**-53, 0.5 - 2.0**-53, 0.5 + 2.0**-53]


SERIES = {
    "seeds": lambda n: (n, torch.tensor(5), TARGET, 0),
    "positions": lambda n: (torch.tensor(5), n, TARGET, 0),
    "tokens": lambda n: (torch.tensor(5), torch.tensor(5), TARGET, n),
}


@pytest.mark.parametrize("series", SERIES)
def test_numbers_are_even_one_by_one_and_in_pairs(series: str) -> None:
    """Along seeds, positions and tokens: of 256 intervals none is favoured, nor one behind another."""
    numbers = uniform(bits(*SERIES[series](torch.arange(100_000))))
    single = (numbers * 256).long().bincount(minlength=256)
    ahead, behind = (numbers * 16).long()[:-1:2], (numbers * 16).long()[1::2]
    paired = (ahead * 16 + behind).bincount(minlength=256)
    for seen in (single, paired):
        assert 1e-3 < chi_square(seen.tolist(), [1 / 256] * 256).p < 1 - 1e-3


@pytest.mark.parametrize(
    "other",
    [(1, 0, TARGET), (0, 1, TARGET), (0, 0, DRAFT), (2**32, 0, TARGET), (0, 2**32, TARGET)],
)
def test_numbers_of_other_seeds_positions_and_draws_are_unlike(other) -> None:
    """Of 6,400 bits half are equal to those of one number apart, within four standard deviations."""
    seed, position, draw = other
    tokens = torch.arange(100)
    one = bits(torch.tensor(7), torch.tensor(11), TARGET, tokens)
    two = bits(torch.tensor(7 ^ seed), torch.tensor(11 ^ position), draw, tokens)
    differ = sum(
        (a ^ b & MASK).bit_count()
        for a, b in zip(
            *([n & MASK for n in numbers.tolist()] for numbers in (one, two)), strict=True
        )
    )
    assert abs(differ - 3200) < 4 * 40


def test_times_are_exponential() -> None:
    """A tenth of them lies in each tenth of that distribution."""
    times = exponential(torch.arange(2000), torch.tensor(3), TARGET, 10).flatten()
    tenth = ((1 - torch.exp(-times)) * 10).long().clamp(max=9)
    assert chi_square(tenth.bincount(minlength=10).tolist(), [0.1] * 10).p > 1e-3
