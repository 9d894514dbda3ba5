"""`plait run` without a model, and on the adversary: what it prints of many interleavings."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from plait.commands.refusing import refusing_runs
from plait.exit import DIFFERS, FINE, Refused

if TYPE_CHECKING:
    from plait.runtime.devices.base import Device
    from plait.runtime.schedule import Schedule
    from plait.runtime.trace import Trace

MOST_ROUNDS = 100_000


def check_seeds(options: argparse.Namespace) -> None:
    """Refuses what asks for nothing, and what only the other sort of run has."""
    for name in ("seed", "seeds"):
        if getattr(options, name) is not None and options.device != "adversary":
            raise Refused(f"--{name} is for --device adversary; {options.device} has none")
    if options.seeds is not None and options.seeds < 1:
        raise Refused(f"--seeds {options.seeds}: ask for at least one")
    if not 1 <= options.rounds <= MOST_ROUNDS:
        raise Refused(f"--rounds {options.rounds}: ask for 1 to {MOST_ROUNDS:,}")
    if options.trace and options.device == "adversary":
        raise Refused("--trace: the adversary keeps no time that a trace could show")
    if options.bodies == "mixing":
        for name in ("prompt", "prompts", "model", "trace"):
            if getattr(options, name):
                raise Refused(f"--{name} is for the model's bodies; mixing bodies read no text")
    if options.bodies == "mixing" or options.seeds is not None:
        one = "the model's bodies" if options.bodies == "mixing" else "one run, not for --seeds"
        for name in ("inject", "compare"):
            if getattr(options, name):
                raise Refused(f"--{name} is for {one}")


def chosen(options: argparse.Namespace, trace: Trace | None = None) -> Device:
    """The device that was asked for. Raises DeviceError."""
    from plait.runtime.devices.named import device

    return device(options.device, trace, options.seed or 0)


def run_mixing(options: argparse.Namespace, schedule: Schedule) -> int:
    """Rounds of mixing bodies: prints the digest of what they made, or who agreed on it."""
    import torch

    from plait.runtime.devices.adversary.device import Adversary
    from plait.runtime.mixing.narrow import narrow
    from plait.runtime.mixing.outcome import Trial

    torch.set_num_threads(1)
    trial = Trial(narrow(schedule), options.rounds)
    differ: dict[int, str] = {}
    kind = Adversary.capture_kind
    with refusing_runs():
        if options.seeds is None:
            device = chosen(options)
            kind = device.capture_kind
            found = trial.run(device)
        else:
            found = trial.text()
            for seed in range(options.seeds):
                other = trial.run(Adversary(seed))
                if (where := trial.parting(found, other)) is not None:
                    differ[seed] = str(where)
    outcome = {
        **_what(options, schedule),
        **({"capture": kind} if schedule.captures else {}),
        "rounds": options.rounds,
        "digest": found.digest,
        **_agreed(options, differ),
    }
    _say(options, outcome, f"mixing bodies, {options.rounds} rounds", differ)
    if options.seeds is None and found.failed is not None:
        raise Refused(found.failed)
    return DIFFERS if differ else FINE


def compare_seeds(options: argparse.Namespace, schedule: Schedule, given: list[str] | None) -> int:
    """The tokens of every seed against those of the CPU."""

    import torch

    from plait.runtime.devices.adversary.device import Adversary
    from plait.runtime.devices.base import DeviceError
    from plait.runtime.devices.job import PhaseError
    from plait.runtime.eagle.compare import decode, requests_for
    from plait.runtime.models.shipped import load

    torch.set_num_threads(1)
    differ: dict[int, str] = {}
    with refusing_runs():
        checkpoint = load(options.model)
        prompts = list(checkpoint.prompts) if given is None else given
        model = checkpoint.model(options.mode)

        def tokens(device: Any) -> list[list[int]]:
            found = decode(
                schedule,
                model,
                lambda: requests_for(checkpoint, prompts, options.max_new_tokens),
                with_plain=False,
                captured=options.capture,
                device=device,
                prepare=options.prepare,
                strict=options.strict,
            )
            return [request.tokens for request in found.requests]

        expected = tokens("cpu")
        for seed in range(options.seeds):
            try:
                found = tokens(Adversary(seed))
            except (PhaseError, DeviceError) as error:
                differ[seed] = str(error)
                continue
            if (where := next(_differences(expected, found), None)) is not None:
                differ[seed] = where
    outcome = {**_what(options, schedule), "tokens": expected, **_agreed(options, differ)}
    count = sum(map(len, expected))
    _say(options, outcome, f"the model, mode {options.mode}, {count} tokens", differ)
    return DIFFERS if differ else FINE


def _differences(expected: list[list[int]], found: list[list[int]]) -> Iterator[str]:
    for number, (one, other) in enumerate(zip(expected, found, strict=True), 1):
        for place, (wanted, token) in enumerate(zip(one, other, strict=False)):
            if wanted != token:
                yield f"prompt {number}, token {place} is {token}, not {wanted}"
        if len(one) != len(other):
            yield f"prompt {number} has {len(other)} tokens, not {len(one)}"


def _what(options: argparse.Namespace, schedule: Schedule) -> dict[str, Any]:
    unchecked = {"unchecked": list(schedule.unchecked)} if schedule.unchecked else {}
    found = {"schedule": schedule.name, "source": schedule.source.name, "device": options.device}
    return {**found, "bodies": options.bodies, **unchecked}


def _agreed(options: argparse.Namespace, differ: dict[int, str]) -> dict[str, Any]:
    if options.device != "adversary":
        return {}
    if options.seeds is None:
        return {"seed": options.seed or 0}
    return {"seeds": options.seeds, "differ": {str(seed): where for seed, where in differ.items()}}


def _say(
    options: argparse.Namespace, outcome: dict[str, Any], bodies: str, differ: dict[int, str]
) -> None:
    if options.json:
        print(json.dumps(outcome, indent=2))
        return
    lines = [
        ("schedule", f"{outcome['schedule']} ({outcome['source']})"),
        ("bodies", bodies),
        ("device", f"adversary, seed {outcome['seed']}" if "seed" in outcome else options.device),
    ]
    if "capture" in outcome:
        lines.append(("capture", outcome["capture"]))
    if "unchecked" in outcome:
        lines.append(("UNCHECKED", f"refused for {', '.join(outcome['unchecked'])}"))
    if "digest" in outcome:
        lines.append(("digest", outcome["digest"]))
    if options.seeds is not None:
        right = options.seeds - len(differ)
        lines.append(("agreed", f"{right} of {options.seeds} interleavings"))
    for seed, where in list(differ.items())[:1]:
        lines.append(("first that did not", f"seed {seed}: {where}"))
    for name, value in lines:
        print(f"{name:<18} {value}")
