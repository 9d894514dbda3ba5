"""`plait diff`: what it takes, prints and writes, and how it ends."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from pages.console import commands
from plait.cli import main

ROUND = """\
spec 1
use "parts.spec"
pipeline round {
  param wide = 4
  stream main
  stream side
  buffer x : i64[4] carried
  buffer y : i64[4]
  phase draft on main { updates x  cost 10us }
  fork side from draft
  phase plan on side { reads x  writes y  cost 5us }
  join side into main
  call parts.verify()
}
variant wider of round { set wide = 8 }
"""
PARTS = """\
spec 1
module verify(stream main, buffer x, buffer y) {
  phase target on main { reads y  updates x  cost 30us }
}
"""
COSTS = """\
name = "one die"
target = "cpu"
[host]
run = "1us"
wait = "1us"
record = "1us"
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: Path) -> Path:
    """A folder with the examples."""
    shutil.copytree(root / "examples", tmp_path / "examples")
    (tmp_path / "costs.toml").write_text(COSTS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a spec in a folder that uses another, committed twice; the last edit is not."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    specs = tmp_path / "specs"
    specs.mkdir()
    git("init", "-q")
    for spec, parts in ((ROUND, PARTS), (ROUND, PARTS.replace("30us", "20us"))):
        (specs / "round.spec").write_text(spec)
        (specs / "parts.spec").write_text(parts)
        git("add", "-A")
        git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "a round")
    (specs / "round.spec").write_text(ROUND.replace("cost 5us", "cost 7us"))
    return tmp_path


def git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], check=True)


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(("diff", *arguments))
    return code, *capsys.readouterr()


SERIAL = """\
examples/verify_planning.spec -> examples/verify_planning.spec@serial at bs = 8
examples/verify_planning.spec@serial is 4 us (67 %) faster a round; 1 setting changed, 1 stream removed, \
1 phase moved, 2 edges removed, 1 issue order changed, 1 issue order removed; \
the phases that both have keep their order.

foretold with the costs of one die
  round    6 us -> 2 us   (-4 us, -67 %)   better
  records  2 -> 0   (-2, -100 %)   better
  waits    2 -> 0   (-2, -100 %)   better
  streams  2 -> 1   (-1, -50 %)   better

what differs
  ~ setting overlap_plan: true -> false
  - stream plan: compute
  > phase plan_verify.prepare: on plan -> on main
  - edge draft -> plan_verify.prepare: one wait
  - edge plan_verify.prepare -> verify: one wait
  ~ issue order main: draft, verify -> draft, plan_verify.prepare, verify
  - issue order plan: plan_verify.prepare
"""


def test_verify_planning_hides_nothing(here, capsys) -> None:
    """R9: with the flag off a round is as long but for what its records and waits cost, in the same order."""
    spec = "examples/verify_planning.spec"
    code, out, _ = run(capsys, spec, f"{spec}@serial", "--costs", "costs.toml")
    assert code == 1
    assert out == SERIAL


def test_a_fence_is_one_edge_with_its_cost(here, capsys) -> None:
    """R10: early against fenced planning of the draft extend differs in one edge, which is priced."""
    spec = "examples/extend_planning.spec"
    code, out, _ = run(capsys, "--json", spec, f"{spec}@fenced")
    data = json.loads(out)
    edges = [(row["change"], row["now"]) for row in data["rows"] if row["kind"] == "edge"]
    assert code == 1 and edges == [("added", "cast -> plan_extend.prepare")]
    assert "that is what the edge cast -> plan_extend.prepare costs" in data["summary"]
    (round,) = [one for one in data["amounts"] if one["name"] == "round"]
    assert round["verdict"] == "worse" and not data["hazards"]


def test_an_unsafe_form_is_compared_and_its_hazard_named(here, capsys) -> None:
    """R10: a cast of accepted ids on the plan stream is faster, and wrong; that fails whatever the gates."""
    spec = "examples/extend_planning.spec"
    asked = (spec, spec, "--set-b", "early_cast=true", "--fail-on", "slower>50%")
    code, out, _ = run(capsys, *asked)
    says = "`cast_early` on plan may read `accepted` before `accept` on main has written it"
    assert code == 1
    assert f"hazards\n  ! new PL201: {says} (extend_planning.spec:38)\n" in out
    assert out.endswith(f"\nfails hazard: PL201: {says} (extend_planning.spec:38)\n")
    code, out, _ = run(capsys, spec, spec, "--set-a", "early_cast=true", "--fail-on", "memory")
    assert code == 0 and "hazards\n  - gone PL201" in out


