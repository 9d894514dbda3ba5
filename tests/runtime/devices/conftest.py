"""Both ways to launch captured kernels again."""

from __future__ import annotations

import pytest

from plait.runtime.devices import native
from plait.runtime.devices.graph import PythonReplayer, Replayer


def replayers() -> list[Replayer]:
    return [PythonReplayer(), native.native_replayer()]


@pytest.fixture(params=replayers(), ids=lambda replayer: type(replayer).__name__)
def replayer(request) -> Replayer:
    return request.param
