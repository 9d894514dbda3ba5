"""All that the one process of the suite is given: every schedule, its rounds, and what is done to some."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from conformance.built import build
from conformance.compared import Compared, Memory
from conformance.lines import SAID, Line, Log, Piece, log, parse
from conformance.ordered import unordered
from conformance.readable import Readable
from oracles.sanitizer import Conflict
from oracles.trace import rounds_of
from plait.compiler.compile import Asked, compile_source, read_source
from plait.runtime.schedule import Instruction, Schedule
from plait.runtime.schedule_json import to_json

HERE = Path(__file__).parent
TESTS = HERE.parent
EXAMPLES = sorted((TESTS.parent / "examples").glob("*.spec"))
SETTINGS = {"eagle_full": {"layers": 3}, "two_batch": {"count": 2}, "h_task_update": {"layers": 2}}
"""Under which the largest are compiled."""
SPECS = [
    *EXAMPLES,
    TESTS / "specs" / "h_task_update.spec",
    HERE / "one_round.spec",
    HERE / "either.spec",
    HERE / "below.spec",
]
NAMES = [path.stem for path in SPECS]
TIMEOUT = 300


@dataclass(frozen=True)
class Trial:
    """A schedule, and the buckets of its rounds by number."""

    schedule: Schedule
    buckets: tuple[int, ...]

    def rounds(self) -> list[dict[str, object]]:
        chosen = [self.schedule.buckets[number] for number in self.buckets]
        return [{**dict(one.sizes), **dict(one.route)} for one in chosen]


def compiled(path: Path, capture: bool = True) -> Schedule:
    asked = Asked(target="ascend910c", settings=SETTINGS.get(path.stem), capture=capture)
    return compile_source(read_source(path), asked)


def whole(schedule: Schedule) -> Trial:
    """Each bucket on each route until every copy was used again, and then all of them in turn."""
    numbers = range(len(schedule.buckets))
    each = [number for number in numbers for _ in range(rounds_of(schedule))]
    return Trial(schedule, (*each, *reversed(numbers)))


def small(schedule: Schedule) -> Trial:
    return Trial(schedule, (0,) * 4)


@dataclass(frozen=True)
class Logged:
    """What the driver was asked for in a trial."""

    trial: Trial
    folder: Path
    name: str

    @cached_property
    def lines(self) -> list[Line]:
        return list(parse((self.folder / f"{self.name}.log").read_text(encoding="utf-8")))

    @cached_property
    def memory(self) -> Memory:
        return Memory(json.loads((self.folder / f"{self.name}.memory").read_text(encoding="utf-8")))

    @cached_property
    def log(self) -> Log:
        return log(self.lines)

    def compared(self, schedule: Schedule | None = None) -> int:
        """How many calls agree with the trial's schedule, or another. Raises Difference."""
        compared = Compared(schedule or self.trial.schedule, self.memory)
        compared.compare(self.log, self.trial.buckets)
        return compared.calls

    def unordered(self) -> list[Conflict]:
        scratch, *_ = self.memory.named
        return unordered(self.lines, Piece(*scratch[1:]))


class Suite:
    """Runs when it is made. One process, whose output is kept."""

    def __init__(self, wheel: Path, folder: Path):
        self.folder = folder
        self.trials = dict(self._trials())
        for name, trial in self.trials.items():
            (folder / f"{name}.json").write_text(to_json(trial.schedule), encoding="utf-8")
            (folder / f"{name}.rounds").write_text(json.dumps(trial.rounds()), encoding="utf-8")
        unjoined = without_inner_join(self.trials["one_round"].schedule)
        (folder / "unjoined.json").write_text(to_json(unjoined), encoding="utf-8")
        eager = compiled(HERE / "one_round.spec", capture=False)
        (folder / "eager.json").write_text(to_json(eager), encoding="utf-8")
        build(wheel, folder)
        self.said = _run(folder, wheel, folder, queue=False)
        self.queued = folder / "queued"
        self.queued.mkdir()
        for name in QUEUED:
            for kind in ("json", "rounds"):
                (self.queued / f"{name}.{kind}").symlink_to(folder / f"{name}.{kind}")
        _run(folder, wheel, self.queued, queue=True)

    def _trials(self) -> Iterator[tuple[str, Trial]]:
        schedules = {path.stem: compiled(path) for path in SPECS}
        for name, schedule in schedules.items():
            yield name, whole(schedule)
        for name in TOOTHED:
            for what, changed in without_a_wait(schedules[name]):
                yield f"{name} without {what}", small(changed)
            for what, changed in with_a_record_moved(schedules[name]):
                yield f"{name} with {what} moved", small(changed)

    def logged(self, name: str) -> Logged:
        return Logged(self.trials[name], self.folder, name)

    def asked(self, name: str, queued: bool) -> dict[str, list[str]]:
        """What torch_npu asks of the driver on each stream and on the host, without what bodies say."""
        folder = self.queued if queued else self.folder
        logged = Logged(self.trials[name], folder, name)
        read = Readable(logged.memory)
        found: dict[str, list[str]] = {}
        for line in logged.lines:
            if line.op not in (*SAID, "touch"):
                text = read.line(line)
                found.setdefault(read.numbered(line.stream), []).append(text)
        return found

    def slots(self) -> dict[str, list[str]]:
        return json.loads((self.folder / "slots").read_text(encoding="utf-8"))

    def planted(self) -> dict[str, list[str]]:
        return json.loads((self.folder / "planted").read_text(encoding="utf-8"))


QUEUED = ("eagle", "one_round", "h_task_update")
"""What is run once more with torch_npu's queue of tasks, which is on unless it is switched off."""
TOOTHED = ("eagle", "tree", "one_round", "h_task_update", "below")


def _run(libraries: Path, wheel: Path, folder: Path, queue: bool) -> str:
    """What is in a folder, in a process of its own. Without the queue calls come at once, between what
    bodies say.
    """
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(TESTS), *(entry for entry in sys.path if entry)]),
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
        "TASK_QUEUE_ENABLE": str(int(queue)),
    }
    session = [sys.executable, "-m", "conformance.session", str(libraries), str(wheel), str(folder)]
    found = subprocess.run(
        session, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    assert found.returncode == 0, found.stderr[-4000:]
    return found.stdout


def without_a_wait(schedule: Schedule) -> Iterator[tuple[str, Schedule]]:
    """The schedule without each of its waits, at its smallest bucket."""
    program = schedule.program_of(schedule.buckets[0])
    for place, one in enumerate(program):
        if one.op in ("wait", "block"):
            name = f"{one.op} {place} for {schedule.events[one.of].name}"
            yield name, _with_program(schedule, program[:place] + program[place + 1 :])


def with_a_record_moved(schedule: Schedule) -> Iterator[tuple[str, Schedule]]:
    """The schedule with each record one step earlier than what it stands for."""
    program = schedule.program_of(schedule.buckets[0])
    for place, one in enumerate(program):
        if one.op == "record" and place:
            name = f"record {place} of {schedule.events[one.of].name}"
            moved = (*program[: place - 1], one, program[place - 1], *program[place + 1 :])
            yield name, _with_program(schedule, moved)


def without_inner_join(schedule: Schedule) -> Schedule:
    (capture,) = schedule.captures
    left = [one for one in capture.program if not (one.op == "wait" and one.on == capture.stream)]
    return replace(schedule, captures=(replace(capture, program=tuple(left)),))


def _with_program(schedule: Schedule, program: tuple[Instruction, ...]) -> Schedule:
    number = schedule.buckets[0].program
    programs = list(schedule.programs)
    programs[number] = program
    return replace(schedule, programs=tuple(programs))
