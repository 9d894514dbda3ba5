"""Real traces aligned with a spec of what they show; they lie beside the project, and are no part of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from plait.compiler.align.aligned import align
from plait.compiler.align.report import report
from plait.compiler.traces.read import read_trace

FOLDER = Path(__file__).parents[4] / "shared" / "traces"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="no shared traces beside the project")

DECODED = """\
spec 1
pipeline decoded {
  dim bs in [8, 16, 32]
  stream main
  buffer x : i64[bs] carried
  capture decode on main rows bs { phase forward on main { updates x } }
}
"""


@pytest.mark.parametrize(
    ("file", "maps", "kernels"),
    [
        ("sglang_decode_sglang_Qwen3-8B_decode.json.gz", (), 544),
        ("vllm_decode_full_graph_execution.json.gz", ("execute_32=decode",), 421),
    ],
)
def test_a_replay_is_one_node(compiled, file: str, maps: tuple[str, ...], kernels: int) -> None:
    """By the engine's own name for the step, or by what is said of it; with all that ran in it."""
    schedule = compiled(DECODED)
    made = align(schedule, schedule.widest, read_trace(str(FOLDER / "tracelens" / file)), maps)
    (node,) = (n for n, one in enumerate(made.declared.nodes) if one.kind == "capture")
    (one,) = made.instances(node)
    replayed = [number for number in one.pieces if made.pieces[number].replay >= 0]
    assert len(replayed) == kernels
    found = report(made)
    assert found["matched"]["letters"] == {"A": 1, "B": 0, "C": 0}
    assert [(row["node"], row["share"]) for row in found["path"]] == [("decode", 1.0)]
