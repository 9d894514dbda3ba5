"""`plait diff`: two schedules side by side."""

from __future__ import annotations

import argparse

from plait.commands.asked import add_spec_arguments
from plait.commands.costs import accepted_asked, add_cost_arguments
from plait.commands.outputs import outputs_asked, read_by
from plait.commands.pictures import pictures_asked, write_pictures
from plait.commands.sides import add_side_arguments, sides_asked
from plait.exit import DIFFERS, FINE, Refused

DESCRIPTION = (
    "Compare two schedules: what one has and the other has not, what that changes in order, time and "
    "memory, and hazards that are new or gone. Each is a .spec file, a variant of one (eagle.spec@serial), "
    "a schedule's .json, or one of them at a git revision (HEAD~1:examples/eagle.spec@serial, from the top "
    "of the repository; HEAD:./eagle.spec, from here). A spec that check refuses is compared all the same, "
    "and its hazards are listed. Exit 0 when nothing differs, 1 when something does; with --fail-on, 1 only "
    "when a gate fails or a hazard is new."
)
EXAMPLE = (
    "for example: `plait diff round.spec round.spec@serial --costs die.toml --fail-on 'slower>2%'`"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "before", metavar="A", help="a .spec file, SPEC@VARIANT, .json, or REV:PATH"
    )
    parser.add_argument(
        "after",
        nargs="?",
        metavar="B",
        help="another; without it, A under --set-a and --set-b, or as it was at HEAD and as it is",
    )
    parser.add_argument(
        "--fail-on",
        action="append",
        default=[],
        metavar="GATE",
        help="what B must not do: slower>2%%, exposed>5us, memory>1MiB, waits, streams, hazard; "
        "may be given several times",
    )
    parser.add_argument("--json", action="store_true", help="print the differences as JSON")
    parser.add_argument(
        "--html", metavar="FILE", help="write both timelines and all tables as a page"
    )
    parser.add_argument("--svg", metavar="FILE", help="write both timelines as a drawing")
    add_side_arguments(parser)
    add_cost_arguments(parser)
    add_spec_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from plait.compiler.diff.diff import diff
    from plait.compiler.diff.gates import GateError, failures, read_gate

    try:
        gates = [read_gate(text) for text in options.fail_on]
    except GateError as error:
        raise Refused(f"--fail-on {error}") from None
    sides = [side for side in (options.before, options.after) if side is not None]
    outputs_asked(options, ("html", "svg"), read_by(options, *sides))
    accepted = accepted_asked(options)
    before, after = sides_asked(options)
    found = diff(before, after, accepted and accepted.mean)
    failed = failures(found, gates)
    if pictures_asked(options):
        from plait.compiler.diff.picture import picture

        write_pictures(options, picture(found, before, after))
    if options.json:
        import json

        from plait.compiler.diff.data import as_data

        print(json.dumps(as_data(found, failed), indent=2, ensure_ascii=False))
    else:
        from plait.compiler.diff.text import failed_text

        print(f"{found}{failed_text(failed)}", end="")
    if gates:
        return DIFFERS if failed else FINE
    return DIFFERS if found else FINE
