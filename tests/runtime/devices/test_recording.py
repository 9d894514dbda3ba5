"""Captured segments: a replay gives the bits that the calls would give, and never calls them."""

from __future__ import annotations

import os
import random
import shutil
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from plait.runtime.devices import native
from plait.runtime.devices.base import DeviceError
from plait.runtime.devices.graph import PythonReplayer, Replayer, capture
from plait.runtime.devices.job import job
from plait.runtime.devices.memory import compacted
from plait.runtime.devices.recording import record
from plait.runtime.devices.refusals import CaptureError
from plait.runtime.devices.replayers import replayer as choose


@pytest.fixture(autouse=True)
def no_gradients():
    with torch.no_grad():
        yield


@pytest.mark.skipif(
    not Path(sysconfig.get_paths()["include"], "Python.h").exists()
    or not (shutil.which("g++") or shutil.which("clang++")),
    reason="no C++ compiler, or Python without its headers",
)
def test_a_compiler_gives_the_native_replayer() -> None:
    """Where there is a compiler and Python's headers, kernels are launched from C++."""
    assert isinstance(native.native_replayer(), native.NativeReplayer)


class Segment:
    """A small attention step: views, in-place cache writes, several outputs, constants, casts."""

    def __init__(self, seed: int):
        generator = torch.Generator().manual_seed(seed)
        self.weight = torch.randn(16, 16, generator=generator)
        self.x = torch.randn(3, 16, generator=generator)
        self.cache = torch.zeros(3, 8, 16)
        self.position = torch.tensor([1, 2, 3])
        self.out = torch.zeros(3, 16)
        self.calls = 0

    def __call__(self) -> None:
        self.calls += 1
        hidden = F.silu(F.rms_norm(F.linear(self.x, self.weight), (16,)))
        index = self.position.view(3, 1, 1).expand(3, 1, 16)
        self.cache.scatter_(1, index, hidden.unsqueeze(1))
        behind = torch.arange(8) > self.position.unsqueeze(1)
        scores = torch.bmm(hidden.unsqueeze(1), self.cache.transpose(1, 2))
        share = scores.masked_fill(behind.unsqueeze(1), float("-inf")).softmax(-1)
        values, places = share.topk(2, -1)
        mixed = torch.bmm(share, self.cache)[:, 0] * 2 + torch.zeros(3, 16).add_(1.0)
        self.out.copy_(mixed + values.sum(-1) + places.sum(-1).to(torch.float32))


def test_a_replay_gives_the_same_bits_on_new_inputs(replayer: Replayer) -> None:
    """Outputs and caches equal those of the calls, with static inputs rewritten in between."""
    segment, twin = Segment(0), Segment(0)
    graph = capture(
        "g", "test:1", [job("step", "test:1", segment)], [segment.cache, segment.out], replayer
    )
    assert segment.calls == 1 and not segment.cache.any() and not segment.out.any()
    for step in range(6):
        generator = torch.Generator().manual_seed(step)
        fresh = torch.randn(3, 16, generator=generator)
        place = torch.randint(0, 8, (3,), generator=generator)
        for one in (segment, twin):
            one.x.copy_(fresh)
            one.position.copy_(place)
        graph.replay()
        twin()
        assert torch.equal(segment.out, twin.out) and torch.equal(segment.cache, twin.cache)
    assert segment.calls == 1 and graph.replays == 6


KINDS: dict[str, Callable[[random.Random, list[torch.Tensor]], torch.Tensor]] = {
    "add": lambda r, t: r.choice(t) + r.choice(t),
    "mul": lambda r, t: r.choice(t) * 0.5,
    "matmul": lambda r, t: r.choice(t) @ r.choice(t),
    "transpose": lambda r, t: r.choice(t).t(),
    "tanh": lambda r, t: torch.tanh(r.choice(t)),
    "cat": lambda r, t: torch.cat([r.choice(t)[:2], r.choice(t)[2:]]),
    "in place": lambda r, t: r.choice(t).add_(r.choice(t).clone()),
    "copy into a view": lambda r, t: _fill(r.choice(t), r.choice(t).clone()),
    "where": lambda r, t: torch.where(r.choice(t) > 0, r.choice(t), r.choice(t)),
    "softmax": lambda r, t: r.choice(t).softmax(-1),
    "sort": lambda r, t: r.choice(t).sort(-1).values,
    "max with its place": lambda r, t: _largest(r.choice(t)),
    "gather": lambda r, t: r.choice(t).gather(1, torch.zeros(4, 4, dtype=torch.int64)),
    "index": lambda r, t: r.choice(t)[torch.tensor([3, 2, 1, 0])],
    "cast": lambda r, t: (
        r.choice(t).to(torch.float64).sum(1, keepdim=True).to(torch.float32).repeat(1, 4)
    ),
    "fresh memory": lambda r, t: torch.empty(4, 4).copy_(r.choice(t)),
    "filled memory": lambda r, t: torch.zeros(4, 4).add_(r.choice(t)),
    "clone": lambda r, t: r.choice(t).clone().mul_(2),
    "reshape": lambda r, t: r.choice(t).t().reshape(2, 8).reshape(4, 4),
    "scatter": lambda r, t: (
        r.choice(t).clone().scatter_(0, torch.tensor([[1, 2, 3, 0]]), r.choice(t))
    ),
}


