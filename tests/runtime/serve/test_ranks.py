"""`plait serve` on two ranks with half of the experts each: what clients are given, and what ends it."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import openai
import pytest

from plait.dsl.span import Source
from plait.runtime.engine.prompt import Sampling
from plait.runtime.models.tiny.checkpoint import Checkpoint, load_checkpoint
from plait.runtime.schedule_json import to_json
from serving.load import Case, expected, load_until
from serving.process import served
from serving.ranks import ranks

TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
EXACT = ("--mode", "exact")


@pytest.fixture(scope="module")
def checkpoint() -> Checkpoint:
    return load_checkpoint()


@pytest.fixture(scope="module")
def schedule(compiled, root: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The file of a schedule."""
    text = (root / "examples" / "expert_parallel.spec").read_text(encoding="utf-8")
    path = tmp_path_factory.mktemp("ranks") / "expert_parallel.json"
    source = Source("expert_parallel.spec", text)
    path.write_text(to_json(compiled(source, settings={"buckets": [2]})), encoding="utf-8")
    return str(path)


def asking(checkpoint: Checkpoint, count: int, most: int) -> list[Case]:
    """So many that differ, greedy, of clients that stay."""
    texts = [text[:30] for text in checkpoint.prompts[:count]]
    return [Case(text, most + number, Sampling(0.0), None) for number, text in enumerate(texts)]


def texts_of(checkpoint: Checkpoint, given: list[Case]) -> list[str]:
    """By plain decoding."""
    return [checkpoint.tokenizer.decode(tokens) for tokens in expected(checkpoint, given)]


def test_torchrun_serves_and_is_told_to_end(
    checkpoint: Checkpoint, schedule: str, tmp_path: Path
) -> None:
    """OpenAI's client and curl have the tokens of plain decoding; both ranks ran the same rounds, on the
    route that they agreed on; told to end, the launcher's ranks let a client have all it asked for."""
    given = asking(checkpoint, 3, 8)
    last = Case(checkpoint.prompts[3][:30], 60, Sampling(0.0), None)
    with served(tmp_path / "log", schedule, *EXACT, launcher=TORCHRUN, OMP_NUM_THREADS="1") as host:
        url = f"http://127.0.0.1:{host.port}/v1"
        ids = Path(f"/proc/{host.process.pid}/task/{host.process.pid}/children").read_text().split()
        with openai.OpenAI(base_url=url, api_key="none") as client:
            found = [
                client.completions.create(
                    model="plait-tiny", prompt=case.text, max_tokens=case.most, temperature=0
                )
                .choices[0]
                .text
                for case in given
            ]
            with pytest.raises(openai.BadRequestError, match="ask for temperature 0"):
                client.completions.create(model="plait-tiny", prompt="")
        if shutil.which("curl"):
            body = given[0].body().decode()
            command = ["curl", "-sN", f"{url}/completions", "--json", body]
            streamed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            parts = re.findall(r'"text":"((?:[^"\\]|\\.)*)"', streamed)
            assert "".join(parts).encode().decode("unicode_escape") == found[0]
        routes = {
            (labels["bucket"], labels["route"])
            for labels in map(_labels, host.metrics())
            if labels.get("") == "plait_rounds_total"
        }
        asyncio.run(load_until(host.port, [last], 1, host.process.terminate))
        host.process.wait(60)
        lines = [(line["rank"], line) for line in host.lines() if line["event"] == "ended"]
    assert (*found, last.got) == (*texts_of(checkpoint, [*given, last]),)
    assert (last.done, last.problem) == (1, "")
    assert routes == {("2", "graph=True")}
    (_, first), (_, other) = sorted(lines)
    assert first["cut_off"] == 0
    assert list(other["rounds"]) == ["bs = 2, graph = True"]
    assert len(ids) == 2
    for one in ids:
        with pytest.raises(ProcessLookupError):
            os.kill(int(one), 0)


def _labels(sample: str) -> dict[str, str]:
    """Of a name with labels; the name itself under no name."""
    name, _, labels = sample.partition("{")
    pairs = re.findall(r"(bucket|route)=([^,}]*(?:=[^,}]*)?)", labels)
    return {"": name, **dict(pairs)}


def test_a_killed_rank_fails_what_waits_for_it(
    checkpoint: Checkpoint, schedule: str, tmp_path: Path
) -> None:
    """Under load, by SIGKILL. Without the second, every client has a part of the right tokens, or none, and
    an error that names it, and the first ends with 3; without the first, so does the second."""
    given = asking(checkpoint, 4, 70)
    with (
        ranks(tmp_path / "second", [schedule, *EXACT], [schedule, *EXACT]) as one,
        ranks(tmp_path / "first", [schedule], [schedule]) as other,
    ):
        other.wait_ready()
        other.processes[0].kill()
        port = one.wait_ready()
        began = time.monotonic()
        asyncio.run(load_until(port, given, 2, one.processes[1].kill))
        assert time.monotonic() - began < 60
        assert one.ends() == [3, -signal.SIGKILL]
        assert other.ends() == [-signal.SIGKILL, 3]
        with pytest.raises(urllib.error.URLError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5)
        last = [found.said(rank).splitlines()[-1] for found, rank in ((one, 0), (other, 1))]
    gone = "rank {} did not come, and is not heard of since"
    assert last[0].startswith("plait serve: rank 0: ") and gone.format(1) in last[0]
    assert last[1].startswith("plait serve: rank 1: ") and gone.format(0) in last[1]
    assert sum(bool(case.got) for case in given) >= 2
    for case, whole in zip(given, texts_of(checkpoint, given), strict=True):
        assert not case.done and whole.startswith(case.got)
        if case.got:
            assert case.problem.startswith("the engine has failed: ")
            assert gone.format(1) in case.problem
        else:
            assert case.problem == "status 503"


def test_ranks_that_differ_do_not_begin(schedule: str, tmp_path: Path) -> None:
    """Both say in what, and end with 2 before anybody is served."""
    with ranks(tmp_path / "ranks", [schedule, *EXACT], [schedule, "--mode", "f32"]) as found:
        assert found.ends() == [2, 2]
        said = [found.said(rank) for rank in range(2)]
    assert said == [
        f"plait serve: rank {rank}: ranks were started differently: --mode exact on rank 0, "
        "--mode f32 on rank 1: start all of them alike\n"
        for rank in range(2)
    ]
