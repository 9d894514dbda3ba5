"""What is over when a phase begins, read off a schedule's own instructions: streams, records and waits."""

from __future__ import annotations

from collections.abc import Mapping

from plait.runtime.schedule import HOST, PHASE_OPS, Bucket, Capture, Instruction, Schedule


def over(
    schedule: Schedule, bucket: Bucket, bits: Mapping[str, int], rounds: int
) -> dict[str, list[int]]:
    """Of every phase of a round, for each number of rounds back, the phases that are over as a set of bits.

    A phase without a bit is in none of the sets. An order reaches from a round to itself or a later one,
    so that as many rounds as are looked back over, and one more, show all of it.
    """
    return _Walk(schedule, bits, rounds).walk(bucket)


class _Walk:
    def __init__(self, schedule: Schedule, bits: Mapping[str, int], rounds: int):
        self.schedule = schedule
        self.rounds = rounds
        self.width = max(bits.values(), default=-1) + 1
        """Bits of a round; those of the rounds follow each other."""
        self.bits = [bits.get(phase.name) for phase in schedule.phases]
        self.tails: dict[object, int] = {}
        """Of every queue, what is over once all that it was given is."""
        self.events: dict[tuple[int, int], int] = {}
        """By event and round, what is over once it is reached."""
        self.found: dict[str, int] = {}

    def walk(self, bucket: Bucket) -> dict[str, list[int]]:
        for round in range(self.rounds):
            self.found = {}
            for one in self.schedule.program_of(bucket):
                self.step(one, round)
        whole, last = (1 << self.width) - 1, self.rounds - 1
        return {
            name: [past >> (last - back) * self.width & whole for back in range(self.rounds)]
            for name, past in self.found.items()
        }

    def step(self, one: Instruction, round: int) -> None:
        if one.op in PHASE_OPS:
            self.phase(one.of, one.on, round, self.tails.get(HOST, 0))
        elif one.op == "replay":
            self.graph(self.schedule.captures[one.of], one.of, round)
        elif one.op == "record":
            self.events[one.of, round] = self.tails.get(one.on, 0) | self.tails.get(HOST, 0)
        elif one.op in ("wait", "block"):
            self.wait(one.on if one.op == "wait" else HOST, one, round)

    def phase(self, number: int, queue: object, round: int, issued: int) -> None:
        past = self.tails.get(queue, 0) | issued
        self.found[self.schedule.phases[number].name] = past
        bit = self.bits[number]
        self.tails[queue] = past if bit is None else past | 1 << round * self.width + bit

    def wait(self, queue: object, one: Instruction, round: int) -> None:
        event = self.events.get((one.of, round - one.rounds_back), 0)
        self.tails[queue] = self.tails.get(queue, 0) | event

    def graph(self, capture: Capture, number: int, round: int) -> None:
        """Side streams begin when it does, and it ends when they have."""
        issued = self.tails.get(HOST, 0)
        begun = self.tails.get(capture.stream, 0) | issued
        sides = sorted({one.on for one in capture.program} - {capture.stream})
        queues: dict[int, object] = {side: (number, side) for side in sides}
        queues[capture.stream] = capture.stream
        self.tails |= {queues[side]: begun for side in sides}
        recorded: dict[int, int] = {}
        for one in capture.program:
            queue = queues[one.on]
            if one.op in PHASE_OPS:
                self.phase(one.of, queue, round, issued)
            elif one.op == "record":
                recorded[one.of] = self.tails.get(queue, begun) | begun
            elif one.op == "wait":
                self.tails[queue] = self.tails.get(queue, 0) | recorded.get(one.of, begun)
            elif one.op == "external":
                self.wait(queue, one, round)
        for side in sides:
            self.tails[capture.stream] = (
                self.tails.get(capture.stream, begun) | self.tails[queues[side]]
            )
