"""What a profile foretells, against what was measured: for each phase, and for rounds."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from statistics import median, median_low
from typing import Any

from plait.compiler.calibrate.contention import alone
from plait.compiler.calibrate.samples import Samples, alike
from plait.compiler.calibrate.served import foretold, measured
from plait.compiler.spread import mad_low
from plait.compiler.timing.costs import Profile
from plait.compiler.timing.issue import kind_of
from plait.dsl.record import Record
from plait.dsl.render.figures import percent
from plait.dsl.render.printable import printable


class Compared(Record):
    """One figure, both ways, in nanoseconds."""

    what: str
    """`phase`, `graph` (a phase in one), or `round`."""
    name: str
    """Of the phase, or of the bucket."""
    rows: int
    """0 of a round."""
    measured: int
    """Median."""
    spread: int
    """Half of those measured are no further from the median."""
    foretold: int
    count: int

    @property
    def error(self) -> Fraction:
        """In parts of what was measured; above 0 what is foretold is too long."""
        return Fraction(self.foretold - self.measured, max(self.measured, 1))


class Against(Record):
    phases: tuple[Compared, ...]
    rounds: tuple[Compared, ...]
    unknown: tuple[str, ...]
    """Phases that were measured and that nothing in the profile says the cost of."""

    @property
    def error(self) -> Fraction | None:
        """The median of the rounds' errors, whichever way; None: no rounds."""
        return median([abs(one.error) for one in self.rounds]) if self.rounds else None


def against(samples: Samples, profile: Profile) -> Against:
    """What a phase takes is, both ways, with what its stream does between it and the next."""
    phases, unknown = [], set()
    kinds = {
        phase.body: (schedule.widest.work[number][1], kind_of(schedule, phase))
        for schedule in samples.schedules
        for number, phase in enumerate(schedule.phases)
    }
    for (name, held, rows), ran in alike(samples.phases).items():
        here = alone(ran)
        times = [one.time for one in here]
        cost = profile.known(name, name, *kinds.get(name, (None, "")))
        if cost is None:
            unknown.add(name)
            continue
        law = cost.law if held or cost.eager is None else cost.eager
        around = [] if here[0].host else samples.gaps if held else samples.turns
        between = max(median_low(around), 0) if around else 0
        phases.append(
            Compared(
                "graph" if held else "phase",
                name,
                rows,
                median_low(times) + between,
                mad_low(times),
                law.time(rows) + (0 if here[0].host else profile.stream.gap),
                len(times),
            )
        )
    return Against(tuple(phases), tuple(_rounds(samples, profile)), tuple(sorted(unknown)))


def _rounds(samples: Samples, profile: Profile) -> Iterator[Compared]:
    for place, time in measured(samples).items():
        schedule, bucket = place
        times = [one.time for one in samples.rounds if (one.schedule, one.bucket) == place]
        name = samples.schedules[schedule].buckets[bucket].name
        found = foretold(samples.schedules, profile, place)
        yield Compared("round", name, 0, time, mad_low(times), found, len(times))


def as_data(found: Against) -> dict[str, Any]:
    """As JSON values; times in nanoseconds, errors in parts."""
    return {
        "phases": [_row(one) for one in found.phases],
        "rounds": [_row(one) for one in found.rounds],
        "unknown": list(found.unknown),
        "error": None if found.error is None else float(found.error),
    }


def _row(one: Compared) -> dict[str, Any]:
    values = {name: getattr(one, name) for name in Compared.fields()}
    return {**values, "error": float(one.error)}


def drawn(found: Against) -> str:
    """A table a sort, for a terminal."""
    lines = []
    if found.phases:
        lines.append(_line("phase", "rows", "measured", "spread", "foretold", "error", "times"))
        lines += [_figures(one, "  in a graph" * (one.what == "graph")) for one in found.phases]
    if found.rounds:
        lines += ["", _line("round", "", "measured", "spread", "foretold", "error", "rounds")]
        lines += [_figures(one) for one in found.rounds]
        lines += [
            "",
            f"median error of a round: {percent(found.error or Fraction(0))}",
        ]
    else:
        lines += ["", "no rounds of one bucket followed each other: none are compared"]
    if found.unknown:
        lines.append(f"not in the profile: {', '.join(found.unknown)}")
    return "\n".join(lines) + "\n"


def _figures(one: Compared, note: str = "") -> str:
    return _line(
        printable(one.name) + note,
        str(one.rows) if one.rows else "",
        _us(one.measured),
        _us(one.spread),
        _us(one.foretold),
        percent(one.error, "+"),
        str(one.count),
    )


def _line(name: str, *figures: str) -> str:
    return f"{name:<32}" + "".join(f"{one:>12}" for one in figures)


def _us(time: int) -> str:
    return f"{time / 1000:,.1f} us"
