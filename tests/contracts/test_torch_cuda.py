"""What the accelerator calls of `torch.cuda` is there in the torch that is installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from contracts.sources import Module, broken
from plait.runtime.devices.accelerator.names import CUDA


def test_all_that_is_called_is_there() -> None:
    """Read from the sources, which a build without CUDA has too."""
    spec = find_spec("torch")
    assert spec is not None and spec.submodule_search_locations is not None
    folder = Path(spec.submodule_search_locations[0])
    module = Module("cuda", lambda path: (folder / path).read_text(encoding="utf-8"))
    assert broken(module, CUDA) == []
