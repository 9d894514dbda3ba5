"""`plait serve` as clients meet it: one by one, many at once, and when it is killed."""

from __future__ import annotations

import asyncio
import hashlib
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest

from plait.runtime.models.tiny.checkpoint import Checkpoint, load_checkpoint
from serving.load import Case, cases, judge, left_behind, load, load_until
from serving.process import Served, served

REQUESTS = 300


@pytest.fixture(scope="module")
def checkpoint() -> Checkpoint:
    return load_checkpoint()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("serve") / "log", "--mode", "exact") as found:
        yield found


def test_the_openai_client_streams_completions_and_chat(server: Served) -> None:
    """Unchanged, it is given the same text whole and in parts, with how much was used and why it ended."""
    with openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none") as client:
        assert [model.id for model in client.models.list()] == ["plait-tiny"]
        prompt = "def read(path):\n"
        whole = client.completions.create(
            model="plait-tiny", prompt=prompt, max_tokens=20, temperature=0, logprobs=2
        )
        choice = whole.choices[0]
        assert choice.finish_reason == "length" and whole.usage is not None
        assert whole.usage.completion_tokens == 20
        assert choice.logprobs is not None and choice.logprobs.tokens is not None
        assert "".join(choice.logprobs.tokens) == choice.text
        parts = client.completions.create(
            model="plait-tiny", prompt=prompt, max_tokens=20, temperature=0, stream=True
        )
        assert "".join(part.choices[0].text for part in parts) == choice.text

        asked = [{"role": "user", "content": "Add two numbers"}]
        how = {"model": "plait-tiny", "messages": asked, "max_tokens": 16, "seed": 3}
        said = client.chat.completions.create(**how, logprobs=True, top_logprobs=1)
        content = said.choices[0].message.content
        chunks = list(
            client.chat.completions.create(
                **how, stream=True, stream_options={"include_usage": True}
            )
        )
        assert chunks[0].choices[0].delta.role == "assistant"
        texts = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
        assert "".join(texts) == content
        assert chunks[-1].usage and said.usage
        assert chunks[-1].usage.completion_tokens == said.usage.completion_tokens
        assert said.choices[0].logprobs is not None and said.choices[0].logprobs.content
        with pytest.raises(openai.NotFoundError, match="there is no model 'gpt-4o'"):
            client.completions.create(model="gpt-4o", prompt="")


def test_the_curl_of_the_readme_is_answered(server: Served, root: Path) -> None:
    """What README.md has people type, with the port that is free here, streams to its mark of the end."""
    if shutil.which("curl") is None:
        pytest.skip("no curl")
    readme = (root / "README.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^    (curl (?:.*\\\n)*.*)", readme, re.MULTILINE)
    command = command.replace("localhost:8000", f"localhost:{server.port}")
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.startswith('data: {"id":"cmpl-')
    assert done.stdout.endswith("data: [DONE]\n\n")


def test_many_clients_at_once_get_their_own_tokens(server: Served, checkpoint: Checkpoint) -> None:
    """64 at a time, a third of which leave and a tenth send nonsense: who stays ends once, with the
    tokens of plain decoding; nothing is held, and nothing is in the log that is not a client's."""
    given = cases(checkpoint, REQUESTS, seed=7)
    asyncio.run(load(server.port, given))
    assert judge(checkpoint, given) == []
    assert left_behind(server) == []


def test_a_killed_server_tells_nobody_anything_wrong(
    checkpoint: Checkpoint, tmp_path: Path
) -> None:
    """Under load, by SIGKILL: clients have the beginning of what they asked for and no end, no file is
    another, and on the same port the next one begins; told to end, it lets its client have all."""
    log, cache = tmp_path / "log", tmp_path / "cache"
    shutil.copytree(_cache(), cache / "plait", ignore=shutil.ignore_patterns("*.lock"))
    given = [one for one in cases(checkpoint, 50, seed=8) if isinstance(one, Case)]
    for case in given:
        case.leaves, case.most = None, 80
    how = {"XDG_CACHE_HOME": str(cache)}
    arguments = ("--mode", "exact", "--set", "buckets=[16]")
    with served(log, *arguments, **how) as first:
        before = _digests(cache)
        asyncio.run(load_until(first.port, given, 10, first.process.kill))
        assert first.process.wait(30) == -signal.SIGKILL
    assert _digests(cache) == before
    assert all(case.problem or not case.done for case in given)
    begun = [case for case in given if case.got and not case.done]
    assert len(begun) >= 10
    for case in begun:
        case.leaves, case.problem = 1, ""

    with served(log, *arguments, port=first.port, **how) as second:
        assert second.port == first.port
        last = Case("def end(self):\n", 60, given[0].sampling, None)
        asyncio.run(load_until(second.port, [last], 1, second.process.terminate))
        assert second.process.wait(60) == 0
        assert (last.done, last.problem) == (1, "")
        with pytest.raises(ConnectionError):
            socket.create_connection(("127.0.0.1", second.port), timeout=5)
    assert _digests(cache) == before
    assert judge(checkpoint, [*begun[:6], last]) == []


def _cache() -> Path:
    from plait.runtime.devices.native_library import cache_folder

    return cache_folder()


def _digests(folder: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
