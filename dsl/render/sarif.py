"""SARIF 2.1.0, the form in which code hosts and editors exchange findings.

One run. Columns count UTF-16 code units, as SARIF's readers do, and the run says so. A text that is no
file, such as a `--set`, has no place in SARIF; its findings say theirs in words.
"""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import quote

from plait.dsl.codes import severity_of
from plait.dsl.diagnostic import Fix
from plait.dsl.render.finding import Checked, Finding
from plait.dsl.span import Span

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def log(checked: Checked) -> dict[str, Any]:
    rules = [
        {
            "id": code,
            "shortDescription": {"text": title},
            "fullDescription": {"text": why or title},
            "defaultConfiguration": {"level": severity_of(code)},
        }
        for code, (title, why) in checked.meanings.items()
    ]
    places = {rule["id"]: place for place, rule in enumerate(rules)}
    driver = {"name": "plait", "version": checked.version, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "columnKind": "utf16CodeUnits",
        "results": [_result(finding, places) for finding in checked.each()],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(finding: Finding, places: dict[str, int]) -> dict[str, Any]:
    diagnostic = finding.diagnostic
    text = diagnostic.message
    if finding.file(diagnostic.span) is None:
        text = f"{diagnostic.span}: {text}"
    if diagnostic.help:
        text += f"\n{diagnostic.help}"
    result = {
        "ruleId": diagnostic.code,
        "ruleIndex": places[diagnostic.code],
        "level": diagnostic.severity,
        "message": {"text": text},
        "locations": _locations(finding, diagnostic.span),
        "relatedLocations": [
            {**location, "id": number, "message": {"text": label.text}}
            for number, label in enumerate(diagnostic.labels, 1)
            for location in _locations(finding, label.span)
        ],
        "properties": {
            "pipeline": finding.pipeline,
            "variant": finding.variant,
            "facts": dict(diagnostic.facts),
            "witness": list(diagnostic.witness),
        },
    }
    if diagnostic.fix is not None and diagnostic.fix.edits:
        result["fixes"] = [_fix(finding, diagnostic.fix)]
    return result


def _locations(finding: Finding, span: Span) -> list[dict[str, Any]]:
    file = finding.file(span)
    if file is None:
        return []
    return [{"physicalLocation": {"artifactLocation": _artifact(file), "region": _region(span)}}]


def _fix(finding: Finding, fix: Fix) -> dict[str, Any]:
    replacements = [
        {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}}
        for edit in fix.edits
    ]
    change = {"artifactLocation": _artifact(finding.path), "replacements": replacements}
    return {"description": {"text": fix.title}, "artifactChanges": [change]}


def _artifact(path: str) -> dict[str, str]:
    return {"uri": quote(os.fsencode(os.path.relpath(path)).replace(os.sep.encode(), b"/"))}


def _region(span: Span) -> dict[str, int]:
    (line, column), (end_line, end_column) = (
        _utf16_place(span, at) for at in (span.start, span.end)
    )
    return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}


def _utf16_place(span: Span, offset: int) -> tuple[int, int]:
    line, column = span.source.place(offset)
    before = span.source.text[offset - (column - 1) : offset]
    return line, len(before.encode("utf-16-le", "surrogatepass")) // 2 + 1
