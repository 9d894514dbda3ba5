"""The parser's kept tables: only where the user alone can write."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from plait.dsl.build import Build
from plait.dsl.tables import cache_folder, load_parser

FILE = "pipeline p { stream a }"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "plait"


def parses() -> bool:
    return load_parser(Build()).parse(FILE, start="file").pipelines[0].name.text == "p"


def test_tables_are_kept_and_used_again(home: Path) -> None:
    """The second parser reads what the first one wrote, in a folder closed to others."""
    assert parses()
    (kept,) = home.iterdir()
    assert kept.suffix == ".tables" and home.stat().st_mode & 0o077 == 0
    before = kept.stat().st_mtime_ns
    assert parses() and kept.stat().st_mtime_ns == before


def test_a_folder_that_others_can_write_is_not_used(home: Path) -> None:
    """A pickle that anyone could have put there is never read."""
    home.mkdir(mode=0o777)
    home.chmod(0o777)
    assert cache_folder() is None
    assert parses() and not list(home.iterdir())


def test_a_file_that_is_a_link_is_not_read(home: Path, tmp_path: Path) -> None:
    """A link in the folder is replaced, not followed."""
    assert parses()
    (kept,) = home.iterdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"not tables")
    kept.unlink()
    kept.symlink_to(elsewhere)
    assert parses()
    assert not kept.is_symlink() and elsewhere.read_bytes() == b"not tables"


def test_torn_tables_are_built_again(home: Path) -> None:
    """A file cut short is noticed, and parsing goes on."""
    assert parses()
    (kept,) = home.iterdir()
    kept.write_bytes(kept.read_bytes()[:1000])
    assert parses()


def test_no_folder_is_no_hindrance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing can be kept, tables are built each time."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert cache_folder() is None
    assert parses()
    monkeypatch.setenv("XDG_CACHE_HOME", os.path.relpath(tmp_path))
    assert cache_folder() is None
