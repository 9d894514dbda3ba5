"""Which decoder a schedule's round is for: slots with a cache each, rows with pages, or a lookup."""

from __future__ import annotations

from typing import Any

from plait.runtime.eagle.decoder import TinyDecoder
from plait.runtime.eagle.paged import Paged, Ragged
from plait.runtime.eagle.sizes import is_paged, is_ragged
from plait.runtime.eagle.speculative import Speculative
from plait.runtime.lookup.decoder import LookupDecoder
from plait.runtime.lookup.paged import LookedUp, is_lookup
from plait.runtime.models.target import Target
from plait.runtime.models.tiny.model import TinyModel
from plait.runtime.runner import BindError
from plait.runtime.schedule import Schedule


def speculative(schedule: Schedule, *given: Any, **options: Any) -> Speculative:
    """As `Speculative`, by the form of the round."""
    if is_lookup(schedule):
        return LookedUp(schedule, *given, **options)
    if not is_paged(schedule):
        return Speculative(schedule, *given, **options)
    form = Ragged if is_ragged(schedule) else Paged
    return form(schedule, *given, **options)


def decoder_of(
    schedule: Schedule, model: Target, *, pages: int | None = None
) -> TinyDecoder | LookupDecoder:
    """An engine's decoder, by the form of the round. Raises BindError."""
    if is_lookup(schedule):
        return LookupDecoder(schedule, model, pages=pages)
    check_drafts(schedule, model)
    assert isinstance(model, TinyModel)
    return TinyDecoder(schedule, model, pages=pages)


def check_drafts(schedule: Schedule, model: Target) -> None:
    """Raises BindError for a round of EAGLE on a model that has no head for it."""
    if not is_lookup(schedule) and not isinstance(model, TinyModel):
        raise BindError(
            f"{schedule.source.name}: drafts with a NextN head, which this model has not; a round that "
            "drafts without one is examples/lookup.spec"
        )
