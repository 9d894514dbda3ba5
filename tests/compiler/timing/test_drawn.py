"""The timeline of a terminal, as wide as that is, whatever names stand in it."""

from __future__ import annotations

from rich.cells import cell_len

from plait.compiler.timing.costs import Cost, HostCosts, Law, Profile, StreamCosts
from plait.compiler.timing.drawn import drawn
from plait.compiler.timing.simulate import Simulation, simulate
from plait.compiler.timing.ticks import ticks
from plait.dsl.render.figures import shown

LAYER = """\
spec 1
pipeline layer {
  stream main
  stream kv
  buffer x : i64[4] carried
  buffer k : i64[4]
  phase prefix on main { updates x }
  fork kv from prefix
  phase latent on kv { reads x  writes k }
  phase query on main { reads x }
  join kv into main
  phase attend on main { reads k  updates x }
}
"""
TIMES = {"prefix": 100, "latent": 300, "query": 120, "attend": 80}


def simulated(
    compiled, rounds: int, name: str = "one die", names: dict | None = None
) -> Simulation:
    schedule = compiled(LAYER)
    costs = tuple((one, Cost(Law(time * 1000))) for one, time in TIMES.items())
    profile = Profile(name, "cpu", (), HostCosts(run=2000), StreamCosts(), costs)
    found = simulate(schedule, profile, [0] * rounds)
    if names is None:
        return found
    spans = tuple(
        span._replace(what=span.what._replace(name=names.get(span.what.name, span.what.name)))
        for span in found.spans
    )
    return Simulation(found.schedule, profile, found.buckets, found.lanes, spans)


NARROW = """\
layer at any, simulated with the costs of one die: 480 us a round
2 rounds in 962 us; the first takes 482 us

host
main [prefix##[query------................[attend#
kv   .........[latent######################
     0 us              200 us             400 us

critical path of round 1, 480 us:
      300 us  62.5 %  phase latent
      100 us  20.8 %  phase prefix
       80 us  16.7 %  phase attend
"""


def test_the_last_round_is_drawn_with_its_waits(compiled) -> None:
    """Dots where a lane waits for another; names stand where there is room."""
    assert drawn(simulated(compiled, 2), 50) == NARROW


def test_one_round_shows_what_the_host_does(compiled) -> None:
    """From the very beginning."""
    text = drawn(simulated(compiled, 1), 50)
    assert "\nhost #\n" in text and "critical path, 482 us" in text


EVIL = {
    "prefix": "\x1b[31mred\x07",
    "latent": "\u202ekernel\u2028\ud800",
    "query": "漢字カーネル",
    "attend": "</script>",
}


def test_no_name_steers_the_terminal(compiled) -> None:
    """Control characters, bidirectional marks and surrogates are question marks; wide ones keep columns."""
    for columns in (40, 80, 100, 200):
        text = drawn(simulated(compiled, 2, "\x1b]0;title\x07\r\n", EVIL), columns)
        assert all(line.isprintable() for line in text.splitlines())
        text.encode()
        rows = text.split("\n\n")[1].splitlines()
        assert all(cell_len(row) <= columns for row in rows)
    assert "[?[31mred?#" in text and "漢字カーネル" in text and "?kernel??" in text


def test_ticks_are_round_numbers_in_one_unit() -> None:
    """Never more than asked for beyond the first, and all that are there up to the end."""
    for end in (*range(1, 3000), 10**6 - 1, 10**6, 123_456_789, 10**12 + 7):
        for most in (1, 2, 5, 12):
            marks = list(ticks(end, most))
            assert 1 <= len(marks) <= most + 1
            each = marks[1][0] if len(marks) > 1 else end + 1
            assert [at for at, _ in marks] == list(range(0, end + 1, each))
            assert each > end or str(each).strip("0") in ("1", "2", "5")
            assert len({label for _, label in marks}) == len(marks)


def test_times_are_shown_alike() -> None:
    """Three digits, rounded as one would by hand, and no zero behind a point."""
    told = {0: "0 ns", 999: "999 ns", 1000: "1 us", 1005: "1.01 us", 99_949: "99.9 us"}
    told |= {
        100_500: "101 us",
        59_999_999_999: "60 s",
        3_600_000_000_000: "3,600 s",
        -1500: "-1.5 us",
    }
    assert {time: shown(time) for time in told} == told
