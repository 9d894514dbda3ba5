"""An engine over two ranks with half of the experts each: rank 0 serves, and says when the other is gone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from torch.distributed import TCPStore  # pyright: ignore[reportPrivateImportUsage]

from plait.dsl.span import Source
from plait.runtime.schedule_json import to_json

WORKER = Path(__file__).with_name("worker.py")


def test_two_ranks_serve_and_a_dead_one_fails_what_there_is(
    compiled, root: Path, tmp_path: Path
) -> None:
    """The tokens of one rank with all experts; then rank 1 is killed in a round: every request of rank 0 ends
    as failed, with an error that names it, within the time that ranks wait for each other."""
    text = (root / "examples" / "expert_parallel.spec").read_text(encoding="utf-8")
    schedule = compiled(Source("expert_parallel.spec", text), settings={"buckets": [2]})
    path = tmp_path / "schedule.json"
    path.write_text(to_json(schedule), encoding="utf-8")
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    environment = os.environ | {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(store.port),
        "WORLD_SIZE": "2",
        "TORCHELASTIC_USE_AGENT_STORE": "True",
        "OMP_NUM_THREADS": "1",
    }
    ranks = [
        subprocess.Popen(
            [sys.executable, str(WORKER), str(path)],
            env=environment | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        out, errors = ranks[0].communicate(timeout=150)
    finally:
        for process in ranks:
            process.kill()
            process.communicate()
    assert ranks[0].returncode == 0, errors[-4000:]
    assert ranks[1].returncode == -9
    tokens, failed, plain = map(json.loads, out.splitlines())
    assert tokens == plain
    assert failed["ends"] == ["failed"] * 3
    assert failed["in time"]
    for found, whole in zip(failed["tokens"], plain, strict=True):
        assert found == whole[: len(found)]
    (error,) = failed["errors"]
    assert "rank 1 did not come, and is not heard of" in error
    assert failed["refused"] == f"the engine has failed: {error}"
