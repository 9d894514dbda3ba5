"""A law in rows for measured times: a table of points or a line, whichever foretells what it has not seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from statistics import median_low

from plait.compiler.timing.costs import Law

MOST_POINTS = 48
"""Counts of rows that a line is drawn through two of; of more, so many are taken, evenly spread."""

Points = Sequence[tuple[int, int]]
"""Rows and nanoseconds, by rows."""


def law_of(times: Mapping[int, Sequence[int]]) -> Law:
    """Of times by rows. What is compared is how each point is foretold by a law of the others."""
    points = [(rows, median_low(seen)) for rows, seen in sorted(times.items())]
    if len(points) == 1:
        return Law(points[0][1])
    line = line_of(points)
    if len(points) == 2 or missed(points, line_of) <= missed(points, table_of):
        return line
    return table_of(points)


def table_of(points: Points) -> Law:
    """Through all points, but that more rows never take less: those out of order share their mean."""
    pools: list[tuple[int, list[int]]] = []
    """The sum of times of each, and its rows."""
    for rows, time in points:
        pools.append((time, [rows]))
        while len(pools) > 1 and _mean(pools[-2]) > _mean(pools[-1]):
            (more, behind), (total, before) = pools.pop(), pools.pop()
            pools.append((total + more, before + behind))
    return Law(points=tuple((rows, int(_mean(pool))) for pool in pools for rows in pool[1]))


def _mean(pool: tuple[int, list[int]]) -> Fraction:
    return Fraction(pool[0], len(pool[1]))


def line_of(points: Points) -> Law:
    """The line with the least sum of relative errors; neither part of it is negative.

    Such a line goes through two of the points, or through one and is flat or begins at nothing.
    """
    few = _spread(points, MOST_POINTS)
    through = [Law(time) for _, time in few]
    through += [Law(0, time * 1000 // rows) for rows, time in few if rows]
    for (x0, y0), (x1, y1) in combinations(few, 2):
        if x0 == x1:
            continue
        row = (y1 - y0) * 1000 // (x1 - x0)
        fixed = y0 - row * x0 // 1000
        if row >= 0 and fixed >= 0:
            through.append(Law(fixed, row))
    return min(through, key=lambda law: sum(error(law, *point) for point in points))


def error(law: Law, rows: int, time: int) -> Fraction:
    """Of what a law foretells, in parts of the middle between it and what was measured."""
    foretold = law.time(rows)
    return Fraction(2 * abs(foretold - time), max(foretold + time, 1))


def missed(points: Points, make: Callable[[Points], Law]) -> Fraction:
    """The sum of errors with which each point is foretold by a law of all the others."""
    return sum(
        (
            error(make([*points[:number], *points[number + 1 :]]), *point)
            for number, point in enumerate(points)
        ),
        Fraction(0),
    )


def _spread(points: Points, most: int) -> Points:
    if len(points) <= most:
        return points
    return [points[number * (len(points) - 1) // (most - 1)] for number in range(most)]
