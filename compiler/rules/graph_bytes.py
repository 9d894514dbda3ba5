"""Graphs that take more memory than they may."""

from __future__ import annotations

from plait.compiler.order import Order
from plait.compiler.rules.rule import Rule
from plait.compiler.target import Target
from plait.dsl.diagnostic import Diagnostic

_ROUND = """\
spec 1
pipeline p {{
  dim bs in {buckets}
  stream main
  buffer ids : i64[bs]
  buffer hidden : bf16[bs, 1024, 1024]
  phase take on main {{ writes ids }}
  capture step on main rows bs {{
    phase embed on main {{ reads ids  writes hidden }}
  }}
  phase look on main {{ reads hidden  writes ids }}
}}
"""

RULE = Rule(
    code="PL804",
    title="graphs take more memory than they may",
    why="""\
Every graph has memory of its own for what is copied into it, and the graphs of a pool share memory
for what they make, as much as the largest needs; a capture without `in` has a pool of its own. A
target may say how much that is at most (`graphs.memory_mib`, or `--limit memory=2GiB`). Sizes of
opaque buffers are not known, and not counted. Share a pool, declare what need not be copied
`static`, or drop the largest bucket.""",
    bad=_ROUND.format(buckets="[1, 2, 8]"),
    mended=_ROUND.format(buckets="[1, 2, 4]"),
    target="ascend910c",
    limits=("memory=12MiB",),
)


def check(orders: list[Order], target: Target) -> list[Diagnostic]:
    if target.graphs.memory_mib is None:
        return []
    # Late: few targets say so, and loading costs start-up.
    from plait.compiler.budgets.bill import bill_of
    from plait.dsl.render.figures import in_words

    most = target.graphs.memory_mib << 20
    bill = bill_of([one.round for one in orders], target)
    if bill.memory <= most:
        return []
    sizes = {"what is copied in": bill.inputs}
    sizes |= {f"the pool of `{name}`": size for name, size in bill.pools.items()}
    dearest = sorted(bill.graphs, key=lambda graph: -(graph.results + graph.inputs))[0]
    facts = [(name, in_words(size)) for name, size in sizes.items() if size]
    if bill.opaque:
        facts.append(("not counted", ", ".join(bill.opaque)))
    message = (
        f"the graphs of {bill.name} take {in_words(bill.memory)}; "
        f"on {target.name} they may take {in_words(most)}"
    )
    help = "let captures share a pool (`in POOL`), make inputs `static`, or drop the largest bucket"
    return [Diagnostic(RULE.code, message, dearest.span, facts=tuple(facts), help=help)]
