"""Run in a process of its own: schedules on the real torch_npu, above a fake driver.

It is given the folders of the driver's libraries, of the wheel, and of the trials: of each there is a
schedule and its rounds, and written beside them are the driver's log and where buffers lay. Bodies only
copy: all they read into scratch memory, and scratch memory into all they write.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conformance.built import LIBRARIES

SCRATCH = 1 << 27
Tensor = Any


class Driver:
    """The fake, as those who drive it talk to it."""

    def __init__(self, folder: Path):
        first, *_ = [ctypes.CDLL(str(folder / name), mode=ctypes.RTLD_GLOBAL) for name in LIBRARIES]
        self.library = first
        self.library.fake_log.restype = ctypes.c_char_p
        self.library.fake_stream.argtypes = [ctypes.c_void_p]

    def say(self, *words: object) -> None:
        self.library.fake_say(" ".join(map(str, words)).encode())

    def stream(self, pointer: int) -> str:
        return f"s{self.library.fake_stream(pointer)}"

    @contextmanager
    def no_more_streams(self) -> Iterator[None]:
        """Around what finds all streams taken."""
        most = self.library.fake_most_streams(self.library.fake_streams())
        try:
            yield
        finally:
            self.library.fake_most_streams(most)

    def taken(self) -> str:
        """The log since it was last asked for."""
        text = self.library.fake_log().decode()
        self.library.fake_clear()
        return text


class Bodies:
    """A body for every phase of a schedule, which touches what the phase declares, in its order."""

    def __init__(self, driver: Driver):
        import torch

        self.driver = driver
        self.npu = torch.get_device_module("npu")
        self.scratch = torch.empty(SCRATCH, dtype=torch.uint8, device="npu")

    def of(self, schedule: Any) -> dict[str, Callable[..., None]]:
        """By name; of one name there may be several phases, as many as there are batches or routes."""
        alike: dict[str, dict[frozenset[str], Any]] = {}
        for phase in schedule.phases:
            given = frozenset(argument.name for argument in phase.arguments)
            alike.setdefault(phase.name, {})[given] = phase
        return {name: self.body(name, phases) for name, phases in alike.items()}

    def body(self, name: str, phases: dict[frozenset[str], Any]) -> Callable[..., None]:
        def body(**given: Tensor) -> None:
            phase = phases[frozenset(given)]
            kinds = {argument.name: argument.kind for argument in phase.arguments}
            self.driver.say("phase", name)
            for argument, value in given.items():
                if kinds[argument] != "writes":
                    self.touch("reads", value, not phase.stream)
            for argument, value in given.items():
                if kinds[argument] != "reads":
                    self.touch("writes", value, not phase.stream)
            self.driver.say("done", name)

        return body

    def touch(self, kind: str, value: Tensor, by_host: bool) -> None:
        """What no stream can reach the host touches, and so it is said; all else the driver is asked for."""
        for part in runs(value):
            size = part.numel() * part.element_size()
            if not size:
                continue
            if part.device.type == "cpu":
                own = by_host or not part.is_pinned()
                on = "host" if own else self.driver.stream(self.npu.current_stream().npu_stream)
                self.driver.say("touch", on, kind, f"0x{part.data_ptr():x}", size)
            else:
                scratch = self.scratch[:size].view(part.dtype).view(part.shape)
                into, out_of = (scratch, part) if kind == "reads" else (part, scratch)
                into.copy_(out_of)


def runs(tensor: Tensor) -> Iterator[Tensor]:
    """Parts of a tensor that each lie in one piece."""
    if tensor.is_contiguous():
        yield tensor
    else:
        for part in tensor:
            yield from runs(part)


def trial(driver: Driver, folder: Path, name: str) -> None:
    import torch

    from conformance.promised import copy_name, opaque_shape
    from plait.runtime.schedule_reader import from_json

    schedule = from_json((folder / f"{name}.json").read_text(encoding="utf-8"))
    rounds = json.loads((folder / f"{name}.rounds").read_text(encoding="utf-8"))
    bodies = Bodies(driver)
    memory: list[tuple[str, int, int]] = [("scratch", bodies.scratch.data_ptr(), SCRATCH)]
    kept = []

    def opaque(number: int) -> Callable[..., Tensor]:
        shape = opaque_shape(schedule, number)

        def make(**sizes: int) -> Tensor:
            made = torch.empty(shape, dtype=torch.uint8, device="npu")
            kept.append(made)  # so that no two of them lie in the same place
            memory.append((schedule.buffers[number].name, made.data_ptr(), made.nbytes))
            return made

        return make

    opaques = {b.name: opaque(number) for number, b in enumerate(schedule.buffers) if b.opaque}
    driver.taken()
    with schedule.bind(bodies.of(schedule), opaque=opaques, device="npu", strict=True) as runner:
        for number, copies in enumerate(runner._buffers):
            for copy, one in enumerate(copies if not schedule.buffers[number].opaque else ()):
                memory.append((copy_name(schedule, number, copy), one.data_ptr(), one.nbytes))
        for live in sorted(rounds, key=lambda live: runner.bucket_for(**live))[-1:]:
            runner.prepare(**live)
        for number, live in enumerate(rounds):
            driver.say("round", number)
            runner.step(**live)
        driver.say("round", "over")
        runner.drain()
    (folder / f"{name}.log").write_text(driver.taken(), encoding="utf-8")
    (folder / f"{name}.memory").write_text(json.dumps(memory), encoding="utf-8")


def main(libraries: Path, wheel: Path, folder: Path) -> None:
    driver = Driver(libraries)
    sys.path.insert(0, str(wheel))
    import torch
    import torch_npu  # type: ignore[import-not-found]  # noqa: F401

    from conformance.faults import planted
    from conformance.slots import slots

    torch.set_num_threads(1)
    if (folder / "unjoined.json").exists():
        (folder / "planted").write_text(json.dumps(planted(driver, folder)), encoding="utf-8")
        (folder / "slots").write_text(json.dumps(slots(driver)), encoding="utf-8")
    names = sorted(path.stem for path in folder.glob("*.rounds"))
    for name in names:
        trial(driver, folder, name)
    print(f"fake driver, no NPU: {len(names)} schedules")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
