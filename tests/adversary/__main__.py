"""Many seeds for every example and every racy spec, as JSON: `python -m adversary`."""

from __future__ import annotations

import argparse
import json
import time

import torch

from adversary.examples import NAMES, WITH_A_MODEL, Tokens, example, variants
from adversary.teeth import bitten, mended, racy
from plait.runtime.devices.adversary.device import Adversary
from plait.runtime.devices.cpu import Cpu
from plait.runtime.mixing.narrow import narrow
from plait.runtime.mixing.outcome import Trial

ROUNDS = 6


def digests(seeds: int) -> dict:
    """Every example in every variant: the CPU once, and the adversary for every seed."""
    found = _Found("interleavings of the examples, mixing bodies")
    for name in NAMES:
        for variant in variants(name):
            trial = Trial(narrow(example(name, variant)), ROUNDS)
            text = trial.text()
            found.see(f"{name}@{variant} on the cpu", trial.run(Cpu()).digest == text.digest)
            for seed in range(seeds):
                where = trial.parting(text, trial.run(Adversary(seed)))
                found.see(f"{name}@{variant}, seed {seed}: {where}", where is None)
    return found.entry()


def tokens(seeds: int) -> dict:
    """The examples that run on the model, in exact mode."""
    found = _Found("interleavings of the examples, tokens of the model")
    for name in WITH_A_MODEL:
        decoding = Tokens(name, prompts=3, tokens=16)
        expected = decoding.on("cpu")
        for seed in range(seeds):
            found.see(f"{name}, seed {seed}", decoding.on(Adversary(seed)) == expected)
    return found.entry()


def right(seeds: int) -> dict:
    """What is mended, or only looks wrong."""
    found = _Found("interleavings of mended specs of tests/cases, mixing bodies")
    for name, schedules in mended():
        bite = bitten(name, schedules, seeds)
        found.tried += bite.tried - 1
        found.see(str(bite), bite.seed is None)
    return found.entry()


def wrong(seeds: int) -> dict:
    """What is refused as a race goes wrong."""
    found = _Found("racy specs of tests/cases, until one goes wrong")
    for name, schedules in racy():
        bite = bitten(name, schedules, seeds)
        found.see(f"{name} never", bite.seed is not None)
    return found.entry()


class _Found:
    def __init__(self, what: str):
        self.what = what
        self.tried = 0
        self.failures: list[str] = []
        self.start = time.process_time()

    def see(self, what: str, fine: bool) -> None:
        self.tried += 1
        if not fine:
            self.failures.append(what)

    def entry(self) -> dict:
        seconds = time.process_time() - self.start
        return {
            "what": self.what,
            "tried": self.tried,
            "failures": self.failures,
            "seconds": seconds,
        }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m adversary", description=__doc__)
    parser.add_argument("--seeds", type=int, default=500)
    seeds = parser.parse_args().seeds
    torch.set_num_threads(1)
    few = max(seeds // 10, 1)
    print(json.dumps([digests(seeds), tokens(few), right(few), wrong(seeds)]))


if __name__ == "__main__":
    main()
