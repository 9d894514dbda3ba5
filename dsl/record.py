"""Frozen values with named fields: what `@dataclass(frozen=True, slots=True)` gives, made in less time.

`dataclass` writes and compiles several functions for every class when it is imported, and a command
that only compiles would spend more time on that than on the spec. Here one is compiled, `__init__`; the
rest is written once. `benchmarks/compile_cold.py` measures what it is for.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any, Self, dataclass_transform


class _Uncompared:
    """Marks a field that equality and representation leave out."""


def uncompared() -> Any:
    """The default of a field that has none, and that equality and representation leave out."""
    return _Uncompared()


_set = object.__setattr__


@dataclass_transform(frozen_default=True, field_specifiers=(uncompared,))
class _Made(type):
    """Makes a class of its annotations: slots, and an `__init__` that takes them in that order."""

    def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> _Made:
        fields: dict[str, bool] = {}
        kinds: dict[str, str] = {}
        defaults: dict[str, Any] = {}
        for base in bases:
            fields |= getattr(base, "_fields", {})
            kinds |= getattr(base, "_kinds", {})
            defaults |= getattr(base, "_defaults", {})
        kinds |= body.get("__annotations__", {})
        own = tuple(body.get("__annotations__", ()))
        for field in own:
            value = body.pop(field, _Made)
            fields[field] = not isinstance(value, _Uncompared)
            if value is not _Made and fields[field]:
                defaults[field] = value
        body |= {"__slots__": own, "_fields": fields, "_kinds": kinds, "_defaults": defaults}
        compared = [field for field, counts in fields.items() if counts]
        body["_compared"] = attrgetter(*(compared or ["__class__"]))
        if fields:
            taken = ", ".join(f"{f}=_d[{f!r}]" if f in defaults else f for f in fields)
            lines = "".join(f"    _set(self, {f!r}, {f})\n" for f in fields)
            scope = {"_set": _set, "_d": defaults}
            exec(f"def __init__(self, {taken}):\n{lines}", scope)  # of the names of fields alone
            body["__init__"] = scope["__init__"]
        return type.__new__(mcs, name, bases, body)


class Record(metaclass=_Made):
    """A value: equal when of one class and equal in all fields, and never changed."""

    @classmethod
    def fields(cls) -> dict[str, str]:
        """Each field with its type, as it is written."""
        return dict(cls._kinds)  # type: ignore[attr-defined]

    @classmethod
    def needed(cls) -> list[str]:
        """The fields that have no default."""
        return [field for field in cls._fields if field not in cls._defaults]  # type: ignore[attr-defined]

    def _values(self) -> object:
        return self._compared(self)  # type: ignore[attr-defined]

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} is never changed: see `replace`")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} is never removed")

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return self._values() == other._values()  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((type(self), self._values()))

    def __repr__(self) -> str:
        fields: dict[str, bool] = self._fields  # type: ignore[attr-defined]
        shown = ", ".join(f"{f}={getattr(self, f)!r}" for f, compared in fields.items() if compared)
        return f"{type(self).__name__}({shown})"

    def replace(self, **changes: Any) -> Self:
        """The same but for some fields. Raises TypeError for one that it does not have."""
        fields: dict[str, bool] = self._fields  # type: ignore[attr-defined]
        return type(self)(**{field: getattr(self, field) for field in fields} | changes)
