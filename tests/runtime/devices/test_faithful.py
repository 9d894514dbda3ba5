"""What a body does in its capture, every replay does: or the capture is refused."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from plait.runtime.devices.graph import Replayer, capture
from plait.runtime.devices.job import job
from plait.runtime.devices.refusals import CaptureError

Body = Callable[[Tensor, Tensor, Tensor], object]


@torch.library.custom_op("plait_test::add_and_double", mutates_args={"total"})
def add_and_double(total: Tensor, one: Tensor) -> Tensor:
    total.add_(one)
    return total * 2


@torch.library.custom_op("plait_test::one_and_two", mutates_args=())
def one_and_two(value: Tensor) -> tuple[Tensor, list[Tensor]]:
    return value + 1, [value * 2, value * 3]


def buffers() -> tuple[Tensor, Tensor, Tensor]:
    return torch.zeros(4, dtype=torch.int64), torch.arange(4.0) + 1, torch.zeros(4)


def python_data(x: Tensor, y: Tensor, o: Tensor) -> None:
    total = torch.tensor([0.0, 0, 0, 0])
    total.add_(y)
    o.copy_(total + y.new_tensor([1.0]).add_(y[0]) + torch.as_tensor([2.0]))
    y.add_(1)


def an_array_that_is_read(x: Tensor, y: Tensor, o: Tensor) -> None:
    o.copy_(torch.from_numpy(np.arange(4, dtype="f4")) + y)
    y.add_(1)


def a_change_and_a_result(x: Tensor, y: Tensor, o: Tensor) -> None:
    doubled = torch.ops.plait_test.add_and_double(o, y)
    y.add_(1)
    x.add_(doubled.long())


def batch_norm_in_training(x: Tensor, y: Tensor, o: Tensor) -> None:
    mean, var = torch.zeros(1), torch.ones(1)
    made = torch.ops.aten._native_batch_norm_legit(
        y.view(4, 1), None, None, mean, var, True, 0.1, 1e-5
    )
    o.copy_(made[0].view(4))
    y.mul_(F.batch_norm(y.view(4, 1), mean, var, training=True).view(4)).add_(mean)


def nested_results(x: Tensor, y: Tensor, o: Tensor) -> None:
    one, more = torch.ops.plait_test.one_and_two(y)
    o.copy_(one + more[0] * more[1] + torch.ops.aten._foreach_mul([y, o], 2.0)[0])
    y.add_(1)


def conjugates(x: Tensor, y: Tensor, o: Tensor) -> None:
    number = torch.view_as_complex(y.view(2, 2)).clone()
    turned = number.conj()
    o.copy_(torch.view_as_real((turned * number.exp()).resolve_conj()).view(4))
    o[:2].add_(turned.imag)
    o.add_(torch.fft.ifft(torch.fft.fft(y).conj()).real)
    y.add_(0.1)


def complex_scalars(x: Tensor, y: Tensor, o: Tensor) -> None:
    o.copy_((torch.complex(y, y) * (1 + 2j)).abs())
    y.add_(1)


def shapes_of_its_own(x: Tensor, y: Tensor, o: Tensor) -> None:
    made = y.view(2, 2).clone()
    made.t_()
    made[0].add_(1)
    made.unsqueeze_(0)
    room = torch.empty(0)
    torch.mul(made, 2, out=room)
    room.squeeze_()
    o.copy_(room.reshape(4) + torch.quantile(y, 0.5))
    y.add_(1)


def places_beside_whole_axes(x: Tensor, y: Tensor, o: Tensor) -> None:
    o.view(2, 2)[:, x[:1].clamp(max=1)] = y.view(2, 2)[:, :1]
    o.view(2, 2)[:, torch.tensor([1])] += y.view(2, 2)[:, 1:]
    y.add_(1)
    x.add_(1)


def attention_without_dropout(x: Tensor, y: Tensor, o: Tensor) -> None:
    rows = y.view(1, 1, 2, 2)
    o.copy_(F.scaled_dot_product_attention(rows, rows, rows).view(4))
    y.add_(1)


def inference_within(x: Tensor, y: Tensor, o: Tensor) -> None:
    with torch.inference_mode():
        doubled = y * 2
    o.copy_(doubled)
    y.add_(1)


SAME = [
    python_data,
    an_array_that_is_read,
    a_change_and_a_result,
    batch_norm_in_training,
    nested_results,
    conjugates,
    complex_scalars,
    shapes_of_its_own,
    places_beside_whole_axes,
    attention_without_dropout,
    inference_within,
]


def captured(body: Body, replayer: Replayer, given: tuple[Tensor, Tensor, Tensor]):
    x, y, o = given
    call = job("body", "test.spec:7", body, x=x, y=y, o=o)
    return capture("g", "test.spec:6", [call], list(given), replayer)


@pytest.mark.parametrize("body", SAME, ids=lambda body: body.__name__)
def test_every_replay_gives_what_the_body_gives(body: Body, replayer: Replayer) -> None:
    """Round after round, the buffers are those that the body itself leaves, bit for bit."""
    ours, theirs = buffers(), buffers()
    graph = captured(body, replayer, ours)
    for _ in range(4):
        graph.replay()
        with torch.no_grad():
            body(*theirs)
        assert [one.tolist() for one in ours] == [one.tolist() for one in theirs]


AROUND = torch.zeros(4)
"""A tensor of nobody's phase."""

