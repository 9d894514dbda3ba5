"""The language server over its own stdin and stdout, asked as an editor asks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from editing.client import Client, ServerError
from plait.dsl.words import STATEMENTS

SMALL = """\
spec 1

pipeline small {
  param width = 2
  dim bs in [1, 4]
  stream main
  stream side : copy
  buffer x : i64[bs, width] carried
  buffer y : i64[bs]
  phase make on main { updates x }
  fork side from make
  phase take on side { reads x  writes y }
  join side into main
}

variant wide of small { set width = 3 }
"""

MODULES = """\
spec 1
module part(stream s, buffer data, n, deep = 1) {
  buffer own : f32[n]
  phase first on s { reads data  writes own }
  phase last on s { reads own  updates data  rows n * deep }
}
pipeline p {
  group tp = 2
  pool graphs
  stream s
  buffer b : f32[4] carried
  call part(data = b, n = 4) as parts[0]
  capture g on s rows 4 { phase inside on s { updates b } }
  join g.loaded into host
  join parts[0].first into s
}
"""


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    client = Client(tmp_path_factory.mktemp("workspace"))
    yield client
    assert client.end() == 0


def fixes(editor: Client, uri: str, finding: dict) -> list[dict]:
    return editor.ask(
        "textDocument/codeAction",
        textDocument={"uri": uri},
        range=finding["range"],
        context={"diagnostics": [finding], "only": ["quickfix"]},
    )


def hover(editor: Client, uri: str, before: str, shift: int = 0) -> str:
    return editor.at("hover", uri, before, shift)["contents"]["value"]


def offered(editor: Client, uri: str, before: str) -> list[str]:
    """What may be written behind a text."""
    items = editor.at("completion", uri, before, len(before))
    return [item["label"] for item in items]


def test_a_finding_is_published_mended_and_gone(editor: Client) -> None:
    """A missing fork, with the other place it is about; taking the offered action leaves nothing."""
    broken = SMALL.replace("  fork side from make\n", "")
    uri = editor.open("broken.spec", broken)
    (finding,) = editor.findings(uri)
    assert editor.texts_at(uri, [finding]) == ["11:x"]
    assert (finding["code"], finding["severity"], finding["source"]) == ("PL201", 1, "plait")
    assert finding["message"] == (
        "`take` on side may read `x` before `make` on main has written it\n"
        "missing edge: fork side from make\n"
        "a run that shows it:\n"
        "  round r: side may start `take` without waiting for main\n"
        "  round r: `make` comes later on main and may still be running\n"
        "  `make` updates x, `take` reads it"
    )
    (related,) = finding["relatedInformation"]
    assert related["message"] == "updates x" and related["location"]["uri"] == uri
    assert editor.texts_at(uri, [related["location"]]) == ["10:x"]
    (action,) = fixes(editor, uri, finding)
    assert action["title"] == "before line 11, write: fork side from make"
    assert action["isPreferred"] and action["diagnostics"] == [finding]
    mended = editor.edited(uri, action["edit"]["changes"][uri])
    assert mended == SMALL
    editor.change(uri, mended)
    assert {one["code"] for one in editor.findings(uri)} <= {"PL903"}  # too small to hide anything


def test_a_fix_ends_its_lines_as_the_text_does(editor: Client) -> None:
    """A file of another system stays one."""
    uri = editor.open(
        "lines.spec", SMALL.replace("  fork side from make\n", "").replace("\n", "\r\n")
    )
    (finding,) = editor.findings(uri)
    (action,) = fixes(editor, uri, finding)
    (edit,) = action["edit"]["changes"][uri]
    assert edit["newText"] == "fork side from make\r\n  "


def test_a_mistake_of_the_text_is_published_where_it_is(editor: Client) -> None:
    """With what should stand there; an edge that no variant lacks is said once."""
    uri = editor.open("mistake.spec", SMALL.replace("fork side from make", "fork side form make"))
    (finding, *_) = editor.findings(uri)
    assert editor.texts_at(uri, [finding]) == ["11:form"]
    assert finding["message"] == (
        "found `form` where `from` should stand, in a `fork`\nhelp: did you mean `from`?"
    )


def test_a_finding_of_one_variant_says_so(editor: Client) -> None:
    """As `plait check` does."""
    text = SMALL.replace("  phase make", '  require width < 3, "narrow"\n  phase make')
    uri = editor.open("variant.spec", text)
    (finding,) = editor.findings(uri)
    said = finding["message"].splitlines()[0]
    assert said.startswith("in variant wide: `width < 3` does not hold")
    assert said.endswith(": narrow")


def test_a_note_is_answered_by_its_mend_or_by_a_comment_with_a_reason(editor: Client) -> None:
    """The edge goes; or the comment that an action writes asks for a reason, and with one nothing is left."""
    text = SMALL.replace(
        "  join side into main\n", "  join side into main\n  join make into side\n"
    )
    uri = editor.open("note.spec", text)
    (finding,) = (one for one in editor.findings(uri) if one["code"] != "PL903")
    assert (finding["code"], finding["severity"]) == ("PL901", 3)
    remove, action = fixes(editor, uri, finding)
    assert remove["title"] == "remove `join make into side`"
    assert editor.edited(uri, remove["edit"]["changes"][uri]) == SMALL
    assert action["title"] == "Allow PL901 here, for a reason to be written"
    allowed = editor.edited(uri, action["edit"]["changes"][uri])
    assert "\n  # allow PL901:\n  join make into side\n" in allowed
    editor.change(uri, allowed)
    assert "PL005" in [one["code"] for one in editor.findings(uri)]
    editor.change(uri, allowed.replace("PL901:", "PL901: the host throttles"))
    assert {one["code"] for one in editor.findings(uri)} <= {"PL903"}


def test_only_the_newest_text_is_told_about(tmp_path: Path) -> None:
    """Typing fast publishes nothing about what was typed over."""
    editor = Client(tmp_path)
    uri = editor.open("fast.spec", SMALL)
    for size in range(20):
        editor.change(uri, SMALL.replace("[1, 4]", f"[1, {4 + size}]"))
    assert {one["code"] for one in editor.findings(uri)} <= {"PL903"}
    assert [one["version"] for one in editor.published] == [21]
    assert editor.end() == 0


def test_hover_says_what_a_name_is(editor: Client) -> None:
    """For each kind of thing, its declaration and what a compiled round knows of it."""
    uri = editor.open("hover.spec", SMALL)
    assert hover(editor, uri, "x : i64") == (
        "```plait\nbuffer x : i64[bs, width] carried\n```\n\n"
        "- in `small` at bs = 4: `i64[4, 2]`\n- read by `take`\n- updated by `make`"
    )
    assert hover(editor, uri, "take on") == (
        "```plait\nphase take on side { reads x writes y }\n```\n\n"
        "- in `small` at bs = 4: on `side`\n- reads `x`\n- writes `y`\n"
        "- waits for `make` (`fork side from make`, line 11)"
    )
    assert hover(editor, uri, "side into", 1) == (
        "```plait\nstream side : copy\n```\n\n"
        "- in `small` at bs = 4: a stream of class `copy`\n- runs `take`"
    )
    assert hover(editor, uri, "width] carried") == (
        "```plait\nparam width = 2\n```\n\n- at default settings: `2`"
    )
    assert hover(editor, uri, "bs in") == (
        "```plait\ndim bs in [1, 4]\n```\n\n"
        "- a run-time size, padded to the least entry that holds it\n- at most `4`"
    )
    assert hover(editor, uri, "small {", 3) == "```plait\npipeline small\n```\n"
    assert hover(editor, uri, "fork", 2) == "```plait\nfork STREAM from PHASE\n```"
    assert hover(editor, uri, "into", 2) == "```plait\njoin STREAM into STREAM\n```"
    assert editor.at("hover", uri, "[1, 4]") is None


def test_hover_says_what_parts_are(editor: Client) -> None:
    """Of a module: its formals, what it declares by each call, captures, groups and pools."""
    uri = editor.open("parts.spec", MODULES)
    assert hover(editor, uri, "part(data", 1).startswith(
        "```plait\nmodule part(stream s, buffer data, n, deep = 1)\n```"
    )
    assert hover(editor, uri, "data  writes").startswith(
        "```plait\nbuffer data  # a formal of module part\n```"
    )
    assert "- in `p`: `f32[4]`\n- read by `parts.last`\n- written by `parts.first`" in hover(
        editor, uri, "own : f32"
    )
    assert "one graph on `s`, 4 rows\n- holds `inside`\n- waits for nothing" in hover(
        editor, uri, "g on s"
    )
    assert "group tp = 2" in hover(editor, uri, "tp = 2")
    assert "pool graphs" in hover(editor, uri, "graphs")
    assert "a call of `part`" in hover(editor, uri, "parts[0].first")


def test_definitions_and_references_are_found(editor: Client) -> None:
    """From any place of a name, through calls too; the declaration is left out where that is asked."""
    uri = editor.open("found.spec", MODULES)
    assert editor.texts_at(uri, editor.at("definition", uri, "first into", 2)) == ["4:first"]
    assert editor.texts_at(uri, editor.at("definition", uri, "data = b")) == ["2:data"]
    assert editor.texts_at(uri, editor.at("definition", uri, "part(data")) == ["2:part"]
    context = {"includeDeclaration": True}
    places = editor.at("references", uri, "data = b", context=context)
    assert editor.texts_at(uri, places) == ["2:data", "4:data", "5:data", "12:data"]
    places = editor.at("references", uri, "data = b", context={"includeDeclaration": False})
    assert editor.texts_at(uri, places) == ["4:data", "5:data", "12:data"]
    marks = editor.at("documentHighlight", uri, "own : f32")
    assert editor.texts_at(uri, marks) == ["3:own", "4:own", "5:own"]
    assert [mark["kind"] for mark in marks] == [3, 3, 2]
    assert editor.at("definition", uri, "spec 1") == []
    assert editor.at("references", uri, "host", context=context) == []


def test_a_rename_reaches_every_place(editor: Client) -> None:
    """And writes out what a call took by its name, so that the round stays what it was."""
    uri = editor.open("rename.spec", MODULES)
    place = editor.at("prepareRename", uri, "s\n  buffer b")
    assert place["placeholder"] == "s" and editor.texts_at(uri, [place]) == ["10:s"]
    changes = editor.at("rename", uri, "s\n  buffer b", newName="main")["changes"]
    text = editor.edited(uri, changes[uri])
    assert "call part(s = main, data = b, n = 4)" in text and "phase inside on main" in text
    assert "module part(stream s," in text
    before = [one["message"] for one in editor.findings(uri)]
    editor.change(uri, text)
    assert [one["message"] for one in editor.findings(uri)] == before


def test_a_rename_that_cannot_be_is_refused(editor: Client) -> None:
    """With the reason; words and numbers are no names."""
    uri = editor.open("refused.spec", SMALL)
    for name, reason in {
        "fork": "`fork` is a reserved word, so it cannot be a name",
        "2x": "'2x' is not a name: letters, digits and `_`, no digit first",
        "main": "`main` already names something else here",
        "take": "`take` already names something else here",
        "host": "`host` is built in",
    }.items():
        with pytest.raises(ServerError) as error:
            editor.at("rename", uri, "side : copy", newName=name)
        assert str(error.value) == reason
    with pytest.raises(ServerError, match="there is no name here"):
        editor.at("rename", uri, "fork", newName="x")
    assert editor.at("prepareRename", uri, "fork") is None
    assert editor.at("prepareRename", uri, "1, 4") is None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("phase a on ", "main side host"),
        ("fork ", "main side"),
        ("fork side from ", "prev make take main side"),
        ("fork side from ma", "prev make take main side"),
        ("join prev ", "make take later"),
        ("join side into ", "main side host"),
        ("phase a on main { reads ", "prev x y"),
        ("phase a on main { reads x, ", "prev x y"),
        ("phase a on main { updates ", "prev x y"),
        ("phase a on main { ", "collective cost reads rows updates when writes"),
        ("phase a on main ", "across_rows host_sync raw skip_idle"),
        ("phase a on main { rows ", "bs ceil_div false len max min true width"),
        ("phase a on main { reads x[_, ", "bs ceil_div false len max min true width"),
        (
            "phase a on main { collective ",
            "all_gather all_reduce all_to_all broadcast low_latency reduce_scatter",
        ),
        ("buffer z : ", "bf16 bool f16 f32 f64 i16 i32 i64 i8 opaque u8"),
        ("stream c : ", "comm compute copy update"),
        ("stream c = ", "host main side"),
        ("param other = width + ", "bs ceil_div false len max min true width"),
        ("param ", ""),
        ("# fork side from ", ""),
        ('require true, "fork ', ""),
    ],
)
def test_what_may_stand_there_is_offered(editor: Client, line: str, expected: str) -> None:
    """Words by the grammar, names by what has to be named, in the middle of a text."""
    rest = "  phase later on main { reads x }\n}\n"
    text = SMALL.partition("}\n\nvariant")[0] + f"  {line}\n{rest}"
    # Where a statement could end, the next may begin.
    begins = {*STATEMENTS} if "{" not in line else set()
    uri = editor.open("complete.spec", text)
    found = [w for w in offered(editor, uri, f"into main\n  {line}") if w not in begins]
    assert sorted(found) == sorted(expected.split())


def test_statements_are_offered_where_one_may_stand(editor: Client) -> None:
    """In a pipeline its statements, at the top the parts of a file, in a variant `set` and its names."""
    uri = editor.open("statements.spec", SMALL)
    assert offered(editor, uri, "into main\n") == sorted(STATEMENTS)
    assert offered(editor, uri, "spec 1\n") == ["module", "pipeline", "use", "variant"]
    assert offered(editor, uri, "variant wide of ") == ["small"]
    assert offered(editor, uri, "of small { ") == ["set"]
    assert offered(editor, uri, "of small { set ") == ["width"]


def test_parts_are_offered_with_what_they_take(editor: Client) -> None:
    """Modules behind `call`, their formals in the brackets, what they hold behind a dot."""
    uri = editor.open("calls.spec", MODULES)
    assert offered(editor, uri, "  call ") == ["part"]
    assert offered(editor, uri, "call part(") == ["s", "data", "n", "deep"]
    assert offered(editor, uri, "call part(data = b, ") == ["s", "n", "deep"]
    assert "b" in offered(editor, uri, "call part(data = ")
    assert "s" not in offered(editor, uri, "call part(data = ")
    assert offered(editor, uri, "join parts[0].") == ["first", "last"]
    assert offered(editor, uri, "join g.") == ["loaded"]


def outline(symbols: list[dict]) -> list:
    return [
        (one["name"], outline(one["children"])) if one.get("children") else one["name"]
        for one in symbols
    ]


def test_the_outline_is_that_of_the_text(editor: Client) -> None:
    """Also while a statement is half written, and of the last text that could be read otherwise."""
    uri = editor.open("outline.spec", SMALL)
    inside = ["width", "bs", "main", "side", "x", "y", "make", "take"]

    def found() -> list:
        return outline(editor.ask("textDocument/documentSymbol", textDocument={"uri": uri}))

    assert found() == [("small", inside), "wide"]
    editor.change(uri, SMALL.replace("fork side from make", "fork side from"))
    assert found() == [("small", inside), "wide"]
    editor.change(uri, SMALL.partition("  join")[0])
    assert found() == [("small", inside)]
    editor.change(uri, "\0" + "{[" * 200)
    assert found() == [("small", inside)]
    uri = editor.open("parts.spec", MODULES)
    symbols = editor.ask("textDocument/documentSymbol", textDocument={"uri": uri})
    assert outline(symbols)[1] == ("p", ["tp", "graphs", "s", "b", "parts[0]", ("g", ["inside"])])
    for one in symbols:
        assert editor.texts_at(uri, [{"range": one["selectionRange"]}])[0].endswith(one["name"])


STRANGE = """\
spec 1
pipeline p {
  # 中文注释 😀
  stream main
  require true, "注意😀" buffer 计x : i64[4]
}
"""


@pytest.mark.parametrize(
    ("encodings", "chosen", "units"),
    [
        (None, "utf-16", lambda text: len(text.encode("utf-16-le")) // 2),
        (["utf-8", "utf-16"], "utf-8", lambda text: len(text.encode())),
        (["utf-32", "utf-16"], "utf-32", len),
    ],
)
def test_columns_are_counted_as_the_client_counts(
    encodings: list[str] | None, chosen: str, units, tmp_path: Path
) -> None:
    """Behind Chinese and emoji on the same line, in what is told and in what is asked."""
    editor = Client(tmp_path, encodings)
    assert editor.capabilities["positionEncoding"] == chosen
    text = STRANGE.replace("计x", "x")
    uri = editor.open("strange.spec", text.replace("i64[4]", "i65[4]"))
    (finding,) = editor.findings(uri)
    before = '  require true, "注意😀" buffer x : '
    assert finding["range"]["start"] == {"line": 4, "character": units(before)}
    assert finding["range"]["end"] == {"line": 4, "character": units(before + "i65")}
    editor.change(uri, text)
    place = {"line": 4, "character": units('  require true, "注意😀" buffer ')}
    (found,) = editor.ask("textDocument/definition", textDocument={"uri": uri}, position=place)
    assert found["range"]["start"] == place
    assert editor.end() == 0


def test_used_files_are_those_of_the_document_folder(editor: Client) -> None:
    """Definitions and renames lead there; what is wrong there is said at the `use`, with its place."""
    part = "spec 1\nmodule step(stream s, buffer x) { phase one on s { updates x } }\n"
    (editor.folder / "below").mkdir()
    (editor.folder / "below" / "part.spec").write_text(part)
    whole = (
        'spec 1\nuse "below/part.spec"\npipeline p {\n  stream s\n  buffer b : i64[4] carried\n'
        "  call part.step(x = b) as a\n  join a.one into s\n}\n"
    )
    uri = editor.open("whole.spec", whole)
    assert editor.findings(uri) == []
    there = editor.uri("below/part.spec")
    (found,) = editor.at("definition", uri, "one into")
    assert (found["uri"], found["range"]["start"]) == (there, {"line": 1, "character": 40})
    (found,) = editor.at("definition", uri, "part.step")
    assert (found["uri"], found["range"]["end"]) == (there, {"line": 0, "character": 0})
    assert offered(editor, uri, "call part.") == ["step"]
    changes = editor.at("rename", uri, "step(x", newName="go")["changes"]
    assert {name: len(edits) for name, edits in changes.items()} == {uri: 1, there: 1}
    opened = editor.open("below/part.spec", part)
    changes = editor.at("rename", opened, "x) {", newName="data")["changes"]
    assert "call part.step(data = b) as a" in editor.edited(uri, changes[uri])
    assert "buffer data) { phase one on s { updates data }" in editor.edited(opened, changes[there])
    context = {"includeDeclaration": True}
    places = editor.at("references", opened, "one on", context=context)
    assert [one["uri"] for one in places] == [there, uri]
    (editor.folder / "below" / "part.spec").write_text(part.replace("updates x", "updates z"))
    editor.change(uri, whole + "\n")
    (finding,) = editor.findings(uri)
    assert editor.texts_at(uri, [finding]) == ['2:use "below/part.spec"']
    assert finding["message"].startswith("`z` is not a buffer")
    assert finding["relatedInformation"][0]["location"]["uri"] == there
    editor.change(uri, whole.replace("below/", "above/"))
    (finding,) = editor.findings(uri)
    assert finding["code"] == "PL115"


def test_formatting_is_offered_where_there_is_a_layout(editor: Client) -> None:
    """The capability is there exactly when this version can lay out a text."""
    there = find_spec("plait.dsl.format") is not None
    assert bool(editor.capabilities.get("documentFormattingProvider")) == there
    if there:
        uri = editor.open("layout.spec", SMALL.replace("  phase make", "      phase   make"))
        options = {"tabSize": 2, "insertSpaces": True}
        edits = editor.ask("textDocument/formatting", textDocument={"uri": uri}, options=options)
        assert "  phase make" in editor.edited(uri, edits)


def test_a_closed_document_has_no_findings_and_no_answers(editor: Client) -> None:
    """Nor has one that was never opened."""
    uri = editor.open("closed.spec", SMALL.replace("updates x", "updates z"))
    assert editor.findings(uri)
    editor.published.clear()
    editor.tell("textDocument/didClose", textDocument={"uri": uri})
    assert editor.at("hover", uri, "x : i64") is None
    assert [one["diagnostics"] for one in editor.published if one["uri"] == uri] == [[]]
    editor.texts["untitled:new"] = SMALL
    assert editor.at("definition", "untitled:new", "make on") == []
    assert editor.at("completion", "untitled:new", "make on") == []
    assert editor.at("rename", "untitled:new", "make on", newName="a") == {"changes": {}}


def test_a_text_that_is_no_file_is_judged_too(editor: Client) -> None:
    """A new document of the editor has no folder to use files from, and a name that may be anything."""
    item = {
        "uri": "untitled:Un%1btitled-1",
        "languageId": "plait",
        "version": 1,
        "text": SMALL + "x",
    }
    editor.tell("textDocument/didOpen", textDocument=item)
    editor.versions[item["uri"]], editor.texts[item["uri"]] = 1, item["text"]
    (finding,) = editor.findings(item["uri"])
    assert finding["code"] == "PL001"


def test_bad_messages_leave_the_server_as_it_was(editor: Client) -> None:
    """No JSON, no method, no document, places outside a text, names of the wrong kind."""
    uri = editor.open("bad.spec", SMALL)
    editor.send_bytes(b"{nonsense")
    editor.send_bytes(b"[]")
    editor.tell("textDocument/nothing")
    with pytest.raises(ServerError):
        editor.ask("textDocument/nothing")
    editor.send({"id": "x", "method": "textDocument/hover", "params": {"textDocument": 1}})
    outside = {"line": 99999, "character": 99999}
    assert editor.ask("textDocument/hover", textDocument={"uri": uri}, position=outside) is None
    end = {"line": 0, "character": 99999}
    assert editor.ask("textDocument/definition", textDocument={"uri": uri}, position=end) == []
    assert editor.texts_at(uri, editor.at("definition", uri, "make on")) == ["10:make"]


def test_the_server_ends_with_its_client(tmp_path: Path) -> None:
    """By good-bye with 0, by `exit` alone with 1, and when its stdin ends, whatever it is doing."""
    assert Client(tmp_path).end() == 0
    rude = Client(tmp_path)
    rude.tell("exit")
    assert rude.left() == 1
    gone = Client(tmp_path)
    gone.open(
        "long.spec", "spec 1\npipeline p { stream s for i in 1 .. 900000 { phase a[i] on s { } } }"
    )
    time.sleep(0.5)
    assert gone.process.stdin is not None
    gone.process.stdin.close()
    assert gone.left() == 1
