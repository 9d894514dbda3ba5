"""How tokens are taken from a round: a round later, by its phase `commit`."""

from __future__ import annotations

from plait.runtime.runner import BindError
from plait.runtime.schedule import Schedule

TOKENS = "out_tokens"


def check_taken(schedule: Schedule) -> None:
    """Raises BindError for a round whose `commit` does not read `out_tokens` of the round before."""
    takers = [phase for phase in schedule.phases if phase.body == "commit"]
    for phase in takers:
        for one in phase.arguments:
            if schedule.buffers[one.buffer].name == TOKENS:
                if one.rounds_back == 1:
                    return
                raise BindError(
                    f"{schedule.place_of(phase.place)}: `commit` reads `{TOKENS}` of its own round; tokens "
                    f"are taken a round later: write `reads prev {TOKENS}`"
                )
    raise BindError(
        f"{schedule.source.name}: tokens are taken from a host buffer `{TOKENS}`, which a phase `commit` "
        "reads with `prev`; this round has none"
    )
