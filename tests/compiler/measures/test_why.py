"""Why an exchange is exposed: one small round for each reason."""

from __future__ import annotations

import pytest

from plait.compiler.measures.communication import exchanges
from plait.compiler.measures.needs import Needs
from plait.compiler.measures.why import Whys
from plait.compiler.measures.window import window
from plait.compiler.timing.costs import Cost, HostCosts, Law, Profile, StreamCosts
from plait.runtime.schedule import Schedule

ROUND = """\
spec 1
pipeline p {{
  group ep
  stream main
  stream comm : comm
  stream side
  buffer x : i64[4] carried
  buffer y : i64[4]
  buffer z : i64[4]
  buffer v : i64[4] carried
  phase gate on main {{ updates x  cost 10ns }}
  fork comm from gate
  phase dispatch on comm {{ reads x  writes y  cost 100ns  collective all_to_all over ep }}
  {between}
  join comm into main
  phase experts on main {{ updates y  cost 20ns }}
  {behind}
  phase add on main {{ reads y{z}  updates x  cost 5ns }}
  {last}
}}
"""
OTHER = "phase other on {} {{ reads x  writes z  cost 30ns }}"
OWN = "phase other on {} {{ updates v  cost 30ns }}"


FREE = HostCosts()


def why(
    schedule: Schedule,
    host: HostCosts = FREE,
    streams: int | None = None,
    costs: tuple[tuple[str, Cost], ...] = (),
) -> list[str]:
    """Of the one exchange, each reason with its time."""
    profile = Profile("by hand", "cpu", ("cores",), host, StreamCosts(), costs)
    found = window(schedule, profile, 0)
    (one,) = exchanges(found)
    made = Whys(found, Needs(found), streams).of(one)
    assert sum(part.time for part in made) == one.time - one.covered
    return [f"{part.time} {part.kind}: {part.text}" for part in made]


def text(between: str = "", behind: str = "", last: str = "") -> str:
    z = ", z" if "z" in between + behind else ""
    return ROUND.format(between=between, behind=behind, last=last, z=z)


def test_data_leaves_nothing_to_run(compiled) -> None:
    """All else needs it, or is needed by it."""
    assert why(compiled(text())) == ["100 data: experts needs y of dispatch"]


def test_work_that_is_shorter_leaves_the_rest_to_data(compiled) -> None:
    """What it covers is no longer exposed."""
    assert why(compiled(text(between=OTHER.format("main")))) == [
        "70 data: experts needs y of dispatch"
    ]


def test_work_of_the_next_round_could_run_too(compiled) -> None:
    """It needs nothing of this one, and stands behind something on its stream that does."""
    assert why(compiled(text(between=OWN.format("main")))) == [
        "70 stream: other of the next round is behind gate on main"
    ]


def test_work_is_behind_on_its_stream(compiled) -> None:
    """It would fit, but stands after what waits for the exchange."""
    made = compiled(text(behind=OTHER.format("main")))
    assert why(made) == ["100 stream: other is behind experts on main"]


def test_a_stream_of_its_own_is_more_than_there_are(compiled) -> None:
    """The same, on a target with no stream left to put it on."""
    made = compiled(text(behind=OTHER.format("main")))
    assert why(made, streams=2) == [
        "100 budget: other is behind experts on main, and all 2 are taken"
    ]


def test_an_edge_that_no_data_asks_for(compiled) -> None:
    """Another stream waits, though it needs nothing of what it waits for."""
    made = compiled(
        text(behind=f"fork side from experts\n{OTHER.format('side')}\njoin side into main")
    )
    assert why(made) == ["100 edge: other waits for experts by an edge that no data asks for"]


def test_the_host_has_not_issued_it(compiled) -> None:
    """It could have run at once, and comes only when the host is through with what stands before it."""
    made = compiled(text(last=f"{OWN.format('side')}\njoin side into main"))
    (reason,) = why(made, host=HostCosts(run=40))
    assert reason.startswith("100 launch: the host issued other ")


def test_contention_makes_it_longer(compiled) -> None:
    """Half as fast while it shares all of what it uses; then the rest is nobody's fault but the data's."""
    cores = ((0, 1000),)
    costs = (("dispatch", Cost(Law(100), cores)), ("other", Cost(Law(30), cores)))
    assert why(compiled(text(between=OTHER.format("main"))), costs=costs) == [
        "40 data: experts needs y of dispatch",
        "30 contention: it took 30 ns longer than alone, as others used cores",
    ]


@pytest.mark.parametrize("last", ["", "phase free on main { updates v  cost 1ns }"])
def test_what_overwrites_is_told_from_what_needs(compiled, last: str) -> None:
    """A phase that only writes comes after the readers of what was there."""
    made = compiled(text(last=last).replace("reads y  updates x", "writes x"))
    found = window(made, Profile("p", "cpu", (), HostCosts(), StreamCosts(), ()), 0)
    needs = Needs(found)
    spans = {found.spans[n].what.name: n for n in found.of_round if found.spans[n].stream >= 0}
    assert needs.said(spans["add"], spans["dispatch"]) == "add overwrites x, used by dispatch"
