"""Its checkpoint folder: weights, and the report of how they were made.

Tokens and held-out prompts are those of the tiny model, so that both can be asked the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from plait.runtime.models.arithmetic import Arithmetic, BoundError, Mode
from plait.runtime.models.small_llama.model import SmallLlama
from plait.runtime.models.small_llama.shape import Shape
from plait.runtime.models.small_llama.weights import wanted
from plait.runtime.models.tiny import checkpoint as tiny
from plait.runtime.models.tokenizer import Tokenizer

SHIPPED = Path(__file__).with_name("checkpoint")


@dataclass(frozen=True)
class LlamaCheckpoint:
    shape: Shape
    weights: dict[str, Tensor]
    tokenizer: Tokenizer
    prompts: tuple[str, ...]
    """Held out from training."""
    report: dict[str, Any]

    def model(self, mode: Mode, checked: bool = False) -> SmallLlama:
        """The model in one arithmetic. Raises CheckpointError."""
        try:
            return SmallLlama(self.shape, self.weights, Arithmetic(mode, checked))
        except (KeyError, RuntimeError, BoundError) as error:
            raise tiny.CheckpointError(
                f"{tiny.WEIGHTS}: does not fit the model ({error})"
            ) from None


def load_checkpoint(folder: Path = SHIPPED) -> LlamaCheckpoint:
    """Reads and verifies a checkpoint. Raises CheckpointError."""
    return LlamaCheckpoint(*tiny.read(folder, Shape.from_dict, wanted, tiny.SHIPPED))
