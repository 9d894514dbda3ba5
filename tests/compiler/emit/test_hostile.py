"""Names that would be more than text, through everything that draws a picture."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import pytest

from plait.compiler.emit.page.page import page
from plait.compiler.emit.perfetto import perfetto
from plait.compiler.emit.picture import Arrow, Bar, Group, Lane, Picture, Round, Table
from plait.compiler.emit.svg import svg
from plait.dsl.render.printable import printable

EVIL = [
    "</script><img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)",
    "<!--<script>",
    "</style><script>alert(1)</script>",
    "]]></title><script/>",
    "&lt;b&gt;&#x3c;script&#x3e;",
    "{{ 7 * 7 }}{% raw %}",
    "\\u003cscript\\u003e",
    "a\x00\x08\x1b[2Jb\r\nc\u2028d\u2029e",
    "\u202egpj.exe\u2066\u200f",
    "\ud800 and \udfff",
    "漢字 עברית",
]


def picture(evil: str, other: str) -> Picture:
    """With the names wherever there is one."""
    facts = ((evil, other), ("rows", 3), ("slack_ns", 1500))
    bars = (
        Bar(evil, evil, 0, 4000, True, True, facts, 0),
        Bar(other, "wait", 5000, 9000, False, False, facts, 1),
    )
    group = Group(
        evil,
        (Lane(evil, bars), Lane(other, ())),
        bars,
        (Round(evil, 0, 9000),),
        (Arrow(0, 1, True),),
    )
    table = Table(evil, (evil, other), ((evil, other),))
    about = (("schedule", evil), ("costs", other))
    return Picture(evil, (group, group.replace(name=other)), (evil, other), (table,), about)


class Read(HTMLParser):
    """A page as a browser takes it apart: its elements, their attributes and texts."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.texts: list[tuple[str, str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.texts.append((self.tags[-1] if self.tags else "", data))

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


@pytest.mark.parametrize("evil", EVIL)
def test_a_page_has_the_elements_of_its_template_alone(evil: str) -> None:
    """The same as with a plain name, and the name stands in it as a reader is to see it."""
    found, plain = Read(page(picture(evil, "plain"))), Read(page(picture("name", "plain")))
    assert found.tags == plain.tags and found.attributes == plain.attributes
    assert not any(name.startswith("on") for name in found.attributes)
    assert ("bdi", printable(evil)) in found.texts
    (data,) = (text for tag, text in found.texts if tag == "script" and text.startswith("{"))
    assert not re.search("[<>&\u2028\u2029]", data)
    assert printable(evil) in json.loads(data)["texts"]


def test_the_policy_of_a_page_lets_only_its_own_script_run() -> None:
    """Its hashes are those of the one style and the one script; all else is forbidden."""
    text = page(picture(*EVIL[:2]))
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    said = dict(part.split(" ", 1) for part in policy.replace("&#39;", "'").split("; "))
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    for name, inline in (("style-src", style), ("script-src", script)):
        digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
        assert said.pop(name) == f"'sha256-{digest}'"
    assert said == {"default-src": "'none'", "base-uri": "'none'", "form-action": "'none'"}
    assert not re.findall(r"https?://|//[a-z]+\.|@import|url\(", text)


def test_the_script_makes_no_markup_of_a_name() -> None:
    """It knows none of the ways to make elements or code of text."""
    (script,) = re.findall(r"<script>(.*?)</script>", page(picture(*EVIL[:2])), re.DOTALL)
    ways = "innerHTML|outerHTML|insertAdjacent|document.write|eval|Function\\(|createContextual|DOMParser"
    assert not re.search(f"{ways}|setAttribute|srcdoc|location|fetch|XMLHttp|import\\(", script)


@pytest.mark.parametrize("evil", EVIL)
def test_a_drawing_is_of_shapes_and_texts(evil: str) -> None:
    """XML that any reader takes, with the elements that a plain name gives."""
    root = ElementTree.fromstring(svg(picture(evil, "plain")).encode())
    tags = {element.tag.partition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "title", "style", "rect", "path", "text"}
    names = {name for element in root.iter() for name in element.attrib}
    assert not any(name.startswith("on") or "href" in name for name in names)
    titles = [element.text for element in root.iter() if element.tag.endswith("title")]
    assert titles[0] == printable(evil)
    assert not re.search(
        r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", svg(picture(evil, "x"))
    )


@pytest.mark.parametrize("evil", EVIL)
def test_perfetto_gets_names_as_names(evil: str) -> None:
    """JSON of plain characters, in which they say what they said."""
    text = perfetto(picture(evil, "plain"))
    assert text.isascii()
    whole = json.loads(text)
    names = {event["name"] for event in whole["traceEvents"] if event["ph"] == "X"}
    assert names == {printable(evil), "plain"}
    assert whole["plait"]["schedule"] == printable(evil)


def test_a_picture_without_lanes_is_its_tables() -> None:
    """No script stands where there is nothing to draw."""
    bare = picture("name", "plain").replace(groups=())
    assert set(Read(page(bare)).tags).isdisjoint(("script", "canvas", "nav"))
    assert "<td><bdi>plain</bdi></td>" in page(bare)
    ElementTree.fromstring(svg(bare))
    assert json.loads(perfetto(bare))["traceEvents"] == []


def test_one_picture_gives_the_same_bytes_again() -> None:
    """All forms."""
    for form in (page, svg, perfetto):
        assert form(picture(*EVIL[:2])) == form(picture(*EVIL[:2]))
