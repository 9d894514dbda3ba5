"""In what an NPU and a CUDA GPU differ for a schedule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from plait.runtime.devices.abilities import Abilities
from plait.runtime.devices.accelerator.meanings import CUDA_MEANINGS, NPU_MEANINGS
from plait.runtime.devices.accelerator.names import CUDA, NPU, Name


@dataclass(frozen=True)
class Kind:
    name: str
    """Of the device, and of its module in torch."""
    graphs: str
    """How graphs are captured, in words for reports."""
    names: dict[str, Name]
    abilities: Abilities
    package: str | None
    """What has to be imported first."""
    built: Callable[[], bool]
    """Whether the torch that is here was built for it."""
    to_build: str
    """What to do when it was not, or the package is missing."""
    to_load: str
    """What to do when the package is there and does not load, or finds no device."""
    slots: bool
    """Whether an external event is one slot: a wait takes the record, and a second waits for another."""
    meanings: Mapping[str, str]
    """What the errors of its runtime mean, by what their text has."""


POOL = 32
"""Streams that torch deals out in turn, on both: the next one is the first again."""
NPU_KIND = Kind(
    name="npu",
    graphs="NPU graphs",
    names=NPU,
    abilities=Abilities(streams=POOL, graph_streams=True, task_update=True, core_limits=True),
    package="torch_npu",
    built=lambda: True,
    to_build="install it: pip install 'plait[npu]'",
    to_load="install the driver and CANN, and source CANN's set_env.sh",
    slots=True,
    meanings=NPU_MEANINGS,
)
CUDA_KIND = Kind(
    name="cuda",
    graphs="CUDA graphs",
    names=CUDA,
    abilities=Abilities(streams=POOL, graph_streams=True, priorities=True),
    package=None,
    built=torch.backends.cuda.is_built,
    to_build="install a build of torch for CUDA",
    to_load="install NVIDIA's driver, and see that CUDA_VISIBLE_DEVICES hides no GPU",
    slots=False,
    meanings=CUDA_MEANINGS,
)
KINDS = {kind.name: kind for kind in (NPU_KIND, CUDA_KIND)}
