"""Two small rounds compared: what is said of each sort of difference."""

from __future__ import annotations

from dataclasses import replace

import pytest

import plait
from plait.compiler.diff.diff import Diff, diff
from plait.compiler.diff.orders import MOST_LISTED
from plait.compiler.diff.padding import padded
from plait.compiler.diff.picture import picture
from plait.compiler.diff.side import side_of
from plait.compiler.diff.text import MOST_ORDERS
from plait.runtime.schedule import Schedule

LAYER = """\
spec 1
pipeline layer {
  dim bs in [1, 4]
  stream main
  stream kv
  buffer x : i64[bs] carried
  buffer k : i64[bs]
  buffer q : i64[bs]
  phase prefix on main { updates x }
  fork kv from prefix
  phase latent on kv { reads x  writes k }
  phase query on main { reads x  writes q }
  join kv into main
  phase attend on main { reads k, q  updates x }
}
"""


@pytest.fixture
def against(compiled):
    """The diff of the layer against the same with texts replaced."""

    def compared(*edits: tuple[str, str], **asked) -> Diff:
        text = LAYER
        for old, new in edits:
            assert old in text
            text = text.replace(old, new)
        return plait.diff(compiled(LAYER, **asked), compiled(text, **asked))

    return compared


def lines(found: Diff) -> list[str]:
    """What is said below the summary."""
    return str(found).splitlines()[2:]


def test_a_place_in_the_text_is_no_difference(against) -> None:
    """Comments and empty lines move everything, and change nothing."""
    found = against(("  stream main\n", "  # where it all runs\n\n  stream main\n"))
    assert not found and not found.rows


def test_a_phase_on_another_stream(against) -> None:
    """It moved, an edge is of no use any more, and two phases that ran at once do so no longer."""
    found = against(("phase query on main", "phase query on kv"))
    assert lines(found) == [
        "",
        "what differs",
        "  > phase query: on main -> on kv",
        "  - edge latent -> attend: one wait",
        "  + edge query -> attend: one wait",
        "  ~ issue order main: prefix, query, attend -> prefix, attend",
        "  ~ issue order kv: latent -> latent, query",
        "",
        "orders between phases",
        "  + latent before query: from the next round on -> in the round",
    ]


def test_an_order_that_is_lost(against) -> None:
    """From one stream to two."""
    found = against(
        ("  stream kv\n", "  stream kv\n  stream q2\n"),
        ("phase query on main", "fork q2 from prefix\n  phase query on q2"),
        ("join kv into main", "join kv into main\n  join q2 into main"),
    )
    assert (found.orders.gained, found.orders.lost) == (0, 0)
    back = against(("  fork kv from prefix\n", "  fork kv from main\n"))
    assert not back


def test_names_that_changed_are_only_names(against) -> None:
    """A stream, a buffer and a phase called otherwise, and all that names them."""
    found = against(
        ("kv", "side"),
        ("latent", "keys"),
        ("k :", "cache :"),
        ("k,", "cache,"),
        ("writes k", "writes cache"),
    )
    assert lines(found) == [
        "",
        "what differs",
        "  = stream kv is called side",
        "  = phase latent is called keys",
        "  = buffer k is called cache",
    ]


def test_of_two_that_are_alike_neither_is_called_otherwise(compiled) -> None:
    """Where one of them is gone and the other renamed, nobody can tell which."""
    two = "buffer u : i64[4] carried buffer v : i64[4] carried phase p on a { updates u, v } }"
    one = "buffer z : i64[4] carried phase p on a { updates z } }"
    found = plait.diff(*(compiled(f"pipeline p {{ stream a {text}") for text in (two, one)))
    buffers = [(row.was, row.now) for row in found.rows if row.kind == "buffer"]
    assert buffers == [("u", ""), ("v", ""), ("", "z")]


def test_orders_on_the_side_streams_of_a_graph(compiled) -> None:
    """They begin with it, and it ends with them; so what follows it comes after all that they hold."""
    text = (
        "pipeline p { stream a stream b buffer x : i64[4] carried buffer y : i64[4] carried"
        " capture g on a rows 4 { phase u on a { updates x } %s } phase z on a { reads x, y } }"
    )
    one = compiled(text % "phase v on a { updates y }")
    other = compiled(text % "fork b from a phase v on b { updates y } join b into a")
    assert not plait.diff(one, other).orders.lost
    early = compiled(
        text.replace("{ phase u on a { updates x } %s }", "{ fork b from a %s join b into a }")
        % "phase u on a { updates x } phase v on b { updates y }"
    )
    (pair,) = plait.diff(other, early).orders.pairs
    assert (pair.first, pair.second, pair.before, pair.after) == (("u", "u"), ("v", "v"), 0, 1)


