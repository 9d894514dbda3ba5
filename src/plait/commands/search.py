"""What `plait tune` is asked to search: which texts, for what is live, and what a round commits."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from plait.commands.costs import accepted_asked, bucket_asked
from plait.exit import Refused

if TYPE_CHECKING:
    from plait.compiler.compile import Asked
    from plait.compiler.timing.accepted import Accepted
    from plait.compiler.tune.maker import Tokens
    from plait.compiler.tune.move import Space
    from plait.compiler.tune.price import Load
    from plait.dsl.span import Source
    from plait.runtime.schedule import Schedule


def space_asked(
    options: argparse.Namespace, source: Source, asked: Asked, schedule: Schedule
) -> Space:
    """Raises Refused, SpecError."""
    from plait.compiler.tune.kinds import KINDS
    from plait.compiler.tune.move import Space
    from plait.dsl.parser import parse_expression
    from plait.dsl.span import Source as Text

    kinds = None
    if options.moves is not None:
        kinds = tuple(one.strip() for one in options.moves.split(","))
        for one in kinds:
            if one not in KINDS:
                raise Refused(f"--moves {one}: there are no such; {_nearest(one, KINDS)}")
    vary: dict[str, tuple[str, ...]] = {}
    known = [name for name, _ in schedule.settings]
    for given in options.vary:
        name, equals, value = (part.strip() for part in given.partition("="))
        if not equals:
            raise Refused(f"--vary {given}: write it as NAME=VALUE")
        if name not in known:
            raise Refused(f"--vary {name}: there is no such param or flag; {_nearest(name, known)}")
        parse_expression(Text("--vary", f"{name}={value}"), len(name) + 1)
        vary[name] = (*vary.get(name, ()), value)
    counts: dict[int, int] = {}
    if options.histogram is not None:
        from plait.commands.buckets import histogram
        from plait.compiler.buckets.histogram import HistogramError

        try:
            counts = histogram(options.histogram)
        except HistogramError as error:
            raise Refused(str(error)) from None
    return Space(asked, vary, options.streams, tuple(counts.items()), options.dim, kinds)


def load_asked(options: argparse.Namespace, space: Space, schedule: Schedule) -> tuple[Load, str]:
    """What is live, and that in words."""
    from plait.compiler.tune.price import Load

    bucket = schedule.buckets[bucket_asked(options, schedule)]
    live: dict[str, Any] = {**dict(bucket.sizes), **dict(bucket.route)}
    if not space.histogram:
        return Load(((tuple(live.items()), 1),)), bucket.name
    dims = [name for name, _ in bucket.sizes]
    dim = options.dim or (dims[0] if len(dims) == 1 else None)
    if dim not in dims:
        raise Refused(f"--dim: say whose sizes the histogram has: {', '.join(dims) or 'no dim'}")
    seen = tuple(
        (tuple({**live, dim: size}.items()), times) for size, times in space.histogram if times
    )
    return Load(seen), f"the {dim} of {options.histogram}"


def tokens_asked(options: argparse.Namespace, schedule: Schedule) -> Tokens:
    """Of a distribution, no more than the param says that is asked about."""
    accepted: Accepted | None = accepted_asked(options)
    known = [name for name, _ in schedule.settings]
    most = options.accept_most
    if most is not None and accepted is None:
        raise Refused("--accept-most goes with --accept: say how many tokens a round commits")
    if most is not None and most not in known:
        raise Refused(f"--accept-most {most}: there is no such param; {_nearest(most, known)}")

    def tokens(schedule: Schedule) -> Fraction:
        if accepted is None or (options.objective == "time" and most is not None):
            return Fraction(1)  # the shortest round, whatever it commits
        limit = None if most is None else dict(schedule.settings)[most]
        if type(limit) is not int:
            return accepted.mean
        return sum((min(count, limit) * share for count, share in accepted.shares), Fraction(0))

    return tokens


def _nearest(name: str, known: Sequence[str]) -> str:
    from plait.dsl.suggest import did_you_mean

    return did_you_mean(name, known) if known else "the spec has none"
