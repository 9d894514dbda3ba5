"""Every way to launch captured kernels again that is here, with what stands behind it."""

from __future__ import annotations

import pytest

from plait.runtime.devices.replayers import KINDS, here, replayer
from plait.runtime.devices.tiers import NotHere, Tiers

HERE = [kind for kind in KINDS if not isinstance(here(kind), NotHere)]


@pytest.fixture(params=HERE, name="replayer")
def every_replayer(request) -> Tiers:
    return replayer(request.param)
