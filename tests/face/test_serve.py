"""`plait serve`: what it refuses before it serves anybody."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from plait.cli import main


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["serve", *arguments])
    return code, capsys.readouterr().err.strip()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--port", "65536"], "--port 65536: should be from 0 to 65535"),
        (["--queue", "-1"], "--queue -1: should be from 0"),
        (["--max-new-tokens", "0"], "--max-new-tokens 0: should be from 1"),
        (["--pages", "1"], "--pages 1: should be from 2"),
        (["--grace", "nan"], "--grace nan: should be seconds, from 0 to 86400"),
        (["--token", ""], "--token: should be letters, digits and signs of ASCII, at least one"),
        (["--token", "k\u00e9y"], "--token: should be letters, digits and signs of ASCII, at least one"),
        (["--name", "a\x1b[2J"], "--name: should be letters, digits and signs, at least one"),
        (["--name", "a\udcff"], "--name: should be letters, digits and signs, at least one"),
        (["--name", ""], "--name: should be letters, digits and signs, at least one"),
        (
            ["--host", "0.0.0.0"],
            "--host 0.0.0.0: other machines reach it, so it needs a token: set PLAIT_TOKEN",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_a_line(
    arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2, before a model is loaded."""
    assert refused(capsys, *arguments) == (2, f"plait serve: {line}")


def test_a_port_that_is_taken_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 3: it is the machine that has no room."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, line = refused(capsys, "--port", str(port))
    taken = f"--host 127.0.0.1:{port}: Address already in use; --port takes another"
    assert (code, line) == (3, f"plait serve: {taken}")


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ("tpu", (3, "there is no device `tpu`; this Plait runs on cpu, npu, cuda, adversary")),
        ("adversary", (2, "--device adversary: keeps no times of phases: add --no-trace")),
    ],
)
def test_a_device_that_cannot_serve_is_refused_before_anything_is_promised(
    device: str, expected: tuple[int, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line, without an address before it."""
    code = main(["serve", "--port", "0", "--device", device])
    out, err = capsys.readouterr()
    assert (code, err.strip(), out) == (expected[0], f"plait serve: {expected[1]}", "")


@pytest.mark.parametrize("name", ["service.spec", "lookup.spec"])
def test_a_round_that_cannot_draw_is_refused_before_a_client_asks_it_to(
    name: str, capsys: pytest.CaptureFixture[str], root: Path, tmp_path: Path
) -> None:
    """What accept reads of a request's sampling is all of it, or the server does not start."""
    text = (root / "examples" / name).read_text(encoding="utf-8")
    assert "temperature, top_k, top_p, seed" in text
    path = tmp_path / name
    path.write_text(text.replace("temperature, top_k, top_p, seed", "temperature"), "utf-8")
    code, line = refused(capsys, str(path), "--port", "0")
    assert code == 2
    assert "missing a required argument: 'top_k'" in line


def test_a_round_that_is_no_service_s_is_refused(
    capsys: pytest.CaptureFixture[str], root: Path
) -> None:
    """One without pages has no room for requests that come and go."""
    code, line = refused(capsys, str(root / "examples" / "eagle.spec"), "--port", "0")
    assert code == 2
    assert line.endswith("a round with caches in pages is examples/service.spec")


def test_without_its_extra_it_says_what_to_install(root: Path) -> None:
    """Exit 3, and the extra by name."""
    code = "import sys; sys.modules['uvicorn'] = None; from plait.cli import main; sys.exit(main(['serve']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert done.stderr.startswith(
        "plait serve: needs the module `uvicorn`, which is not installed: "
    )
    assert done.stderr.endswith("pip install 'plait[serve]'\n")


def test_the_page_has_every_option_and_metric(root: Path) -> None:
    """docs/serve.md names what its tables are for: each metric, and nothing that is not one."""
    from plait.runtime.serve.metrics import Metrics

    text = (root / "docs" / "serve.md").read_text(encoding="utf-8")
    families = [one.name for one in Metrics().registry.collect() if one.name.startswith("plait_")]
    counters = {one.name for one in Metrics().registry.collect() if one.type == "counter"}
    names = {f"{name}_total" if name in counters else name for name in families}
    assert set(re.findall(r"`(plait_\w+)`", text)) == names


def test_the_program_of_the_page_serves(root: Path) -> None:
    """With a decoder and texts of one's own, as docs/serve.md has it."""
    from drawing.counted import Counted, counted
    from serving.hosted import Letters

    page = (root / "docs" / "serve.md").read_text(encoding="utf-8")
    code = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[-1]
    names: dict = {}
    exec(compile(code, "serve.md", "exec"), names)

    async def work() -> None:
        loop = asyncio.get_running_loop()
        taken = socket.create_server(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        taken.close()
        serving = asyncio.ensure_future(names["serve"](Counted(counted()), Letters(), port))
        status = 0
        while status != 200:
            await asyncio.sleep(0.02)
            status = await loop.run_in_executor(None, answered, port)
        signal.raise_signal(signal.SIGTERM)
        await asyncio.wait_for(serving, 30)

    asyncio.run(work())


def answered(port: int) -> int:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=10) as answer:
            return answer.status
    except OSError:
        return 0
