"""What a client is told when it is not served, in the API's own form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class ApiError(Exception):
    status: int
    message: str
    """What is wrong, and what would do."""
    param: str | None = None
    """The field of the body that it is about."""
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def body(self) -> dict[str, object]:
        return error_body(self.status, self.message, self.param, self.code)


def error_body(
    status: int, message: str, param: str | None = None, code: str | None = None
) -> dict[str, object]:
    """`{"error": ...}`"""
    kind = "server_error" if status >= 500 else "invalid_request_error"
    if status == 429:
        kind = "rate_limit_error"
    where = None if param is None else _text(param)
    return {"error": {"message": _text(message), "type": kind, "param": where, "code": code}}


def _text(said: str) -> str:
    """A client's words can have half a surrogate pair in them, which no response can."""
    return said.encode("utf-8", "backslashreplace").decode()
