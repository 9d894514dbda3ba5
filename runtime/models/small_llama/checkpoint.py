"""The checkpoint folder of the small Llama: weights, and the report of how they were made.

Tokens and held-out prompts are those of the tiny model, so that both can be asked the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from plait.runtime.models.arithmetic import Arithmetic, Mode
from plait.runtime.models.checkpoint import Trained, fitting, read
from plait.runtime.models.small_llama.model import SmallLlama
from plait.runtime.models.small_llama.shape import Shape
from plait.runtime.models.small_llama.weights import wanted
from plait.runtime.models.tiny import checkpoint as tiny

SHIPPED = Path(__file__).with_name("checkpoint")


@dataclass(frozen=True)
class LlamaCheckpoint(Trained[Shape]):
    def model(self, mode: Mode, checked: bool = False) -> SmallLlama:
        """The model in one arithmetic. Raises CheckpointError."""
        with fitting():
            return SmallLlama(self.shape, self.weights, Arithmetic(mode, checked))


def load_checkpoint(folder: Path = SHIPPED) -> LlamaCheckpoint:
    """Reads and verifies a checkpoint. Raises CheckpointError."""
    return LlamaCheckpoint(*read(folder, Shape.from_dict, wanted, tiny.SHIPPED))
