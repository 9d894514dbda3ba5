"""Failures that only a trace shows: for each a small one by hand, and what aligning it with its spec says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from cases.test_cases import CASES

from plait.cli import main

PERIOD = 200
ROUNDS = 4
Row = tuple[str, int, int, int]
"""A kernel of a round: its name, its stream, and from when to when it runs, in microseconds."""
Files = Callable[..., Path]


def test_every_failure_that_a_trace_shows_is_shown() -> None:
    """Each row that is marked `trace` by a test of this file that has its name."""
    text = Path(__file__).read_text(encoding="utf-8")
    here = {name.upper() for name in re.findall(r"^def test_([bs]\d+)_", text, re.M)}
    assert {case.name for case in CASES if case.verdict == "trace"} == here


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    """Writes files in a folder of their own, which is the current one: texts, or events as torch has them."""
    monkeypatch.chdir(tmp_path)

    def write(**named: str | Iterable[dict]) -> Path:
        for name, held in named.items():
            if isinstance(held, str):
                (tmp_path / f"{name}.spec").write_text(f"spec 1\n{held}")
            else:
                data = {"schemaVersion": 1, "traceEvents": list(held)}
                (tmp_path / f"{name}.json").write_text(json.dumps(data))
        return tmp_path

    return write


def kernels(*rows: Row, rounds: int = ROUNDS, period: int = PERIOD) -> list[dict]:
    return [
        event(
            name,
            "kernel",
            0,
            stream,
            start + period * round,
            end - start,
            len(rows) * round + n + 1,
        )
        for round in range(rounds)
        for n, (name, stream, start, end) in enumerate(rows)
    ]


def event(
    name: str, category: str, process: int, thread: int, start: int, length: int, correlation: int
) -> dict:
    args = {"correlation": correlation, "stream": thread, "device": 0}
    where = {"pid": process, "tid": thread, "ts": start, "dur": length}
    return {"ph": "X", "name": name, "cat": category, **where, "args": args}


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["trace", "align", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def part(page: str, head: str) -> str:
    """The lines of the page below a head."""
    found = re.search(rf"^{head}.*?\n(.*?)(?:\n\n|\Z)", page, re.M | re.S)
    assert found is not None, page
    return found[1].rstrip("\n")


REDUCED = """\
pipeline reduced {
  group tp = 2
  stream main
  stream side
  buffer x : i64[4] carried
  buffer m : i64[4]
  buffer z : i64[4] carried
  fork side from main
  phase layout on side { reads x  writes m }
  phase forward on main { updates z }
  join side into main
  phase reduce on main { reads m, z  updates x  collective reduce_scatter over tp }
}
"""


def test_b133_a_late_record_on_one_rank_delays_all(files: Files, capsys) -> None:
    """The rank that came last is in the reduction for the shortest time, and its own join says why."""
    on_time = kernels(("layout", 9, 10, 20), ("forward", 7, 10, 60), ("reduce", 7, 62, 150))
    late = kernels(("layout", 9, 10, 128), ("forward", 7, 10, 60), ("reduce", 7, 130, 150))
    files(reduced=REDUCED, rank0=on_time, rank1=late)
    code, page, _ = said(capsys, "reduced.spec", "rank0.json", "rank1.json")
    assert code == 0
    assert part(page, "RANKS") == (
        "  reduce\n"
        "    rank 0  rank0.json                0 of 4   68 us +-0 ns\n"
        "    rank 1  rank1.json                4 of 4   its own join waits for layout"
    )


COMBINED = """\
pipeline combined {
  group ep = 2
  stream main
  stream exchange : comm
  buffer x : i64[4] carried
  buffer y : i64[4]
  buffer z : i64[4] carried
  phase prepare on main { reads x  writes y }
  fork exchange from main
  phase combine on exchange { updates y  collective all_to_all over ep }
  phase activation on main { updates z }
  join exchange into main
  phase add on main { reads y, z  updates x }
}
"""


def test_b135_what_should_hide_the_exchange_runs_before_it(files: Files, capsys) -> None:
    """The activation is free to run beside it, and by the time it begins that is over."""
    gap = kernels(
        ("prepare", 7, 0, 20),
        ("activation", 7, 21, 50),
        ("combine", 9, 52, 92),
        ("add", 7, 94, 110),
    )
    files(combined=COMBINED, gap=gap)
    code, page, gate = said(capsys, "combined.spec", "gap.json", "--max-exposed", "50")
    assert code == 1
    assert part(page, "COMMUNICATION").splitlines()[0] == (
        "  combine                      120 us       0 ns     120 us  100.0 %      120 us      120 us   A"
    )
    assert gate == (
        "plait trace: 100.0 % of the communication is exposed, and --max-exposed allows 50 %\n"
    )


DRAFTED = """\
pipeline drafted {
  stream main
  stream plan
  buffer x : i64[4] carried
  buffer y : i64[4]
  phase draft on main { updates x }
  fork plan from main
  phase schedule on plan { reads x  writes y }
  join plan into main
  phase verify on main { reads y  updates x }
}
"""


def test_b136_overlap_makes_the_round_slower(files: Files, capsys) -> None:
    """Held against the report of a run without it: by how much, and where the path has the time now."""
    serial = kernels(
        ("draft", 7, 0, 40), ("schedule", 9, 41, 50), ("verify", 7, 51, 110), period=112
    )
    beside = kernels(
        ("draft", 7, 0, 40), ("schedule", 9, 60, 70), ("verify", 7, 95, 155), period=157
    )
    files(drafted=DRAFTED, serial=serial, beside=beside)
    code, old, _ = said(capsys, "drafted.spec", "serial.json", "--json")
    Path("old.json").write_text(old)
    code, page, gate = said(capsys, "drafted.spec", "beside.json", "--baseline", "old.json")
    assert code == 1
    assert gate == (
        "plait trace: worse than old.json: a round takes 157 us, and took 112 us: 45 us more, where "
        "they stray by 0 ns\n"
    )
    assert [line.split("  conf")[0] for line in part(page, "CRITICAL PATH").splitlines()[3:6]] == [
        "  before draft                                 2 us     1.3 %        3  "
        "began late, with all it waits for over",
        "  before schedule                             20 us    12.7 %        3  "
        "began late, with all it waits for over",
        "  before verify                               25 us    15.9 %        3  "
        "began late, with all it waits for over",
    ]


WAITED = """\
pipeline waited {
  stream a
  stream b
  stream c
  buffer x : i64[4] carried
  buffer y : i64[4] carried
  phase first on a { updates x }
  phase other on b { updates y }
  fork c from first
  phase behind on c { reads x }
  join c into a
  phase last on a { updates x }
}
"""


def test_b139_an_edge_is_of_the_recorded_stream(files: Files, capsys) -> None:
    """The thread launches another kernel before it records: what is waited for is the stream's own."""
    rows = (
        ("first", 20, 10, 40),
        ("other", 24, 10, 90),
        ("behind", 28, 42, 60),
        ("last", 20, 62, 70),
    )
    events = []
    for round in range(ROUNDS):
        at, number = PERIOD * round, 10 * round
        recorded, waited = number + 3, number + 4
        for (name, stream, start, end), one in zip(rows, (1, 2, 5, 6), strict=True):
            launched = number + one
            events.append(event("cudaLaunchKernel", "cuda_runtime", 1, 1, at + one, 1, launched))
            events.append(event(name, "kernel", 0, stream, at + start, end - start, launched))
        events.append(event("cudaEventRecord", "cuda_runtime", 1, 1, at + 3, 1, recorded))
        events.append(event("cudaStreamWaitEvent", "cuda_runtime", 1, 1, at + 4, 1, waited))
        wait = event("Stream Wait Event", "cuda_sync", 0, 28, at + 4, 0, waited)
        wait["args"] |= {"wait_on_stream": 20, "wait_on_cuda_event_record_corr_id": recorded}
        wait["args"] |= {"wait_on_cuda_event_id": 1}
        events.append(wait)
    files(waited=WAITED, joined=events)
    code, page, _ = said(capsys, "waited.spec", "joined.json")
    assert code == 0
    assert "other" not in part(page, "JOINS")
    assert main(["trace", "show", "joined.json", "--json"]) == 0
    met = json.loads(capsys.readouterr().out)["joins"]
    assert [(one["source"], one["then"]) for one in met] == [("first", "behind")] * ROUNDS


