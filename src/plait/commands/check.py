"""`plait check`: proves a spec at its default settings and in every variant."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from plait.commands.asked import add_spec_arguments, asked_for, spec_source, split_variant
from plait.exit import FINE, WRONG_INPUT, Refused

if TYPE_CHECKING:
    from plait.compiler.compile import Judged
    from plait.dsl.diagnostic import Diagnostic


DESCRIPTION = (
    "Prove specs at their default settings and in every variant. "
    "Exit 0 when no rule finds an error, 2 otherwise."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", nargs="+", metavar="SPEC", help="a .spec file, or SPEC@VARIANT")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    add_spec_arguments(parser)


def run(options: argparse.Namespace) -> int:
    findings: list[tuple[str, Judged | None, Diagnostic]] = []
    proven = []
    for path in options.spec:
        found, names = _check(options, path)
        findings += found
        if not any(diagnostic.severity == "error" for _, _, diagnostic in found):
            proven.append(f"{path}: sound" + (f" ({', '.join(names)})" if len(names) > 1 else ""))
    wrong = any(diagnostic.severity == "error" for _, _, diagnostic in findings)
    if options.json:
        _print_json(findings, wrong)
    else:
        _print(findings, proven)
    return WRONG_INPUT if wrong else FINE


def _check(
    options: argparse.Namespace, asked: str
) -> tuple[list[tuple[str, Judged | None, Diagnostic]], list[str]]:
    """Findings with the file and where each shows first, and the names of all that was judged."""
    from plait.compiler.compile import prove_all
    from plait.compiler.target import TargetError
    from plait.dsl.diagnostic import SpecError

    path, variant = split_variant(asked)
    try:
        judged = prove_all(spec_source(path), asked_for(options, variant))
    except SpecError as error:
        return [(path, None, diagnostic) for diagnostic in error.diagnostics], []
    except TargetError as error:
        raise Refused(str(error)) from None
    found: list[tuple[str, Judged | None, Diagnostic]] = []
    for one in judged:
        found += [(path, one, diagnostic) for diagnostic in one.findings]
    return found, [one.name for one in judged]


def _print(findings: list[tuple[str, Judged | None, Diagnostic]], proven: list[str]) -> None:
    if findings:
        from plait.dsl.render.terminal import render

        for _, judged, diagnostic in findings:
            if judged is not None and judged.variant is not None:
                print(f"in variant {judged.name}:")
            sys.stdout.flush()
            render([diagnostic], sys.stdout)
    for line in proven:
        print(line)


def _print_json(findings: list[tuple[str, Judged | None, Diagnostic]], wrong: bool) -> None:
    import json

    from plait.dsl.render.as_json import as_json

    entries = [
        {
            "path": path,
            "pipeline": judged and judged.pipeline,
            "variant": judged and judged.variant,
            **as_json(diagnostic),
        }
        for path, judged, diagnostic in findings
    ]
    print(json.dumps({"sound": not wrong, "findings": entries}, indent=2, ensure_ascii=False))