def _fill(into: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    into[1:3].copy_(value[:2])
    return into


def _largest(of: torch.Tensor) -> torch.Tensor:
    values, places = of.max(-1, keepdim=True)
    return (values + places).repeat(1, 4)


class Program:
    """25 random operations on three static tensors."""

    def __init__(self, seed: int):
        self.seed = seed
        generator = torch.Generator().manual_seed(seed)
        self.statics = [torch.randn(4, 4, generator=generator) for _ in range(3)]
        self.out = torch.zeros(4, 4)

    def __call__(self) -> None:
        chance = random.Random(self.seed)
        values = list(self.statics)
        seen = torch.zeros(4, 4)
        for _ in range(25):
            made = KINDS[chance.choice(list(KINDS))](chance, values)
            values.append(torch.tanh(made) if chance.random() < 0.3 else made)
            values = values[-8:] if chance.random() < 0.5 else values
            seen = seen * 0.9 + torch.nan_to_num(torch.tanh(values[-1]))
        self.out.copy_(seen)


def equal(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.equal(torch.nan_to_num(a), torch.nan_to_num(b))


@pytest.mark.parametrize("block", range(4))
def test_random_programs_replay_as_they_run(block: int, replayer: Replayer) -> None:
    """25 operations each, views, in-place, several outputs: replay equals eager, bit by bit."""
    for seed in range(block * 30, block * 30 + 30):
        program, twin = Program(seed), Program(seed)
        written = [*program.statics, program.out]
        graph = capture("g", "test:1", [job("p", "test:1", program)], written, replayer)
        for step in range(3):
            generator = torch.Generator().manual_seed(1000 + step)
            fresh = [torch.randn(4, 4, generator=generator) for _ in range(3)]
            for one in (program, twin):
                for static, value in zip(one.statics, fresh, strict=True):
                    static.copy_(value)
            graph.replay()
            twin()
            pairs = zip([*program.statics, program.out], [*twin.statics, twin.out], strict=True)
            assert all(equal(a, b) for a, b in pairs), seed


def test_the_random_programs_can_tell(replayer: Replayer) -> None:
    """Leaving out the first changing kernel of a segment is noticed in most of the programs."""
    caught = tried = 0
    for seed in range(60):
        program, twin = Program(seed), Program(seed)
        recording = record("g", [job("p", "test:1", program)], [*program.statics, program.out])
        changing = [n for n, k in enumerate(recording.kernels) if k.operator._schema.is_mutable]
        if len(changing) < 3:
            continue
        tried += 1
        kernels = recording.kernels[: changing[0]] + recording.kernels[changing[0] + 1 :]
        launch = replayer.function(compacted(kernels, recording.intermediates))
        for one in (program, twin):
            for static in one.statics:
                static.copy_(torch.arange(16.0).view(4, 4) / 7)
        launch()
        twin()
        caught += not equal(program.out, twin.out)
    assert tried >= 20 and caught >= tried * 0.6, (caught, tried)


def test_intermediates_share_memory() -> None:
    """A chain of a hundred kernels lives in a few lines of memory, not in a hundred."""
    x, out = torch.randn(64), torch.zeros(64)

    def chain() -> None:
        value = x
        for _ in range(100):
            value = value * 1.01
        out.copy_(value)

    recording = record("g", [job("chain", "test:1", chain)], [out])
    kernels = compacted(recording.kernels, recording.intermediates)
    blocks = {
        t.untyped_storage().data_ptr(): t.untyped_storage().nbytes()
        for k in kernels
        for t in k.arguments
        if isinstance(t, torch.Tensor)
    }
    assert sum(blocks.values()) <= (64 * 4) * 2 + (64 * 4) * 2


REFUSED = {
    "a value read back": (lambda: torch.ones(3).sum().item(), "gives a value to Python"),
    "a size from data": (lambda: torch.ones(3).nonzero(), "depends on data"),
    "a mask as an index": (
        lambda: torch.ones(3)[torch.tensor([True, False, True])],
        "depends on data",
    ),
    "random numbers": (lambda: torch.rand(3), "random numbers"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_graph_cannot_hold_is_refused(name: str, replayer: Replayer) -> None:
    """The message names the phase, its line, the capture, and why."""
    body, reason = REFUSED[name]
    with pytest.raises(CaptureError) as caught:
        capture("g", "test:1", [job("bad", "test.spec:7", body)], [], replayer)
    assert "test.spec:7: `bad` failed while it was captured in `g`" in str(caught.value)
    assert reason in str(caught.value)


def test_a_failed_capture_leaves_buffers_alone(replayer: Replayer) -> None:
    """What was written before the failure is put back."""
    kept = torch.arange(3.0)

    def body() -> None:
        kept.add_(1)
        raise RuntimeError("boom")

    with pytest.raises(CaptureError):
        capture("g", "test:1", [job("bad", "test:1", body)], [kept], replayer)
    assert kept.tolist() == [0, 1, 2]


def test_a_kernel_that_fails_in_a_replay_says_so(replayer: Replayer) -> None:
    """An index that is out of range at replay is an error of the replay, not silence."""
    place, out = torch.tensor([0]), torch.zeros(1)
    table = torch.arange(4.0)

    def body() -> None:
        torch.index_select(table, 0, place, out=out)

    graph = capture("g", "test:1", [job("look up", "test:1", body)], [out], replayer)
    place.fill_(9)
    with pytest.raises((RuntimeError, IndexError), match="out of range"):
        graph.replay()


def test_the_environment_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python unless told; an unknown name is refused."""
    assert isinstance(choose(), PythonReplayer)
    monkeypatch.setenv("PLAIT_CPU_REPLAY", "native")
    assert isinstance(choose(), native.NativeReplayer)
    monkeypatch.setenv("PLAIT_CPU_REPLAY", "fortran")
    with pytest.raises(
        DeviceError, match="PLAIT_CPU_REPLAY=fortran: kernels are replayed from python or"
    ):
        choose()


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path | None:
    """The library in a cache of its own, where one can be built."""
    if not isinstance(native.native_replayer(), native.NativeReplayer):
        return None
    cache = tmp_path_factory.mktemp("cache") / "plait"
    cache.mkdir(mode=0o700)
    kept = native._library()
    for path in (kept, native._beside(kept)):
        shutil.copy2(path, cache)
    return cache / kept.name


def truncated(kept: Path) -> None:
    os.truncate(kept, 5000)


def of_others(kept: Path) -> None:
    native._beside(kept).chmod(0o666)


def emptied(kept: Path) -> None:
    kept.write_bytes(b"")
    native._beside(kept).write_bytes(native._digest(kept))


def another_library(kept: Path) -> None:
    """Whole and loadable, but without the functions."""
    shutil.copy(torch._C.__file__, kept)
    native._beside(kept).write_bytes(native._digest(kept))


@pytest.mark.parametrize("harm", [truncated, of_others, emptied, another_library])
def test_a_library_that_is_not_what_was_built_is_built_again(
    harm, built: Path | None, monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    """Half a library would end the process. One without the functions stays loaded in this process."""
    if built is None:
        return
    kept = tmp_path / "plait" / built.name
    shutil.copytree(built.parent, kept.parent)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    harm(kept)
    asked = []

    def build(path: Path) -> None:
        asked.append(path)
        for one in (path, native._beside(path)):
            one.unlink()
            shutil.copy2(built.parent / one.name, one)

    monkeypatch.setattr(native, "_build", build)
    found = native.native_replayer.__wrapped__()
    assert asked == [kept]
    assert isinstance(found, PythonReplayer if harm is another_library else native.NativeReplayer)


def test_a_compiler_may_come_with_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """CXX is read as a shell would; one that cannot be is no compiler."""
    monkeypatch.setenv("CXX", "ccache 'g++ 13' -march=native")
    assert native._compiler() == ["ccache", "g++ 13", "-march=native"]
    monkeypatch.setenv("CXX", "  ")
    assert native._compiler()[0].endswith("++")


@pytest.mark.parametrize("compiler", ["no-such-compiler", "g++ 'unfinished"])
def test_without_a_compiler_python_launches(
    compiler: str, monkeypatch: pytest.MonkeyPatch, tmp_path, caplog
) -> None:
    """No compiler, no kept library: capture still works, by the other way, and that is logged."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CXX", compiler)
    with caplog.at_level("WARNING", logger="plait"):
        assert isinstance(native.native_replayer.__wrapped__(), PythonReplayer)
    assert "no C++ replayer" in caplog.text


def test_a_library_that_others_could_write_is_not_loaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    """Code is loaded only from a folder that is the user's own and closed to others."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "plait").mkdir()
    (tmp_path / "plait").chmod(0o777)
    assert isinstance(native.native_replayer.__wrapped__(), PythonReplayer)
