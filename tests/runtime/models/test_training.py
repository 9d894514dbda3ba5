"""The training script: the same bytes twice, and a checkpoint that loads."""

from __future__ import annotations

from pathlib import Path

from plait.runtime.models.tiny.checkpoint import SHIPPED, load_checkpoint
from plait.runtime.models.tiny.training.__main__ import main
from plait.runtime.models.training.corpus import is_held_out


def test_twenty_steps_twice_give_the_same_bytes(tmp_path: Path) -> None:
    """Same machine and threads: same tokenizer, prompts, weights and report."""
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        small = ["--steps", "20", "--batch", "1", "--length", "64", "--files", "40"]
        assert main(["--out", str(folder), *small]) == 0
    names = sorted(path.name for path in folders[0].iterdir())
    assert names == ["held_out.jsonl", "report.json", "tokenizer.json", "weights.safetensors"]
    for name in names:
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()
    checkpoint = load_checkpoint(folders[0])
    assert checkpoint.report["plan"]["steps"] == 20 and len(checkpoint.prompts) == 16


def test_the_split_is_by_name_alone() -> None:
    """Which files are held out depends on nothing but their paths."""
    assert is_held_out("functools.py") and is_held_out("asyncio/events.py")
    assert not is_held_out("ast.py")


def test_the_shipped_prompts_are_from_held_out_files() -> None:
    """Every prompt that runs by default comes from a file that training never saw."""
    import json

    lines = (SHIPPED / "held_out.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 16
    assert all(is_held_out(json.loads(line)["source"]) for line in lines)
