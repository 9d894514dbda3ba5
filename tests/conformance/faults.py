"""Faults that are planted: what the real torch_npu says to them, and what Plait's device makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conformance.session import Driver


def planted(driver: Driver, folder: Path) -> dict[str, list[str]]:
    """Of every fault, the first line of each error there was, from the first to the last."""
    found = {}
    for name, fault in [*_Torch(driver).faults(), *_Plait(driver, folder).faults()]:
        found[name] = _errors(fault)
    return found


def _errors(fault: Callable[[], None]) -> list[str]:
    import torch

    npu = torch.get_device_module("npu")
    before = npu.current_stream()
    try:
        fault()
    except Exception as error:
        errors: list[BaseException] = []
        one: BaseException | None = error
        while one is not None:
            errors.insert(0, one)
            one = one.__cause__ or one.__context__
        return [str(one).partition("\n")[0] for one in errors]
    finally:
        npu.set_stream(before)
    return []


class _Torch:
    """By torch_npu's own calls, without Plait."""

    def __init__(self, driver: Driver):
        import torch

        self.driver = driver
        self.npu = torch.get_device_module("npu")
        self.ones = torch.ones(4)
        self.a, self.b, self.c = (torch.empty(4, device="npu") for _ in range(3))
        self.main, self.side = self.npu.Stream(), self.npu.Stream()
        self.event = self.npu.Event()

    def faults(self) -> Iterator[tuple[str, Callable[[], None]]]:
        yield "a side stream is not joined", self.unjoined
        yield "a stream is waited for in a capture", self.synchronized
        yield "a value is read in a capture", self.read
        yield "pageable memory is copied in a capture", self.copied
        yield "the default stream is captured", self.default
        yield "a stream is captured twice at once", self.twice
        yield "a graph is captured again", self.again
        yield "an event from outside is waited for", self.from_outside
        yield "there is no stream for a capture", self.exhausted
        yield "there is no stream for a pool", self.no_pool

    @contextmanager
    def capture(self, stream: Any = None, graph: Any = None) -> Iterator[None]:
        graph = graph or self.npu.NPUGraph()
        with self.npu.graph(graph, stream=stream or self.main):
            self.b.copy_(self.a)
            yield

    def unjoined(self) -> None:
        with self.capture():
            self.event.record(self.main)
            self.side.wait_event(self.event)
            with self.npu.stream(self.side):
                self.c.copy_(self.a)

    def synchronized(self) -> None:
        with self.capture():
            self.main.synchronize()

    def read(self) -> None:
        with self.capture():
            self.a[0].item()

    def copied(self) -> None:
        with self.capture():
            self.b.copy_(self.ones, non_blocking=True)

    def default(self) -> None:
        with self.capture(stream=self.npu.default_stream()):
            pass

    def twice(self) -> None:
        with self.capture():
            self.npu.NPUGraph().capture_begin()

    def again(self) -> None:
        graph = self.npu.NPUGraph()
        for _ in range(2):
            with self.capture(graph=graph):
                pass

    def from_outside(self) -> None:
        self.event.record(self.side)
        with self.capture():
            self.main.wait_event(self.event)

    def exhausted(self) -> None:
        with self.driver.no_more_streams():
            with self.capture():
                pass

    def no_pool(self) -> None:
        with self.driver.no_more_streams():
            self.npu.Stream(priority=-1)


class _Plait:
    """The same in a schedule: by its bodies, by its own fault, or by what the device is short of."""

    def __init__(self, driver: Driver, folder: Path):
        self.driver = driver
        self.folder = folder

    def faults(self) -> Iterator[tuple[str, Callable[[], None]]]:
        import torch

        npu = torch.get_device_module("npu")
        ones = torch.ones(4, dtype=torch.int64)
        yield "a schedule without a join in a capture", lambda: self.run("unjoined")
        yield (
            "a body waits for its stream",
            lambda: self.run(
                "one_round", head=lambda order, left: npu.current_stream().synchronize()
            ),
        )
        yield (
            "a body reads a value",
            lambda: self.run("one_round", head=lambda order, left: order[0].item()),
        )
        yield (
            "a body copies pageable memory",
            lambda: self.run(
                "one_round", head=lambda order, left: left.copy_(ones, non_blocking=True)
            ),
        )
        yield "a body goes to a stream it has kept", self.kept
        yield "a body captures", lambda: self.run("one_round", head=self.captures)
        yield "a capture on the default stream", self.on_the_default_stream
        yield "no stream is left for a capture", self.exhausted
        yield "more streams than torch deals out", self.too_many

    def run(self, name: str, **bodies: Callable[..., None]) -> None:
        with self.bound(name, bodies) as runner:
            runner.prepare()

    def bound(
        self, name: str, bodies: Mapping[str, Callable[..., None]], checked: bool = False
    ) -> Any:
        from conformance.session import Bodies
        from plait.runtime.schedule_reader import from_json

        schedule = from_json((self.folder / f"{name}.json").read_text(encoding="utf-8"))
        made = {**Bodies(self.driver).of(schedule), **bodies}
        return schedule.bind(made, device="npu", strict=True, checked=checked)

    def kept(self) -> None:
        import torch

        npu = torch.get_device_module("npu")
        kept = npu.current_stream()  # asked for once, before any capture

        def head(order: Any, left: Any) -> None:
            with npu.stream(kept):
                left.copy_(order)

        others = dict.fromkeys(("begin", "prepare", "meanwhile"), lambda **_: None)
        with self.bound("eager", {"head": head, **others}, checked=True) as runner:
            runner.step(n=4)

    def captures(self, order: Any, left: Any) -> None:
        self.run("one_round")

    def on_the_default_stream(self) -> None:
        import torch

        from plait.runtime.devices.accelerator.streams import Stream
        from plait.runtime.devices.named import device

        with_default = device("npu")
        native = torch.get_device_module("npu").default_stream()
        stream = Stream("main", native, with_default)  # type: ignore[arg-type]
        job = with_default.call("step", "by hand", lambda: None, {})
        with_default.capture("graph", "by hand", [("run", stream, job, ())], [])

    def exhausted(self) -> None:
        with self.bound("one_round", {}) as runner, self.driver.no_more_streams():
            runner.prepare()

    def too_many(self) -> None:
        from plait.runtime.devices.named import device

        made = device("npu")
        for number in range(33):
            made.stream(f"s{number}", "compute")
