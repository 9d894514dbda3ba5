"""What a schedule says of the round it is: its sizes, and whether a model and this machine have them."""

from __future__ import annotations

import os
from collections.abc import Mapping

import torch

from plait.runtime.models.target import Target
from plait.runtime.runner import BindError
from plait.runtime.schedule import Schedule

COPIES = 4
"""Of the caches: the round's, plain decoding's, and two that are kept while the round is captured."""
TOKENS = "tokens"
"""The dim that counts rows of a ragged verify."""


def dim_of(schedule: Schedule) -> str:
    """The dim that counts requests, beside that of a ragged verify.

    Raises BindError for a round that has none, or others.
    """
    dims = [name for name, _ in schedule.buckets[-1].sizes if name != TOKENS]
    if len(dims) != 1:
        raise BindError(
            f"{schedule.source.name}: its dims are {', '.join(dims) or 'none'}; the round that is "
            "bound here has one, of requests"
        )
    return dims[0]


def captures(schedule: Schedule, body: str) -> bool:
    """Whether a graph holds a phase of that body."""
    return any(phase.body == body and phase.capture is not None for phase in schedule.phases)


def check_room(schedule: Schedule, model: Target, slots: int, span: int) -> None:
    """Raises BindError when caches for so many requests would not leave this machine room to work."""
    numbers = slots * span * model.shape.cached * (model.shape.layers + 1)
    needed = COPIES * numbers * torch.empty(0, dtype=model.dtype).element_size()
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > there:
        raise BindError(
            f"{schedule.source.name}: a bucket of {slots:,} requests needs {needed / 2**30:,.0f} GiB for "
            f"caches; this machine has {there / 2**30:,.0f}"
        )


def rows_of(schedule: Schedule) -> int:
    """D, the rows verified a request. Raises BindError for a round that is not this one."""
    widths = {}
    for number, buffer in enumerate(schedule.buffers):
        sizes = schedule.widest.shapes[number]
        if sizes is not None and len(sizes) == 2:
            widths[buffer.name] = (sizes[1], schedule.place_of(buffer.place))
    for name in ("tree", "draft_tokens", "candidate"):
        if name not in widths:
            raise BindError(
                f"{schedule.source.name}: this runs rounds of EAGLE, which have a buffer `{name}` of "
                "two axes; bind your own phases with `schedule.bind`"
            )
    (rows, place), (steps, _) = widths["tree"], widths["draft_tokens"]
    topk, where = widths["candidate"]
    if topk != 1:
        raise BindError(
            f"{where}: {topk} candidates a request; what is bound here drafts a chain, of one (topk = 1)"
        )
    if rows != steps + 1:
        raise BindError(
            f"{place}: a chain of {steps} drafted tokens verifies {steps + 1} rows a request, not {rows}"
        )
    return rows


def check_fits(schedule: Schedule, model: Target, bodies: Mapping[str, object]) -> None:
    """Raises BindError for a phase that is not the chain's, or a buffer that has not the model's sizes."""
    for phase in schedule.phases:
        if phase.body not in bodies:
            raise BindError(
                f"{schedule.place_of(phase.place)}: `{phase.name}` is no phase of the round that is "
                f"bound here ({', '.join(bodies)}); bind your own phases with `schedule.bind`"
            )
    shape = model.shape
    wanted = {"hidden": shape.hidden, "rows_hidden": shape.hidden, "logits": shape.vocab}
    for number, buffer in enumerate(schedule.buffers):
        sizes = schedule.widest.shapes[number]
        if buffer.name in wanted and (sizes is None or sizes[-1] != wanted[buffer.name]):
            found = "opaque" if sizes is None else f"{sizes[-1]} wide"
            raise BindError(
                f"{schedule.place_of(buffer.place)}: `{buffer.name}` is {found}; "
                f"the model needs a last axis of {wanted[buffer.name]}"
            )


def page_size_of(schedule: Schedule) -> int:
    """Raises BindError for a round that does not say it."""
    size = dict(schedule.settings).get("page_size")
    if type(size) is not int or size < 1:
        raise BindError(
            f"{schedule.source.name}: it has no param `page_size`, the positions of a page; a round with "
            "caches in pages is examples/service.spec"
        )
    return size


def ahead_of(schedule: Schedule) -> int:
    """Positions behind a request's last token that a round writes, and may not be nobody's."""
    found = dict(schedule.settings).get("most_ahead", 0)
    return found if type(found) is int else 0


def steps_of(schedule: Schedule) -> int:
    """S: each step of a draft is a phase."""
    return sum(phase.body in ("first", "nextn") for phase in schedule.phases)


def width_of(schedule: Schedule, name: str) -> int:
    """The second axis of a buffer. Raises BindError for a round that has none."""
    for number, buffer in enumerate(schedule.buffers):
        sizes = schedule.widest.shapes[number]
        if buffer.name == name and sizes is not None and len(sizes) == 2:
            return sizes[1]
    raise BindError(
        f"{schedule.source.name}: this runs rounds that have a buffer `{name}` of two axes, as that of "
        "examples/service.spec"
    )


def is_ragged(schedule: Schedule) -> bool:
    return any(buffer.name == "verify_lens" for buffer in schedule.buffers)


def is_paged(schedule: Schedule) -> bool:
    return any(buffer.name == "pages" for buffer in schedule.buffers)
