"""What a reader finds in a file, before it is put in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import NamedTuple, TypeAlias

from plait.compiler.traces.model import Flow, Kind, Lane, Round

Row: TypeAlias = tuple[int, int, int, int, str, Kind, int, int]
"""Start, end, number, lane, name, kind, correlation and, where a file says it, when it was issued; the
number of each row is another, so that rows sort by time and never further."""

DEVICE_WORK = frozenset(("compute", "communication", "copy", "replay"))
HOST = "host"


class Wait(NamedTuple):
    """A wait of a lane for a record, before it is known what both lie between."""

    waiter: int
    at: int
    until: int
    source_lane: int = -1
    order: int = -1
    """Rows of the waiter whose correlation is higher come behind the wait; -1: go by time."""
    record: int = -1
    """Rows of the source whose correlation is lower come before the record; -1: it is not known."""
    record_at: int = -1
    """Or when the record was reached."""


class Rows:
    def __init__(self, file: str, format: str, *, launches_share: bool = False):
        self.file = file
        self.format = format
        self.launches_share = launches_share
        """Whether one correlation on a device is one launch, and so a replay if it has several rows."""
        self.lanes: list[Lane] = []
        self.rows: list[Row] = []
        self.graphs: dict[int, Hashable] = {}
        """By the number of a row, which replay it is of."""
        self.graph_names: dict[Hashable, str] = {}
        self.graph_launches: dict[Hashable, int] = {}
        """By replay, the number of the row that launched it, where no correlation says it."""
        self.whole_replays: dict[Hashable, int] = {}
        """By replay, the number of the row that shows it as a whole, and holds the others."""
        self.executes: list[int] = []
        """The numbers of the tasks by which streams launch graphs."""
        self.launches: dict[int, int] = {}
        """By the number of a row, that of what launched it, where no correlation says it."""
        self.issuers: dict[int, tuple[int, int]] = {}
        """By the number of a row, when and by which lane it was asked for, where no correlation says it."""
        self.phases: dict[int, tuple[str, int]] = {}
        """By the number of a row, its phase and round."""
        self.waits: list[Wait] = []
        self.rounds: list[Round] = []
        """At times as the file has them, as rows are."""
        self.arrows: list[Flow] = []
        self.stated: dict[str, int] = {}
        self.about: dict[str, str] = {}
        self.unknown: Counter[str] = Counter()
        self.notes: list[str] = []
        self._lanes: dict[tuple[str, str], int] = {}
        self._times: Counter[Hashable] = Counter()

    def lane(self, device: str, stream: str, name: str = "") -> int:
        """Its number, which it gets when it is first asked for."""
        number = self._lanes.get((device, stream))
        if number is None:
            number = self._lanes[device, stream] = len(self.lanes)
            self.lanes.append(Lane(device, stream, name or stream))
        return number

    def add(
        self,
        start: int,
        end: int,
        lane: int,
        name: str,
        kind: Kind,
        correlation: int = -1,
        issued: int = -1,
    ) -> int:
        number = len(self.rows)
        self.rows.append((start, end, number, lane, name, kind, correlation, issued))
        return number

    def in_graph(
        self, number: int, lane: int, graph: int, node: Hashable, correlation: int
    ) -> None:
        """Of a row that says which node of a graph it is: its k-th time is in the k-th replay of that."""
        device = self.lanes[lane].device
        if correlation > 0:  # all of one launch share it, whatever was lost of them
            self.graph_names[device, correlation] = str(graph)
            return
        key = device, graph, self.occurrence((device, graph, node))
        self.graphs[number] = key
        self.graph_names[key] = str(graph)

    def occurrence(self, node: Hashable) -> int:
        """How often a node of a graph was met before: each is in a replay once."""
        found = self._times[node]
        self._times[node] = found + 1
        return found
