"""Experts split over local ranks: one rank's logits bit for bit, on whatever ranks the requests are."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from plait.dsl.span import Source
from plait.runtime.eagle.parallel import Parallel
from plait.runtime.eagle.together import Together
from plait.runtime.models.tiny.checkpoint import load_checkpoint
from plait.runtime.runner import BindError
from plait.runtime.schedule_json import to_json

HERE = Path(__file__).parent


def launched(ranks: int, *program: str, seconds: float = 150) -> str:
    """What ranks started by torchrun say. None is left when it returns, or fails."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", str(ranks), *program]
    process = subprocess.Popen(
        command,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PLAIT_WATCHDOG_S": "60"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, error = process.communicate(timeout=seconds)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert process.returncode == 0, error[-4000:]
    return out


@pytest.fixture(scope="module")
def schedule_file(compiled, root: Path, tmp_path_factory) -> Path:
    text = (root / "examples" / "expert_parallel.spec").read_text(encoding="utf-8")
    source = Source("expert_parallel.spec", text)
    path = tmp_path_factory.mktemp("schedule") / "expert_parallel.json"
    path.write_text(to_json(compiled(source, settings={"buckets": [2]})), encoding="utf-8")
    return path


@pytest.mark.parametrize("ranks", [2, 4])
def test_logits_equal_one_rank(ranks: int, schedule_file: Path, tmp_path: Path) -> None:
    """All ranks busy, one idle, one unwilling to use its graph; then no rank replays, and none hangs."""
    launched(ranks, str(HERE / "worker.py"), str(schedule_file), str(tmp_path))
    found = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(ranks)]
    for case in found[0]:
        assert all(rank[case]["same"] for rank in found), case
        rounds = [rank[case]["rounds"] for rank in found]
        assert all(one == rounds[0] for one in rounds), case
        graph, eager = rounds[0]["True"], rounds[0]["False"]
        assert (graph > 0, eager > 0) == (
            (False, True) if case == "one unwilling" else (True, False)
        )
    busy = [sum(rank["all busy"]["tokens"]) for rank in found]
    assert busy == [16, 8, 8, 16][:ranks]
    assert found[1]["one idle"]["tokens"] == []


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            {"layers": 2},
            "expert_parallel.spec:107: 2 layers of the target; the model has 8, and a round of them is "
            "examples/expert_parallel.spec",
        ),
        (
            {"choices": 3},
            "expert_parallel.spec:100: a row goes to 3 experts; the model's router chooses 2",
        ),
        (
            {"topk": 2},
            "expert_parallel.spec:26: 2 candidates a request; what is bound here drafts a chain, of one "
            "(topk = 1)",
        ),
    ],
)
def test_a_round_that_is_not_the_models(compiled, root: Path, asked, message) -> None:
    """Layers, experts of a row and drafts are the model's, and said with the line where they are not."""
    text = (root / "examples" / "expert_parallel.spec").read_text(encoding="utf-8")
    source = Source("expert_parallel.spec", text)
    schedule = compiled(source, settings={"buckets": [1], **asked})
    with pytest.raises(BindError) as error:
        Parallel(schedule, load_checkpoint().model("f32"), [])
    assert str(error.value) == message


def test_ranks_for_a_round_without_an_exchange(compiled, eagle, monkeypatch) -> None:
    """A round that exchanges nothing would run on every rank alike, so torchrun is refused."""
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    with pytest.raises(BindError) as error:
        Together(compiled(eagle), "cpu")
    assert str(error.value) == (
        "eagle.spec: it exchanges nothing between ranks, and several were launched: run it without torchrun"
    )


def test_plait_run_under_torchrun(root: Path, tmp_path: Path) -> None:
    """Prompts are dealt out to the ranks, and the first says what all of them have made, in order."""
    prompts = ["The old", "One day", "import torch"]
    asked = [word for prompt in prompts for word in ("--prompt", prompt)]
    out = launched(
        2,
        *("-m", "plait", "run", str(root / "examples" / "expert_parallel.spec"), "--json"),
        *("--max-new-tokens", "6", "--set", "buckets=[2]", *asked),
    )
    outcome = json.loads(out)
    assert outcome["identical_to_plain"] is True
    assert (outcome["ranks"], outcome["exchange"]) == (2, "torch.distributed over gloo")
    assert outcome["prompts"] == prompts
    assert [len(tokens) for tokens in outcome["tokens"]] == [6, 6, 6]
