"""Widths, buckets and padded rows: the mistakes that were met in the field, each refused where it is made."""

from __future__ import annotations

import pytest

from plait.compiler.compile import Asked, prove
from plait.compiler.fix import mended
from plait.dsl.span import Source

SAME = "group tp = 2\n  dim bs in [1, 2, 4] same over tp"


def spec(*lines: str, head: str = "dim bs in [1, 2, 4]") -> str:
    """A pipeline of one stream with those lines in it."""
    body = "".join(f"  {line}\n" for line in ("stream main", head, *lines))
    return f"spec 1\npipeline p {{\n{body}}}\n"


@pytest.fixture
def codes(findings):
    """The codes that are found, and the lines they are found on."""

    def found(text: str) -> list[tuple[str, str]]:
        return [(one.code, one.span.text) for one in findings(text, small=True)]

    return found


ROUTES = ("capture g on main rows bs when graph {", "}")


def loaded(pad: str) -> str:
    return spec(
        f"buffer lens : i64[bs] on host copies 2{pad}",
        f"buffer table : i64[bs]{pad}",
        "buffer most : i64[1]",
        "join prev look into host",
        "phase admit on host { writes lens }",
        "phase stage on main { reads lens  writes table }",
        "capture g on main rows bs {",
        "phase look on main across_rows { reads table  writes most }",
        "}",
    )


def test_a_graph_that_reads_a_whole_bucket_of_which_only_live_rows_are_loaded(findings) -> None:
    """B60: stale entries past the live ones reach a phase across the rows, through a copy."""
    (found,) = findings(loaded(""))
    assert (found.code, found.span.text) == ("PL608", "table")
    assert dict(found.facts)["not padded"] == "lens"
    assert " at bs = 4" in found.message  # 1 and 2 are never padded
    assert found.witness[0] == (
        "round r: bs.live = 3 at bs = 4, so of the 4 rows of lens only rows 0 .. 2 are live,"
        " and `admit` loads those"
    )
    assert findings(loaded(" pad 0")) == []


def test_the_mend_of_undefined_rows_is_written_in(findings) -> None:
    """`pad 0` stands behind the buffer that the rows come from, and nothing is left to say."""
    text = mended(Source("test.spec", loaded("")), Asked()).source.text
    assert "buffer lens : i64[bs] on host copies 2 pad 0\n" in text
    assert "buffer table : i64[bs]\n" in text
    assert findings(text) == []


@pytest.mark.parametrize("graph", ["true", "false"])
def test_a_table_that_is_not_padded_with_the_rest(codes, graph: str) -> None:
    """B62: one input is padded and the other is not; a graph and the eager route are judged alike."""
    text = spec(
        f"param graph = {graph}",
        "buffer q : i64[bs] on host copies 2 pad 0",
        "buffer table : i64[bs] on host copies 2",
        "buffer score : i64[bs]",
        "buffer best : i64[1]",
        "join prev attend into host",
        "phase admit on host { writes q, table }",
        ROUTES[0],
        "phase index on main { reads q, table  writes score }",
        "phase attend on main across_rows { reads score  writes best }",
        ROUTES[1],
    )
    assert codes(text) == [("PL608", "score")]
    padded = codes(text.replace("copies 2\n  buffer score", "copies 2 pad 0\n  buffer score"))
    assert [code for code, _ in padded if code != "PL905"] == []  # a capture that never is one


def test_rows_that_live_on_from_a_larger_round(codes) -> None:
    """B65: a carried buffer keeps what an earlier, larger round left past the live rows."""
    lines = ["phase mean on main across_rows { reads topk  writes centre }"]
    declared = ["buffer topk : i64[bs, 2] carried", "buffer centre : i64[2]"]
    assert codes(spec(*declared, *lines)) == [("PL608", "topk")]
    assert codes(spec(declared[0] + " pad 0", declared[1], *lines)) == []


def test_rows_that_are_computed_one_by_one_are_never_mixed(codes) -> None:
    """Undefined rows stay apart in phases that work row by row, and in collectives on what they computed."""
    text = spec(
        "buffer token : i64[bs] carried",
        "buffer x : f32[bs, 8]",
        "phase embed on main { reads token  writes x }",
        "phase reduce on main { updates x  collective all_reduce over tp }",
        "phase sample on main { reads x  writes token }",
        head=SAME,
    )
    assert codes(text) == []


