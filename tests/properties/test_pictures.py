"""Pictures of random rounds: nothing is left out, and each form keeps its own rules."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from random import Random

import networkx as nx
import pytest

from drawing.safe import safe_round
from plait.compiler.compile import Asked, compile_source
from plait.compiler.emit.foretold import foretold
from plait.compiler.emit.page.page import as_json
from plait.compiler.emit.perfetto import perfetto
from plait.compiler.emit.picture import Bar, stacked
from plait.compiler.emit.svg import svg
from plait.compiler.measures.graph import Graph
from plait.compiler.measures.slack_to_end import slacks_to_end
from plait.compiler.timing.costs import Cost, HostCosts, Law, Profile, StreamCosts
from plait.compiler.timing.drawn import drawn
from plait.compiler.timing.sharing import WHOLE
from plait.compiler.timing.simulate import Simulation, simulate
from plait.compiler.timing.timeline import lanes
from plait.dsl.span import Source

ROUNDS = 40


def simulations() -> Iterator[Simulation]:
    """Of one to three rounds on one or two ranks, where what the host and the streams do may take time."""
    for number in range(ROUNDS):
        random = Random(number)
        schedule = compile_source(Source("p.spec", safe_round(random).text()), Asked())

        def some(most: int, random: Random = random) -> int:
            return random.choice((0, random.randint(1, most)))

        phases = tuple(
            (one.name, Cost(Law(some(90)), ((0, random.randint(1, WHOLE)),)))
            for one in schedule.phases
        )
        host = HostCosts(*(some(9) for _ in HostCosts.fields()))
        stream = StreamCosts(*(some(5) for _ in StreamCosts.fields()))
        profile = Profile("drawn", "cpu", ("memory",), host, stream, phases)
        rounds = [len(schedule.buckets) - 1] * random.randint(1, 3)
        yield simulate(schedule, profile, rounds, [0, some(50)][: random.randint(1, 2)])


@pytest.fixture(scope="module")
def found() -> list[Simulation]:
    return list(simulations())


def test_all_that_a_span_came_after_is_known(found: list[Simulation]) -> None:
    """It had ended when the span began, and one of it is the cause by the simulation's own account."""
    for one in found:
        graph = Graph(one)
        for number, sources in enumerate(graph.sources):
            known = {source.span for source in sources}
            assert all(one.spans[each].end <= graph.begins[number] for each in known)
            assert one.spans[number].cause in known | {-1}


def test_slack_is_what_the_longest_way_to_the_end_leaves(found: list[Simulation]) -> None:
    """As networkx finds that way; what is on the critical path has none."""
    for one in found:
        made = Graph(one)
        graph = nx.DiGraph((a, b) for a, after in enumerate(made.after) for b in after)
        graph.add_nodes_from(range(len(one.spans)))
        tail = [0] * len(one.spans)
        for number in reversed(list(nx.topological_sort(graph))):
            follow = graph.successors(number)
            tail[number] = max(
                (one.spans[n].end - made.begins[n] + tail[n] for n in follow), default=0
            )
        expected = [one.end - span.end - tail[n] for n, span in enumerate(one.spans)]
        assert slacks_to_end(made) == expected
        assert all(not expected[s.span] for s in one.path() if s.span is not None)


def test_a_picture_has_every_span_and_a_path_that_tiles_the_time(found: list[Simulation]) -> None:
    """Waits lie only where nothing ran; rounds follow each other."""
    for one in found:
        picture = foretold(one)
        (group,) = picture.groups
        bars = [bar for lane in group.lanes for bar in lane.bars]
        ran = {bar.number: (bar.start, bar.end) for bar in bars if bar.number >= 0}
        spans = {n: (s.start, s.end) for n, s in enumerate(one.spans) if s.end > s.start}
        assert ran == spans
        assert all(len(stacked(lane.bars)) == 1 for lane in group.lanes)
        ends = [0, *(bar.end for bar in group.path)]
        assert [bar.start for bar in group.path] == ends[:-1] and ends[-1] == picture.end
        assert all(a.end == b.start for a, b in pairwise(group.rounds))
        data = json.loads(as_json(picture))
        assert sum(len(row) for _, rows in data["groups"][0]["lanes"] for row in rows) == len(bars)


def test_perfetto_would_drop_nothing(found: list[Simulation]) -> None:
    """In exact decimals no slice of a thread overlaps the next, and arrows begin and end within slices."""
    for one in found:
        picture = foretold(one)
        events = json.loads(perfetto(picture), parse_float=Decimal)["traceEvents"]
        threads: dict[tuple[int, int], list[tuple[Decimal, Decimal]]] = {}
        flows: dict[int, list] = {}
        for event in events:
            place = event["pid"], event["tid"]
            if event["ph"] == "X":
                assert event["dur"] > 0
                start, took = Decimal(event["ts"]), Decimal(event["dur"])
                threads.setdefault(place, []).append((start, start + took))
            elif event["ph"] in "sf":
                flows.setdefault(event["id"], []).append((event, place))
        for slices in threads.values():
            assert all(a[1] <= b[0] for a, b in pairwise(sorted(slices)))
        assert len(flows) == len(picture.groups[0].arrows)
        for (left, source), (right, target) in flows.values():
            assert (left["ph"], right["ph"], right["bp"]) == ("s", "f", "e")
            assert left["ts"] <= right["ts"] and left["name"] == right["name"]
            for event, place in ((left, source), (right, target)):
                assert any(a <= Decimal(event["ts"]) < b for a, b in threads[place])
        busy = [event["args"]["streams"] for event in events if event["ph"] == "C"]
        assert not busy or (busy[-1] == 0 and min(busy) == 0)


def test_drawings_keep_their_bounds(found: list[Simulation]) -> None:
    """An SVG is XML with everything within its frame; a terminal's rows are as wide as it is."""
    for one in found:
        root = ElementTree.fromstring(svg(foretold(one), 640))
        for rect in root.iter("{http://www.w3.org/2000/svg}rect"):
            assert float(rect.get("x", 0)) >= 0 and float(rect.get("width", 0)) > 0
            assert float(rect.get("x", 0)) + float(rect.get("width", 0)) <= 640
        for columns in (40, 80, 200):
            rows = drawn(one, columns).split("\n\n")[1].splitlines()
            assert all(len(row) <= columns for row in rows)
            assert len(rows) == len(lanes(one)) + 1


def test_rows_of_a_lane_hold_what_overlaps() -> None:
    """Each bar once, in as few rows as there are bars at any one time."""
    random = Random(7)
    for _ in range(200):
        bars = []
        for _ in range(random.randint(0, 12)):
            start = random.randint(0, 20)
            bars.append(Bar("b", "phase", start, start + random.randint(1, 9)))
        rows = stacked(bars)
        assert sorted(map(str, bars)) == sorted(str(bar) for row in rows for bar in row)
        for row in rows:
            assert all(a.end <= b.start for a, b in pairwise(row))
        deepest = max((sum(b.start <= t < b.end for b in bars) for t in range(30)), default=0)
        assert len(rows) == max(deepest, 1)
