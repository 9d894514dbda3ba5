"""Value semantics for frozen dataclasses, written once.

A class asks for `@dataclass(frozen=True, slots=True, eq=False, repr=False)` and inherits the rest.
`dataclass` would write equality and representation for every class when it is imported, and a command
that only compiles would spend more time on that than on the spec.
"""

from __future__ import annotations


class Record:
    __slots__ = ()

    def __init_subclass__(cls) -> None:
        # A class without a docstring gets its signature for one, which takes longer than all the rest.
        cls.__doc__ = cls.__doc__ or cls.__name__

    def _values(self) -> tuple[object, ...]:
        fields = self.__dataclass_fields__.values()  # type: ignore[attr-defined]
        return tuple(getattr(self, field.name) for field in fields if field.compare)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return self._values() == other._values()  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((type(self), self._values()))

    def __repr__(self) -> str:
        fields = self.__dataclass_fields__.values()  # type: ignore[attr-defined]
        shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields if f.repr)
        return f"{type(self).__name__}({shown})"
