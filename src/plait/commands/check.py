"""`plait check`: proves a spec at its default settings and in every variant."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from plait.commands.asked import add_spec_arguments, asked_for, spec_source, split_variant
from plait.dsl.render.formats import FORMATS
from plait.exit import DIFFERS, FINE, WRONG_INPUT, Refused

if TYPE_CHECKING:
    from plait.dsl.render.finding import Finding


DESCRIPTION = (
    "Prove specs at their default settings and in every variant. "
    "Exit 0 when no rule finds an error, 2 otherwise; notes change nothing. With --fix, "
    "what is left is reported; with --diff beside it, exit 1 when a fix is to be made."
)
EXAMPLE = "for example: `plait check round.spec`, `plait check --fix --diff round.spec`"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", nargs="+", metavar="SPEC", help="a .spec file, or SPEC@VARIANT")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--format", choices=FORMATS, default="terminal", help="default terminal")
    form.add_argument(
        "--json",
        dest="format",
        action="store_const",
        const="json",
        help="the same as --format json",
    )
    parser.add_argument("--fix", action="store_true", help="first write in what findings offer")
    parser.add_argument(
        "--diff",
        action="store_true",
        help="with --fix: show what it would write, and write nothing",
    )
    parser.add_argument(
        "--waste",
        action="store_true",
        help="with --fix: also remove or narrow edges that order more than data needs",
    )
    add_spec_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from plait import __version__
    from plait.compiler.rules import meanings
    from plait.dsl.render.finding import Checked
    from plait.dsl.render.printable import printable

    if options.diff and not options.fix:
        raise Refused("--diff shows what --fix would write: give both")
    if options.waste and not options.fix:
        raise Refused("--waste says what --fix may remove: give both")
    if options.diff and options.format != "terminal":
        raise Refused(f"--diff writes a diff to stdout, which --format {options.format} would tear")
    findings: list[Finding] = []
    sound = []
    differs = False
    for asked in options.spec:
        found, names, changed = _check(options, asked)
        findings += found
        differs |= changed and options.diff
        if not any(finding.diagnostic.severity == "error" for finding in found):
            judged = f" ({', '.join(names)})" if len(names) > 1 else ""
            sound.append(printable(f"{asked}: sound{judged}"))
    if options.diff:  # stdout is the diff; what the files would be is not what they are
        checked, out = Checked(findings, [], meanings(), __version__), sys.stderr
    else:
        checked, out = Checked(findings, sound, meanings(), __version__), sys.stdout
    FORMATS[options.format](checked, out)
    if checked.wrong:
        return WRONG_INPUT
    return DIFFERS if differs else FINE


def _check(options: argparse.Namespace, asked: str) -> tuple[list[Finding], list[str], bool]:
    """Findings with the file and where each shows first, the names of all that was judged, whether
    fixes were made."""
    from plait.compiler.compile import prove_all
    from plait.compiler.target import TargetError
    from plait.dsl.diagnostic import SpecError
    from plait.dsl.render.finding import Finding

    path, variant = split_variant(asked)
    given = source = spec_source(path)
    try:
        wanted = asked_for(options, variant)  # a recipe may be wrong, too
        if options.fix:
            from plait.commands.fixing import fixed

            source = fixed(path, given, wanted, options.diff, options.waste)
        judged = prove_all(source, wanted)
    except SpecError as error:
        found = [Finding(path, source, diagnostic) for diagnostic in error.diagnostics]
        return found, [], source is not given
    except TargetError as error:
        raise Refused(str(error)) from None
    found = [
        Finding(path, source, diagnostic, one.pipeline, one.variant, one.name)
        for one in judged
        for diagnostic in one.findings
    ]
    return found, [one.name for one in judged], source is not given
