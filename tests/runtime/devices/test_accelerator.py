"""What is said of an NPU or a GPU that is not here, and what errors of their runtimes mean."""

from __future__ import annotations

import re
from importlib.util import find_spec

import pytest
import torch

from plait.runtime.devices.accelerator.kinds import KINDS
from plait.runtime.devices.accelerator.lock import alone
from plait.runtime.devices.accelerator.meanings import meant
from plait.runtime.devices.base import DeviceError
from plait.runtime.devices.named import device
from plait.runtime.devices.refusals import CaptureError

NO_NPU = "the device `npu` needs torch_npu: install it: pip install 'plait[npu]'"
NOT_BUILT = (
    f"the device `cuda` is not there: the torch that is here ({torch.__version__}) was built"
)
NO_GPU = "there is no device `cuda` here; install NVIDIA's driver"


@pytest.mark.skipif(find_spec("torch_npu") is not None, reason="torch_npu is installed")
@pytest.mark.parametrize("name", ["npu", "npu:1"])
def test_without_torch_npu_it_is_said_how_to_install_it(name: str) -> None:
    """The package, and the extra that has it."""
    with pytest.raises(DeviceError, match=f"^{re.escape(NO_NPU)}$"):
        device(name)


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is here")
@pytest.mark.parametrize("name", ["cuda", "cuda:3"])
def test_without_a_gpu_it_is_said_what_is_missing(name: str) -> None:
    """The build of torch, or the driver."""
    message = NO_GPU if torch.backends.cuda.is_built() else NOT_BUILT
    with pytest.raises(DeviceError, match=f"^{re.escape(message)}"):
        device(name)


@pytest.mark.parametrize("name", ["npu:", "npu:x", "cuda:-1", "cuda:99999", "cpu:0", "NPU"])
def test_a_name_that_no_device_has_is_refused(name: str) -> None:
    """A number of a device is a number."""
    with pytest.raises(DeviceError, match="there is no device"):
        device(name)


@pytest.mark.parametrize(
    ("kind", "text", "meaning"),
    [
        (
            "npu",
            "capture_end:NPUGraph.cpp:371 NPU function error: endCaptureErr, error code is 107025\n[ERROR] x",
            "a stream that was forked in the capture did not come back before its end (107025)",
        ),
        (
            "npu",
            "NPU graphs must be captured on a non-default stream.\n[ERROR] 2026 (PID:1) ERR00001 PTA",
            "NPU graphs must be captured on a non-default stream.",
        ),
        ("npu", "1070251 rows", "1070251 rows"),
        (
            "cuda",
            "CUDA error: capturing stream has unjoined work\nCUDA kernel errors might be asynchronous",
            "a stream that was forked in the capture did not come back before its end",
        ),
    ],
)
def test_an_error_of_the_runtime_is_one_clear_line(kind: str, text: str, meaning: str) -> None:
    """By its number or its words; what is not known stays what it is."""
    assert str(meant(RuntimeError(text), KINDS[kind].meanings)) == meaning


def test_a_capture_within_a_capture_is_refused() -> None:
    """It is refused, not waited for, and the one around it ends as if nothing had been asked."""
    with alone():
        with pytest.raises(CaptureError, match="within another"), alone():
            pass
    with alone():
        pass
