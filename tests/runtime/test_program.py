"""The generated Python: straight lines, reached by number, and the same text everywhere."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from plait.runtime.program import program_text, standalone_text

TOY = """\
spec 1
pipeline toy {
  dim n in [2, 4]
  stream a
  stream b
  buffer x : i64[n] carried
  buffer y : i64[n] static copies 2
  buffer z : i64[n] on host copies 2
  phase make on a { updates x }
  capture g on a rows n { phase double on a { reads x  writes y } }
  fork b from g
  phase publish on b { reads y  writes z }
  join prev publish into host
  phase log on host { reads prev z }
}
"""

BODIES = """\
seen = []
def make(x): x.add_(1)
def double(x, y): y.copy_(x * 2)
def publish(y, z): z.copy_(y)
def log(z): seen.append(z.tolist())
bodies = {"make": make, "double": double, "publish": publish, "log": log}
"""

ROUND = """\
    def round(r, live):
        s1.run(p0[0])                     # make (test.spec:9)
        s1.run(l0[0])                     # load g
        s1.replay(g0[r % 2])              # replay g (test.spec:10)
        s1.record(e0[0])                  # g
        s2.wait(e0[0])                    # g (test.spec:11)
        s2.run(p2[r % 2])                 # publish (test.spec:12)
        s2.record(e1[r % 2])              # publish
        s0.wait(e1[(r - 1) % 2])          # publish (test.spec:13)
        s0.run(p3[r % 2])                 # log (test.spec:14)
"""


def test_a_round_is_straight_lines_in_issue_order(compiled) -> None:
    """One call an instruction, each with its name and line beside it; turns by the round's number."""
    text = program_text(compiled(TOY))
    assert text.count(ROUND) == 2  # the same for both buckets


def test_nothing_in_the_text_is_a_name_of_the_spec_but_literals(compiled) -> None:
    """Names of phases, buffers and arguments are string literals or comments, never code."""
    tree = ast.parse(program_text(compiled(TOY)))
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    used |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not used & {"make", "double", "publish", "log", "x", "y", "z", "g", "a", "b"} - {"x"}


def test_names_that_python_reserves_are_only_names(compiled) -> None:
    """A phase `class` with an argument `lambda` runs like any other."""
    schedule = compiled(
        "pipeline def {\n stream import\n buffer lambda : i64[2] carried\n"
        " phase class on import { updates lambda }\n}"
    )
    with schedule.bind({"class": lambda **given: given["lambda"].add_(3)}) as runner:
        runner.step()
        runner.drain()
        assert runner.buffer("lambda").tolist() == [3, 3]


def test_the_standalone_text_carries_the_very_same_program(compiled) -> None:
    """The emitted module holds the executor's text word for word, and imports only torch beyond Python."""
    schedule = compiled(TOY)
    text = standalone_text(schedule)
    assert program_text(schedule) in text
    roots = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            roots |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            roots.add((node.module or "").split(".")[0])
    assert roots - sys.stdlib_module_names == {"torch"}


def test_the_standalone_text_runs_without_plait(compiled, tmp_path: Path) -> None:
    """With torch and a file of bodies, in a process that cannot import Plait, it gives the same values."""
    schedule = compiled(TOY)
    (tmp_path / "toy.py").write_text(standalone_text(schedule), encoding="utf-8")
    (tmp_path / "bodies.py").write_text(BODIES, encoding="utf-8")
    script = (
        "import sys; sys.modules['plait'] = None\n"
        "import bodies, toy\n"
        "with toy.bind(bodies.bodies) as runner:\n"
        "    for r in range(6): runner.step(n=1 if r < 3 else 3)\n"
        "    runner.drain()\n"
        "print(bodies.seen)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    namespace: dict = {}
    exec(BODIES, namespace)
    with schedule.bind(namespace["bodies"]) as runner:
        for r in range(6):
            runner.step(n=1 if r < 3 else 3)
        runner.drain()
    assert done.stdout.strip() == str(namespace["seen"])
    assert namespace["seen"][1:3] == [[2, 2], [4, 4]]


@pytest.mark.parametrize("variant", [None, "serial", "deep"])
def test_the_canonical_round_generates(variant, eagle, compiled) -> None:
    """Both texts of every variant are valid Python."""
    schedule = compiled(eagle, variant=variant)
    compile(program_text(schedule), "program", "exec")
    compile(standalone_text(schedule), "standalone", "exec")