def test_a_collective_on_rows_as_they_were_loaded(codes) -> None:
    """Nobody has computed the rows past the live ones, on any rank."""
    text = spec(
        "buffer token : i64[bs] on host copies 2",
        "buffer x : f32[bs, 8]",
        "join prev embed into host",
        "phase admit on host { writes token }",
        "phase embed on main { reads token  writes x  collective all_reduce over tp }",
        head=SAME,
    )
    assert codes(text) == [("PL608", "token")]
    assert codes(text.replace("copies 2", "copies 2 pad 0")) == []


def test_rows_that_every_round_writes_are_defined(codes) -> None:
    """A phase that reads nothing of the rows writes all of the bucket; a bucket without padding has none."""
    lines = [
        "buffer x : i64[bs]",
        "buffer most : i64[1] carried",
        "phase make on main { writes x }",
        "phase look on main across_rows { reads x  writes most }",
    ]
    assert codes(spec(*lines)) == []
    stale = spec("buffer x : i64[bs] carried", *lines[1:2], *lines[3:])
    assert codes(stale) == [("PL608", "x")]
    assert codes(stale.replace("[1, 2, 4]", "[1, 2, 3]")) == []


def test_the_rows_of_a_rank_that_has_fewer(codes) -> None:
    """Padded to the largest of a group, any bucket has rows without a request, the smallest too."""
    text = spec(
        "buffer x : i64[bs] carried",
        "buffer most : i64[1]",
        "phase look on main across_rows { reads x  writes most }",
        head="group dp\n  dim bs in [1, 2] over dp",
    )
    assert codes(text) == [("PL608", "x")]
    assert codes(text.replace("over dp", "same over dp")) == []


def received(pad: str, looks: str) -> str:
    return spec(
        "group ep",
        "stream comm : comm",
        "buffer x : i64[bs] carried",
        f"buffer recv : i64[64]{pad}",
        "buffer load : i64[8]",
        "fork comm from main",
        "phase dispatch on comm { reads x  writes recv  rows bs  collective all_to_all over ep }",
        "join comm into main",
        f"phase experts on main {looks} {{ reads recv  writes load }}",
        "phase next on main { updates x }",
    )


def test_rows_that_an_exchange_did_not_fill(codes) -> None:
    """B67: how many rows come only the device knows; a phase across all of them takes old ones for new."""
    assert codes(received("", "across_rows")) == [("PL608", "recv")]
    assert codes(received(" pad -1", "across_rows")) == []
    assert codes(received("", "")) == []


def test_requests_taken_for_tokens(findings) -> None:
    """Both numbers are said, and the expression that gives the other."""
    text = spec(
        "param width = 3",
        "buffer x : f32[bs * width, 8] carried",
        "phase step on main { updates x  rows bs }",
    )
    (found,) = findings(text)
    assert (found.code, found.span.text) == ("PL604", "bs")
    assert "1 row at bs = 1" in found.message and "which has 3" in found.message
    assert found.help.startswith("write `rows bs * width`")
    assert findings(text.replace("rows bs }", "rows bs * width }")) == []


def test_an_extend_graph_of_another_width(codes) -> None:
    """The extend is captured for the drafted rows, where it works on those that were verified."""
    text = spec(
        "param num_steps = 4",
        "param num_draft_tokens = 3",
        "buffer accepted : i64[bs, num_draft_tokens] carried",
        "buffer states : f32[bs * num_draft_tokens, 8]",
        "capture extend on main rows bs * (num_steps + 1) {",
        "phase nextn on main { reads accepted  writes states }",
        "phase head on main { reads states  writes accepted }",
        "}",
    )
    assert codes(text) == [("PL604", "bs * (num_steps + 1)")]
    assert codes(text.replace("(num_steps + 1)", "num_draft_tokens")) == []


def test_a_phase_wider_than_its_graph(codes) -> None:
    """A graph captured for requests does not hold a phase that works on tokens."""
    text = spec(
        "buffer x : f32[bs * 3, 8] carried",
        "buffer y : f32[bs, 8]",
        "capture g on main rows bs {",
        "phase wide on main { updates x  rows bs * 3 }",
        "phase head on main { reads x  writes y  rows bs }",
        "}",
    )
    assert codes(text) == [("PL604", "bs")]


def test_what_is_no_confusion_of_widths(codes) -> None:
    """A prefix sum has one row more, a pooled result fewer, a head works on the requests of a wider graph."""
    text = spec(
        "buffer x : f32[bs * 3, 8] carried",
        "buffer starts : i32[bs + 1]",
        "buffer pooled : f32[bs, 8]",
        "capture g on main rows bs * 3 {",
        "phase wide on main { updates x  rows bs * 3 }",
        "phase head on main { reads x  writes pooled, starts  rows bs }",
        "phase mean on main { reads x  writes pooled  rows bs * 3 }",
        "}",
    )
    assert codes(text) == []


