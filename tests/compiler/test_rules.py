"""Every rule refuses its own bad example, and passes the mended one."""

from __future__ import annotations

import pytest

from plait.compiler.recipe.recipe import read_recipe
from plait.compiler.rules import MODULES, RULES
from plait.compiler.rules.outside import OUTSIDE
from plait.compiler.rules.rule import Rule
from plait.dsl.span import Source

BY_CODE = {rule.code: rule for rule in RULES}


def asked(rule: Rule, number: int) -> dict:
    """How the bad (0) or the mended (1) example is compiled."""
    if rule.recipes is None:
        return {"target": rule.target}
    return {"target": rule.target, "recipe": read_recipe(Source("launch.sh", rule.recipes[number]))}


def test_codes_are_distinct() -> None:
    """One code, one rule."""
    assert len(BY_CODE) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_rule_is_its_own_documentation(rule: Rule) -> None:
    """Title, reason and both examples are there, and the page has them."""
    assert rule.title and rule.why and rule.bad and rule.mended
    page = rule.page()
    assert page.startswith(f"{rule.code}: {rule.title}")
    assert all(line in page for line in rule.bad.splitlines())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_bad_example_is_refused(rule: Rule, findings) -> None:
    """The bad example breaks that rule, and only rules whose findings follow from it."""
    found = findings(rule.bad, **asked(rule, 0))
    assert [diagnostic.code for diagnostic in found] == [rule.code]
    assert found[0].severity == rule.severity
    assert found[0].help or found[0].fix


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_mended_example_is_sound(rule: Rule, findings) -> None:
    """The same spec, right, is passed without a word."""
    assert findings(rule.mended, **asked(rule, 1)) == []


def test_every_rule_module_is_listed(root) -> None:
    """A rule file that nobody lists would never be asked."""
    folder = root / "compiler" / "rules"
    files = {path.stem for path in folder.glob("*.py")} - {"__init__", "outside", "pages", "rule"}
    listed = {module.__name__.rpartition(".")[2] for module in (*MODULES, *OUTSIDE)}
    assert files == listed | {"too_many_streams"}


