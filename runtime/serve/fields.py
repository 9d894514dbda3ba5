"""The fields of a JSON body, each asked for once; what nobody asked for is refused."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from plait.runtime.serve.errors import ApiError

LONGEST = 60
"""Letters of a client's value that are said back to it."""


class Fields:
    """`null` is the same as nothing. Every method raises ApiError."""

    def __init__(self, body: object, place: str = ""):
        self._place = place
        if not isinstance(body, dict):
            what = place.rstrip(".") or "the body"
            raise ApiError(400, f"{what} should be a JSON object", place.rstrip(".") or None)
        self._body: dict[str, Any] = body
        self._asked: set[str] = set()

    def any(self, name: str) -> Any:
        self._asked.add(name)
        return self._body.get(name)

    def number(self, name: str, least: float, most: float, default: float) -> float:
        value = self.any(name)
        if value is None:
            return default
        if type(value) not in (int, float) or not least <= value <= most:
            raise self.wrong(name, f"should be a number from {least:g} to {most:g}")
        return float(value)

    def whole(self, name: str, least: int, most: int, default: int | None = None) -> int | None:
        value = self.any(name)
        if value is None:
            return default
        if type(value) is not int or not least <= value <= most:
            raise self.wrong(name, f"should be a whole number from {least} to {most}")
        return value

    def truth(self, name: str, default: bool = False) -> bool:
        value = self.any(name)
        if value is None:
            return default
        if type(value) is not bool:
            raise self.wrong(name, "should be true or false")
        return value

    def text(self, name: str, default: str | None = None) -> str:
        value = self.any(name)
        if value is None and default is not None:
            return default
        if value is None:
            raise ApiError(
                400, f"{self._place}{name} is missing: send a string", self._place + name
            )
        if not isinstance(value, str):
            raise self.wrong(name, "should be a string")
        return checked(value, self._place + name)

    def only(self, name: str, *allowed: object) -> None:
        """Of a field that does nothing here: it may have these values only."""
        value = self.any(name)
        if value is not None and (type(value), value) not in [(type(one), one) for one in allowed]:
            said = " or ".join(json.dumps(one) for one in allowed)
            raise self.wrong(name, f"is not supported: leave it out, or {said}")

    def ignored(self, names: Collection[str]) -> None:
        """Fields on which no token depends."""
        self._asked |= set(names)

    def end(self) -> None:
        """When all that is known was asked for."""
        if unknown := sorted(self._body.keys() - self._asked):
            name = short(unknown[0])
            known = ", ".join(sorted(self._asked))
            raise ApiError(
                400,
                f"{self._place}{name}: there is no such parameter; there are {known}",
                self._place + name,
                "unknown_parameter",
            )

    def wrong(self, name: str, why: str) -> ApiError:
        value = self._body.get(name)
        given = "" if value is None else f" ({_said(value)})"
        return ApiError(400, f"{self._place}{name}{given} {why}", self._place + name)


def checked(text: str, name: str) -> str:
    """The text. Raises ApiError for half a surrogate pair, which no tokenizer takes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ApiError(
            400, f"{name}: has half a surrogate pair (\\ud800 to \\udfff), so is no text", name
        ) from None
    return text


def _said(value: object) -> str:
    try:
        return short(json.dumps(value))
    except RecursionError:  # as deep as could just be read
        return "..."


def short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