BESIDE = """\
pipeline beside {
  stream main
  stream side
  buffer x : i64[4] carried
  buffer y : i64[4] carried
  phase forward on main { updates x }
  phase norm on main { updates x }
  phase layout on side { updates y }
}
"""


@pytest.mark.parametrize(
    ("norm", "layout", "pairs"),
    [((42, 60), (10, 50), 0), ((30, 60), (70, 90), 4), ((12, 20), (70, 90), 4)],
)
def test_b141_work_of_one_stream_overlaps(files: Files, capsys, norm, layout, pairs) -> None:
    """Two streams may, one may not, be it that one lies within the other."""
    files(
        beside=BESIDE,
        one=kernels(("forward", 7, 0, 40), ("norm", 7, *norm), ("layout", 9, *layout)),
    )
    code, page, _ = said(capsys, "beside.spec", "one.json")
    assert code == (1 if pairs else 0)
    assert ("BROKEN" in page) == bool(pairs)
    if pairs:
        shared = pairs * (min(40, norm[1]) - norm[0])
        assert part(page, "BROKEN").splitlines()[-1] == (
            f"  stream 7 runs two things at once {pairs} times, {shared} us in all, which no stream does: "
            "its times cannot be trusted"
        )


REPLAYED = """\
pipeline replayed {
  stream main
  stream side
  buffer x : i64[4] carried
  buffer y : i64[4]
  capture step on main rows 4 {
    phase forward on main { updates x }
    fork side from main
    phase layout on side { reads x  writes y }
    join side into main
    phase verify on main { reads y  updates x }
  }
  phase sample on main { updates x }
}
"""


def test_b144_a_trace_lacks_most_of_its_replays(files: Files, capsys) -> None:
    """How much it covers is said first, and that is too little to report by."""
    events: list[dict] = []
    for round in range(ROUNDS):
        at, graph, single = PERIOD * round, 2 * round + 1, 2 * round + 2
        events.append(event("cudaGraphLaunch", "cuda_runtime", 1, 1, at + 1, 2, graph))
        events.append(event("cudaLaunchKernel", "cuda_runtime", 1, 1, at + 4, 2, single))
        events.append(event("sample", "kernel", 0, 7, at + 90, 10, single))
        if not round:
            events.append(event("verify", "kernel", 0, 13, at + 60, 20, graph))
    files(replayed=REPLAYED, lost=events)
    code, page, why = said(capsys, "replayed.spec", "lost.json")
    assert (code, page) == (1, "")
    assert why == (
        "plait trace: lost.json: 5 of the 8 nodes of 4 rounds were seen, 62.5 % where 90 % are "
        "asked for; low coverage: of 4 graph launches 3 have no kernel in the trace; say what names of the "
        "trace mean with --map 'REGEX=PHASE', or report all the same with --force\n"
    )
    code, page, _ = said(capsys, "replayed.spec", "lost.json", "--force")
    assert code == 0
    assert "matched  2 of 2 nodes, 62.5 % of what 4 rounds have (A 5)" in page
