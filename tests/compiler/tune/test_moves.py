"""The moves that a text offers, and what becomes of it."""

from __future__ import annotations

from fractions import Fraction

from plait.compiler.compile import Asked
from plait.compiler.timing.costs import Cost, HostCosts, Law, Profile, StreamCosts
from plait.compiler.tune.kinds import MODULES
from plait.compiler.tune.maker import Maker
from plait.compiler.tune.move import Space, View
from plait.compiler.tune.price import Load
from plait.dsl.span import Source

ASKED = Asked(environment={})
LOAD = Load((((("bs", 4),), 1),))
PROFILE = Profile(
    "by hand",
    "cpu",
    (),
    HostCosts(run=1),
    StreamCosts(),
    (("*", Cost(Law(10))),),
)
LAYER = """\
spec 1

pipeline layer {
  param wide  = false
  param depth = 1
  dim bs in [1, 4]
  stream main
  stream kv
  buffer x : i64[bs] carried
  buffer k : i64[bs]
  buffer q : i64[bs]

  # The prefix comes first.
  phase prefix on main { updates x }
  # Latents are worked out here.
  phase latent on main { reads x  writes k }  # on main
  phase query on main { reads x  writes q }
  phase attend on main { reads k, q  updates x }
}

variant deep of layer { set depth = 2 }
"""


def view(text: str, **space) -> View:
    return View(Source("layer.spec", text), Space(ASKED, **space))


def whats(kind: str, text: str, **space) -> list[str]:
    return [move.what for move in MODULES[kind].moves(view(text, **space))]


def made(kind: str, what: str, text: str, **space) -> tuple[str, str] | None:
    """The step that a move comes to, and the lines of the text after it that were not there before."""
    maker = Maker(Space(ASKED, **space), PROFILE, LOAD, lambda schedule: Fraction(1))
    start = maker.start(Source("layer.spec", text))
    move = next(
        move for move in MODULES[kind].moves(View(start.source, maker.space)) if move.what == what
    )
    found = maker.made(start, move)
    if found is None:
        return None
    old = start.source.text.splitlines()
    new = [line.strip() for line in found.source.text.splitlines() if line not in old]
    return str(found.steps[-1]), "\n".join(new)


def test_settings_are_truths_what_variants_set_and_what_is_asked_for() -> None:
    """Other values that the round could have, each once."""
    assert whats("settings", LAYER) == ["`wide` set to true", "`depth` set to 2"]
    vary = {"depth": ("2", "3")}
    assert whats("settings", LAYER, vary=vary)[1:] == ["`depth` set to 2", "`depth` set to 3"]


def test_a_setting_of_a_variant_is_written_there() -> None:
    """What was asked for is the variant, so the default stays."""
    asked = Asked(variant="deep", environment={})
    moves = MODULES["settings"].moves(View(Source("layer.spec", LAYER), Space(asked)))
    assert [move.text.splitlines()[-1] for move in moves] == [
        "variant deep of layer { set depth = 2  set wide = true }"
    ]


def test_a_phase_moves_with_the_edges_it_then_needs() -> None:
    """A fork from what it reads, a join into what reads it, and an edge to the next round."""
    assert whats("streams", LAYER, streams=2) == [
        f"`{name}` moved from main to kv" for name in ("prefix", "latent", "query", "attend")
    ]
    assert made("streams", "`latent` moved from main to kv", LAYER, streams=2) == (
        "`latent` moved from main to kv, with `fork kv from prefix` and `join latent into main`",
        "fork kv from prefix\n"
        "phase latent on kv { reads x  writes k }  # on main\n"
        "join latent into main",
    )


def test_a_stream_may_be_declared() -> None:
    """Where more are allowed than there are."""
    step, text = made("streams", "`latent` moved from main to a new stream side1", LAYER) or (
        "",
        "",
    )
    assert step.endswith("with `fork side1 from prefix` and `join latent into main`")
    assert text.startswith("stream side1\n")


def test_statements_that_stand_next_to_each_other_change_places_with_their_comments() -> None:
    """And only where the round still computes the same."""
    assert whats("issue", LAYER) == [
        "`latent` issued before `prefix`",
        "`query` issued before `latent`",
        "`attend` issued before `query`",
    ]
    moves = list(MODULES["issue"].moves(view(LAYER)))
    before, after = moves[1].text.split("  phase query on main")
    assert before.endswith("  phase prefix on main { updates x }\n")
    assert after.splitlines()[1:3] == [
        "  # Latents are worked out here.",
        "  phase latent on main { reads x  writes k }  # on main",
    ]
    assert made("issue", "`query` issued before `latent`", LAYER) is not None
    assert made("issue", "`latent` issued before `prefix`", LAYER) is None


SPLIT = """\
spec 1
pipeline split {
  dim bs in [1, 4]
  group ep
  stream main
  buffer x : i64[bs] carried
  buffer y : i64[bs]
  buffer z : i64[bs] carried
  launch dispatch on main { reads x  writes y  collective all_to_all over ep }
  await dispatch on main
  phase shared on main { updates z }
  phase experts on main { reads y  updates x }
}
"""


def test_an_await_comes_later_and_a_launch_earlier() -> None:
    """Work between the two hides what is in flight."""
    assert whats("issue", SPLIT)[:2] == [
        "`await dispatch on main` moved above `dispatch`",
        "`await dispatch on main` moved below `shared`",
    ]
    assert made("issue", "`await dispatch on main` moved below `shared`", SPLIT) is not None
    assert made("issue", "`await dispatch on main` moved above `dispatch`", SPLIT) is None


GRAPHS = """\
spec 1
pipeline graphs {
  dim bs in [1, 4]
  stream main
  buffer x : i64[bs] carried
  buffer y : i64[bs] carried
  phase before on main { updates x }
  capture first on main rows bs {
    phase one on main { updates x }
  }
  capture second on main rows bs {
    phase two on main { reads x  updates y }
  }
}
"""


def test_graphs_are_dropped_merged_and_widened() -> None:
    """Or come anew around what runs eagerly."""
    assert whats("captures", GRAPHS) == [
        "`before` is part of the graph `first`",
        "`first` runs without a graph",
        "`first` and `second` are one graph",
        "`second` runs without a graph",
        "a graph `graph1` of bs rows holds `before`",
    ]
    merged = next(
        move.text
        for move in MODULES["captures"].moves(view(GRAPHS))
        if move.what == "`first` and `second` are one graph"
    )
    assert merged.count("capture") == 1
    assert made("captures", "`first` runs without a graph", GRAPHS) == (
        "`first` runs without a graph",
        "phase one on main { updates x }",
    )


def test_buckets_are_the_best_lists_of_each_length() -> None:
    """For the sizes that were seen."""
    text = LAYER.replace("[1, 4]", "[4]")
    assert whats("buckets", text, histogram=((1, 90), (3, 10))) == [
        "buckets of bs are 3",
        "buckets of bs are 1, 3",
    ]


def test_an_edge_that_no_data_needs_may_go() -> None:
    """It is offered, and stays where a comment says why it stands."""
    text = LAYER.replace("  phase attend", "  join prev attend into kv\n  phase attend")
    maker = Maker(Space(ASKED), PROFILE, LOAD, lambda schedule: Fraction(1))
    start = maker.start(Source("layer.spec", text))
    assert [move.what for move in start.spare] == [
        "`join prev attend into kv` left out, as no data needs it"
    ]
    kept = text.replace("into kv", "into kv  # allow PL901: paces the copies")
    maker = Maker(Space(ASKED), PROFILE, LOAD, lambda schedule: Fraction(1))
    assert maker.start(Source("layer.spec", kept)).spare == ()