def test_memory_is_compared_alike_where_a_side_is_refused(here, capsys) -> None:
    """Nothing shares memory in a round that is not proven, so buffers are counted apart on both sides."""
    spec = "examples/extend_planning.spec"
    data = json.loads(run(capsys, "--json", spec, spec, "--set-b", "early_cast=true")[1])
    memory = [one["change"] for one in data["amounts"] if one["name"] == "memory"]
    assert memory == [0]


def test_hazards_of_a_schedule_are_known_by_their_codes(here, capsys) -> None:
    """A schedule that was lowered unchecked keeps them as JSON: the same hazard on both sides is none."""
    spec = "examples/extend_planning.spec"
    asked = ("--set", "early_cast=true", "--unchecked", "-o", "racy.json")
    assert main(("compile", spec, *asked)) == 0
    capsys.readouterr()
    assert run(capsys, spec, "racy.json", "--set-a", "early_cast=true")[0] == 0
    code, out, _ = run(capsys, spec, "racy.json")
    assert code == 1 and "! new PL201: " in out


def test_no_difference_is_said_with_the_time_of_both(here, capsys) -> None:
    """A spec against itself, and against the schedule that it compiles to."""
    spec = "examples/eagle.spec"
    assert main(("compile", spec, "-o", "eagle.json")) == 0
    for other in (spec, "eagle.json"):
        code, out, _ = run(capsys, spec, other, "--costs", "costs.toml")
        assert code == 0
        assert (
            out
            == f"{spec} and {other}: no difference; both take 16 us a round with the costs of one die\n"
        )


def test_with_gates_a_difference_alone_is_fine(here, capsys) -> None:
    """Exit 1 is for a gate that fails; without gates it is for any difference."""
    asked = ("examples/eagle.spec@serial", "examples/eagle.spec", "--costs", "costs.toml")
    assert run(capsys, *asked)[0] == 1
    assert run(capsys, *asked, "--fail-on", "memory", "--fail-on", "waits>4")[0] == 0
    code, out, _ = run(
        capsys, *asked, "--fail-on", "memory", "--fail-on", "waits>3", "--fail-on", "streams"
    )
    assert code == 1
    assert out.endswith(
        "\nfails waits>3: waits: 4 (200 %) more\nfails streams: streams: 1 (50 %) more\n"
    )
    code, _, err = run(capsys, *asked, "--fail-on", "waist")
    assert code == 2 and err == (
        "plait diff: --fail-on waist: there is no gate waist; "
        "there are slower, cost, exposed, memory, streams, records, waits, hazard\n"
    )


def test_each_side_has_its_own_settings_and_costs(here, capsys) -> None:
    """With one argument, the sides are the same file under both."""
    (here / "slow.toml").write_text(COSTS.replace('run = "1us"', 'run = "9us"'))
    code, out, _ = run(capsys, "examples/eagle.spec", "--set-b", "num_steps=3")
    assert code == 1 and "~ setting num_steps: 2 -> 3" in out
    asked = ("examples/eagle.spec", "--costs-a", "costs.toml", "--costs-b", "slow.toml")
    code, out, _ = run(capsys, *asked, "--accept", "2.5", "--json")
    data = json.loads(out)
    changed = [one["name"] for one in data["amounts"] if one["change"]]
    assert code == 1 and not data["rows"] and changed == ["round", "cost per token"]
    assert data["after"] == "examples/eagle.spec --costs slow.toml"


def test_a_bucket_is_picked_for_both(here, capsys) -> None:
    """Orders and figures are those of the bucket that holds what is live."""
    asked = ("examples/eagle.spec", "examples/eagle.spec@deep", "--bs", "3", "--json")
    assert json.loads(run(capsys, *asked)[1])["buckets"] == ["bs = 4", "bs = 4"]


