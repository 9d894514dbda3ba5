"""`plait tune`: what its page shows, what it writes, refuses, and says when it is stopped."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import pytest

from pages.console import commands
from plait.cli import main
from plait.compiler.compile import Asked, compile_source, prove_all, read_source
from plait.compiler.measures.measures import measures
from plait.compiler.timing.costs_file import load_profile
from plait.compiler.tune.move import Space
from plait.compiler.tune.price import Load
from plait.compiler.tune.search import tuned


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: Path) -> Path:
    """A folder with the page's `layer.spec`, `die.toml` and `graphs.toml`, and the examples."""
    page = (root / "docs" / "tune.md").read_text(encoding="utf-8")
    (spec,) = re.findall(r"```spec\n(.*?)```", page, re.DOTALL)
    die, graphs = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    for name, text in (("layer.spec", spec), ("die.toml", die), ("graphs.toml", graphs)):
        (tmp_path / name).write_text(text)
    (tmp_path / "examples").symlink_to(root / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(("tune", *arguments))
    return code, *capsys.readouterr()


def test_the_page_shows_what_is_printed(here: Path, root: Path, capsys) -> None:
    """Each command on it, and below it what it prints; the second without the difference of texts."""
    page = (root / "docs" / "tune.md").read_text(encoding="utf-8")
    shown = commands(page)
    assert len(shown) == 2
    for one in shown:
        code, out, err = run(capsys, *one.command.removeprefix("plait tune ").split())
        assert (code, err) == (0, "")
        assert "\n".join(one.lines) in (
            "\n".join(map(str.rstrip, out.splitlines())),
            out.split("\n--- ")[0].strip(),
        )


def test_what_a_token_costs_is_said_of_a_round_too(here: Path, capsys) -> None:
    """The same schedule as without `--accept`, and its time over the tokens of a round."""
    arguments = ("layer.spec", "--costs", "die.toml")
    _, bare, _ = run(capsys, *arguments)
    _, out, _ = run(capsys, *arguments, "--accept", "2")
    first, then, *rest = out.splitlines()
    assert then == "by --accept a token takes 35 us -> 22.5 us"
    assert [first, *rest] == bare.splitlines()


def test_graph_graph_eager_is_chosen_where_a_graph_does_not_pay(here: Path, capsys) -> None:
    """R17: the two that save launches stay, the one that costs more than it saves goes."""
    arguments = ("--costs", "graphs.toml", "--moves", "settings", "--json")
    _, out, _ = run(capsys, "examples/operating_points.spec", *arguments)
    text = json.loads(out)["text"]
    settings = re.findall(
        r"(draft_graph|verify_graph|no_extend_graph) +=.*(true|false)\)?$", text, re.M
    )
    assert settings == [
        ("draft_graph", "true"),
        ("verify_graph", "true"),
        ("no_extend_graph", "true"),
    ]


def test_what_is_written_compiles_and_costs_what_was_said(here: Path, capsys) -> None:
    """And is laid out, with its comments."""
    commented = (
        (here / "layer.spec").read_text().replace("  phase latent", "  # Why.\n  phase latent")
    )
    (here / "layer.spec").write_text(commented)
    code, out, err = run(
        capsys, "layer.spec", "--costs", "die.toml", "-o", "best.spec", "--json", "--budget", "30"
    )
    assert (code, err) == (0, "wrote best.spec\n")
    found = json.loads(out)
    best = read_source("best.spec")
    assert best.text == found["text"] and "  # Why.\n" in best.text
    assert not any(d.severity == "error" for one in prove_all(best, Asked()) for d in one.findings)
    profile = load_profile(Path("die.toml"))
    for source, figures in ((read_source("layer.spec"), "start"), (best, "best")):
        schedule = compile_source(source, Asked())
        measured = measures(schedule, profile, len(schedule.buckets) - 1)
        assert found[figures]["time"] == measured.round
        assert found[figures]["memory"] == measured.memory
        assert found[figures]["streams"] == measured.streams
    assert main(("fmt", "--check", "best.spec")) == 0
    assert run(capsys, "layer.spec", "--costs", "die.toml", "--write")[2] == "wrote layer.spec\n"
    assert (here / "layer.spec").read_text() == best.text


def test_buckets_follow_what_was_seen(here: Path, capsys) -> None:
    """Rounds of one request are padded to one where that is what there is most of."""
    (here / "seen.txt").write_text("1 90\n3 10\n")
    (here / "rows.toml").write_text(
        'name = "by row"\ntarget = "cpu"\n[phases."*"]\nfixed = "1us"\nrow = "5us"\n'
    )
    layer = re.sub(r"  cost \w+", "", (here / "layer.spec").read_text()).replace("[1, 4]", "[4]")
    (here / "layer.spec").write_text(layer)
    arguments = ("--costs", "rows.toml", "--histogram", "seen.txt", "--moves", "buckets")
    code, out, _ = run(capsys, "layer.spec", *arguments)
    assert code == 0
    assert "layer at the bs of seen.txt, tuned for time" in out
    assert "  1. buckets of bs are 1, 3: " in out


def test_a_token_is_what_counts_where_steps_may_vary(here: Path, capsys) -> None:
    """Fewer steps are a shorter round of fewer tokens: by the token more may be better."""
    arguments = ["examples/draft_steps.spec", "--moves", "settings", "--json", "--bs", "1"]
    arguments += ["--vary", "num_steps=1", "--vary", "num_steps=3"]
    _, by_round, _ = run(capsys, *arguments)
    accept = ["--accept", "1:0.1,2:0.1,3:0.1,4:0.7", "--accept-most", "num_draft_tokens"]
    _, by_token, _ = run(capsys, *arguments, "--for", "token", *accept)
    shorter, cheaper = (json.loads(out)["best"] for out in (by_round, by_token))
    assert shorter["time"] < cheaper["time"]
    assert cheaper["token"] < shorter["time"] / 1.9  # of at most two tokens, 1.9 on average


def test_it_may_be_stopped(here: Path, capsys) -> None:
    """By the clock, or by Ctrl-C: what there is by then is the answer."""
    code, out, _ = run(capsys, "layer.spec", "--costs", "die.toml", "--seconds", "0")
    assert code == 0 and "\nit was stopped: this is the best so far\n" in out
    load = Load((((("bs", 4),), 1),))

    def interrupted(counts, best) -> bool:
        if counts.seen == 3:
            signal.raise_signal(signal.SIGINT)
        return True

    space = Space(Asked(), kinds=("captures", "issue"))
    profile = load_profile(Path("die.toml"))
    found = tuned(read_source("layer.spec"), space, profile, load, budget=50, watch=interrupted)
    assert (found.ended, found.counts.seen) == ("stopped", 3)
    assert found.best.price is not None


def test_no_text_of_a_spec_steers_the_terminal(here: Path, capsys) -> None:
    """A value that a variant sets is part of a step, and may hold anything."""
    text = (here / "layer.spec").read_text().replace("{\n", '{\n  param mode = "a"\n', 1)
    by_mode = 'when mode == "a" { cost 30us }  when mode != "a" { cost 1us }'
    text = text.replace("cost 30us", by_mode)
    red = '\nvariant red of layer { set mode = "\x1b[31m" }\n'
    (here / "layer.spec").write_text(text + red)
    code, out, _ = run(capsys, "layer.spec", "--costs", "die.toml", "--moves", "settings")
    assert code == 0 and "`mode` set to" in out
    assert "\x1b" not in out.split("\n--- ")[0]


def test_the_same_seed_finds_the_same(here: Path, capsys) -> None:
    """To the letter."""
    arguments = ("layer.spec", "--costs", "die.toml", "--moves", "captures,issue", "--budget", "12")
    first = run(capsys, *arguments, "--seed", "3")
    assert run(capsys, *arguments, "--seed", "3") == first


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--moves", "stream"), "--moves stream: there are no such; did you mean `streams`?"),
        (("--vary", "depth"), "--vary depth: write it as NAME=VALUE"),
        (("--vary", "dept=1"), "--vary dept: there is no such param or flag; the spec has none"),
        (("--for", "token"), "--for token: say how many tokens a round commits, --accept 2.3"),
        (("--budget", "-1"), "--budget -1: from 0 to 1,000,000 texts"),
        (("--streams", "0"), "--streams 0: from 1 to 64"),
        (("--bs", "9"), "--bs: "),
        (("--accept-most", "n"), "--accept-most goes with --accept: say how many"),
    ],
)
def test_what_cannot_be_is_one_line(here: Path, capsys, arguments, said: str) -> None:
    """Which argument, and what it should be."""
    code, out, err = run(capsys, "layer.spec", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"plait tune: {said}")
    assert err.count("\n") == 1
