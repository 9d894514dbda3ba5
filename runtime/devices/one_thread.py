"""One thread of torch's for the thread that asks, and for no other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

import torch

_one_at_a_time = threading.Lock()


def one_thread() -> None:
    """What torch is told on a thread is also what later threads begin with, so that is put back."""
    with _one_at_a_time:
        torch.get_num_threads()  # else its first sum takes what later ones begin with, and sets it
        later: list[int] = []
        _elsewhere(lambda: later.append(torch.get_num_threads()))
        torch.set_num_threads(1)
        _elsewhere(partial(torch.set_num_threads, later[0]))


def _elsewhere(call: Callable[[], None]) -> None:
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
