"""Which decoder a schedule's round is for: of slots with a cache each, or of rows with pages."""

from __future__ import annotations

from typing import Any

from plait.runtime.eagle.paged import Paged, Ragged, is_paged, is_ragged
from plait.runtime.eagle.speculative import Speculative
from plait.runtime.schedule import Schedule


def speculative(schedule: Schedule, *given: Any, **options: Any) -> Speculative:
    """As `Speculative`, by the form of the round."""
    if not is_paged(schedule):
        return Speculative(schedule, *given, **options)
    form = Ragged if is_ragged(schedule) else Paged
    return form(schedule, *given, **options)