def test_rows_that_come_from_other_ranks(codes) -> None:
    """A gather in a graph of the ranks' own rows writes those of all, and what is computed has as many."""
    text = spec(
        "buffer x : f32[bs, 8] carried",
        "buffer all : f32[bs * 4, 8]",
        "buffer wide : f32[bs * 4, 8]",
        "capture g on main rows bs {",
        "phase gather on main { reads x  writes all  collective all_gather over dp }",
        "phase mlp on main { reads all  writes wide  rows bs * 4 }",
        "phase share on main { reads wide  writes x  collective reduce_scatter over dp }",
        "}",
        "phase keep on main { reads wide  updates x }",
        head="group dp = 4\n  dim bs in [1, 2] over dp",
    )
    assert codes(text) == []
    assert codes(text.replace("  rows bs * 4", "")) == []
    assert codes(text.replace("  collective all_gather over dp", "")) == [("PL604", "bs")]


def test_rows_that_a_graph_spreads_and_brings_together(codes) -> None:
    """A row goes to several experts and comes back; what stays of that after the graph has its rows."""
    text = spec(
        "buffer x : f32[bs * 3, 8] carried",
        "buffer ids : i32[bs * 3, 5]",
        "buffer spread : f32[bs * 3 * 5, 8]",
        "buffer done : f32[bs * 3 * 5, 8]",
        "buffer other : f32[bs, 8] carried",
        "capture g on main rows bs * 3 {",
        "phase gate on main { reads x  writes ids }",
        "phase permute on main { reads x, ids  writes spread }",
        "phase experts on main { reads spread  writes done }",
        "phase unpermute on main { reads done, ids  updates x }",
        "}",
        "phase last on main { reads x  updates other }",
    )
    assert codes(text) == []
    assert codes(text.replace("reads x  updates other", "reads done  updates x")) == [
        ("PL604", "bs * 3")
    ]
    assert codes(text.replace("rows bs * 3 {", "rows bs {")) == [("PL604", "bs")]


def test_two_halves_of_a_batch_in_one_graph(codes) -> None:
    """Both are given to one module, and their rows together are those of the graph."""
    text = spec(
        "buffer a : f32[bs // 2, 8] carried",
        "buffer b : f32[bs - bs // 2, 8] carried",
        "capture g on main rows bs {",
        "call half(x = a) as first",
        "call half(x = b) as second",
        "}",
        head="dim bs in [2, 6]",
    )
    text += "module half(stream main, buffer x) { phase step on main { updates x } }\n"
    assert codes(text) == []
    assert codes(text.replace("rows bs {", "rows bs * 2 {")) == [("PL604", "bs * 2")]


TOKENS = "dim tokens in [4, 8, 12]"


@pytest.mark.parametrize("divided", ["tokens / width", "tokens // width"])
def test_a_bucket_of_tokens_that_splits_a_request(findings, divided: str) -> None:
    """B69: 8 tokens are not whole requests of 3; 6 and 9 are, or buckets of requests."""
    text = spec(
        "param width = 3",
        f"buffer tree : i64[{divided}, width] carried",
        "phase step on main { updates tree  rows tokens }",
        head="dim tokens in [6, 8]",
    )
    found = [one for one in findings(text) if one.code == "PL606"]
    assert len(found) == 1 and "at tokens = 8" in found[0].message
    assert found[0].help.startswith("8 is not a multiple of 3: take 6 or 9")
    assert findings(text.replace("[6, 8]", "[6, 9]")) == []


def test_a_list_of_sizes_whose_least_holds_no_request(findings) -> None:
    """B72: the smallest bucket must hold one request of the width."""
    text = spec(
        "param width = 3",
        "buffer tree : i64[tokens / width, width] carried",
        "phase step on main { updates tree }",
        head="dim tokens in [2, 6]",
    )
    (found,) = findings(text)
    assert (found.code, found.help[:39]) == ("PL606", "2 is not a multiple of 3: take 3, or li")
    (found,) = findings(text.replace("tokens / width", "tokens // width"))
    assert found.code == "PL601" and "is 0 at tokens = 2" in found.message


def test_half_a_batch_may_be_the_smaller_half(codes) -> None:
    """What a floor division leaves may stand elsewhere."""
    text = spec(
        "param a = bs // 2",
        "param b = bs - a",
        "buffer xa : i64[a, 4] carried",
        "buffer xb : i64[b, 4] carried",
        "phase step on main { updates xa, xb }",
        head="dim bs in [2, 3]",
    )
    assert codes(text) == []


