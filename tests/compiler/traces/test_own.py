"""What is read of Plait's own traces."""

from __future__ import annotations

from pathlib import Path

from drawing.profiles import OWN
from plait.compiler.traces.model import Join, Replay, Round, Slice
from plait.compiler.traces.read import read_trace


def test_phases_replays_waits_and_rounds_are_exact(tmp_path: Path) -> None:
    """A replay is its row and the phases in it; a wait ends at its record's arrow, a round says its sizes."""
    path = tmp_path / "own.json"
    path.write_text(OWN)
    trace = read_trace(str(path))
    assert [lane.device for lane in trace.lanes] == ["cpu", "host"]
    assert trace.slices == [
        Slice(0, 0, 5000, "g", "replay", replay=0, phase="g", round=7),
        Slice(0, 499, 2749, "a", "compute", replay=0, phase="a", round=7),
        Slice(1, 999, 5999, "wait for b", "wait", round=7),
        Slice(0, 2749, 4749, "b", "compute", replay=0, phase="b", round=7),
        Slice(1, 5999, 9499, "log", "compute", phase="log", round=7),
    ]
    assert trace.replays == [Replay(-1, (1, 3), "g", 0, 5000, 0)]
    assert trace.joins == [Join(1, 999, 3, 0, 5999, 4)]
    assert trace.rounds == [Round(7, -1, 9499, "bs = 4", (("bs", 3),), 8)]
    assert trace.about == {
        "schedule": "toy",
        "sha256": "0f",
        "source": "toy.spec",
        "target": "cpu",
        "settings": "steps = 2",
    }
    assert trace.overlaps == [] and trace.unknown == {}
