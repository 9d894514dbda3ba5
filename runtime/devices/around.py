"""A device in front of another, which does all that the one in front does not do itself."""

from __future__ import annotations

from typing import Any

from plait.runtime.devices.base import Device, Step


class AroundStream:
    """A stream, or the host, in front of the other device's."""

    def __init__(self, inner: Any):
        self.inner = inner
        self.round = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def begin(self, round: int) -> None:
        self.round = round
        self.inner.begin(round)


class Around:
    """Its streams are what `before` makes of the other's."""

    def __init__(self, device: Device):
        self.device = device

    def __getattr__(self, name: str) -> Any:
        return getattr(self.device, name)

    def before(self, inner: Any) -> AroundStream:
        return AroundStream(inner)

    def host(self) -> AroundStream:
        return self.before(self.device.host())

    def stream(self, name: str, kind: str) -> AroundStream:
        return self.before(self.device.stream(name, kind))

    def capture(
        self,
        name: str,
        place: str,
        steps: list[Step],
        written: list[Any],
        pool: int | None = None,
    ) -> Any:
        return self.device.capture(name, place, self.behind(steps), written, pool)

    def behind(self, steps: list[Step]) -> list[Step]:
        """Steps of a capture, on the other device's streams."""
        return [(op, on.inner, what, numbers) for op, on, what, numbers in steps]
