"""`plait trace align`: a trace read against the spec whose rounds it shows."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plait.commands.asked import add_spec_arguments, compiled
from plait.commands.costs import accepted_asked, add_cost_arguments, bucket_asked, profile_asked
from plait.commands.outputs import outputs_asked, read_by
from plait.commands.pictures import pictures_asked, write_pictures
from plait.commands.progress import progress
from plait.commands.trace_show import add_most_bytes, trace_asked
from plait.exit import DIFFERS, FINE, Refused

if TYPE_CHECKING:
    from plait.compiler.align.aligned import Aligned
    from plait.compiler.traces.model import Trace
    from plait.runtime.schedule import Bucket, Schedule

LARGEST_BASELINE = 1 << 26
"""Bytes of a report."""
LEAST_MATCHED = 0.9
_TIME = re.compile(r"(\d{1,9})(ns|us|ms|s)")
DESCRIPTION = (
    "Read a trace against the spec whose rounds it shows: which of its nodes are there, the critical path "
    "that adds up to every round, who was last at each join, what communication is exposed, what the spec "
    "says and the trace breaks. Exit 1 when too little was matched, an order was broken, or a gate was "
    "not met."
)
EXAMPLE = "for example: `plait trace align round.spec trace_view.json --map 'Mla.*=verify'`"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "spec", metavar="SPEC", help="a .spec file, SPEC@VARIANT, or a schedule's .json"
    )
    parser.add_argument(
        "trace",
        metavar="TRACE",
        nargs="+",
        help="as `plait trace show` reads it; several are of ranks, to be held side by side",
    )
    parser.add_argument(
        "--map",
        action="append",
        default=[],
        metavar="REGEX=PHASE",
        help="names of the trace that are of a phase or capture; may be given several times",
    )
    parser.add_argument(
        "--tol",
        metavar="TIME",
        help="how much too early a start may seem: 5us; default by how much gaps of the trace stray",
    )
    parser.add_argument(
        "--threshold",
        type=float,
        default=LEAST_MATCHED,
        metavar="SHARE",
        help="of all nodes of all rounds those that must be seen; default 0.9",
    )
    parser.add_argument("--force", action="store_true", help="report though less was matched")
    parser.add_argument("--device", metavar="NAME", help="which one; default the busiest")
    parser.add_argument(
        "--max-exposed",
        type=float,
        metavar="PERCENT",
        help="exit 1 when more of the communication is exposed",
    )
    parser.add_argument(
        "--baseline", metavar="FILE", help="exit 1 when worse than this report, written with --json"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument(
        "--html",
        metavar="FILE",
        help="write a page: measured, its path, and the same rounds simulated",
    )
    parser.add_argument("--perfetto", metavar="FILE", help="write the same for Perfetto")
    add_most_bytes(parser)
    add_cost_arguments(parser)
    add_spec_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from plait.compiler.align.ranks import ranks
    from plait.compiler.align.text import ranks_text, text
    from plait.dsl.render.printable import printable

    if not 0 <= options.threshold <= 1:
        raise Refused(f"--threshold {options.threshold:g}: write a share of 0 to 1")
    if len(options.trace) > 1 and (pictures_asked(options) or options.baseline):
        raise Refused("--html, --perfetto and --baseline are for one trace")
    outputs_asked(
        options,
        ("html", "perfetto"),
        read_by(options, options.spec, *options.trace),
    )
    tolerance = None if options.tol is None else _time(options.tol)
    old = _baseline(options.baseline) if options.baseline else None
    schedule = compiled(options, options.spec)
    every = [_aligned(options, schedule, file, tolerance) for file in options.trace]
    beside = ranks([made for made, _ in every]) if len(every) > 1 else []
    reports = [found for _, found in every]
    if options.json:
        data = {"ranks": reports, "collectives": beside} if len(every) > 1 else reports[0]
        print(json.dumps(data, indent=2))
    else:
        pages = [text(found) for found in reports]
        print("\n".join([*pages, ranks_text(beside)] if len(every) > 1 else pages), end="")
    print(end="", flush=True)
    if pictures_asked(options):
        _draw(options, *every[0])
    fallen = [one for found in reports for one in _fallen(options, found, old)]
    for one in fallen:
        print(printable(f"plait trace: {one}"), file=sys.stderr)
    broken = any(found["broken"] or found["overlaps"] for found in reports)
    return DIFFERS if fallen or broken else FINE


def _aligned(
    options: argparse.Namespace, schedule: Schedule, file: str, tolerance: int | None
) -> tuple[Aligned, dict[str, Any]]:
    from plait.compiler.align.aligned import AlignError, align
    from plait.compiler.align.names import MapError
    from plait.compiler.align.report import report
    from plait.compiler.traces.expanded import keeping_all

    progress(f"reading {file}")
    try:
        with keeping_all():
            trace = trace_asked(options, file)
            bucket = _bucket(options, schedule, trace)
            progress(f"aligning {file}")
            made = align(schedule, bucket, trace, options.map, tolerance, options.device)
            found = report(made, accepted_asked(options))
    except MapError as error:
        raise Refused(f"--map {error}") from None
    except AlignError as error:
        raise Refused(str(error)) from None
    finally:
        progress("")
    if found["matched"]["share"] < options.threshold and not options.force:
        raise Refused(_too_little(found, options.threshold), DIFFERS)
    return made, found


def _draw(options: argparse.Namespace, made: Aligned, found: dict[str, Any]) -> None:
    from plait.compiler.emit.measured import measured

    write_pictures(options, measured(made, found, profile_asked(options, made.schedule)))


def _fallen(options: argparse.Namespace, found: dict[str, Any], old: Any) -> Iterator[str]:
    """A sentence for every gate that was not met."""
    from plait.compiler.align.baseline import BaselineError, worse
    from plait.dsl.render.figures import percent

    if options.max_exposed is not None:
        total = sum(one["total"] for one in found["communication"])
        share = Fraction(sum(one["exposed"] for one in found["communication"]), max(total, 1))
        if 100 * share > options.max_exposed:
            yield (
                f"{percent(share)} of the communication is exposed, and --max-exposed allows "
                f"{options.max_exposed:g} %"
            )
    if old is not None:
        try:
            for one in worse(found, old):
                yield f"worse than {options.baseline}: {one}"
        except BaselineError as error:
            raise Refused(f"{options.baseline}: {error}") from None


def _too_little(found: dict[str, Any], threshold: float) -> str:
    from plait.dsl.render.figures import counted, percent
    from plait.dsl.render.printable import printable

    match = found["matched"]
    missing = ", ".join(found["not_seen"]["nodes"][:6])
    return (
        f"{found['trace']}: {match['seen']:,} of the {match['expected']:,} nodes of "
        f"{counted(found['rounds']['whole'], 'round')} were seen, {percent(match['share'])} where "
        f"{100 * threshold:g} % are asked for"
        + (f"; not seen: {missing}" if missing else "")
        + "".join(f"; {printable(note)}" for note in found["notes"][:1])
        + "; say what names of the trace mean with --map 'REGEX=PHASE', or report all the same with --force"
    )


def _time(text: str) -> int:
    from plait.dsl.render.figures import UNITS

    found = _TIME.fullmatch(text)
    if found is None:
        raise Refused(f"--tol {text:.40}: write a time with its unit, as 5us")
    return int(found[1]) * dict(UNITS)[found[2]]


def _bucket(options: argparse.Namespace, schedule: Schedule, trace: Trace) -> Bucket:
    """The one that is asked for, else the one that most rounds of the trace ran at, else the widest."""
    if options.live or options.bs:
        return schedule.buckets[bucket_asked(options, schedule)]
    known = {bucket.name: bucket for bucket in schedule.buckets}
    counted = Counter(one.bucket for one in trace.rounds if one.bucket in known)
    if counted:
        return known[min(counted, key=lambda name: (-counted[name], name))]
    return schedule.widest


def _baseline(path: str) -> Any:
    with Path(path).open("rb") as file:
        data = file.read(LARGEST_BASELINE + 1)
    if len(data) > LARGEST_BASELINE:
        raise Refused(f"{path}: has more than {LARGEST_BASELINE:,} bytes")
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise Refused(f"{path}: is not JSON, so no report of `plait trace align --json`") from None
