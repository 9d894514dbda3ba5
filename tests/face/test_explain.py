"""`plait explain` with times: the page in docs/, what must come out of a round, and bad input."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pages.console import commands, with_shown
from plait.cli import main


def printed(capsys, *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def data(capsys, *arguments: str) -> dict:
    return json.loads(printed(capsys, "explain", *arguments, "--json"))


@pytest.fixture
def example(root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(root)
    return lambda name: f"examples/{name}.spec"


def test_the_page_shows_what_is_printed(root, tmp_path, monkeypatch, capsys, request) -> None:
    """Each command of docs/explain.md with all that it prints; `--update-golden` writes it anew."""
    path = root / "docs" / "explain.md"
    text = path.read_text(encoding="utf-8")
    spec = re.search(r"```spec\n(.*?)```", text, re.DOTALL)
    assert spec is not None
    (tmp_path / "layer.spec").write_text(spec[1], encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    made, count = text, len(commands(text))
    for number in range(count):
        shown = commands(made)[number]
        lines = printed(capsys, *shown.command.removeprefix("plait ").split()).splitlines()
        made = with_shown(made, shown, tuple(lines))
    if request.config.getoption("--update-golden"):
        path.write_text(made, encoding="utf-8")
    assert count == 5 and made == path.read_text(encoding="utf-8")


def test_r3_widths_for_each_request(example, capsys) -> None:
    """Draft topk, verify and extend num_draft_tokens, and one row of logits out of extend."""
    rows = {
        one["name" if "name" in one else "capture"]: one["rows_for_each"]
        for graph in data(capsys, example("operating_points"))["captures"]
        for one in (graph, *graph["phases"])
    }
    assert rows == {
        "draft.rollout": {"bs": 1},
        "verify.forward": {"bs": 3},
        "extend.forward": {"bs": 3},
        "extend.head": {"bs": 1},
    }


def test_r5_five_requests_in_a_bucket_of_eight(example, capsys) -> None:
    """15 rows of 24 that are replayed, and 9 of padding."""
    found = data(capsys, example("eagle"), "--set", "num_steps=2", "--bs", "5")["captures"]
    verify = {
        key: value for key, value in found[1].items() if key not in ("phases", "rows_for_each")
    }
    assert verify == {
        "capture": "verify",
        "bs": 5,
        "bucket": 8,
        "rows_real": 15,
        "rows_replayed": 24,
        "rows_padded": 9,
    }


def test_r7_the_largest_of_a_group_decides(example, capsys) -> None:
    """All ranks replay the bucket of 7 requests, however few a rank has."""
    verify = data(capsys, example("attention_dp"), "--bs", "5,2,7,1")["captures"][1]
    assert (verify["bs"], verify["bucket"], verify["rows_real"]) == (7, 8, 21)
    ranks = [(one["bs"], one["rows_real"], one["rows_padded"]) for one in verify["ranks"]]
    assert ranks == [(5, 15, 9), (2, 6, 18), (7, 21, 3), (1, 3, 21)]


def test_r9_verify_planning_overlaps_nothing(example, capsys) -> None:
    """Between the tree that it reads and the verify that reads what it makes."""
    (fork,) = data(capsys, example("verify_planning"), "--times")["forks"]
    assert fork["overlap"] == 0 and fork["work"] == fork["exposed"] > 0
    assert fork["needs"] == "plan_verify.prepare needs tree of draft"
    assert fork["needed_by"] == "target needs verify_meta of plan_verify.prepare"
    text = printed(capsys, "explain", example("verify_planning"))
    assert f"overlap 0: {fork['needs']}; {fork['needed_by']}" in " ".join(text.split())


def test_r12_small_buckets_fork_and_large_ones_do_not(example, capsys) -> None:
    """To the streams of query and key/value up to 64 rows; the draft's layer never."""
    text = printed(capsys, "explain", example("deepseek_v4"), "--buckets")
    assert "verify: forks to kv, q, iw, iq at bs = 1 .. 21\n" in text
    assert "verify: forks to kv, iw, iq at bs = 22 .. 32\n" in text and "draft: forks" not in text


ASCEND = ("--target", "ascend910c")


@pytest.mark.parametrize("mode", ["", "normal_"])
def test_r13_and_r14_what_hides_an_exchange(example, capsys, mode: str) -> None:
    """The shared expert, wherever it is beside one, hides some of it; behind all, nothing."""
    shown = {
        place: data(capsys, example("moe"), *ASCEND, "--comm", "--variant", mode + place)
        for place in ("serial", "combine", "side")
    }
    serial = shown["serial"]
    assert serial["exposed"]["beside_independent_work"] == serial["communication"]
    assert {why["kind"] for one in serial["exchanges"] for why in one["why"]} == {"stream"}
    for place in ("combine", "side"):
        for one in shown[place]["exchanges"]:
            assert one["exposed"] == max(0, one["ends"] - one["begins"] - one["covered"])
            assert bool(one["covered"]) is bool(one["beside"])
            assert all("shared_expert" in name for name in one["beside"])
        covered = sum(one["covered"] for one in shown[place]["exchanges"])
        assert 0 < serial["communication"] - covered == shown[place]["exposed"]["device_wide"]
        assert shown[place]["round"] < serial["round"]


