"""All that is known of a round's time, each part worked out when it is first asked for."""

from __future__ import annotations

from functools import cached_property

from plait.compiler.measures.communication import Exchange, exchanges
from plait.compiler.measures.forks import Fork, forks
from plait.compiler.measures.joins import Join, joins
from plait.compiler.measures.measures import Measures, measured
from plait.compiler.measures.needs import Needs
from plait.compiler.measures.slack import slacks
from plait.compiler.measures.started import started
from plait.compiler.measures.why import Why, Whys
from plait.compiler.measures.window import Window
from plait.compiler.order import Order


class Account:
    def __init__(self, found: Window, order: Order, streams: int | None = None):
        """`order`: of the route at the bucket that was simulated. `streams`: of the target."""
        self.found = found
        self.order = order
        self.streams = streams

    @cached_property
    def measures(self) -> Measures:
        return measured(self.found, self.exchanges)

    @cached_property
    def needs(self) -> Needs:
        return Needs(self.found)

    @cached_property
    def slack(self) -> dict[int, int]:
        """Of every span of the round."""
        return slacks(self.found)

    @cached_property
    def forks(self) -> list[Fork]:
        return forks(self.found, started(self.order), self.slack, self.needs)

    @cached_property
    def joins(self) -> list[Join]:
        return joins(self.found)

    @cached_property
    def exchanges(self) -> list[Exchange]:
        return exchanges(self.found)

    @cached_property
    def whys(self) -> list[list[Why]]:
        """Of every exchange, why it is exposed."""
        judge = Whys(self.found, self.needs, self.streams)
        return [judge.of(one) for one in self.exchanges]
