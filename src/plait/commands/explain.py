"""`plait explain`: the skeleton of a round, or the page of a rule."""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING

from plait.commands.asked import add_spec_arguments, asked_for, refuse, spec_source, split_variant
from plait.exit import FINE, Refused

if TYPE_CHECKING:
    from plait.compiler.explain import Skeleton

CODE = re.compile(r"PL[0-9]{3}\Z", re.IGNORECASE)


DESCRIPTION = (
    "Print the skeleton of a round: every fork, where it comes back, what it orders. "
    "With --budget, print instead what its graphs take of the target, and of how much. "
    "Given a code such as PL201, print what the rule refuses and why."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("subject", metavar="SPEC|CODE")
    parser.add_argument("--json", action="store_true", help="print the skeleton or bill as JSON")
    add_spec_arguments(parser, bill=True)


def run(options: argparse.Namespace) -> int:
    if CODE.match(options.subject):
        if options.json or options.budget:
            asked = "--json" if options.json else "--budget"
            raise Refused(f"{asked} is for a round; the page of a rule is text")
        print(_rule(options.subject.upper()), end="")
        return FINE
    if options.budget:
        _bill(options)
        return FINE
    skeleton = _skeleton(options)
    if options.json:
        import json
        from dataclasses import asdict

        print(json.dumps(asdict(skeleton), indent=2, ensure_ascii=False))
    else:
        from plait.compiler.explain import skeleton_text

        print(skeleton_text(skeleton), end="")
    return FINE


def _bill(options: argparse.Namespace) -> None:
    from plait.compiler.budgets.asked import bill_asked
    from plait.compiler.budgets.table import as_data, show
    from plait.compiler.target import TargetError
    from plait.dsl.diagnostic import SpecError

    path, variant = split_variant(options.subject)
    source = spec_source(path)
    try:
        bill = bill_asked(source, asked_for(options, variant))
    except SpecError as error:
        refuse(error.diagnostics)
    except TargetError as error:
        raise Refused(str(error)) from None
    if options.json:
        import json

        print(json.dumps(as_data(bill), indent=2, ensure_ascii=False))
    else:
        show(bill, sys.stdout)


def _skeleton(options: argparse.Namespace) -> Skeleton:
    from plait.compiler.compile import prove
    from plait.compiler.explain import skeleton
    from plait.compiler.target import TargetError
    from plait.dsl.diagnostic import SpecError

    path, variant = split_variant(options.subject)
    try:
        proven = prove(spec_source(path), asked_for(options, variant))
    except SpecError as error:
        refuse(error.diagnostics)
    except TargetError as error:
        raise Refused(str(error)) from None
    return skeleton(proven.widest)


def _rule(code: str) -> str:
    from plait.compiler.rules import RULES
    from plait.compiler.rules.codes import MISTAKES

    pages = {rule.code: rule for rule in (*RULES, *MISTAKES)}
    if code in pages:
        return pages[code].page()
    known = ", ".join(sorted(pages))
    raise Refused(f"there is no {code}; the codes are {known}")
