"""A call in flight: it has read its inputs, and its outputs are still to appear.

A phase's body runs whole, on copies of what it is given, when the call begins. What it changed reaches
memory when the call ends. So whatever others do in between, and should not, shows: what they write it
has not read, and what both write is the later one's.

Scratch memory and a communicator serve one call at a time. Of two that overlap there, neither has a
result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from plait.runtime.devices.adversary.declared import NOTHING, UNKNOWN, Declared
from plait.runtime.devices.adversary.poison import bits, poison, poison_of
from plait.runtime.devices.adversary.rows import poison_past
from plait.runtime.devices.job import Job
from plait.runtime.devices.tensors import map_tensors, tensors_of

if TYPE_CHECKING:
    from plait.runtime.devices.adversary.lives import Lives


class Work(Job):
    """A job that says what was declared of the memory it is given."""

    declared: Declared


def declared_by(job: Job) -> Declared:
    return job.declared if isinstance(job, Work) else NOTHING


def work(name: str, place: str, body: Callable, declared: Declared, given: dict[str, Any]) -> Work:
    made = Work(body, **given)
    made.name, made.place, made.declared = name, place, declared
    return made


class Call:
    """One run of a job on a stream."""

    def __init__(self, job: Job, round: int, lives: Lives):
        self.job = job
        self.declared = declared_by(job)
        self.round = round
        self.lives = lives
        self.sizes = lives.sizes
        self.name: str = job.name
        self.spoiled = False
        self._early: dict[str, Any] = {}
        self._outputs: list[_Output] = []
        self._tokens: list[tuple[torch.Tensor, torch.Tensor]] = []
        lives.issued(self)

    def read_early(self) -> None:
        """What the host may read for it, it has read as it was issued."""
        for name, value in self.job.keywords.items():
            if self.declared.accesses.get(name, UNKNOWN).early:
                self._early[name] = _copied(value)

    def begin(self) -> None:
        self.lives.begun(self)
        self._meet()
        given = {name: self._given(name, value) for name, value in self.job.keywords.items()}
        self.job.func(*self.job.args, **given)

    def end(self) -> None:
        """What it wrote appears."""
        self._part()
        torn = any(not torch.equal(bits(memory), bits(token)) for memory, token in self._tokens)
        for memory, _ in self._tokens:
            poison(memory)
        for output in self._outputs:
            poison(output.memory) if self.spoiled or torn else output.publish()
        self.lives.ended(self)
        self.job.ran = self.round

    may_end = True
    held_by = None

    def dropped(self) -> None:
        """It will not run, or not to its end."""
        self._part()
        self.lives.dropped(self)

    def _given(self, name: str, value: Any) -> Any:
        """What stands for an argument while the body runs."""
        access = self.declared.accesses.get(name, UNKNOWN)
        before = self._early.get(name) if access.early else None
        before = _copied(value) if before is None else before
        for rows in access.rows if self.sizes else ():
            poison_past(before, rows, self.sizes)
        if access.kind == "reads":
            return before
        made = _copied(before)
        if access.scratch:
            for memory, own in zip(tensors_of(value), tensors_of(made), strict=True):
                self._tokens.append((memory, self.lives.token(memory)))
                poison(own)
            return made
        whole = access.kind == "writes"
        triples = zip(tensors_of(value), tensors_of(before), tensors_of(made), strict=True)
        for memory, old, own in triples:
            if whole:
                poison(own)
            self._outputs.append(_Output(memory, old, own, whole))
        return made

    def _meet(self) -> None:
        group = self.declared.group
        if group is not None:
            others = self.lives.talking.setdefault(group, [])
            for other in (*others, self) if others else ():
                other.spoiled = True
            others.append(self)

    def _part(self) -> None:
        group = self.declared.group
        if group is not None and self in self.lives.talking.get(group, ()):
            self.lives.talking[group].remove(self)


class _Output:
    """Memory, what it held when the call began, and what the body made of that."""

    def __init__(self, memory: torch.Tensor, before: torch.Tensor, made: torch.Tensor, whole: bool):
        self.memory = memory
        self.before = before
        self.made = made
        self.whole = whole
        """Whether the body had to write all of it, and was given nothing to read there."""

    def publish(self) -> None:
        """What the body wrote appears; what it did not stays, and is lost where it had to be written."""
        made = bits(self.made)
        if self.whole:
            unset = bits(torch.full((1,), poison_of(self.made.dtype), dtype=self.made.dtype))[0]
            kept = (made == unset) & (bits(self.memory) != bits(self.before))
        else:
            kept = made == bits(self.before)
        self.memory.copy_(torch.where(kept, self.memory, self.made))


def _copied(value: Any) -> Any:
    return map_tensors(lambda one: one.clone(memory_format=torch.contiguous_format), value)
