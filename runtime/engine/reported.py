"""What a round tells of its tokens beside them: log probabilities."""

from __future__ import annotations

from plait.runtime.runner import BindError
from plait.runtime.schedule import Schedule

LOGPROBS = "out_logprobs"
TOPS = "out_top_tokens"


def likeliest(schedule: Schedule) -> int | None:
    """Of how many likeliest tokens log probabilities go out, beside that of each one; None: none do."""
    shapes = dict(
        zip((buffer.name for buffer in schedule.buffers), schedule.widest.shapes, strict=True)
    )
    if LOGPROBS not in shapes:
        return None
    tops = shapes.get(TOPS)
    return tops[-1] if tops else 0


def check_reports(schedule: Schedule, first: Schedule) -> None:
    """Raises BindError for one that tells less than the first of an engine, as requests ask by that."""
    wanted, found = likeliest(first), likeliest(schedule)
    if wanted is not None and (found is None or found < wanted):
        raise BindError(
            f"{schedule.source.name}: it gives {told_of(found)}; requests may ask for {told_of(wanted)}, "
            f"which {first.source.name} gives: begin with this schedule, or give it as many"
        )


def told_of(count: int | None) -> str:
    """In words, what `likeliest` has found."""
    if count is None:
        return "no log probabilities"
    return f"log probabilities of the {count} likeliest tokens"
