"""A round explained and drawn: texts, word for word."""

from __future__ import annotations

import networkx

from plait.compiler.compile import Asked, prove
from plait.compiler.emit.dot import dot
from plait.compiler.emit.mermaid import mermaid
from plait.compiler.graph import graph
from plait.compiler.rows.coverage import coverage, coverage_text
from plait.compiler.views.explain import skeleton, skeleton_text
from plait.dsl.span import Source

SKELETON = """\
round of eagle at bs = 8

   38  main  draft: first, nextn[1]   (captured, 8 rows)
   48  main  build_tree
   51        fork plan from main
               tree: build_tree before plan_verify
   52  plan  plan_verify
   53        join plan into main
               verify_meta: plan_verify before target
               seq_lens: plan_verify before accept
   55  main  verify: target   (captured, 24 rows)
   58  main  accept
   60        fork plan from accept
               accepted: accept before plan_extend
               seq_lens: accept before plan_extend
   61  plan  plan_extend
   62        join plan into main
               extend_meta: plan_extend before nextn_extend
   65  main  extend: nextn_extend   (captured, 24 rows)
   74        fork copy from accept
               accepted: accept before publish
   75  copy  publish
   76        join prev publish into host
               out_tokens: publish (round r - 1) before commit
               accepted: publish (round r - 2) before accept
   77  host  commit

branches

   51  fork plan from main: plan_verify
       comes back at line 53: join plan into main
       runs beside: publish (round r - 1); commit
   60  fork plan from accept: plan_extend
       comes back at line 62: join plan into main
       runs beside: publish (round r - 1); publish, commit; commit (round r + 1)
   74  fork copy from accept: publish
       comes back at line 76 of the next round: join prev publish into host
       runs beside: plan_extend, extend, commit; \
draft, build_tree, plan_verify, verify, accept, plan_extend, extend (round r + 1)
"""


def test_the_skeleton_says_where_every_fork_comes_back(eagle, proven) -> None:
    """Each edge with what it orders, each branch with its return and what runs beside it."""
    assert skeleton_text(skeleton(proven(eagle))) == SKELETON


def test_an_edge_that_costs_nothing_is_called_so(eagle, proven) -> None:
    """With planning on the main stream, its fork is no wait and orders nothing."""
    text = skeleton_text(skeleton(proven(eagle, variant="serial")))
    assert "fork main from accept   (no wait: other edges give it)\n" in text


def test_the_graph_handed_to_users(eagle, compiled) -> None:
    """Nodes are phases and captures; waits are edges; one round has no cycle."""
    made = graph(compiled(eagle))
    assert set(made) == {
        "draft",
        "build_tree",
        "plan_verify",
        "verify",
        "accept",
        "plan_extend",
        "extend",
        "publish",
        "commit",
    }
    waits = {(a, b, d["rounds_back"]) for a, b, d in made.edges(data=True) if d["kind"] == "wait"}
    assert waits == {
        ("build_tree", "plan_verify", 0),
        ("plan_verify", "verify", 0),
        ("accept", "plan_extend", 0),
        ("plan_extend", "extend", 0),
        ("accept", "publish", 0),
        ("publish", "commit", 1),
    }
    assert networkx.is_directed_acyclic_graph(made)
    assert made.nodes["verify"] == {"stream": "main", "phases": ("target",), "rows": 24}


def test_pictures_show_every_step_and_wait(eagle, compiled) -> None:
    """Mermaid and DOT have a box a stream, a node a step, and waits apart from stream order."""
    schedule = compiled(eagle)
    bucket = schedule.bucket_for(bs=3)
    text = mermaid(schedule, bucket)
    assert text.startswith("flowchart LR\n") and text.count("subgraph") == 4
    assert 'n3[["verify: target<br/>12 rows"]]' in text
    assert text.count("==>") == 5 and text.count("-->") == 5 and 'n7 -. "next round" .-> n8' in text
    drawn = dot(schedule, bucket)
    assert drawn.startswith('digraph "eagle" {') and drawn.count("subgraph cluster_") == 4
    assert drawn.count("[style=bold]") == 5 and drawn.count("style=dashed") == 1
    assert drawn.count("{") == drawn.count("}")


BUCKETS = """\
buckets of tiers: requests and rows of each graph

     bs  graph  draft  verify     round
      1   true      1       3  segments
      1  false      1   eager  segments
 2 .. 8   true      8      24  segments
 2 .. 8  false      8   eager  segments
9 .. 32   true  eager      96  segments
9 .. 32  false  eager   eager     eager

draft: eager on every route at bs = 9 .. 32 (a graph when bs <= 8)
verify: eager on some routes (a graph when graph)
in no capture: accept
accept: never in a graph (it blocks the host)
"""


def test_the_buckets_that_a_graph_covers() -> None:
    """B71: which numbers of requests run as a graph, on how many rows, and which run eagerly."""
    text = """\
spec 1
pipeline tiers {
  dim bs in [1, 8, 32]
  guard graph
  stream main
  buffer x : i64[bs, 3] carried
  buffer y : i64[bs]
  capture draft on main rows bs when bs <= 8 { phase step on main { reads x  writes y } }
  capture verify on main rows bs * 3 when graph { phase target on main { reads y  updates x } }
  phase accept on main host_sync { updates x }
}
"""
    proven = prove(Source("test.spec", text), Asked())
    found = coverage(proven.orders, proven.target)
    assert coverage_text(found) == BUCKETS
    assert found.buckets[2].holds == {"bs": (2, 8)} and found.buckets[2].graphs["verify"] == 24


def test_a_graph_that_never_is_one(eagle) -> None:
    """Without capture every stage is eager, and is said to be, by its name."""
    proven = prove(eagle, Asked(capture=False))
    found = coverage(proven.orders, proven.target)
    text = coverage_text(found)
    assert {one.runs for one in found.buckets} == {"eager"}
    for name in ("draft", "verify", "extend"):
        assert f"{name}: never a graph" in text
