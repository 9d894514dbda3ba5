"""The documents say what is so: generated pages are fresh, examples in them are valid."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from plait.cli import VERBS
from plait.commands.views import VIEWS
from plait.compiler.emit.mermaid import mermaid
from plait.compiler.rules import RULES
from plait.compiler.rules.pages import markdown
from plait.dsl.codes import CODES
from plait.dsl.words import RESERVED, STATEMENTS, TOP_LEVEL


def read(root: Path, name: str) -> str:
    return (root / name).read_text(encoding="utf-8")


def test_the_page_of_diagnostics_is_fresh(root: Path) -> None:
    """`docs/diagnostics.md` is what the rules say today."""
    assert read(root, "docs/diagnostics.md") == markdown()


def test_every_code_is_explained(root: Path) -> None:
    """No message has a code that no page has, and no page a code that no message has."""
    used: set[str] = set()
    for folder in ("dsl", "compiler"):
        for path in (root / folder).rglob("*.py"):
            if path.name != "codes.py":
                used |= set(re.findall(r'"(PL\d{3})"', path.read_text(encoding="utf-8")))
    assert used == {*CODES, *(rule.code for rule in RULES)}


def test_the_readme_shows_what_the_compiler_draws(root: Path, eagle, compiled) -> None:
    """The picture and the refusal in the README are the real output."""
    text = read(root, "README.md")
    schedule = compiled(eagle)
    assert f"```mermaid\n{mermaid(schedule, schedule.widest)}```" in text


def test_the_readme_shows_a_real_refusal(root: Path, eagle, findings, shown) -> None:
    """Taking the fork of the copy stream out gives the message that the README shows."""
    broken = eagle.text.replace("  fork copy from accept\n", "")
    from plait.dsl.span import Source

    message = shown(findings(Source("eagle.spec", broken)))
    assert "\n".join(f"    {line}".rstrip() for line in message.splitlines()) in read(
        root, "README.md"
    )


def spec_blocks(text: str) -> list[str]:
    return re.findall(r"```spec\n(.*?)```", text, re.DOTALL)


def test_every_example_in_the_language_page_is_sound(root: Path, findings) -> None:
    """Whole specs in the page are proven; that is what they are there for."""
    blocks = spec_blocks(read(root, "docs/language.md"))
    assert len(blocks) >= 7
    for block in blocks:
        assert findings(block) == [], block


def test_every_statement_has_a_section(root: Path) -> None:
    """Its word in a heading, and a grammar in a block of code below."""
    text = read(root, "docs/language.md")
    sections = {
        word: section
        for heading, section in re.findall(r"^### (.*)\n(.*(?:\n(?!##).*)*)", text, re.MULTILINE)
        for word in re.findall(r"`(\w+)`", heading)
    }
    clauses = {"reads", "updates", "writes", "rows", "collective", "cost", "prev"}
    assert set(sections) == {*STATEMENTS, *TOP_LEVEL, *clauses}
    for word, section in sections.items():
        assert re.search(rf"^    (.*\W)?{word}\b", section, re.MULTILINE), word


def test_every_reserved_word_is_in_the_grammar_of_the_page(root: Path) -> None:
    """As it is written: in a line of grammar or, of operators and truths, in the text on values."""
    text = read(root, "docs/language.md")
    grammar = " ".join(
        re.findall(r"^    .*$", text.split("## What a round means")[1], re.MULTILINE)
    )
    values = text.split("## Values")[1].split("###")[0]
    assert set(re.findall(r"\w+", grammar + values)) >= RESERVED


def test_the_example_of_embedding_runs(root: Path, tmp_path, monkeypatch) -> None:
    """The spec and the programs in the page are one another's, and every assertion in them holds."""
    text = read(root, "docs/embedding.md")
    (spec,), programs = spec_blocks(text), re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "counter.spec").write_text(spec)
    monkeypatch.chdir(tmp_path)
    exec(compile("\n".join(programs), "docs/embedding.md", "exec"), {})


def test_the_target_of_the_page_loads(root: Path, tmp_path, findings) -> None:
    """What it builds on is there, and the flag that it lists is known."""
    from plait.compiler.target import load_target

    (text,) = re.findall(r"```toml\n(.*?)```", read(root, "docs/targets.md"), re.DOTALL)
    path = tmp_path / "mine.toml"
    path.write_text(text)
    target = load_target(str(path))
    assert (target.name, target.device, target.streams.pool) == ("mine", "npu", 16)
    spec = 'pipeline p { flag two = env("OUR_TWO_STREAMS", true) stream a phase go on host { } }'
    assert findings(spec, target=str(path)) == []


def test_the_language_page_lists_the_reserved_words(root: Path) -> None:
    """All 52, in the order of the alphabet."""
    text = read(root, "docs/language.md")
    assert " ".join(sorted(RESERVED)) in " ".join(text.split())


PAGES = [
    "README.md",
    "editors/README.md",
    "examples/README.md",
    "tests/cases/README.md",
    "tests/specs/README.md",
    *(
        f"docs/{name}.md"
        for name in (
            "README",
            "tutorial",
            "timeline",
            "language",
            "embedding",
            "exchange",
            "accelerators",
            "adversary",
            "conformance",
            "reliability",
            "targets",
            "budgets",
            "order",
            "ranks",
            "serve",
            "the-round",
            "architecture",
            "diff",
        )
    ),
]


def test_the_map_of_the_docs_has_every_page(root: Path) -> None:
    """Once each, so that no page is only found by who knows of it; README.md leads to the map."""
    linked = re.findall(r"\]\((\w[\w-]*\.md)\)", read(root, "docs/README.md").split("## Learn")[1])
    pages = [path.name for path in (root / "docs").glob("*.md") if path.name != "README.md"]
    assert sorted(linked) == sorted(pages)
    assert "](docs/README.md)" in read(root, "README.md")


@pytest.mark.parametrize("name", PAGES)
def test_links_within_a_page_have_a_heading(name: str, root: Path) -> None:
    """As GitHub names headings: lower case, `-` for each blank, without other signs."""
    text = read(root, name)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    names = {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= names


def test_every_code_has_its_family_in_the_language_page(root: Path) -> None:
    """What a spec can be refused by stands in one table, by the first digits of the codes."""
    families = re.findall(r"^\| (PL\d+) \|", read(root, "docs/language.md"), re.MULTILINE)
    for code in (*CODES, *(rule.code for rule in RULES)):
        assert len([one for one in families if code.startswith(one)]) == 1, code


def test_the_readme_has_every_verb_and_view(root: Path) -> None:
    """Each in a row of its table, and none that is not there."""
    text = read(root, "README.md")
    assert set(re.findall(r"^\| `plait (\w+)", text, re.MULTILINE)) == set(VERBS)
    assert re.findall(r"^\| `--(\w+)`", text, re.MULTILINE) == list(VIEWS)


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str, root: Path) -> None:
    """Every link into the tree has a file at its end."""
    folder = (root / name).parent
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", read(root, name)):
        assert (folder / link).exists(), link
