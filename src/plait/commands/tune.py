"""`plait tune`: a better schedule of the same round, as a spec, with each step that led to it."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from plait.commands.asked import (
    add_spec_arguments,
    asked_for,
    refuse,
    spec_source,
    split_variant,
    write_whole,
)
from plait.commands.costs import accepted_asked, add_cost_arguments, bucket_asked, profile_asked
from plait.commands.progress import progress
from plait.exit import FINE, Refused

if TYPE_CHECKING:
    from plait.compiler.compile import Asked
    from plait.compiler.timing.accepted import Accepted
    from plait.compiler.tune.maker import Counts, Tokens
    from plait.compiler.tune.move import Space
    from plait.compiler.tune.price import Load, Price
    from plait.compiler.tune.search import Tuned
    from plait.dsl.span import Source
    from plait.runtime.schedule import Schedule

OBJECTIVES = ("time", "memory", "token")
BUDGET = 200
MOST_BUDGET = 1_000_000
MOST_STREAMS = 64
DESCRIPTION = (
    "Search for a better schedule of the same round: settings, streams, the order of issue, launches and "
    "awaits, graphs, and with --histogram buckets. Every text is proven before it is priced, and computes "
    "what the first one does. Prints the best, each step that led to it, and the difference to the spec; "
    "with -o or --write it writes the best. Ctrl-C ends the search with the best so far."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", metavar="SPEC", help="a .spec file, or SPEC@VARIANT")
    parser.add_argument(
        "--for",
        dest="objective",
        choices=OBJECTIVES,
        default="time",
        help="what is to be least: of a round the time (the default), the memory without a longer "
        "round, or the time of a token, which needs --accept",
    )
    parser.add_argument("-o", dest="output", metavar="FILE", help="write the best spec here")
    parser.add_argument("--write", action="store_true", help="write the best into the spec")
    parser.add_argument("--json", action="store_true", help="print all that was found as JSON")
    group = parser.add_argument_group("what is searched")
    group.add_argument(
        "--moves",
        metavar="KIND[,KIND...]",
        help="settings, streams, captures, issue, buckets, edges",
    )
    group.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a value that a param or flag may take although the round then does other work",
    )
    group.add_argument(
        "--streams", type=int, metavar="N", help="streams at most; default one more than there are"
    )
    group.add_argument(
        "--histogram", metavar="FILE", help="sizes seen, as `plait buckets` reads them"
    )
    group.add_argument("--dim", metavar="NAME", help="whose sizes, in a spec of several dims")
    group.add_argument(
        "--accept-most",
        metavar="NAME",
        help="a param: no round commits more tokens than it says",
    )
    group.add_argument(
        "--budget", type=int, default=BUDGET, metavar="N", help=f"texts; default {BUDGET}"
    )
    group.add_argument(
        "--seconds", type=float, metavar="S", help="end then, with whatever is best by then"
    )
    group.add_argument("--seed", type=int, default=0, metavar="N", help="of the search; default 0")
    add_cost_arguments(parser)
    add_spec_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from plait.compiler.tune.shown import as_data, text
    from plait.dsl.render.printable import printable

    _bounded(options)
    path, variant = split_variant(options.spec)
    source = spec_source(path)
    found, *told = _tuned(options, source, variant)
    if options.json:
        print(json.dumps(as_data(found, *told), indent=2, ensure_ascii=False))
    else:
        for line in text(found, *told).splitlines():
            print(printable(line))
    best = found.best.source.text
    if found.best.steps and not options.json:
        from plait.commands.difference import show_difference

        print()
        show_difference(path, source.text, best)
    if options.output:
        write_whole(options.output, best)
        print(f"wrote {options.output}", file=sys.stderr)
    if options.write and found.best.steps:
        from plait.commands.fixing import rewrite

        rewrite(path, source.text, best, "--write")
        print(f"wrote {path}", file=sys.stderr)
    return FINE


def _bounded(options: argparse.Namespace) -> None:
    if not 0 <= options.budget <= MOST_BUDGET:
        raise Refused(f"--budget {options.budget}: from 0 to {MOST_BUDGET:,} texts")
    if options.seconds is not None and not 0 <= options.seconds <= 10**6:
        raise Refused(f"--seconds {options.seconds}: from 0 to 1,000,000")
    if options.streams is not None and not 1 <= options.streams <= MOST_STREAMS:
        raise Refused(f"--streams {options.streams}: from 1 to {MOST_STREAMS}")
    if options.objective == "token" and options.accept is None:
        raise Refused("--for token: say how many tokens a round commits, --accept 2.3")


def _tuned(
    options: argparse.Namespace, source: Source, variant: str | None
) -> tuple[Tuned, str, str, str]:
    """What was found, the name of the round, what is live in it, and whose costs they are."""
    from plait.compiler.compile import compile_source
    from plait.compiler.target import TargetError
    from plait.compiler.timing.engine import Stuck
    from plait.compiler.tune.search import tuned
    from plait.dsl.diagnostic import SpecError

    try:
        asked = asked_for(options, variant)
        schedule = compile_source(source, asked)
        space = _space(options, source, asked, schedule)
        profile = profile_asked(options, schedule)
        load, where = _load(options, space, schedule)
        found = tuned(
            source,
            space,
            profile,
            load,
            objective=options.objective,
            tokens=_tokens(options, schedule),
            budget=options.budget,
            seed=options.seed,
            watch=_watch(options),
        )
    except SpecError as error:
        refuse(error.diagnostics)
    except TargetError as error:
        raise Refused(str(error)) from None
    except ValueError as error:
        raise Refused(f"{options.spec}: {error}") from None
    except Stuck:
        raise Refused(f"{options.spec}: a round waits in a circle") from None
    finally:
        progress("")
    return found, schedule.name, where, profile.name


def _space(options: argparse.Namespace, source: Source, asked: Asked, schedule: Schedule) -> Space:
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


def _load(options: argparse.Namespace, space: Space, schedule: Schedule) -> tuple[Load, str]:
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


def _tokens(options: argparse.Namespace, schedule: Schedule) -> Tokens:
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


def _watch(options: argparse.Namespace) -> Callable[[Counts, Price], bool]:
    from plait.compiler.timing.drawn import shown

    began = time.monotonic()

    def watch(counts: Counts, best: Price) -> bool:
        progress(
            f"{counts.seen} of {options.budget} texts, the best takes {shown(round(best.time))}"
        )
        return options.seconds is None or time.monotonic() - began < options.seconds

    return watch
