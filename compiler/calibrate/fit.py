"""A cost profile from samples, with what each number rests on as comments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median_low

from plait.compiler.calibrate.contention import alone, shares, slowed
from plait.compiler.calibrate.laws import law_of
from plait.compiler.calibrate.samples import MOST, CalibrateError, Ran, Samples
from plait.compiler.calibrate.served import served
from plait.compiler.spread import mad_low
from plait.compiler.timing.costs import Cost, HostCosts, Profile, StreamCosts
from plait.dsl.render.figures import counted

RESOURCE = "shared"
"""What phases are said to share that were slower at once than alone."""


@dataclass(frozen=True)
class Fitted:
    profile: Profile
    comments: dict[str, list[str]] = field(default_factory=dict)
    """Of the file, under the empty name, and of its tables by theirs."""


def fitted(samples: Samples, name: str) -> Fitted:
    """Raises CalibrateError where nothing was measured."""
    if not samples.phases:
        raise CalibrateError(f"{', '.join(samples.files)}: no phase of the schedule is in it")
    stream, host = _stream(samples), _host(samples)
    pairs = slowed(samples.phases)
    share = shares(pairs)
    turn = _median(samples.turns)
    phases, comments = [], {}
    for phase in sorted({one.phase for one in samples.phases}):
        here = [one for one in samples.phases if one.phase == phase]
        uses = ((0, share[phase]),) if phase in share else ()
        held = _times([one for one in here if one.held], 0)
        added = 0 if here[0].host else max(turn - stream.gap, 0)
        eager = _times([one for one in here if not one.held], added)
        law = law_of(held or eager)
        beside = law_of(eager) if held and eager else None
        phases.append((phase, Cost(law, uses, eager=beside)))
        comments[f"phases.{phase}"] = [
            f"{what}: {_rests_on(times)}"
            for what, times in (("in a graph", held), ("by itself", eager))
            if times
        ]
    resources = (RESOURCE,) if share else ()
    profile = Profile(name, samples.target, resources, host, stream, tuple(phases))
    comments["stream"] = [
        f"{len(samples.loads)} loads, {len(samples.edges)} replays, {len(samples.waits)} waits that held up"
    ]
    comments["host"] = ["one figure for all instructions: rounds are issued as a whole"]
    profile, said = served(samples, profile)
    comments[""] = [
        f"measured: {counted(len(samples.phases), 'phase')} of {counted(len(samples.rounds), 'round')}",
        f"from {', '.join(samples.files)}",
        said,
        *dict.fromkeys(samples.notes),
        *(
            f"{a} and {b}, at once, take {ratio / 1000:.2f} times as long as alone"
            for (a, b), ratio in sorted(pairs.items())
        ),
    ]
    return Fitted(profile, comments)


def _times(ran: Sequence[Ran], added: int) -> dict[int, list[int]]:
    """Of phases that ran, times by rows."""
    found: dict[int, list[int]] = {}
    for rows in sorted({one.rows for one in ran}):
        here = [one for one in ran if one.rows == rows]
        found[rows] = [min(one.time + added, MOST) for one in alone(here)]
    return found


def _stream(samples: Samples) -> StreamCosts:
    gap, turn = _median(samples.gaps), _median(samples.turns)
    return StreamCosts(
        record=_median(samples.records),
        wait=max(_median(samples.waits) - turn, 0),
        load=_median(samples.loads) + turn if samples.loads else 0,
        replay=max(_median(samples.edges) + turn - gap, 0) if samples.edges else 0,
        gap=gap,
    )


def _host(samples: Samples) -> HostCosts:
    each = _median(samples.issues)
    return HostCosts(run=each, replay=each, load=each, record=each, wait=each)


def _median(times: Sequence[int]) -> int:
    return min(max(median_low(times), 0), MOST) if times else 0


def _rests_on(times: Mapping[int, Sequence[int]]) -> str:
    """How many samples at which rows, and how far they are apart."""
    count = sum(len(seen) for seen in times.values())
    spread = median_low([_spread(seen) for seen in times.values()])
    rows = ", ".join(map(str, list(times)[:12])) + (", ..." if len(times) > 12 else "")
    return f"{counted(count, 'time')} at {rows} rows; half are within {spread} % of the median"


def _spread(times: Sequence[int]) -> int:
    """The median distance from the median, in percent of it."""
    middle = max(median_low(times), 1)
    return mad_low(times) * 100 // middle
