"""`plait run`: decodes prompts with a compiled round on the model that comes with Plait, or needs none."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from plait.commands.asked import add_spec_arguments, add_unchecked, compiled, write_whole
from plait.commands.interleavings import check_seeds, chosen, compare_seeds, run_mixing
from plait.commands.log import show_log
from plait.commands.progress import progress
from plait.commands.refusing import refusing_runs
from plait.exit import DIFFERS, FINE, Refused

if TYPE_CHECKING:
    from plait.runtime.devices.base import Device
    from plait.runtime.devices.job import PhaseError
    from plait.runtime.eagle.request import Request
    from plait.runtime.models.tiny.tokenizer import Tokenizer
    from plait.runtime.schedule import Schedule
    from plait.runtime.trace import Trace

LARGEST_PROMPTS = 1 << 24
"""Bytes of a prompts file."""
TURNS = 16
"""Rounds that are traced, and then as many that are not."""
MARK = "\N{BLACK RIGHT-POINTING SMALL TRIANGLE}"
"""Before a prompt."""


DESCRIPTION = (
    "Compile a round, decode prompts with it on the model that comes with Plait, and "
    "hold tokens and speed against plain decoding of the same model. Without a prompt "
    "it takes those that were held out from training. With mixing bodies any spec runs, "
    "without a model: what is compared then is what they make of all they read. The device "
    "`adversary` runs whatever the schedule allows, by a seed. Exit 1 when anything differs."
)


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
    parser.add_argument("--device", default="cpu", metavar="NAME", help="default cpu")
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
        _print(outcome, options)
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
        printer = _Printer(checkpoint.tokenizer, prompts) if live else None
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
            _write(f"\n{MARK} {prompt}{text}\n")
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


class _Printer:
    """Prints texts as they come: the first unfinished one at once, the others when it is their turn."""

    def __init__(self, tokenizer: Tokenizer, prompts: list[str]):
        self.tokenizer = tokenizer
        self.prompts = prompts
        self.order: list[Request] = []
        self.shown = 0
        self.at = 0

    def take(self, request: Request, count: int) -> None:
        if not self.order:
            progress("")
        if request not in self.order:  # requests are first heard of in the order they were given
            self.order.append(request)
        self._advance()

    def finish(self, requests: list[Request]) -> None:
        self.order = requests
        self._advance()

    def _advance(self) -> None:
        while self.at < len(self.order):
            request = self.order[self.at]
            if not self.shown:
                _write(f"\n{MARK} {self.prompts[self.at]}")
            text = self.tokenizer.decode(request.tokens)
            if not request.done:
                text = text.rstrip("\N{REPLACEMENT CHARACTER}")  # bytes still to come
            new = text[max(self.shown - 1, 0) :]
            _write(new)
            self.shown = len(text) + 1
            if not request.done:
                return
            _write("\n")
            self.at += 1
            self.shown = 0


def _write(text: str) -> None:
    print(text, end="", flush=True)  # unlike `write`, it allows for a closed stdout


def _memory(outcome: dict[str, Any]) -> str:
    """What was allocated, beside what was planned of it."""
    graphs = sum(sum(bucket.values()) for bucket in outcome["graph_bytes"].values())
    planned = f"{outcome['arena_bytes']:,} in the plan, which saves {outcome['saved_bytes']:,}"
    return f"{outcome['buffer_bytes']:,} bytes of buffers ({planned}), {graphs:,} of graphs"


def _print(outcome: dict[str, Any], options: argparse.Namespace) -> None:
    histogram = "  ".join(f"{n}: {times}" for n, times in outcome["accepted_histogram"].items())
    buckets = ", ".join(f"{size} ({rounds} rounds)" for size, rounds in outcome["buckets"].items())
    rows = ", ".join(f"{name} {width}" for name, width in outcome["widths"].items()) or "none"
    distinct = outcome["distinct_4gram_ratio"]
    lines = [
        ("schedule", f"{outcome['schedule']} ({outcome['source']}), mode {outcome['mode']}"),
        *([("ranks", f"{outcome['ranks']}, {outcome['exchange']}")] if outcome["exchange"] else []),
        ("capture", outcome["capture"] if outcome["widths"] else "none: all phases eager"),
        ("rounds", f"{outcome['rounds']}, {outcome['waits']} waits each"),
        ("buckets", buckets or "-"),
        ("rows a request", rows),
        ("memory", _memory(outcome)),
        ("accepted a round", f"{outcome['accepted_mean']:.2f}   ({histogram})"),
        ("distinct 4-grams", "-" if distinct is None else f"{distinct:.2f}"),
        ("tokens/s", _speed(outcome)),
        ("cost a token", _cost(outcome)),
    ]
    if outcome["faults"]:
        count = len(outcome["faults"])
        what = f"{count} round{'s' * (count != 1)} failed, the requests prefilled again"
        lines.insert(3, ("faults", what))
    for lost in outcome["lost"]:
        sizes = ", ".join(f"{dim} = {size}" for dim, size in lost["sizes"].items())
        phases, rounds = lost["phases"], lost["rounds"]
        times = (
            f"{phases} phase{'s' * (phases != 1)} one by one in {rounds} round{'s' * (rounds != 1)}"
        )
        lines.append(("no graph", f"{lost['capture']} at {sizes}: {times}"))
    if (compared := outcome.get("compared")) is not None:
        lines.append(("compared", _compared(compared)))
    if "unchecked" in outcome:
        lines.insert(0, ("UNCHECKED", f"refused for {', '.join(outcome['unchecked'])}"))
    print()
    for name, value in lines:
        print(f"{name:<17} {value}")
    if options.trace:
        print(f"{'trace':<17} {options.trace}   (open it at ui.perfetto.dev)")
    if outcome["identical_to_plain"] is not None:
        print(f"identical to plain: {'yes' if outcome['identical_to_plain'] else 'NO'}")


def _compared(compared: dict[str, Any]) -> str:
    if not compared["replays"]:
        return "nothing: no graph was replayed"
    if not compared["differing"]:
        return f"{compared['replays']} replays, phase by phase: no difference"
    return f"{compared['differing']} of {compared['replays']} replays differ\n{compared['text']}"


def _cost(outcome: dict[str, Any]) -> str:
    cost, accepted = outcome["cost_per_token"], outcome["accepted_mean"]
    if cost is None:
        return "-"
    return f"{1e3 * cost:.2f} ms: {1e3 * cost * accepted:.2f} ms a round over {accepted:.2f} tokens"


def _speed(outcome: dict[str, Any]) -> str:
    speed, plain = outcome["tokens_per_s"], outcome["plain_tokens_per_s"]
    if speed is None:
        return "-   (prefill gives the first token of each text; there were no rounds)"
    if plain is None:
        return f"{speed:.0f} speculative"
    return f"{speed:.0f} speculative, {plain:.0f} plain: {outcome['speedup']:.2f} x"
