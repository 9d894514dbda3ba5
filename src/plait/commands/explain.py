"""`plait explain`: the skeleton of a round, or the page of a rule."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from plait.commands.asked import add_spec_arguments, asked_for, refuse, spec_source, split_variant
from plait.exit import FINE, Refused

if TYPE_CHECKING:
    from plait.compiler.explain import Skeleton
    from plait.compiler.sync import Sync

CODE = re.compile(r"PL[0-9]{3}\Z", re.IGNORECASE)


DESCRIPTION = (
    "Print the skeleton of a round: every fork, where it comes back, what it orders. "
    "With --sync, account for every wait: what it is for, what makes the other edges needless, and how "
    "few waits there could be. Given a code such as PL201, print what the rule refuses and why."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("subject", metavar="SPEC|CODE")
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    parser.add_argument("--sync", action="store_true", help="account for the waits instead")
    add_spec_arguments(parser)


def run(options: argparse.Namespace) -> int:
    if CODE.match(options.subject):
        if options.json or options.sync:
            asked = "--json" if options.json else "--sync"
            raise Refused(f"{asked} is for a round; the page of a rule is text")
        print(_rule(options.subject.upper()), end="")
        return FINE
    found = _explained(options)
    if options.json:
        import json
        from dataclasses import asdict

        print(json.dumps(asdict(found), indent=2, ensure_ascii=False))
    else:
        print(_text(found), end="")
    return FINE


def _explained(options: argparse.Namespace) -> Skeleton | Sync:
    from plait.compiler.compile import lowered, prove
    from plait.compiler.target import TargetError
    from plait.dsl.diagnostic import SpecError

    path, variant = split_variant(options.subject)
    try:
        asked = asked_for(options, variant)
        proven = prove(spec_source(path), asked)
    except SpecError as error:
        refuse(error.diagnostics)
    except TargetError as error:
        raise Refused(str(error)) from None
    if options.sync:
        from plait.compiler.sync import sync

        return sync(proven.widest, lowered(proven, asked))
    from plait.compiler.explain import skeleton

    return skeleton(proven.widest)


def _text(found: Skeleton | Sync) -> str:
    from plait.compiler.explain import Skeleton, skeleton_text
    from plait.compiler.sync import sync_text

    return skeleton_text(found) if isinstance(found, Skeleton) else sync_text(found)


def _rule(code: str) -> str:
    from plait.compiler.rules import RULES
    from plait.compiler.rules.codes import MISTAKES

    pages = {rule.code: rule for rule in (*RULES, *MISTAKES)}
    if code in pages:
        return pages[code].page()
    known = ", ".join(sorted(pages))
    raise Refused(f"there is no {code}; the codes are {known}")
