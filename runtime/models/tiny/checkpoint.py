"""The checkpoint folder of the tiny model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from plait.runtime.models.arithmetic import Arithmetic, Mode
from plait.runtime.models.checkpoint import Trained, fitting, read
from plait.runtime.models.tiny.model import TinyModel
from plait.runtime.models.tiny.shape import Shape
from plait.runtime.models.tiny.weights import wanted

SHIPPED = Path(__file__).with_name("checkpoint")


@dataclass(frozen=True)
class Checkpoint(Trained[Shape]):
    def model(self, mode: Mode, checked: bool = False) -> TinyModel:
        """The model in one arithmetic. Raises CheckpointError."""
        with fitting():
            return TinyModel(self.shape, self.weights, Arithmetic(mode, checked))


def load_checkpoint(folder: Path = SHIPPED) -> Checkpoint:
    """Reads and verifies a checkpoint. Raises CheckpointError."""
    return Checkpoint(*read(folder, Shape.from_dict, wanted, folder))
