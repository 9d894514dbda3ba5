"""`plait calibrate`: costs from measured rounds, as a profile, and how well it foretells them."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from plait.commands.asked import add_spec_arguments, compiled, write_whole
from plait.commands.costs import bucket_asked
from plait.commands.outputs import outputs_asked, read_by
from plait.commands.progress import progress
from plait.commands.trace_align import LEAST_MATCHED
from plait.commands.trace_show import add_most_bytes, most_asked, trace_asked
from plait.exit import FINE, Refused

if TYPE_CHECKING:
    from plait.compiler.align.aligned import Aligned
    from plait.compiler.calibrate.samples import Samples
    from plait.compiler.timing.costs import Profile
    from plait.runtime.schedule import Schedule

DESCRIPTION = (
    "Take the costs of a schedule's parts from traces of rounds that ran, and write them as a profile for "
    "`--costs`. Traces of `plait run --trace` say themselves what they are of, and with `--trace-turns` "
    "also what tracing costs; those of other profilers are aligned with the spec that --spec names. Without "
    "-o the profile is printed; with it, how well it foretells what was measured."
)
EXAMPLE = "for example: `plait calibrate run.json -o measured.toml`"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "traces", metavar="TRACE", nargs="+", help="several of one target count together"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write the profile, a .toml file")
    parser.add_argument(
        "--name", metavar="TEXT", help="what the profile calls itself; default `measured`"
    )
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON")
    parser.add_argument(
        "--spec", metavar="SPEC", help="what ran, for traces that do not say: as for `trace align`"
    )
    parser.add_argument(
        "--map",
        action="append",
        default=[],
        metavar="REGEX=PHASE",
        help="names of those traces that are of a phase or capture; may be given several times",
    )
    parser.add_argument(
        "--live",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="which bucket ran, where a trace does not say",
    )
    parser.add_argument("--bs", metavar="N", help="short for --live bs=N")
    add_most_bytes(parser)
    add_spec_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from plait.compiler.calibrate.fit import fitted
    from plait.compiler.calibrate.samples import CalibrateError
    from plait.compiler.timing.costs_written import written
    from plait.dsl.render.printable import printable

    if options.json and not options.output:
        raise Refused("--json: say where the profile goes, with -o FILE")
    inputs = [*options.traces, *([options.spec] if options.spec else [])]
    outputs_asked(options, ("output",), read_by(options, *inputs))
    try:
        samples = (
            samples_of(options.traces, most_asked(options))
            if options.spec is None
            else _aligned(options)
        )
        progress("fitting")
        found = fitted(samples, options.name or "measured")
    except CalibrateError as error:
        raise Refused(str(error)) from None
    finally:
        progress("")
    text = written(found.profile, found.comments)
    if not options.output:
        print(text, end="")
        return FINE
    write_whole(options.output, text)
    if not options.json:
        print(printable(f"{options.output}: {'; '.join(found.comments[''])}") + "\n")
    show_against(samples, found.profile, options.json)
    return FINE


def samples_of(paths: list[str], most: int) -> Samples:
    """What the traces hold together. Raises CalibrateError, OSError."""
    from plait.compiler.calibrate.own import own_samples
    from plait.compiler.calibrate.samples import CalibrateError, Samples
    from plait.runtime.schedule_check import ScheduleError
    from plait.runtime.schedule_reader import from_json

    found = []
    for path in paths:
        progress(f"reading {path}")
        try:
            found.append(own_samples(Path(path), from_json, most))
        except ScheduleError as error:
            raise CalibrateError(str(error)) from None
    targets = sorted({one.target for one in found})
    if len(targets) > 1:
        raise CalibrateError(f"the traces are of {' and '.join(targets)}: give those of one target")
    return Samples().add(found)


def _aligned(options: argparse.Namespace) -> Samples:
    """What traces of other profilers hold. Raises Refused, CalibrateError, OSError."""
    from plait.compiler.align.aligned import AlignError, align
    from plait.compiler.align.names import MapError
    from plait.compiler.calibrate.aligned import aligned_samples
    from plait.compiler.calibrate.samples import Samples

    schedule = compiled(options, options.spec)
    found = []
    for path in options.traces:
        progress(f"reading {path}")
        try:
            trace = trace_asked(options, path)
            named = {one.bucket for one in trace.rounds}
            buckets = [one for one in schedule.buckets if one.name in named]
            for bucket in buckets or [schedule.buckets[bucket_asked(options, schedule)]]:
                progress(f"aligning {path} at {bucket.name}")
                made = align(schedule, bucket, trace, options.map)
                _enough(path, made)
                found.append(aligned_samples(made))
        except MapError as error:
            raise Refused(f"--map {error}") from None
        except AlignError as error:
            raise Refused(str(error)) from None
    return Samples().add(found)


def _enough(path: str, made: Aligned) -> None:
    """Costs of what was not found would be missing without a word."""
    from plait.compiler.align.report import matched_share
    from plait.dsl.render.figures import counted

    match = matched_share(made)
    if match["share"] < LEAST_MATCHED:
        raise Refused(
            f"{path}: {match['seen']:,} of the {match['expected']:,} nodes of "
            f"{counted(len(made.rounds), 'round')} were seen, {100 * match['share']:.1f} % where "
            f"{100 * LEAST_MATCHED:g} % are needed; `plait trace align` says which are not, "
            "and --map 'REGEX=PHASE' what names of the trace mean"
        )


def show_against(samples: Samples, profile: Profile, as_json: bool) -> None:
    from plait.compiler.calibrate.against import against, as_data, drawn

    found = against(samples, profile)
    if as_json:
        print(json.dumps(as_data(found), indent=2, ensure_ascii=False))
    else:
        print(drawn(found), end="")


def run_against(path: str, schedule: Schedule, profile: Profile, as_json: bool) -> None:
    """What a profile foretells of a schedule, against a trace of it. Raises Refused, OSError."""
    from plait.compiler.calibrate.samples import CalibrateError
    from plait.compiler.traces.expanded import MOST_BYTES

    try:
        samples = samples_of([path], MOST_BYTES)
    except CalibrateError as error:
        raise Refused(str(error)) from None
    finally:
        progress("")
    ran = samples.schedules[0]
    if _shape(ran) != _shape(schedule):
        raise Refused(
            f"--against {path}: is of other rounds than {schedule.name} as asked: {_differs(ran, schedule)}; "
            "give the spec and the settings that ran"
        )
    show_against(samples, profile, as_json)


def _shape(schedule: Schedule) -> tuple[object, ...]:
    """What decides the times of a schedule's rounds."""
    return (
        schedule.name,
        [phase.name for phase in schedule.phases],
        [[one.name, one.work, one.rows] for one in schedule.buckets],
        [[(i.op, i.of, i.on, i.rounds_back) for i in program] for program in schedule.programs],
        [[(i.op, i.of, i.on) for i in capture.program] for capture in schedule.captures],
    )


def _differs(ran: Schedule, asked: Schedule) -> str:
    if ran.name != asked.name:
        return f"they are of {ran.name}"
    now = dict(asked.settings)
    apart = [f"{name} = {value}" for name, value in ran.settings if now.get(name) != value]
    return f"they ran with {', '.join(apart)}" if apart else "the text of the spec is another"
