"""`plait trace`: what stands in a profiler's trace. Each subcommand is a module beside this one."""

from __future__ import annotations

import argparse
from importlib import import_module

from plait.exit import CODES

DESCRIPTION = "Read traces: Plait's own, torch.profiler's, Ascend's and Nsight's."
SUBCOMMANDS = {
    "show": "say what stands in a trace",
    "align": "read one against the spec whose rounds it shows",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="subcommand", required=True, metavar="COMMAND")
    for name, help in SUBCOMMANDS.items():
        module = import_module(f".trace_{name}", __package__)
        epilog = f"{module.EXAMPLE}; {CODES}"
        made = commands.add_parser(name, help=help, description=module.DESCRIPTION, epilog=epilog)
        module.add_arguments(made)
        made.set_defaults(subrun=module.run)


def run(options: argparse.Namespace) -> int:
    return options.subrun(options)