def test_rows_that_ranks_cannot_share(codes) -> None:
    """A reduce_scatter gives every rank as many rows."""
    lines = [
        "buffer x : f32[tokens, 8] carried",
        "buffer y : f32[max(tokens // 8, 1), 8]",
        "phase scatter on main { updates x  writes y  collective reduce_scatter over tp }",
    ]
    head = "group tp = 8\n  dim tokens in [8, {}] same over tp"
    assert codes(spec(*lines, head=head.format(12))) == [("PL606", "x")]
    assert codes(spec(*lines, head=head.format(16))) == []


def test_the_largest_batch_is_over_the_largest_bucket(findings) -> None:
    """B71: 32 requests of 17 rows are 544, and the list of tokens ends at 512."""
    text = spec(
        "dim tokens in [256, 512]",
        "buffer packed : i64[tokens] carried",
        "capture verify on main rows tokens {",
        "phase target on main { updates packed  rows bs * 17 }",
        "}",
        head="dim bs in [16, 32]",
    )
    (found,) = findings(text)
    assert found.code == "PL607" and "works on 544 rows" in found.message
    assert findings(text.replace("512", "544")) == []


@pytest.mark.parametrize(
    ("access", "code"), [("x[0 .. tokens + bs - 1]", "PL601"), ("x  rows tokens + bs", "PL607")]
)
def test_a_draft_that_adds_a_token_for_each_request(codes, access: str, code: str) -> None:
    """B74: tokens + requests rows, in a buffer of tokens rows."""
    text = spec(
        "dim tokens in [64, 2048]",
        "buffer x : i64[tokens] carried",
        f"phase draft on main {{ updates {access} }}",
    )
    assert [found for found, _ in codes(text)] == [code]


def test_a_declared_bucket_is_never_altered(codes) -> None:
    """B76: 42 requests are a bucket of 42, or an error; the list is compiled as it stands."""
    text = spec("buffer x : i64[bs] carried", "phase step on main { updates x }")
    rounds = prove(Source("test.spec", text.replace("1, 2, 4", "32, 40, 42")), Asked()).orders
    assert [order.round.sizes["bs"] for order in rounds] == [32, 40, 42]
    assert codes(text.replace("[1, 2, 4]", "[42, 40]")) == [("PL601", "[42, 40]")]


def test_a_draft_of_one_step_has_no_graph_and_the_extend_keeps_its_own(eagle) -> None:
    """B77: no forward is left to capture in the draft, and no other graph depends on that one."""
    settings = {"num_steps": 1, "num_draft_tokens": 2}
    for order in prove(eagle, Asked(settings=settings)).orders:
        rows = {capture.name: capture.rows for capture in order.round.captures}
        assert rows == {
            "verify": 2 * order.round.sizes["bs"],
            "extend": 2 * order.round.sizes["bs"],
        }


def test_the_shape_of_what_is_carried_may_not_follow_the_steps(codes) -> None:
    """An adaptive width: what lives on has no place in a round of other steps."""
    text = spec(
        "param steps in [1, 3] = 1",
        "buffer x : i64[bs, steps] carried",
        "phase step on main { updates x }",
    )
    assert codes(text) == [("PL605", "x")]


def test_a_read_of_rows_that_nothing_wrote(findings) -> None:
    """Regions and buckets are judged: the rows of the half that no phase wrote are named."""
    text = spec(
        "buffer x : i64[bs]",
        "buffer y : i64[bs] carried",
        "phase make on main { writes x[0 .. bs // 2] }",
        "phase look on main { reads x  updates y }",
        head="dim bs in [2, 4]",
    )
    (found,) = findings(text)
    assert found.code == "PL301" and "`x[3]`" in found.message


def test_many_parts_are_judged_in_linear_time(codes) -> None:
    """A buffer written column by column, thousands of them, is still followed."""
    text = spec(
        "buffer x : i64[bs, 4000]",
        "buffer token : i64[bs] carried",
        "buffer most : i64[1]",
        "for i in 0 .. 3999 { phase make[i] on main { reads token  writes x[_, i] } }",
        "phase look on main across_rows { reads x  writes most }",
        head="dim bs in [4]",
    )
    assert codes(text) == [("PL608", "x")]


def test_sizes_by_a_name_of_two_things(codes) -> None:
    """The name that is declared twice is told of, and the sizes are as they can be."""
    text = spec(
        "buffer x : i64[tokens] carried",
        "phase step on main { updates x }",
        head="param tiers = 4\n  param tiers = [32]\n  dim tokens in tiers",
    )
    assert codes(text) == [("PL104", "tiers")]