def test_two_buckets_for_one(against) -> None:
    """What only depends on a bucket that is new is not said again."""
    found = against(("[1, 4]", "[1, 2, 4]"))
    assert lines(found) == ["", "what differs", "  + bucket bs = 2"]


def test_a_size_that_changed_in_every_bucket(against) -> None:
    """It is said of the bucket that is looked at, and that there are others."""
    found = against(("q : i64[bs]", "q : i64[bs, 2]"))
    assert lines(found)[2:] == [
        "  ~ buffer q: i64[4] -> i64[4, 2] at bs = 4 and otherwise at 1 more"
    ]


def test_only_what_differs_of_a_phase_is_said(against) -> None:
    """What it reads, and not where it runs; a round takes no longer by that."""
    found = against(("phase attend on main { reads k, q", "phase attend on main { reads k"))
    (row,) = found.rows
    assert (row.parts, row.change) == (("accesses",), "changed")
    assert (row.before, row.after) == ("reads k, reads q, updates x", "reads k, updates x")


def test_instructions_in_another_order(compiled) -> None:
    """What no phase, edge or capture shows is still a difference: the first instruction that is another."""
    schedule = compiled(LAYER)
    program = schedule.programs[0]
    at = next(n for n, one in enumerate(program) if one.op == "wait")
    swapped = (*program[: at - 1], program[at], program[at - 1], *program[at + 1 :])
    (row, *_) = plait.diff(schedule, replace(schedule, programs=(swapped,))).rows
    assert row.kind == "program"


def test_many_orders_are_counted_and_few_are_listed(compiled) -> None:
    """Twenty chains of two on as many streams, against the same on one."""
    wide = chains(compiled, 20, own=True)
    found = plait.diff(chains(compiled, 20, own=False), wide)
    assert found.orders.lost > MOST_LISTED and len(found.orders.pairs) == MOST_LISTED
    assert len([line for line in lines(found) if " before " in line]) <= MOST_ORDERS
    assert str(found).endswith(" more\n")


def chains(compiled, count: int, own: bool) -> Schedule:
    text = ["spec 1", "pipeline p {", "  stream main"]
    text += [f"  stream s{n}" for n in range(count) if own]
    text += [f"  buffer x{n} : i64[4] carried" for n in range(count)]
    for n in range(count):
        stream = f"s{n}" if own else "main"
        text += [
            f"  phase a{n} on {stream} {{ updates x{n} }}",
            f"  phase b{n} on {stream} {{ updates x{n} }}",
        ]
    text += [f"  join s{n} into main" for n in range(count) if own]
    return compiled("\n".join([*text, "}", ""]))


def test_a_schedule_is_a_side_by_itself(compiled) -> None:
    """At its widest bucket, without times."""
    side = side_of(compiled(LAYER))
    assert (side.title, side.at.name, side.measures) == ("test.spec", "bs = 4", None)


def test_a_side_that_waits_in_a_circle(compiled) -> None:
    """It has no time, and no timeline."""
    side = side_of(compiled(LAYER))
    found = diff(
        side,
        side.replace(title="b", stuck=True, schedule=compiled(LAYER.replace("[1, 4]", "[1, 2]"))),
    )
    assert str(found).splitlines()[1].startswith("b waits in a circle, and never ends a round; ")
    assert picture(found, side, side.replace(stuck=True)).groups == ()


@pytest.mark.parametrize(
    ("live", "rows"),
    [({}, 0), ({"bs": 3}, 3), ({"bs": 8}, 0), ({"bs": 0}, 12), ({"other": 1}, None)],
)
def test_rows_of_padding(compiled, live: dict[str, int], rows: int | None) -> None:
    """Of a graph three rows wide for each request and one that is as wide whatever there is."""
    text = (
        "spec 1\npipeline p {\n dim bs in [1, 4]\n stream a\n buffer x : i64[bs, 3] carried\n"
        " buffer y : i64[5] carried\n"
        " capture wide on a rows bs * 3 { phase w on a { updates x } }\n"
        " capture plain on a rows 5 { phase q on a { updates y } }\n}\n"
    )
    schedule = compiled(text)
    assert padded(schedule, schedule.widest, live) == rows