def test_sides_at_git_revisions(repository, capsys) -> None:
    """A spec with the files it uses, all of one revision; alone, what was edited since the last commit."""
    code, out, _ = run(capsys, "HEAD~1:specs/round.spec", "HEAD:specs/round.spec")
    assert code == 1 and "~ phase verify.target: costs 30us -> costs 20us\n" in out
    assert run(capsys, "HEAD~1:specs/round.spec@wider", "HEAD:./specs/round.spec")[0] == 1
    code, out, _ = run(capsys, "specs/round.spec")
    assert code == 1 and out.startswith("HEAD:./specs/round.spec -> specs/round.spec\n")
    assert "~ phase plan: costs 5us -> costs 7us\n" in out
    os.chdir("specs")
    assert run(capsys, "HEAD:./round.spec@wider", "HEAD:specs/round.spec@wider")[0] == 0


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("nope:specs/round.spec", "git knows no revision nope"),
        ("-p:specs/round.spec", "git knows no revision -p"),
        ("--help:specs/round.spec", "git knows no revision --help"),
        ("HEAD:specs/other.spec", "there is no file specs/other.spec at HEAD"),
        ("HEAD:specs", "there is no file specs at HEAD"),
        ("HEAD:../round.spec", "leads out of the repository"),
        (":specs/round.spec", "write it as REVISION:PATH, such as HEAD~1:examples/eagle.spec"),
    ],
)
def test_a_revision_that_is_not_there_is_refused(repository, capsys, asked: str, says: str) -> None:
    """What looks like an option to git is a revision that it does not know."""
    code, out, err = run(capsys, "--", asked, "specs/round.spec")
    assert code == 2 and not out
    assert err == f"plait diff: {asked}: {says}\n"


def test_git_that_is_not_there_is_said(repository, capsys, monkeypatch) -> None:
    """Outside a repository, and without git at all, which the environment is to blame for."""
    shutil.rmtree(repository / ".git")
    code, _, err = run(capsys, "HEAD:./specs/round.spec", "specs/round.spec")
    assert code == 2 and "git finds no repository here" in err
    monkeypatch.setenv("PATH", str(repository))
    code, _, err = run(capsys, "HEAD:./specs/round.spec", "specs/round.spec")
    assert code == 3 and "git cannot be run" in err


def test_names_of_a_spec_steer_no_terminal(here, capsys) -> None:
    """Nor does the name of a file."""
    odd = "a\x1b[31m.spec"
    shutil.copy("examples/eagle.spec", odd)
    code, out, _ = run(capsys, "examples/eagle.spec", odd)
    assert code == 0 and "\x1b" not in out
    code, out, _ = run(capsys, "examples/eagle.spec@serial", odd)
    assert code == 1 and "\x1b" not in out


def test_the_page_shows_both_sides(here, capsys) -> None:
    """Two timelines and every table, in a page that a file's name cannot break."""
    odd = "<script>alert(1)<!--.spec"
    shutil.copy("examples/eagle.spec", odd)
    code, _, _ = run(capsys, odd, f"{odd}@serial", "--html", "diff.html", "--svg", "diff.svg")
    assert code == 1
    page, drawing = (here / "diff.html").read_text(), (here / "diff.svg").read_text()
    for text in (page, drawing):
        assert "<script>alert" not in text
        assert f"A: {escaped(odd)}" in text.replace("\\u003c", "&lt;").replace("\\u003e", "&gt;")
    assert "<bdi>plan_verify -&gt; verify</bdi>" in page
    for heading in ("Figures of a round", "What differs"):
        assert f"<h2><bdi>{heading}</bdi></h2>" in page


def escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace(">", "&gt;")


def test_the_page_shows_what_is_printed(root, tmp_path, monkeypatch, capsys) -> None:
    """Each command of docs/diff.md prints what stands below it there."""
    text = (root / "docs" / "diff.md").read_text(encoding="utf-8")
    for kind, name in (("spec", "layer.spec"), ("toml", "die.toml")):
        (block,) = re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)
        (tmp_path / name).write_text(block)
    monkeypatch.chdir(tmp_path)
    shown = commands(text)
    assert len(shown) == 2
    for one in shown:
        words, _, tail = one.command.removeprefix("plait diff ").partition(" | ")
        _, out, _ = run(capsys, *shlex.split(words))
        lines = out.splitlines()
        assert (lines[-1:] if tail == "tail -1" else lines) == list(one.lines)
