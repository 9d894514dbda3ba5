"""Which decoder a schedule's round is for: of chains, or of trees."""

from __future__ import annotations

from typing import Any

from plait.runtime.eagle.speculative import Speculative
from plait.runtime.eagle.trees import Trees, is_tree
from plait.runtime.schedule import Schedule


def speculative(schedule: Schedule, *given: Any, **options: Any) -> Speculative:
    """As `Speculative`, by the form of the round."""
    form = Trees if is_tree(schedule) else Speculative
    return form(schedule, *given, **options)
