"""The C++ replayer is built once, loaded only as it was built, and done without where it cannot be."""

from __future__ import annotations

import os
import shutil
import sysconfig
import threading
from pathlib import Path

import pytest
import torch

from plait.runtime.devices import native_library
from plait.runtime.devices.native import NativeReplayer, native_replayer
from plait.runtime.devices.replayers import here
from plait.runtime.devices.tiers import NotHere


@pytest.mark.skipif(
    not Path(sysconfig.get_paths()["include"], "Python.h").exists()
    or not (shutil.which("g++") or shutil.which("clang++")),
    reason="no C++ compiler, or Python without its headers",
)
def test_a_compiler_gives_the_native_replayer() -> None:
    """Where there is a compiler and Python's headers, kernels are launched from C++."""
    assert isinstance(here("native"), NativeReplayer)


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path | None:
    """The library in a cache of its own, where one can be built."""
    if not isinstance(here("native"), NativeReplayer):
        return None
    cache = tmp_path_factory.mktemp("cache") / "plait"
    cache.mkdir(mode=0o700)
    kept = native_library.library()
    for path in (kept, native_library._beside(kept)):
        shutil.copy2(path, cache)
    return cache / kept.name


def truncated(kept: Path) -> None:
    os.truncate(kept, 5000)


def of_others(kept: Path) -> None:
    native_library._beside(kept).chmod(0o666)


def emptied(kept: Path) -> None:
    kept.write_bytes(b"")
    native_library._beside(kept).write_bytes(native_library._digest(kept))


def another_library(kept: Path) -> None:
    """Whole and loadable, but without the functions."""
    shutil.copy(torch._C.__file__, kept)
    native_library._beside(kept).write_bytes(native_library._digest(kept))


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

    def build(path: Path, command: list[str]) -> None:
        asked.append(path)
        for one in (path, native_library._beside(path)):
            one.unlink()
            shutil.copy2(built.parent / one.name, one)

    monkeypatch.setattr(native_library, "_build", build)
    if harm is another_library:
        with pytest.raises(NotHere):
            native_replayer()
    else:
        native_replayer()
    assert asked == [kept]


def test_a_compiler_may_come_with_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """CXX is read as a shell would; one that cannot be is no compiler."""
    monkeypatch.setenv("CXX", "env 'g++ 13' -march=native")
    assert native_library.compiler() == ["env", "g++ 13", "-march=native"]
    monkeypatch.setenv("CXX", "  ")
    assert native_library.compiler()[0].endswith("++")


@pytest.mark.parametrize(
    ("compiler", "why"),
    [
        ("no-such-compiler", "there is no C++ compiler no-such-compiler, as CXX says"),
        ("g++ 'unfinished", "No closing quotation"),
        ("false", "false ended with 1"),
    ],
)
def test_without_a_compiler_there_is_none(
    compiler: str, why: str, monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    """And it is said why, in one line."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CXX", compiler)
    with pytest.raises(NotHere) as caught:
        native_replayer()
    assert str(caught.value).endswith(why)


def test_a_build_that_failed_is_not_tried_by_every_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    """Only by one that asks for it, or with another compiler."""
    tries = tmp_path / "tries"
    compilers = []
    for name in ("one", "other"):
        compilers.append(tmp_path / name)
        compilers[-1].write_text(f"#!/bin/sh\necho >> {tries}\necho error: broken >&2\nexit 1\n")
        compilers[-1].chmod(0o755)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    said = []
    for compiler, again in zip((0, 0, 0, 1), (False, False, True, False), strict=True):
        monkeypatch.setenv("CXX", str(compilers[compiler]))
        with pytest.raises(NotHere) as caught:
            native_replayer(again)
        said.append((str(caught.value), len(tries.read_text())))
    before = "its build failed before: error: broken"
    assert said == [("error: broken", 1), (before, 1), ("error: broken", 2), ("error: broken", 3)]


def test_two_do_not_build_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    """The second waits for the first, and takes what it built."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    building, go_on = threading.Event(), threading.Event()
    builds = []

    def build(kept: Path, command: list[str]) -> None:
        builds.append(kept)
        building.set()
        assert go_on.wait(60)
        kept.write_bytes(b"library")
        native_library._beside(kept).write_bytes(native_library._digest(kept))

    monkeypatch.setattr(native_library, "_build", build)
    monkeypatch.setenv("CXX", "true")
    found: list[Path] = []
    threads = [
        threading.Thread(target=lambda: found.append(native_library.library()), daemon=True)
        for _ in range(2)
    ]
    threads[0].start()
    assert building.wait(60)
    threads[1].start()
    threads[1].join(0.2)
    assert threads[1].is_alive() and len(builds) == 1
    go_on.set()
    for thread in threads:
        thread.join(60)
    assert found == builds * 2 and len(builds) == 1


def test_a_library_that_others_could_write_is_not_loaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    """Code is loaded only from a folder that is the user's own and closed to others."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "plait").mkdir()
    (tmp_path / "plait").chmod(0o777)
    with pytest.raises(NotHere, match="plait is not a folder that only its user can write"):
        native_replayer()
