"""Arguments that several verbs share, and the spec they lead to."""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from plait.exit import Refused

if TYPE_CHECKING:
    from plait.compiler.compile import Asked
    from plait.compiler.recipe.recipe import Recipe
    from plait.dsl.diagnostic import Diagnostic
    from plait.dsl.span import Source
    from plait.runtime.schedule import Schedule


def add_spec_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what a spec is taken for")
    group.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a param or flag, in the spec's own notation; may be given several times",
    )
    group.add_argument("--variant", metavar="NAME", help="a variant of the spec")
    group.add_argument("--pipeline", metavar="NAME", help="which pipeline, in a file of several")
    group.add_argument(
        "--target", default="cpu", metavar="NAME", help="a target's name or .toml file; default cpu"
    )
    group.add_argument(
        "--limit",
        action="append",
        default=[],
        metavar="NAME=LIMIT",
        help="a limit in place of the target's: streams=400, tasks=64, memory=2GiB",
    )
    group.add_argument(
        "--env",
        metavar="FILE",
        help="a launch recipe: its exports are the environment, its options must fit the spec",
    )


def asked_for(options: argparse.Namespace, variant: str | None = None) -> Asked:
    """What the arguments ask a spec to be compiled for."""
    from plait.compiler.compile import Asked
    from plait.dsl.span import Source

    settings = {}
    for given in options.set:
        name, equals, _ = given.partition("=")
        if not equals:
            raise Refused(f"--set {given}: write it as NAME=VALUE")
        settings[name.strip()] = Source("--set", given)
    return Asked(
        pipeline=options.pipeline,
        variant=variant or options.variant,
        settings=settings,
        target=options.target,
        recipe=_recipe(options.env) if options.env else None,
        capture=getattr(options, "capture", True),
        limits=tuple(options.limit),
        unchecked=getattr(options, "unchecked", False),
    )


def _recipe(path: str) -> Recipe:
    """A launch recipe. Raises Refused, SpecError, OSError."""
    from plait.compiler.compile import read_source
    from plait.compiler.recipe.recipe import read_recipe

    try:
        return read_recipe(read_source(path))
    except UnicodeDecodeError as error:
        raise Refused(f"{path}: is not UTF-8 text (byte {error.start})") from None


def spec_source(path: str) -> Source:
    """The text of a spec file. Raises Refused, OSError."""
    from plait.compiler.compile import read_source

    if path.endswith(".json"):
        raise Refused(
            f"{path}: a schedule is proven already; this verb takes the .spec it came from"
        )
    try:
        return read_source(_found(path))
    except UnicodeDecodeError as error:
        raise Refused(f"{path}: is not UTF-8 text (byte {error.start})") from None


def _found(path: str) -> str:
    """The path; for `examples/NAME.spec` that is not here, the example of that name in the package."""
    asked = Path(path)
    if asked.exists() or asked.parent != Path("examples"):
        return path
    shipped = Path(__file__).parent.parent / "examples" / asked.name
    if not shipped.is_file():
        return path
    print(f"plait: {path} is not here; taking the one that comes with Plait", file=sys.stderr)
    return str(shipped)


def split_variant(asked: str) -> tuple[str, str | None]:
    """`eagle.spec@serial` as a path and a variant; any other path as it is."""
    path, at, variant = asked.rpartition("@")
    return (path, variant) if at and path.endswith(".spec") else (asked, None)


def compiled(options: argparse.Namespace, path: str) -> Schedule:
    """The Schedule of a `.spec` file, of a variant of one, or of a `.json` file that holds one.

    Prints what is wrong with a spec and raises Refused; so do all the verbs.
    """
    from plait.compiler.compile import compile_source
    from plait.compiler.target import TargetError
    from plait.dsl.diagnostic import SpecError

    if path.endswith(".json"):
        return _warned(_loaded(options, path))
    path, variant = split_variant(path)
    try:
        return _warned(compile_source(spec_source(path), asked_for(options, variant)))
    except SpecError as error:
        refuse(error.diagnostics)
    except TargetError as error:
        raise Refused(str(error)) from None


def add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device",
        default="cpu",
        metavar="NAME",
        help="cpu (default), npu, npu:1, cuda or adversary",
    )


def add_unchecked(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--unchecked",
        action="store_true",
        help="lower a spec in spite of what is found in it, to see what that does; never to serve with it",
    )


def _warned(schedule: Schedule) -> Schedule:
    """The schedule, after it was said that it is one which nothing vouches for."""
    if schedule.unchecked:
        codes = ", ".join(schedule.unchecked)
        print(
            f"plait: UNCHECKED: {schedule.source.name} was refused ({codes}) and lowered all the same; "
            "what it computes may be wrong",
            file=sys.stderr,
        )
    return schedule


def refuse(diagnostics: list[Diagnostic]) -> NoReturn:
    """Prints diagnostics and ends the command."""
    show(diagnostics)
    errors = sum(d.severity == "error" for d in diagnostics)
    raise Refused(f"{errors} error{'s' * (errors != 1)} in {_files(diagnostics)}")


def show(diagnostics: Iterable[Diagnostic]) -> None:
    from plait.dsl.render.terminal import render

    render(diagnostics, sys.stderr)


def _files(diagnostics: Iterable[Diagnostic]) -> str:
    return ", ".join(sorted({d.span.source.name for d in diagnostics}))


def _loaded(options: argparse.Namespace, path: str) -> Schedule:
    from plait.runtime.schedule_check import ScheduleError
    from plait.runtime.schedule_reader import from_json

    if options.set or options.variant:
        raise Refused(f"{path}: is compiled already; --set and --variant are for a .spec file")
    if options.env:
        raise Refused(f"{path}: is compiled already; --env is for a .spec file")
    try:
        return from_json(Path(path).read_text(encoding="utf-8"), Path(path).name)
    except UnicodeDecodeError:
        raise Refused(f"{path}: is not UTF-8 text, so no schedule") from None
    except ScheduleError as error:
        raise Refused(str(error)) from None


def write_whole(path: str, text: str, *, mode: int | None = None, over: bool = True) -> None:
    """Writes a file whole or not at all: with a mode, or that of a new file; over an old one, or not.

    Goes through links, and straight into what is no regular file. Raises OSError, which names the path.
    """
    import tempfile

    try:
        if _is_special(path):
            Path(path).write_text(text, encoding="utf-8", newline="")
            return
        target = Path(os.path.realpath(path))
        with tempfile.NamedTemporaryFile(
            "w",
            encoding="utf-8",
            newline="",
            dir=target.parent,
            prefix=f".{target.name[:200]}.",
            delete=False,
        ) as file:
            try:
                file.write(text)
                file.close()
                os.chmod(file.name, 0o666 & ~_umask() if mode is None else mode)
                # A link is never made over a file.
                (os.replace if over else os.link)(file.name, target)
            finally:
                Path(file.name).unlink(missing_ok=True)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None


def _is_special(path: str) -> bool:
    """Whether a path leads to a device, a pipe or an open file, in place of which none may be put."""
    if os.path.abspath(path).startswith("/dev/"):
        return True
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return False


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
