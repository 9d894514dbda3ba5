"""`plait check --format`: the same findings for people, editors, GitHub and readers of SARIF."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from plait.cli import main
from plait.compiler.rules import meanings
from plait.dsl.codes import CODES, severity_of
from plait.dsl.render.formats import FORMATS

RACE = """\
spec 1
pipeline p {
  stream main
  stream side
  buffer x : i64[4]
  buffer y : i64[4]
  phase make on main { writes x }
  fork side from make
  phase look on side { reads x  writes y }
}
"""
NOTED = """\
spec 1
pipeline p {
  stream main
  buffer x : i64[4] carried
  phase step on main { updates x }
  join prev step into host
}
"""


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    """Writes a text to a file, checks it in a format, gives exit code and output."""
    monkeypatch.chdir(tmp_path)

    def run(format: str, text: str, *more: str, name: str = "a.spec") -> tuple[int, str]:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        code = main(["check", "--format", format, name, *more])
        out, err = capsys.readouterr()
        assert err == ""
        return code, out

    return run


def test_concise_is_one_line_a_finding(check) -> None:
    """Those that follow from another have their own; a sound file has none."""
    code, out = check("concise", RACE)
    assert code == 2
    assert out == (
        "a.spec:8:3: PL401 side is forked here and never comes back: nothing waits for `look`\n"
        "a.spec:7:31: PL201 `make` on main may overwrite `x` while `look` on side of the round before "
        "still reads it\n"
    )
    assert check("concise", NOTED) == (
        0,
        "a.spec:6:3: PL901 note: no data needs `join prev step into host`\n",
    )
    assert check("concise", NOTED.replace("  join prev step into host\n", "")) == (0, "")


def test_github_gets_workflow_commands(check) -> None:
    """Errors and notices with file, place and title; what would end a property or a line is escaped."""
    code, out = check("github", RACE, name="100%, a:b.spec")
    assert code == 2
    assert out == (
        "::error file=100%25%2C a%3Ab.spec,line=8,col=3,endColumn=22,title=PL401::side is forked here and "
        "never comes back: nothing waits for `look`%0Ahelp: add `join side into STREAM` where the branch is "
        "needed, or `join prev look into host`\n"
        "::error file=100%25%2C a%3Ab.spec,line=7,col=31,endColumn=32,title=PL201::`make` on main may "
        "overwrite `x` while `look` on side of the round before still reads it%0Ahelp: or let rounds take "
        "turns, with more `copies` of `x`%0Afix: before line 7, write: join prev look into main\n"
    )
    code, out = check("github", NOTED)
    assert code == 0 and out.startswith(
        "::notice file=a.spec,line=6,col=3,endColumn=27,title=PL901::"
    )


def test_github_knows_columns_of_one_line_only(check) -> None:
    """A finding over several lines is given its lines."""
    _, out = check("github", NOTED.replace("join prev step into", "join prev step\n    into"))
    assert out.startswith("::notice file=a.spec,line=6,endLine=7,title=PL901::")


def test_sarif_is_a_log_of_one_run(check) -> None:
    """Version, the whole table of rules, results that point into it, labels, and the fix as an edit."""
    code, out = check("sarif", RACE)
    log = json.loads(out)
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert code == 2 and log["version"] == "2.1.0" and run["columnKind"] == "utf16CodeUnits"
    assert [rule["id"] for rule in driver["rules"]] == sorted(meanings())
    levels = {rule["id"]: rule["defaultConfiguration"]["level"] for rule in driver["rules"]}
    assert (levels["PL201"], levels["PL901"]) == ("error", "note")
    branch, race = run["results"]
    for result in (branch, race):
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] == "error"
    assert branch["ruleId"] == "PL401" and "fixes" not in branch
    file = {"uri": "a.spec"}
    assert race["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": file,
                "region": {"startLine": 7, "startColumn": 31, "endLine": 7, "endColumn": 32},
            }
        }
    ]
    (label,) = race["relatedLocations"]
    assert label["message"] == {"text": "reads x"}
    assert label["physicalLocation"]["region"]["startLine"] == 9
    (fix,) = race["fixes"]
    (change,) = fix["artifactChanges"]
    assert fix["description"]["text"] == "before line 7, write: join prev look into main"
    assert change == {
        "artifactLocation": file,
        "replacements": [
            {
                "deletedRegion": {"startLine": 7, "startColumn": 3, "endLine": 7, "endColumn": 3},
                "insertedContent": {"text": "join prev look into main\n  "},
            }
        ],
    }
    assert race["properties"]["facts"]["missing edge"] == "join prev look into main"
    code, out = check("sarif", NOTED)
    assert code == 0 and json.loads(out)["runs"][0]["results"][0]["level"] == "note"


def test_sarif_counts_utf16_and_encodes_names(check) -> None:
    """A character beyond the first plane is two units; a name is a relative, percent-encoded URI."""
    text = 'spec 1\npipeline p { require true, "🜁验"  stream nope nope }\n'
    _, out = check("sarif", text, name="规格 dir/a#b.spec")
    (result,) = json.loads(out)["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "%E8%A7%84%E6%A0%BC%20dir/a%23b.spec"
    character = text.splitlines()[1].index("nope nope") + len("nope ")
    assert place["region"]["startColumn"] == character + 1 + 1
    assert place["region"]["endColumn"] == character + 1 + 1 + len("nope")


@pytest.mark.parametrize("format", FORMATS)
def test_a_finding_in_a_setting_has_no_file(format: str, check) -> None:
    """What is wrong with `--set` is said with its own place, in every format."""
    code, out = check(format, NOTED, "--set", "steps=3")
    assert code == 2 and "has no param or flag `steps`" in out
    if format == "github":
        assert out.startswith("::error title=PL105::--set:1:1: ")
    if format == "sarif":
        assert json.loads(out)["runs"][0]["results"][0]["locations"] == []


@pytest.mark.parametrize("format", FORMATS)
def test_a_name_cannot_steer_what_reads_it(format: str, check) -> None:
    """A file whose name has a line end and an escape code adds no line and no code of its own."""
    _, out = check(format, RACE, name="a\n::error::b\x1b[2J.spec")
    assert "\x1b" not in out
    assert not re.search(r"^::error::", out, re.MULTILINE)


@pytest.mark.parametrize("format", FORMATS)
def test_a_name_that_is_no_text_is_printed(format: str, check) -> None:
    """Bytes that are no UTF-8 come out escaped, not as a traceback."""
    code, out = check(format, RACE, name="a\udcff.spec")
    assert code == 2 and out


def test_notes_change_no_exit_code(check) -> None:
    """A file with notes alone is sound, and says both."""
    code, out = check("terminal", NOTED)
    assert code == 0
    assert out.startswith("note[PL901]: no data needs `join prev step into host`\n")
    assert out.endswith("a.spec: sound\n")
    code, out = check("json", NOTED)
    data = json.loads(out)
    assert code == 0 and data["sound"] is True
    assert [one["severity"] for one in data["findings"]] == ["note"]


def test_json_is_a_format_like_the_others(check, capsys) -> None:
    """`--json` and `--format json` give the same."""
    code, out = check("json", RACE)
    assert main(["check", "--json", "a.spec"]) == code
    assert capsys.readouterr().out == out


def test_every_code_has_a_severity_by_its_family() -> None:
    """9 is waste, which is noted, as is what is only likely to be wrong; the rest is refused."""
    notes = {code for code in meanings() if severity_of(code) == "note"}
    waste = {code for code in meanings() if code.startswith("PL9")}
    assert notes == {"PL459", "PL702", "PL703", "PL707"} | waste and set(CODES) <= set(meanings())
