"""Inputs that nobody means: random bytes, soups of words, specs with something wrong in them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from drawing.texts import PIECES, WHOLE_LANGUAGE
from plait.dsl.pieces import pieces
from plait.dsl.words import RESERVED

ROOT = Path(__file__).parents[2]


def inputs(seed: str, count: int) -> Iterator[str]:
    """So many texts, the same for a seed: a fifth bytes, a fifth soup, the others specs gone wrong."""
    random = Random(seed)
    specs = [WHOLE_LANGUAGE]
    for path in sorted([*ROOT.glob("examples/*.spec"), *ROOT.glob("tests/specs/*.spec")]):
        specs.append(path.read_text(encoding="utf-8"))
    for number in range(count):
        match number % 5:
            case 0:
                yield _bytes(random)
            case 1:
                yield "".join(random.choices(PIECES, k=random.randrange(400)))
            case _:
                yield _mutated(random.choice(specs), random)


def _bytes(random: Random) -> str:
    """What reading a file of any bytes leaves, some of them as text of every plane of Unicode."""
    data = random.randbytes(random.randrange(2000))
    return data.decode(random.choice(["latin-1", "utf-16-le"]), "replace")


def _mutated(text: str, random: Random) -> str:
    """A spec with words left out, doubled, exchanged or replaced; half of them still parse."""
    words = [piece.text for piece in pieces(text) if not piece.comment]
    if random.randrange(2):
        return " ".join(_renamed(words, random))
    for _ in range(random.choice([1, 1, 1, 2, 5, 20])):
        at, other = random.randrange(len(words)), random.randrange(len(words))
        match random.randrange(5):
            case 0:
                del words[at]
            case 1:
                words.insert(at, words[other])
            case 2:
                words[at], words[other] = words[other], words[at]
            case 3:
                words[at] = random.choice(PIECES)
            case 4:
                words[at:at] = words[other : other + random.randrange(60)]
        words = words or ["spec"]
    return " ".join(words)


def _renamed(words: list[str], random: Random) -> list[str]:
    """A few numbers, names and operators exchanged for others."""
    names = [word for word in words if word[0].isalpha() and word not in RESERVED]
    numbers = [str(number) for number in (0, 1, 2, 3, 64, 4096, 10**9, 2**63, 10**30, 0.5)]
    for _ in range(random.choice([1, 1, 2, 5])):
        at = random.randrange(len(words))
        for sort in (numbers, names, ["+", "-", "*", "//", "%"], ["reads", "updates", "writes"]):
            if words[at] in sort or (sort is numbers and words[at][0].isdigit()):
                words[at] = random.choice(sort)
    return words


LARGE = {
    "a file of 10 MB": "spec 1\n" + "# much too much\n" * 655_360,
    "a loop of a billion": "pipeline p { stream s for i in 1 .. 1000000000 { } }",
    "loops in loops": (
        "pipeline p { stream s for i in 1 .. 1000000 { for j in 1 .. 1000000 {"
        " for k in 1 .. 1000000 { phase a[k] on s { } } } } }"
    ),
    "a million empty loops": "pipeline p { stream s "
    + "for i in 0 .. 999 { " * 50
    + "} " * 50
    + "}",
    "a module that calls itself twice": "module m() { call m() as a call m() as b }"
    " pipeline p { stream s call m() as c }",
    "brackets a hundred thousand deep": "pipeline p { param x = " + "(" * 100_000,
    "blocks twenty thousand deep": "pipeline p { " + "when true { " * 20_000,
    "a number of a million digits": f"pipeline p {{ param x = {'9' * 1_000_000} }}",
    "a name of a million letters": f"pipeline {'a' * 1_000_000} {{ }}",
    "sums of a hundred thousand": f"pipeline p {{ param x = {' + '.join('1' * 100_000)} }}",
}
"""Texts that are much of something; each ends in a diagnostic."""
