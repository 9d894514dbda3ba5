"""Files that commands write: whole or not at all, and nothing but a file is ever put in a place."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from plait.commands.asked import write_whole


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """What it leads to is written, there or not."""
    for name in ("there", "new"):
        link = tmp_path / f"{name}.link"
        link.symlink_to(f"{name}.json")
        (tmp_path / "there.json").write_text("old")
        write_whole(str(link), "text")
        assert link.is_symlink() and (tmp_path / f"{name}.json").read_text() == "text"
    assert len(list(tmp_path.iterdir())) == 4


def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    """Its reader gets the text."""
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_whole(str(pipe), "text")
    reader.join()
    assert read == ["text"] and stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    """The error names the path that was asked for."""
    with pytest.raises(OSError) as caught:
        write_whole(str(tmp_path), "text")
    assert caught.value.filename == str(tmp_path)
    with pytest.raises(UnicodeEncodeError):
        write_whole(str(tmp_path / "x"), "\udcff")
    assert not list(tmp_path.iterdir())
