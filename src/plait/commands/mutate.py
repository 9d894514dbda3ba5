"""`plait mutate`: edits a spec in every way that may break it, and says what the proof made of each."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import TYPE_CHECKING

from plait.commands.asked import add_spec_arguments, asked_for, refuse, spec_source, split_variant
from plait.commands.progress import progress
from plait.exit import DIFFERS, FINE, Refused

if TYPE_CHECKING:
    from plait.compiler.mutate.score import Scored

MOST = 1_000
DESCRIPTION = (
    "Edit a spec in every single way that may break an order: drop, move or weaken an edge, "
    "move or swap phases, take copies, votes or attributes away. Each is compiled, and judged by "
    "listing all that comes before all. Exit 0 when each that breaks a needed order is refused and "
    "no other for its order, 1 otherwise."
)
EXAMPLE = "for example: `plait mutate round.spec`"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", metavar="SPEC", help="a .spec file, or SPEC@VARIANT")
    parser.add_argument("--json", action="store_true", help="print what became of each as JSON")
    parser.add_argument(
        "--most",
        type=int,
        default=MOST,
        metavar="N",
        help=f"edits that are tried, from all of the text; default {MOST}",
    )
    add_spec_arguments(parser)


def run(options: argparse.Namespace) -> int:
    found, whole = _scored(options)
    if options.json:
        import json

        counts = dict(Counter(one.verdict for one in found))
        shown = [{name: getattr(one, name) for name in type(one).fields()} for one in found]
        print(json.dumps({"edits": whole, "counts": counts, "tried": shown}, indent=2))
    else:
        print(_text(found, whole), end="")
    return DIFFERS if any(one.wrong for one in found) else FINE


def _scored(options: argparse.Namespace) -> tuple[list[Scored], int]:
    """What became of each edit that was tried, and how many edits there are."""
    from plait.compiler.mutate.edits import mutants
    from plait.compiler.mutate.score import chosen, judged, scored
    from plait.compiler.target import TargetError
    from plait.dsl.diagnostic import SpecError
    from plait.dsl.parser import parse

    if options.most < 1:
        raise Refused(f"--most {options.most}: try at least one edit")
    path, variant = split_variant(options.spec)
    try:
        source, asked = spec_source(path), asked_for(options, variant)
        errors = judged(source, asked).errors
        if errors:
            refuse(list(errors))
        every, whole = chosen(mutants(parse(source)), options.most)
        found = []
        for number, mutant in enumerate(every, 1):
            progress(f"{number} of {len(every)}: line {mutant.line}")
            found.append(scored(mutant, asked))
        progress("")
    except SpecError as error:
        refuse(error.diagnostics)
    except TargetError as error:
        raise Refused(str(error)) from None
    return found, whole


def _text(found: list[Scored], whole: int) -> str:
    from plait.dsl.render.printable import printable

    lines = []
    for one in found:
        verdict = one.verdict
        if one.code:
            verdict += f" ({one.code}, line {one.at})"
        elif one.missing:
            verdict += f": {one.missing}"
        lines.append(printable(f"line {one.line}: {one.what}: {verdict}"))
    counts = Counter(one.verdict for one in found)
    tried = f"{len(found)} of {whole} edits" if len(found) < whole else f"{whole} edits"
    parts = [f"{counts['refused']} refused", f"{counts['passes']} pass with every needed order"]
    parts.append(f"{counts['survives']} survive")
    if counts["refused without need"]:
        parts.append(f"{counts['refused without need']} refused without need")
    return "\n".join([*lines, f"{tried}: {', '.join(parts)}", ""])