READING = "to Python, which a replay does not run"
FOREIGN = "changes memory that no phase here updates or writes, and no kernel made"
OUTSIDE = "tensor from outside"
REFUSED: dict[str, tuple[Body, str]] = {
    "tolist": (lambda x, y, o: o.fill_(sum(y.tolist())), READING),
    "numpy": (lambda x, y, o: o.fill_(float(y.numpy().sum())), READING),
    "asarray": (lambda x, y, o: o.fill_(float(np.asarray(y)[0])), READING),
    "a write by numpy": (lambda x, y, o: np.add(y.numpy(), 1, out=y.numpy()), READING),
    "dlpack": (lambda x, y, o: np.from_dlpack(y), READING),
    "storage": (lambda x, y, o: y.untyped_storage().copy_(o.untyped_storage()), READING),
    "an address": (lambda x, y, o: y.data_ptr(), READING),
    "a deep copy": (lambda x, y, o: copy.deepcopy(y), READING),
    "a function of Python's": (lambda x, y, o: y.apply_(lambda value: value + 1), READING),
    "a tensor of tensors": (lambda x, y, o: torch.tensor([y[0], y[1]]), READING),
    "a split where a tensor says": (lambda x, y, o: torch.tensor_split(y, x[:1]), READING),
    "an array changed": (
        lambda x, y, o: torch.from_numpy(np.zeros(4, dtype="f4")).add_(y),
        f"aten.add_.Tensor {FOREIGN}",
    ),
    "a tensor of nobody's": (lambda x, y, o: AROUND.add_(y), FOREIGN),
    "statistics of nobody's": (
        lambda x, y, o: F.batch_norm(y.view(4, 1), AROUND[:1], AROUND[1:2], training=True),
        FOREIGN,
    ),
    "another shape": (lambda x, y, o: y.unsqueeze_(0), f"the shape of a {OUTSIDE}"),
    "other memory": (lambda x, y, o: torch.ops.aten.set_(y, y + 1), OUTSIDE),
    "other data": (lambda x, y, o: setattr(y, "data", o + 1), f"a {OUTSIDE} was given"),
    "a larger size": (lambda x, y, o: y.resize_(8), OUTSIDE),
    "dropout": (lambda x, y, o: F.dropout(y, 0.5), "random numbers"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_replay_would_not_do_is_refused(name: str, replayer: Replayer) -> None:
    """Values read by Python, memory of nobody's, shapes changed under a buffer: the call is named."""
    body, reason = REFUSED[name]
    with pytest.raises(CaptureError) as caught:
        captured(body, replayer, buffers())
    assert "test.spec:7: `body` failed while it was captured in `g`: CaptureError: " in str(
        caught.value
    )
    assert reason in str(caught.value)


def test_a_write_past_the_kernels_is_refused(replayer: Replayer) -> None:
    """Nothing of torch sees a write through an array made before, but the buffer is not as it was."""
    given = buffers()
    array = given[1].numpy()
    with pytest.raises(CaptureError, match="`g` changes a buffer past torch's kernels"):
        captured(lambda x, y, o: np.add(array, 1, out=array), replayer, given)
    assert given[1].tolist() == [1, 2, 3, 4]


def test_a_replay_that_would_fail_fails_when_captured(replayer: Replayer) -> None:
    """It is tried once, on the same contents, before any round counts on it."""

    @torch.library.custom_op("plait_test::once", mutates_args=())
    def once(value: Tensor) -> Tensor:
        calls.append(1)
        if len(calls) > 1:
            raise ValueError("only once")
        return value + 1

    calls: list[int] = []
    with pytest.raises(CaptureError, match="`g` was captured, but its replay failed: .*only once"):
        captured(lambda x, y, o: o.copy_(once(y)), replayer, buffers())


def test_a_capture_runs_on_one_thread(replayer: Replayer) -> None:
    """As every phase does: what the host's thread has is put back."""
    found = []
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        captured(lambda x, y, o: found.append(torch.get_num_threads()), replayer, buffers())
        assert (found, torch.get_num_threads()) == ([1], 2)
    finally:
        torch.set_num_threads(before)
