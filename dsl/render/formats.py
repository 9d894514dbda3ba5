"""The formats of `plait check`, by name. Each loads what it needs when it is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import TextIO

from plait.dsl.render.finding import Checked


def _terminal(checked: Checked, out: TextIO) -> None:
    if checked.findings:
        from plait.dsl.render.terminal import render

        for finding in checked.findings:
            if finding.variant is not None:
                out.write(f"in variant {finding.where}:\n")
            render([finding.diagnostic], out)
    out.writelines(f"{line}\n" for line in checked.sound)


def _concise(checked: Checked, out: TextIO) -> None:
    from plait.dsl.render.concise import line

    out.writelines(f"{line(finding)}\n" for finding in checked.each())


def _github(checked: Checked, out: TextIO) -> None:
    from plait.dsl.render.github import command

    out.writelines(f"{command(finding)}\n" for finding in checked.each())


def _json(checked: Checked, out: TextIO) -> None:
    from plait.dsl.render.as_json import as_json

    entries = [
        {
            "path": finding.path,
            "pipeline": finding.pipeline,
            "variant": finding.variant,
            **as_json(finding.diagnostic),
        }
        for finding in checked.findings
    ]
    _dump({"sound": not checked.wrong, "findings": entries}, out)


def _sarif(checked: Checked, out: TextIO) -> None:
    from plait.dsl.render.sarif import log

    _dump(log(checked), out)


def _dump(value: object, out: TextIO) -> None:
    import json

    out.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


FORMATS: dict[str, Callable[[Checked, TextIO], None]] = {
    "terminal": _terminal,
    "concise": _concise,
    "json": _json,
    "github": _github,
    "sarif": _sarif,
}
