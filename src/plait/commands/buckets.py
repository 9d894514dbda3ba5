"""`plait buckets`: the buckets that pad fewest rows over the sizes seen, within the target's budget."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from plait.commands.asked import add_spec_arguments, asked_for, refuse, spec_source, split_variant
from plait.exit import FINE, Refused

if TYPE_CHECKING:
    from plait.compiler.buckets.plan import Plan
    from plait.dsl.span import Source


DESCRIPTION = (
    "Choose the buckets of a dim: of all lists of at most K that hold the largest size seen, one that "
    "pads fewest rows, shortened until its graphs fit the target. The histogram has a line for every "
    "size with how often it was seen (`4 120`), or is a JSON object of them."
)
EXAMPLE = "for example: `plait buckets round.spec --histogram seen.txt --most 4`"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", metavar="SPEC", help="a .spec file, or SPEC@VARIANT")
    parser.add_argument("--histogram", metavar="FILE", required=True, help="the sizes seen")
    parser.add_argument("--dim", metavar="NAME", help="which dim, in a spec of several")
    parser.add_argument(
        "--most", type=int, metavar="K", help="buckets at most; default as many as there are now"
    )
    parser.add_argument("--write", action="store_true", help="write the list into the spec")
    parser.add_argument("--json", action="store_true", help="print the choice as JSON")
    add_spec_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from plait.compiler.buckets.plan import MOST_BUCKETS

    if options.most is not None and not 1 <= options.most <= MOST_BUCKETS:
        raise Refused(f"--most {options.most}: from 1 to {MOST_BUCKETS} buckets")
    path, variant = split_variant(options.spec)
    source = spec_source(path)
    plan = _plan(options, source, variant)
    if options.write:
        _write(path, source, plan)
    if options.json:
        import json

        from plait.compiler.buckets.shown import as_data

        print(json.dumps(as_data(plan), indent=2, ensure_ascii=False))
    else:
        from plait.compiler.buckets.shown import text

        print(text(plan), end="")
    return FINE


def _plan(options: argparse.Namespace, source: Source, variant: str | None) -> Plan:
    from plait.compiler.buckets.histogram import HistogramError
    from plait.compiler.buckets.plan import NoPlan, planned
    from plait.compiler.buckets.trial import TooMuch
    from plait.compiler.target import TargetError
    from plait.dsl.diagnostic import SpecError

    try:
        counts = histogram(options.histogram)
        return planned(source, asked_for(options, variant), options.dim, counts, options.most)
    except SpecError as error:
        refuse(error.diagnostics)
    except (HistogramError, NoPlan, TooMuch, TargetError) as error:
        raise Refused(str(error)) from None


def histogram(path: str) -> dict[int, int]:
    """Raises HistogramError, Refused, OSError."""
    from plait.compiler.buckets.histogram import LARGEST, read_histogram

    with open(path, "rb") as file:
        data = file.read(4 * LARGEST + 1)
    try:
        return read_histogram(path, data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise Refused(f"{path}: is not UTF-8 text (byte {error.start})") from None


def _write(path: str, source: Source, plan: Plan) -> None:
    from plait.commands.fixing import rewrite

    if plan.statement.startswith("--set"):
        raise Refused("--write: the buckets are those of --set, not of the spec")
    if plan.source.text != source.text:
        rewrite(path, source.text, plan.source.text, "--write")
        print(f"wrote {path}", file=sys.stderr)
