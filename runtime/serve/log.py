"""The log as JSON lines, one a request: nothing of a prompt, unless that was asked for."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any, TextIO

requests = logging.getLogger("plait.serve")


class Lines(logging.Formatter):
    """`fields` of a record stand behind what every record has. ASCII, so no terminal obeys any of it.

    `rank`: that of this process, where there are several.
    """

    def __init__(self, rank: int | None = None):
        super().__init__()
        self._rank = rank

    def format(self, record: logging.LogRecord) -> str:
        found: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        if self._rank is not None:
            found["rank"] = self._rank
        found |= getattr(record, "fields", {})
        if record.exc_info:
            found["traceback"] = self.formatException(record.exc_info)
        return json.dumps(found)


def log_lines(file: TextIO, rank: int | None = None) -> None:
    """Has Plait, uvicorn and asyncio log there, and nowhere else."""
    handler = logging.StreamHandler(file)
    handler.setFormatter(Lines(rank))
    levels = {"plait": logging.INFO, "uvicorn": logging.WARNING, "asyncio": logging.ERROR}
    for name, level in levels.items():
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level)
        logger.propagate = False


def say(event: str, **fields: object) -> None:
    requests.info(event, extra={"fields": fields})
