"""`plait run`: decodes prompts with a compiled round on the model that comes with Plait, or needs none."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from plait.commands.asked import (
    add_device,
    add_spec_arguments,
    add_unchecked,
    compiled,
    write_whole,
)
from plait.commands.interleavings import check_seeds, chosen, compare_seeds, run_mixing
from plait.commands.log import show_log
from plait.commands.outcome import show_outcome
from plait.commands.progress import progress
from plait.commands.refusing import refusing_runs
from plait.commands.texts import MARK, Printer, write_text
from plait.exit import DIFFERS, FINE, Refused

if TYPE_CHECKING:
    from plait.runtime.devices.base import Device
    from plait.runtime.devices.job import PhaseError
    from plait.runtime.schedule import Schedule
    from plait.runtime.trace import Trace

LARGEST_PROMPTS = 1 << 24
"""Bytes of a prompts file."""
TURNS = 16
"""Rounds that are traced, and then as many that are not."""


DESCRIPTION = (
    "Compile a round, decode prompts with it on the model that comes with Plait, and "
    "hold tokens and speed against plain decoding of the same model. Without a prompt "
    "it takes those that were held out from training. With mixing bodies any spec runs, "
    "without a model: what is compared then is what they make of all they read. The device "
    "`adversary` runs whatever the schedule allows, by a seed. Exit 1 when anything differs."
)
EXAMPLE = "for example: `plait run examples/eagle.spec --prompt 'def f(' --max-new-tokens 24`"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "spec", metavar="SPEC", help="a .spec file, SPEC@VARIANT, or a schedule's .json"
    )
    parser.add_argument(
        "--prompt", action="append", metavar="TEXT", help="may be given several times"
    )
    parser.add_argument(
        "--prompts", metavar="FILE", help="a prompt a line, or .jsonl with `prompt`"
    )
    parser.add_argument("--max-new-tokens", type=int, default=64, metavar="N", help="default 64")
    parser.add_argument(
        "--mode",
        choices=("exact", "f32"),
        default="exact",
        help="exact (default): the same bits whatever the batch; f32: faster",
    )
    add_device(parser)
    parser.add_argument(
        "--bodies",
        choices=("model", "mixing"),
        default="model",
        help="what phases do: the model's work (default), or to mix all they read into all they write",
    )
    parser.add_argument(
        "--rounds", type=int, default=8, metavar="N", help="of mixing bodies; default 8"
    )
    seeds = parser.add_mutually_exclusive_group()
    seeds.add_argument("--seed", type=int, metavar="N", help="of the adversary; default 0")
    seeds.add_argument(
        "--seeds", type=int, metavar="N", help="try so many of the adversary, and compare"
    )
    add_unchecked(parser)
    parser.add_argument("--trace", metavar="FILE", help="write what ran, for Perfetto")
    parser.add_argument(
        "--trace-turns",
        action="store_true",
        help=f"trace {TURNS} rounds, then leave out as many, and so on: what `plait calibrate` takes",
    )
    parser.add_argument(
        "--inject",
        action="append",
        default=[],
        metavar="FAULT",
        help="have it fail on purpose: raise:PHASE@ROUND, slow:PHASE@ROUND:SECONDS, "
        "kill:PHASE@ROUND, capture:NAME, memory:NAME; may be given several times",
    )
    parser.add_argument("--no-plain", action="store_true", help="do not decode plainly beside it")
    parser.add_argument(
        "--no-capture",
        dest="capture",
        action="store_false",
        help="run every phase eagerly, plain decoding too",
    )
    parser.add_argument(
        "--lazily",
        dest="prepare",
        action="store_false",
        help="capture a bucket when a round first needs it, not all that are needed at the start",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="stop when a capture fails; else its phases run eagerly",
    )
    parser.add_argument(
        "--compare",
        action="store_true",
        help="hold every replay against its phases run eagerly, on the same inputs, and exit 1 when they "
        "differ; slow, and without plain decoding",
    )
    parser.add_argument(
        "--model",
        metavar="NAME",
        help="tiny (default), small-llama, or a folder with another checkpoint of either",
    )
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    add_spec_arguments(parser)


def run(options: argparse.Namespace) -> int:
    if options.max_new_tokens < 1:
        raise Refused(f"--max-new-tokens {options.max_new_tokens}: ask for at least one")
    check_seeds(options)
    given = _prompts(options)
    if options.trace:
        _writable(options.trace)
    elif options.trace_turns:
        raise Refused("--trace-turns: say where the trace goes, with --trace FILE")
    show_log("run")
    schedule = compiled(options, options.spec)
    if options.bodies == "mixing":
        return run_mixing(options, schedule)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # text may have what a terminal has not
    if options.seeds is not None:
        return compare_seeds(options, schedule, given)
    outcome, trace = _decode(options, schedule, given)
    compared = outcome.get("compared")
    wrong = outcome["identical_to_plain"] is False or (compared and compared["differing"])
    code = DIFFERS if wrong else FINE
    if outcome["rank"]:
        return code  # the first rank has it all, and says it
    if options.json:
        ascii_only = "utf" not in (getattr(sys.stdout, "encoding", None) or "").lower()
        print(json.dumps(outcome, indent=2, ensure_ascii=ascii_only))
    else:
        show_outcome(outcome, options.trace)
    if trace is not None:
        print(end="", flush=True)
        write_whole(options.trace, trace.to_json(schedule.name, schedule))
    return code


def _decode(
    options: argparse.Namespace, schedule: Schedule, given: list[str] | None
) -> tuple[dict[str, Any], Trace | None]:
    import torch

    from plait.runtime.comparing import Comparing
    from plait.runtime.eagle.compare import decode, report, requests_for
    from plait.runtime.eagle.together import Together
    from plait.runtime.injected import InjectError, fault, injected
    from plait.runtime.models.shipped import load
    from plait.runtime.trace import Trace

    torch.set_num_threads(1)  # plain decoding runs on this thread: the same terms as a stream's
    trace = Trace(TURNS if options.trace_turns else 0) if options.trace else None
    compare = None
    try:
        faults = [fault(text, schedule) for text in options.inject]
    except InjectError as error:
        raise Refused(f"--inject {error}") from None
    with refusing_runs():
        made = chosen(options, trace)
        if options.compare:
            compare = Comparing(made, options.mode == "exact")
            made = cast("Device", compare)
        checkpoint = load(options.model)
        prompts = list(checkpoint.prompts) if given is None else given
        together = Together(schedule, options.device)
        requests = requests_for(checkpoint, prompts, options.max_new_tokens)
        live = not options.json and together.size == 1
        printer = Printer(checkpoint.tokenizer, prompts) if live else None
        found = decode(
            schedule,
            checkpoint.model(options.mode),
            lambda: together.own(requests_for(checkpoint, prompts, options.max_new_tokens)),
            with_plain=not (options.no_plain or options.compare),
            captured=options.capture,
            device=injected(made, faults) if faults else made,
            prepare=options.prepare and _progress,
            strict=options.strict,
            on_tokens=printer.take if printer else lambda request, count: None,
            on_fault=_say,
            make=together.maker(requests),
        )
        if printer:
            printer.finish(found.requests)
        progress("")
        outcome = together.gathered(report(found, schedule, checkpoint, options.mode))
    if together.size > 1 and not together.rank and not options.json:
        for prompt, text in zip(prompts, outcome["text"], strict=True):
            write_text(f"\n{MARK} {prompt}{text}\n")
    if compare is not None:
        outcome["compared"] = compare.report()
    unchecked = {"unchecked": list(schedule.unchecked)} if schedule.unchecked else {}
    return {**outcome, "prompts": prompts, **unchecked}, trace


def _say(error: PhaseError) -> None:
    print(f"\nplait run: {error}; its requests are prefilled again", file=sys.stderr, flush=True)


def _progress(bucket: str) -> None:
    progress(f"capturing at {bucket}")


def _writable(path: str) -> None:
    """Refuses a trace file now that could not be written when the work is done."""
    folder = Path(os.path.realpath(path)).parent
    if Path(path).is_dir():
        raise Refused(f"--trace {path}: is a folder")
    if Path(path).exists():
        if not os.access(path, os.W_OK):
            raise Refused(f"--trace {path}: may not be written")
    elif not folder.is_dir():
        raise Refused(f"--trace {path}: there is no folder {folder}")
    elif not os.access(folder, os.W_OK):
        raise Refused(f"--trace {path}: the folder may not be written")


def _prompts(options: argparse.Namespace) -> list[str] | None:
    """The prompts given, or None. Raises Refused, OSError."""
    prompts = list(options.prompt or [])
    if options.prompts:
        path = Path(options.prompts)
        with path.open("rb") as file:
            data = file.read(LARGEST_PROMPTS + 1)
        if len(data) > LARGEST_PROMPTS:
            raise Refused(f"{path}: has more than {LARGEST_PROMPTS:,} bytes")
        try:
            lines = data.decode("utf-8-sig").replace("\r\n", "\n").split("\n")
        except UnicodeDecodeError as error:
            raise Refused(f"{path}: is not UTF-8 text (byte {error.start})") from None
        numbered = [(n, line) for n, line in enumerate(lines, 1) if line.strip()]
        if path.suffix == ".jsonl":
            prompts += [_prompt_of(path, number, line) for number, line in numbered]
        else:
            prompts += [line for _, line in numbered]
        if not prompts:
            raise Refused(f"{path}: holds no prompt; write one a line")
    return prompts or None


def _prompt_of(path: Path, number: int, line: str) -> str:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise Refused(f"{path}:{number}: is not JSON") from None
    prompt = value.get("prompt") if isinstance(value, dict) else value
    if not isinstance(prompt, str):
        raise Refused(f'{path}:{number}: should be a text, or an object with a text "prompt"')
    return prompt
