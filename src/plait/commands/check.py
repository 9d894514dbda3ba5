"""`plait check`: proves a spec at its default settings and in every variant."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from plait.commands.asked import add_spec_arguments, asked_for, spec_source, split_variant
from plait.dsl.render.formats import FORMATS
from plait.exit import FINE, WRONG_INPUT, Refused

if TYPE_CHECKING:
    from plait.dsl.render.finding import Finding


DESCRIPTION = (
    "Prove specs at their default settings and in every variant. "
    "Exit 0 when no rule finds an error, 2 otherwise; notes change nothing."
)


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
    add_spec_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from plait import __version__
    from plait.compiler.rules import meanings
    from plait.dsl.render.finding import Checked
    from plait.dsl.render.printable import printable

    findings: list[Finding] = []
    sound = []
    for path in options.spec:
        found, names = _check(options, path)
        findings += found
        if not any(finding.diagnostic.severity == "error" for finding in found):
            judged = f" ({', '.join(names)})" if len(names) > 1 else ""
            sound.append(printable(f"{path}: sound{judged}"))
    checked = Checked(findings, sound, meanings(), __version__)
    FORMATS[options.format](checked, sys.stdout)
    return WRONG_INPUT if checked.wrong else FINE


def _check(options: argparse.Namespace, asked: str) -> tuple[list[Finding], list[str]]:
    """Findings with the file and where each shows first, and the names of all that was judged."""
    from plait.compiler.compile import prove_all
    from plait.compiler.target import TargetError
    from plait.dsl.diagnostic import SpecError
    from plait.dsl.render.finding import Finding

    path, variant = split_variant(asked)
    source = spec_source(path)
    try:
        judged = prove_all(source, asked_for(options, variant))
    except SpecError as error:
        return [Finding(path, source, diagnostic) for diagnostic in error.diagnostics], []
    except TargetError as error:
        raise Refused(str(error)) from None
    found = [
        Finding(path, source, diagnostic, one.pipeline, one.variant, one.name)
        for one in judged
        for diagnostic in one.findings
    ]
    return found, [one.name for one in judged]
