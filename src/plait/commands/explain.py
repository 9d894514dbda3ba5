"""`plait explain`: one view of a round, or the page of a rule."""

from __future__ import annotations

import argparse
import re
import sys

from plait.commands.asked import add_spec_arguments, asked_for, refuse, spec_source, split_variant
from plait.commands.costs import add_cost_arguments
from plait.exit import FINE, Refused

CODE = re.compile(r"PL[0-9]{3}\Z", re.IGNORECASE)

DESCRIPTION = (
    "Print the skeleton of a round: every fork, where it comes back, what it orders; or what an option "
    "asks for instead. Given a code such as PL201, print what the rule refuses and why."
)
EXAMPLE = "for example: `plait explain round.spec --costs die.toml --bs 5 --times`"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from plait.commands.views import VIEWS

    parser.add_argument(
        "subject", metavar="SPEC|CODE", help="a .spec file, SPEC@VARIANT, or a code such as PL201"
    )
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    views = parser.add_mutually_exclusive_group()
    for option, view in VIEWS.items():
        views.add_argument(
            f"--{option}", dest="view", action="store_const", const=option, help=view.help
        )
    add_spec_arguments(parser)
    add_cost_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from plait.commands.views import SKELETON, VIEWS, show
    from plait.compiler.target import TargetError
    from plait.dsl.diagnostic import SpecError

    timing = [name for name in ("costs", "live", "bs", "accept") if getattr(options, name)]
    if CODE.match(options.subject):
        if options.json or options.view or timing:
            option = "json" if options.json else options.view or timing[0]
            raise Refused(f"--{option} is for a round; the page of a rule is text")
        print(_rule(options.subject.upper()), end="")
        return FINE
    view = VIEWS[options.view] if options.view else SKELETON
    if timing and not view.timed:
        raise Refused(f"--{timing[0]} is for a view of times, and --{options.view} is none")
    path, variant = split_variant(options.subject)
    try:
        asked = asked_for(options, variant)
        show(view, spec_source(path), asked, options, sys.stdout, options.json)
    except SpecError as error:
        refuse(error.diagnostics)
    except TargetError as error:
        raise Refused(str(error)) from None
    return FINE


def _rule(code: str) -> str:
    from plait.compiler.rules import RULES
    from plait.compiler.rules.codes import MISTAKES

    pages = {rule.code: rule for rule in (*RULES, *MISTAKES)}
    if code in pages:
        return pages[code].page()
    near = [one for one in sorted(pages) if one[2] == code[2]] or [min(pages), max(pages)]
    raise Refused(f"there is no {code}; near it: {', '.join(near)}")
