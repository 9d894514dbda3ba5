"""The plain lists beside the rules whose examples they judge."""

from __future__ import annotations

import pytest

from drawing.rounds import routes
from plait.compiler.mutate.holding import unfit
from plait.compiler.mutate.spoiled import spoiled
from plait.compiler.rules import before_await, dead_output, graph_memory, over_capacity, pool_full
from plait.compiler.rules.rule import Rule


@pytest.mark.parametrize("rule", [graph_memory.RULE, dead_output.RULE], ids=lambda one: one.code)
def test_what_a_replay_overwrites_is_listed(rule: Rule) -> None:
    """In the example that is refused, and not in the mended one."""
    assert list(spoiled(routes(rule.bad))) and not list(spoiled(routes(rule.mended)))


@pytest.mark.parametrize(
    "rule",
    [before_await.RULE, over_capacity.RULE, pool_full.RULE],
    ids=lambda one: one.code,
)
def test_what_does_not_fit_is_counted(rule: Rule) -> None:
    """In the example that is refused, and not in the mended one."""
    assert list(unfit(routes(rule.bad))) and not list(unfit(routes(rule.mended)))
