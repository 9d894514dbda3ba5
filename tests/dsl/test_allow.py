"""`# allow CODE: REASON`: what it silences, and what is said when it should not stand."""

from __future__ import annotations

import pytest

from plait.compiler.compile import Asked, compile_source, prove_all, read_source
from plait.compiler.rules.pages import SILENCED
from plait.dsl.diagnostic import SpecError
from plait.dsl.span import Source

TEXT = """\
spec 1
pipeline p {
  stream main
  buffer x : i64[4] carried
  phase step on main { updates x }
  join prev step into host
}
variant other of p { }
"""
EDGE = "  join prev step into host\n"
ALLOW = "# allow PL901: the host must not run ahead"


def codes(found) -> list[tuple[str, str, int]]:
    return [(d.severity, d.code, d.span.line) for d in found]


def test_a_reason_silences_a_note(findings) -> None:
    """On the line of the finding, or on a line of its own directly above it."""
    assert codes(findings(TEXT)) == [("note", "PL901", 6)]
    assert findings(TEXT.replace(EDGE, f"  join prev step into host {ALLOW}\n")) == []
    assert findings(TEXT.replace(EDGE, f"  {ALLOW}\n{EDGE}")) == []
    assert findings(TEXT.replace(EDGE, f"  {ALLOW}\r\n{EDGE}").replace("\n", "\r\n")) == []


def test_the_page_shows_a_note_that_is_answered(findings) -> None:
    """The example in `docs/diagnostics.md` is silent, and would not be without its comment."""
    assert findings(SILENCED) == []
    without = "".join(line for line in SILENCED.splitlines(True) if "# allow" not in line)
    assert [d.code for d in findings(without)] == ["PL901"]


def test_a_comment_further_away_silences_nothing(findings) -> None:
    """Two lines above, below, or behind something else on the line above: the note stays."""
    for text in (
        TEXT.replace(EDGE, f"  {ALLOW}\n\n{EDGE}"),
        TEXT.replace(EDGE, f"{EDGE}  {ALLOW}\n"),
        TEXT.replace(" updates x }\n", f" updates x }} {ALLOW}\n"),
    ):
        assert sorted(d.code for d in findings(text)) == ["PL901", "PL902"]


def test_a_text_is_no_comment(findings) -> None:
    """What stands in quotes silences nothing and is not judged."""
    text = TEXT.replace(EDGE, f'  require true, "{ALLOW}"  join prev step into host\n')
    assert codes(findings(text)) == [("note", "PL901", 6)]


def test_an_ordinary_comment_is_left_alone(findings) -> None:
    """Only `allow` with a code behind it is a request."""
    text = TEXT.replace(EDGE, "  # allow more than that: a plan, PL901\n")
    assert findings(text) == []


WRONG = {
    "no reason": (
        "# allow PL901",
        """\
error[PL005]: this allows PL901 and does not say why
 --> test.spec:5:36
5 |   phase step on main { updates x } # allow PL901
  |                                    ^^^^^^^^^^^^^
   = help: write `# allow PL901: REASON`
""",
    ),
    "an unknown code": (
        "# allow PL991: why",
        """\
error[PL005]: there is no PL991 to allow
 --> test.spec:5:36
5 |   phase step on main { updates x } # allow PL991: why
  |                                    ^^^^^^^^^^^^^^^^^^
   = help: did you mean `PL901`?
""",
    ),
    "an error": (
        "# allow PL201: it works on my machine",
        """\
error[PL005]: PL201 is an error, which no comment silences
 --> test.spec:5:36
5 |   phase step on main { updates x } # allow PL201: it works on my machine
  |                                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   = help: mend it
""",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_comment_that_cannot_silence_is_an_error(name: str, findings, shown) -> None:
    """Without a reason, with a code that is unknown, or an error's; compiling refuses it too."""
    comment, expected = WRONG[name]
    text = TEXT.replace(EDGE, "").replace(" updates x }", f" updates x }} {comment}")
    assert shown(findings(text)) == expected
    with pytest.raises(SpecError):
        compile_source(Source("test.spec", text), Asked())


def test_what_silences_nothing_is_a_note(findings, shown) -> None:
    """Left over after its edge was removed; that note can be answered like any other."""
    text = TEXT.replace(EDGE, f"  {ALLOW}\n")
    assert shown(findings(text)) == (
        "note[PL902]: this allows PL901, which is not found on line 7\n"
        " --> test.spec:6:3\n"
        "6 |   # allow PL901: the host must not run ahead\n"
        "  |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "   = help: remove the comment\n"
    )
    answered = text.replace(f"  {ALLOW}", f"  # allow PL902: a template\n  {ALLOW}")
    assert findings(answered) == []


def test_whether_it_silences_is_asked_of_the_whole_file_only(findings) -> None:
    """With one variant or another setting, or before errors are mended, the note may be elsewhere."""
    text = TEXT.replace(EDGE, f"  {ALLOW}\n").replace("stream main\n", "stream main  param n = 1\n")
    assert [d.code for d in findings(text)] == ["PL902"]
    assert findings(text, variant="other") == []
    assert findings(text, settings={"n": 2}) == []
    assert [d.code for d in findings(text.replace("updates x", "reads x, y"))] == ["PL101"]


def test_a_line_of_another_file_is_another(tmp_path) -> None:
    """A comment on line 3 answers no note on line 3 of a file that is used."""
    module = (
        "module m(stream main, buffer x) { phase a on main { updates x }\njoin prev a into host }"
    )
    (tmp_path / "m.spec").write_text(f"spec 1\n{module}\n")
    text = TEXT.replace("spec 1\n", 'spec 1  use "m.spec"\n').replace(EDGE, "  call m.m()\n")
    path = tmp_path / "round.spec"
    path.write_text(text.replace("stream main\n", f"stream main {ALLOW}\n"))
    (judged, _) = prove_all(read_source(path), Asked())
    assert [(d.code, d.span.source.name, d.span.line) for d in judged.findings] == [
        ("PL901", "m.spec", 3),
        ("PL902", "round.spec", 3),
    ]
