"""The checkpoints that come with Plait by their names, and any other by its folder."""

from __future__ import annotations

from pathlib import Path

from plait.runtime.models.checkpoint import report_of
from plait.runtime.models.small_llama import checkpoint as llama
from plait.runtime.models.small_llama.checkpoint import LlamaCheckpoint
from plait.runtime.models.tiny import checkpoint as tiny
from plait.runtime.models.tiny.checkpoint import Checkpoint


def load(name: str | None) -> Checkpoint | LlamaCheckpoint:
    """`tiny` (also for None), `small-llama`, or a folder. Raises CheckpointError."""
    if name is None or name == "tiny":
        return tiny.load_checkpoint()
    if name == "small-llama":
        return llama.load_checkpoint()
    folder = Path(name)
    shape = report_of(folder).get("shape")
    if isinstance(shape, dict) and "key_heads" in shape:
        return llama.load_checkpoint(folder)
    return tiny.load_checkpoint(folder)
