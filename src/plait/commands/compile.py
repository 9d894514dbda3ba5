"""`plait compile`: a spec to a schedule, as JSON, Python, Mermaid or DOT."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from plait.commands.asked import add_spec_arguments, add_unchecked, compiled, write_whole
from plait.exit import FINE, Refused

if TYPE_CHECKING:
    from plait.runtime.schedule import Bucket, Schedule

FORMS = ("json", "python", "mermaid", "dot")


DESCRIPTION = (
    "Prove a spec and write its schedule: JSON to run or to keep, Python that runs "
    "alone with torch and your bodies, Mermaid or DOT to look at."
)
EXAMPLE = "for example: `plait compile round.spec -o round.json`"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "spec", metavar="SPEC", help="a .spec file, SPEC@VARIANT, or a schedule's .json"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write there instead of to stdout")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--emit", choices=FORMS, default="json", help="default json")
    form.add_argument("--json", dest="emit", action="store_const", const="json", help="emit json")
    parser.add_argument(
        "--bucket",
        action="append",
        default=[],
        metavar="DIM=SIZE",
        help="which bucket mermaid and dot show; default the largest",
    )
    parser.add_argument(
        "--no-capture",
        dest="capture",
        action="store_false",
        help="let every capture take its eager route",
    )
    add_unchecked(parser)
    add_spec_arguments(parser)


def run(options: argparse.Namespace) -> int:
    text = _text(options)
    if options.output is None:
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        write_whole(options.output, text)
    return FINE


def _text(options: argparse.Namespace) -> str:
    schedule = compiled(options, options.spec)
    if options.bucket and options.emit in ("json", "python"):
        raise Refused(f"--bucket is for mermaid and dot; {options.emit} holds every bucket")
    if options.emit == "json":
        from plait.runtime.schedule_json import to_json

        return to_json(schedule)
    if options.emit == "python":
        from plait.runtime.program import standalone_text

        return standalone_text(schedule)
    bucket = _bucket(schedule, options.bucket) if options.bucket else schedule.widest
    if options.emit == "mermaid":
        from plait.compiler.emit.mermaid import mermaid

        return mermaid(schedule, bucket)
    from plait.compiler.emit.dot import dot

    return dot(schedule, bucket)


def _bucket(schedule: Schedule, given: list[str]) -> Bucket:
    sizes = {}
    for one in given:
        dim, _, size = one.partition("=")
        if not size.strip().isdecimal():
            raise Refused(f"--bucket {one}: write it as DIM=SIZE, such as bs=4")
        sizes[dim.strip()] = int(size)
    try:
        return schedule.bucket_for(**sizes)
    except ValueError as error:
        raise Refused(f"--bucket: {error}") from None