def test_r17_a_graph_that_loses_is_named(example, capsys) -> None:
    """On few kernels and wide buckets, padding and preparation cost more than one launch saves."""
    arguments = example("eagle"), *ASCEND, "--balance", "--bs", "5"
    draft, verify, extend = data(capsys, *arguments)["graphs"]
    assert draft["net"] == draft["launches_saved"] - draft["padding"] - draft["preparation"] > 0
    assert verify["net"] < 0 and extend["net"] < 0 and extend["memory"] > 0
    losing = printed(capsys, "explain", example("deepseek_v4"), *ASCEND, "--balance", "--bs", "20")
    assert "draft costs more than it saves: it could run without a graph\n" in losing


def test_r17_both_say_what_a_graph_is_worth_in_a_padded_bucket(example, capsys) -> None:
    """What a round gains by a graph is what the variant without it loses: eager phases are padded as well."""
    costs = ("--costs", "examples/costs/operating_points.toml", "--bs", "5")
    extend = data(capsys, example("operating_points"), *costs, "--balance")["graphs"][2]
    eager = f"{example('operating_points')}@graph_graph_eager"
    assert main(["diff", example("operating_points"), eager, *costs, "--json"]) == 1
    (round,) = [
        one for one in json.loads(capsys.readouterr().out)["amounts"] if one["name"] == "round"
    ]
    assert extend["gained"] == round["change"] == -15_000 and extend["padding"] == 12_000


def test_r19_a_token_costs_a_ratio_of_sums(example, capsys) -> None:
    """The round over the mean accept length, and not the mean over lengths of the round over each."""
    for lengths, mean in (("2.5", 2.5), ("1:1,4:1", 2.5)):
        time = data(capsys, example("eagle"), "--accept", lengths)["time"]
        assert (time["accepted"], time["per_token"]) == (mean, time["round"] / mean)


def test_one_graph_is_called_so(tmp_path, capsys) -> None:
    """Where all that a round has on streams is in it, and the host may do what it wants."""
    path = tmp_path / "one.spec"
    path.write_text(
        "spec 1\npipeline one {\n  dim bs in [4]\n  stream main\n  buffer x : i64[bs] carried\n"
        "  phase plan on host {}\n  capture all on main rows bs { phase step on main { updates x } }\n}\n"
    )
    (bucket,) = data(capsys, str(path), "--buckets")["buckets"]
    assert (bucket["runs"], bucket["graphs"], bucket["obstacles"]) == ("graph", {"all": 4}, {})


def test_the_skeleton_as_data_has_the_times_of_its_branches(example, capsys) -> None:
    """Those that `--times` has: how long each is, what is exposed of it, its slack, who is last."""
    found = data(capsys, example("eagle"))["forks"]
    assert found == data(capsys, example("eagle"), "--times")["forks"]
    plan, *_ = found
    assert plan["exposed"] == plan["work"] > 0 and plan["slack"] == 0 and plan["others_waited"] > 0


def test_the_path_tiles_the_round(example, capsys) -> None:
    """Part by part without a gap, to the nanosecond."""
    for name in ("eagle", "moe"):
        found = data(capsys, example(name), "--path")
        ends = [0, *(one["end"] for one in found["path"])]
        assert ends[:-1] == [one["start"] for one in found["path"]] and ends[-1] == found["round"]


def test_without_costs_there_are_no_times(root, tmp_path, capsys) -> None:
    """The skeleton as it is; a view of times says what to give."""
    known = (root / "compiler" / "targets" / "cpu.toml").read_text(encoding="utf-8")
    mine = known.replace('name = "cpu"', 'name = "mine"').replace('costs = "costs/cpu.toml"', "")
    (tmp_path / "mine.toml").write_text(mine, encoding="utf-8")
    (tmp_path / "p.spec").write_text(
        "spec 1\npipeline p { stream a  buffer x : i64[4] carried  phase go on a { updates x } }\n"
    )
    spec, target = str(tmp_path / "p.spec"), ("--target", str(tmp_path / "mine.toml"))
    assert "time" not in data(capsys, spec, *target)
    assert main(["explain", spec, *target, "--times"]) == 2
    assert capsys.readouterr().err == (
        "plait explain: no costs are known for mine: give a profile with --costs FILE\n"
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--sync", "--bs", "5"], "--bs is for a view of times, and --sync is none"),
        (["--bs", "9"], "--bs: "),
        (["--bs", "5,x"], "--bs 5,x: write a count of requests, or several as 5,2,7,1"),
        (["--accept", "0"], "--accept 0: should be a mean such as 2.3"),
        (["--costs", "none.toml"], "none.toml"),
    ],
)
def test_what_was_not_meant_so(example, capsys, arguments: list[str], says: str) -> None:
    """One line, which says what was expected."""
    assert main(["explain", example("eagle"), *arguments]) == 2
    err = capsys.readouterr().err
    assert err.startswith("plait explain: ") and says in err and err.count("\n") == 1
