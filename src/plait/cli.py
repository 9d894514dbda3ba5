"""The command `plait`: arguments, exit codes, and one clear line for whatever stands in the way.

Exit codes: 0 fine; 1 differs, or fell short; 2 the input is wrong; 3 the environment is. Each verb is
a module of `commands/`; only the one asked for is loaded, and it imports what it needs when it is
called, so that a verb that only compiles loads nothing more.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from plait import __version__
from plait.exit import CODES, WRONG_ENVIRONMENT, WRONG_INPUT, Refused

VERBS = {
    "new": "write a spec to start from, and the program that runs it",
    "check": "prove a spec",
    "explain": "explain a round, or a rule",
    "compile": "compile a spec to a schedule",
    "run": "decode prompts with a compiled round",
    "simulate": "foretell how long rounds take, from costs",
    "diff": "compare two schedules",
    "tune": "search for a better schedule of the same round",
    "trace": "read traces of profilers",
    "calibrate": "take costs from rounds that were measured",
    "fmt": "lay specs out in the one way there is",
    "capture": "write captures around what graphs can hold",
    "buckets": "choose buckets for the sizes that were seen",
    "mutate": "edit a spec in every way, and see each edit that breaks it refused",
    "serve": "decode for clients over HTTP",
    "bench": "measure what this machine makes of a round",
    "doctor": "say what of this machine can be used, and why not the rest",
    "lsp": "speak to an editor",
}
EXTRAS = {
    "pygls": "lsp",
    "lsprotocol": "lsp",
    "starlette": "serve",
    "uvicorn": "serve",
    "prometheus_client": "serve",
}
"""What to install for a module that is not there, where it is not `run`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit code."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    # A backend that does not load would take torch with it; `--device` loads the one that it needs.
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    options, unknown = _parser(arguments).parse_known_args(arguments)
    if unknown:
        options.error(f"not understood: {' '.join(unknown)}")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # the name of a file may be no text
    try:
        return options.run(options)
    except Refused as refused:
        _say(f"plait {options.verb}: {refused}")
        return refused.code
    except BrokenPipeError:
        # Whoever read the output has enough of it. Python would complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return 130
    except ModuleNotFoundError as error:
        _say(f"plait {options.verb}: {_missing(error)}")
        return WRONG_ENVIRONMENT
    except OSError as error:
        _say(f"plait {options.verb}: {_unusable(error)}")
        return WRONG_INPUT


def _say(line: str) -> None:
    """What names of files, and of what is in them, cannot steer a terminal with."""
    from plait.dsl.render.printable import printable

    print(printable(line), file=sys.stderr)


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="plait",
        description="Write, prove and run the schedule of a speculative-decoding round.",
        epilog=CODES,
    )
    parser.add_argument("--version", action="version", version=f"plait {__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    asked = next((word for word in arguments if not word.startswith("-")), None)
    for verb, help in VERBS.items():
        if verb != asked:  # listed, not loaded
            verbs.add_parser(verb, help=help, add_help=False)
            continue
        module = import_module(f".commands.{verb}", __package__)
        epilog = "; ".join([*filter(None, [getattr(module, "EXAMPLE", "")]), CODES])
        made = verbs.add_parser(verb, help=help, description=module.DESCRIPTION, epilog=epilog)
        module.add_arguments(made)
        made.set_defaults(run=module.run, error=made.error)
    return parser


def _missing(error: ModuleNotFoundError) -> str:
    extra = EXTRAS.get(error.name or "", "run")
    return f"needs the module `{error.name}`, which is not installed: pip install 'plait[{extra}]'"


def _unusable(error: OSError) -> str:
    name = f"{error.filename}: " if error.filename else ""
    return f"{name}{error.strerror or error}"
