"""The checkpoint file: bfloat16 tensors in safetensors, with how they were made in its header."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

KEY = "plait"
"""The one metadata key. With two, safetensors writes them in an order of its own each time."""


def kept(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """What a checkpoint keeps of a training state: bfloat16, but for the experts' balance.

    The balance decides between close scores, and eight numbers a layer cost nothing.
    """
    return {
        name: tensor if name.endswith("balance") else tensor.to(torch.bfloat16)
        for name, tensor in state.items()
    }


def save(path: Path, state: dict[str, Tensor], made: dict[str, Any]) -> None:
    """Writes the file whole or not at all; equal arguments write equal bytes."""
    temporary = path.with_name(path.name + ".part")
    tensors = {name: tensor.contiguous() for name, tensor in kept(state).items()}
    save_file(tensors, temporary, metadata={KEY: json.dumps(made, sort_keys=True)})
    os.replace(temporary, path)