GOLDEN = {
    "PL301": """\
error[PL301]: `look` reads `x`, which nothing above it has written this round
 --> test.spec:6:30
6 |   phase look on main { reads x  writes y }
  |                              ^
7 |   phase make on main { writes x }
  |                               - `make` writes it only here
   = buffer: x
   = phase : look
   = help: write it first, or declare `x` carried if it lives on between rounds
""",
    "PL302": """\
error[PL302]: `look` reads `x` of the round before, which is overwritten by then
 --> test.spec:7:30
6 |   phase make on main { writes x }
  |         ---- `make` overwrites it
7 |   phase look on main { reads prev x  writes y }
  |                              ^^^^^^
   = buffer: x
   = phase : look
   = copies: 1
   = help: declare `x` with `copies 2`
""",
    "PL401": """\
error[PL401]: side is forked here and never comes back: nothing waits for `look`
 --> test.spec:8:3
8 |   fork side from make
  |   ^^^^^^^^^^^^^^^^^^^
   = stream    : side
   = last phase: look
   = help: add `join side into STREAM` where the branch is needed, or `join prev look into host`
   because of this:
   error[PL201]: `make` on main may overwrite `x` while `look` on side of the round before still reads it
    --> test.spec:7:31
   7 |   phase make on main { writes x }
     |                               ^ writes x
     ...
   9 |   phase look on side { reads x  writes y }
     |                              - reads x
      = buffer      : x
      = phases      : look, make
      = streams     : side, main
      = missing edge: join prev look into main
      = a run that shows it:
          round r + 1: main may start `make` without waiting for side
          round r: `look` comes later on side and may still be running
          `look` reads x, `make` writes it
      = help: or let rounds take turns, with more `copies` of `x`
      = fix: before line 7, write: join prev look into main
""",
    "PL501": """\
error[PL501]: `look` runs on the host, so the capture `g` cannot hold it
 --> test.spec:7:11
5 |   capture g on main rows 4 {
  |           - the capture
  ...
7 |     phase look on host { }
  |           ^^^^
   = phase  : look
   = capture: g
   = help: move it out of the braces, or split the capture around it
""",
    "PL502": """\
error[PL502]: the capture `g` copies `x` in and changes it
 --> test.spec:7:36
6 |   capture g on main rows 4 {
  |           - the capture
7 |     phase change on main { updates x }
  |                                    ^
   = buffer : x
   = capture: g
   = help: declare `x` static, or carried if it lives on
""",
    "PL701": """\
error[PL701]: nothing reads `SGLANG_DISABLE_DRAFT_EXTEND_GRAPH`, which the flag `no_graph` stands for
 --> test.spec:3:23
3 |   flag no_graph = env("SGLANG_DISABLE_DRAFT_EXTEND_GRAPH", false)
  |                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   = flag    : no_graph
   = variable: SGLANG_DISABLE_DRAFT_EXTEND_GRAPH
   = runtime : sglang 0.5.23
   = target  : ascend910c
   = help: sglang reads `SGLANG_DISABLE_DRAFT_EXTEND_CUDA_GRAPH`
   = fix: write "SGLANG_DISABLE_DRAFT_EXTEND_CUDA_GRAPH"
""",
    "PL702": """\
note[PL702]: no runtime of ascend910c is known to read `TASK_QUEUE_ENABLED`
 --> test.spec:3:20
3 |   flag queue = env("TASK_QUEUE_ENABLED", 1)
  |                    ^^^^^^^^^^^^^^^^^^^^
   = flag    : queue
   = variable: TASK_QUEUE_ENABLED
   = target  : ascend910c
   = help: did you mean `TASK_QUEUE_ENABLE`?
""",
    "PL703": """\
note[PL703]: `apart` is true where `SGLANG_ENABLE_OVERLAP_PLAN_STREAM` is not set; sglang takes false
 --> test.spec:3:20
3 |   flag apart = env("SGLANG_ENABLE_OVERLAP_PLAN_STREAM", true)
  |                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   = flag         : apart
   = variable     : SGLANG_ENABLE_OVERLAP_PLAN_STREAM
   = sglang 0.5.23: false
   = read by      : speculative/spec_utils.py:1276
   = help: write `false`, or add a variant with `set apart = false`
""",
    "PL704": """\
error[PL704]: the recipe exports `SGLANG_DISABLE_DRAFT_EXTEND_GRAPH`, which nothing reads
 --> launch.sh:1:8
1 | export SGLANG_DISABLE_DRAFT_EXTEND_GRAPH=1
  |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   = variable: SGLANG_DISABLE_DRAFT_EXTEND_GRAPH
   = runtime : sglang 0.5.23
   = target  : ascend910c
   = help: sglang reads `SGLANG_DISABLE_DRAFT_EXTEND_CUDA_GRAPH`
""",
    "PL705": """\
error[PL705]: the recipe passes --speculative-num-steps 3; `num_steps` is 2
 --> launch.sh:1:32
1 | python -m sglang.launch_server --speculative-num-steps 3
  |                                ^^^^^^^^^^^^^^^^^^^^^^^^^
 ::: test.spec:3:9
3 |   param num_steps = 2
  |         --------- `num_steps` is 2
   = option   : --speculative-num-steps
   = recipe   : 3
   = num_steps: 2
   = help: compile with `--set num_steps=3`, or correct one of them
""",
    "PL706": """\
error[PL706]: the recipe passes --speculative-num-steps twice; the server takes the last one
 --> launch.sh:1:58
1 | python -m sglang.launch_server --speculative-num-steps 2 --speculative-num-steps=3
  |                                ------------------------- the first one
  |                                                          ^^^^^^^^^^^^^^^^^^^^^^^^^
   = option: --speculative-num-steps
   = help: leave one of them out
""",
    "PL707": """\
note[PL707]: what the recipe sets `SGLANG_DISABLE_DRAFT_EXTEND_CUDA_GRAPH` to is known only when it runs
 --> launch.sh:1:8
1 | export SGLANG_DISABLE_DRAFT_EXTEND_CUDA_GRAPH=${NO_GRAPH:-0}
  |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
 ::: test.spec:3:23
3 |   flag no_graph = env("SGLANG_DISABLE_DRAFT_EXTEND_CUDA_GRAPH", false)
  |                       ---------------------------------------- `no_graph` takes its default
   = variable: SGLANG_DISABLE_DRAFT_EXTEND_CUDA_GRAPH
   = flag    : no_graph
   = help: write the value out to have it checked
""",
}


@pytest.mark.parametrize("code", GOLDEN)
def test_a_finding_reads_as_it_should(code: str, findings, shown) -> None:
    """The rendered message of each rule, word for word."""
    rule = BY_CODE[code]
    assert shown(findings(rule.bad, **asked(rule, 0))) == GOLDEN[code]


def test_a_fork_into_the_stream_it_leaves_is_no_branch(findings) -> None:
    """With a stream collapsed onto another, what was a fork of it is not one that never comes back."""
    text = """\
spec 1
pipeline p {
  flag apart = env("PLAIT_APART", false)
  stream main
  stream side if apart else main
  buffer x : i64[4]
  buffer y : i64[4]
  phase make on main { writes x }
  fork side from make
  phase look on side { reads x  writes y }
  join side into main
}
variant split of p { set apart = true }
"""
    assert findings(text) == []
