"""A picture as one HTML page that asks for nothing: its style, its script and its data stand in it."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from plait.compiler.emit.palette import DARK, LIGHT, variables
from plait.compiler.emit.picture import KINDS, Bar, Group, Picture, stacked
from plait.dsl.render.figures import shown
from plait.dsl.render.printable import printable

HERE = Path(__file__).parent
HARMLESS = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}
"""What could end a script element, or begin another, as JSON may write it too."""


def page(picture: Picture) -> str:
    """A whole HTML document: a canvas with lanes to zoom into, what each bar is, arrows, and the tables.

    Any number of groups share one axis, each with its rounds, its critical path and its lanes below its
    name. Whatever the names in the picture hold, it stays text: it enters as JSON or escaped, and a
    Content-Security-Policy allows no script, style or request but the page's own. The same picture gives
    the same bytes.
    """
    style = _read("page.css")
    for name, scheme in (("light", LIGHT), ("dark", DARK)):
        style = style.replace(f"/* {name} */", variables(scheme))
    script = _read("page.js")
    return (
        _template()
        .get_template("page.html.j2")
        .render(
            picture=picture,
            style=style,
            script=script,
            data=as_json(picture),
            hashes={"style": _hash(style), "script": _hash(script)},
            kinds=[(kind, says) for kind, says in KINDS.items() if kind in _drawn(picture)],
            changed=any(bar.changed for bar in _bars(picture)),
        )
    )


def as_json(picture: Picture) -> str:
    """What the script draws, fit to stand in a script element. Texts stand once, bars name them by number.

    Of a bar: start, end, name, kind, flags (1: on the path, 2: changed), number, and its facts in pairs.
    """
    texts: dict[str, int] = {}

    def text(said: object) -> int:
        return texts.setdefault(printable(str(said)), len(texts))

    def bar(one: Bar) -> list[Any]:
        flags = one.on_path + 2 * one.changed
        facts = [text(said) for fact in one.facts for said in _told(*fact)]
        kind = one.kind if one.kind in KINDS else "phase"
        return [one.start, one.end, text(one.name), text(kind), flags, one.number, *facts]

    def group(one: Group) -> dict[str, Any]:
        return {
            "name": text(one.name),
            "rounds": [[text(each.name), each.start, each.end] for each in one.rounds],
            "path": [bar(each) for each in one.path],
            "arrows": [[each.source, each.target, int(each.held)] for each in one.arrows],
            "lanes": [
                [text(lane.name), [[bar(each) for each in row] for row in stacked(lane.bars)]]
                for lane in one.lanes
            ],
        }

    groups = [group(one) for one in picture.groups]
    data = {"end": picture.end, "groups": groups, "texts": list(texts)}
    return json.dumps(data, separators=(",", ":")).translate(HARMLESS)


def _told(name: str, value: str | int) -> tuple[str, str | int]:
    """Of a fact, what a person reads."""
    if name.endswith("_ns") and isinstance(value, int):
        return name.removesuffix("_ns"), shown(value)
    return name, value


def _bars(picture: Picture) -> list[Bar]:
    found = [bar for group in picture.groups for bar in group.path]
    return found + [bar for group in picture.groups for lane in group.lanes for bar in lane.bars]


def _drawn(picture: Picture) -> set[str]:
    """The kinds that it shows."""
    return {bar.kind if bar.kind in KINDS else "phase" for bar in _bars(picture)}


def _read(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def _template() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters["shown"] = printable
    return environment
