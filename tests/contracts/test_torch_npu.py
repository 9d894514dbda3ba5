"""What the accelerator calls of torch_npu is there, in every version, under the arguments it is given."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.sources import broken
from contracts.wheels import VERSIONS, npu
from plait.runtime.devices.accelerator.names import NPU


@pytest.mark.parametrize("version", VERSIONS)
def test_all_that_is_called_is_there(version: str) -> None:
    """Every name of the table, with every keyword, and nothing needed beside them."""
    assert broken(npu(version), NPU) == []


def test_what_another_version_may_change_is_named() -> None:
    """A name that goes, an argument of another name, one that becomes needed, an export that ends."""
    edits = (
        ("capture_error_mode=", "mode="),
        ("class ExternalEvent", "class OutsideEvent"),
        ("def graph_task_update_end(stream)", "def graph_task_update_end(stream, handle)"),
        ('"graph_pool_handle"', '"graph_pool"'),
    )

    def read(path: str) -> str:
        text = there.read(path)
        for old, new in edits:
            text = text.replace(old, new)
        return text

    there = npu(VERSIONS[-1])
    assert broken(replace(there, read=read), NPU) == [
        "graph_pool_handle: is not exported",
        "NPUGraph.capture_begin: has no argument `capture_error_mode`",
        "ExternalEvent: is not there",
        "ExternalEvent.record: is not there",
        "ExternalEvent.wait: is not there",
        "ExternalEvent.reset: is not there",
        "graph_task_update_end: needs `handle`",
    ]
