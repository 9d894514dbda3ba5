"""`plait explain`: the skeleton of a round, its memory or graphs, or the page of a rule."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from plait.commands.asked import add_spec_arguments, asked_for, refuse, spec_source, split_variant
from plait.exit import FINE, Refused

if TYPE_CHECKING:
    from plait.compiler.compile import Proven

CODE = re.compile(r"PL[0-9]{3}\Z", re.IGNORECASE)


DESCRIPTION = (
    "Print the skeleton of a round: every fork, where it comes back, what it orders. "
    "Given a code such as PL201, print what the rule refuses and why."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("subject", metavar="SPEC|CODE")
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--memory",
        action="store_true",
        help="print which buffers share memory, and what that saves",
    )
    what.add_argument(
        "--captures", action="store_true", help="print every graph, and what may be in none"
    )
    add_spec_arguments(parser)


def run(options: argparse.Namespace) -> int:
    if CODE.match(options.subject):
        if options.json or options.memory or options.captures:
            raise Refused("options are for a round; the page of a rule is text")
        print(_rule(options.subject.upper()), end="")
        return FINE
    view, text = _view(options)
    if options.json:
        import json
        from dataclasses import asdict

        print(json.dumps(asdict(view), indent=2, ensure_ascii=False))
    else:
        print(text(view), end="")
    return FINE


def _view(options: argparse.Namespace) -> tuple[Any, Callable[[Any], str]]:
    """What is asked for, and how it is shown on a terminal."""
    proven = _proven(options)
    if options.memory:
        from plait.compiler.memory import memory, memory_text

        return memory(proven.orders), memory_text
    if options.captures:
        from plait.compiler.captures import captures, captures_text

        return captures(proven.orders), captures_text
    from plait.compiler.explain import skeleton, skeleton_text

    return skeleton(proven.widest), skeleton_text


def _proven(options: argparse.Namespace) -> Proven:
    from plait.compiler.compile import prove
    from plait.compiler.target import TargetError
    from plait.dsl.diagnostic import SpecError

    path, variant = split_variant(options.subject)
    try:
        return prove(spec_source(path), asked_for(options, variant))
    except SpecError as error:
        refuse(error.diagnostics)
    except TargetError as error:
        raise Refused(str(error)) from None


def _rule(code: str) -> str:
    from plait.compiler.rules import RULES
    from plait.compiler.rules.codes import MISTAKES

    pages = {rule.code: rule for rule in (*RULES, *MISTAKES)}
    if code in pages:
        return pages[code].page()
    known = ", ".join(sorted(pages))
    raise Refused(f"there is no {code}; the codes are {known}")
