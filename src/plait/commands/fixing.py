"""What `plait check --fix` does to a file, or with `--diff` would do."""

from __future__ import annotations

import codecs
import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from plait.commands.asked import write_whole
from plait.commands.difference import show_difference
from plait.exit import Refused

if TYPE_CHECKING:
    from plait.compiler.compile import Asked
    from plait.dsl.span import Source


def fixed(path: str, source: Source, asked: Asked, only_show: bool, waste: bool = False) -> Source:
    """The source as it is, or would be, with its findings' fixes made. Raises Refused, OSError."""
    from plait.compiler.fix import mended
    from plait.dsl.render.printable import printable

    found = mended(source, asked, waste)
    if found.source is source:
        return source
    if only_show:
        show_difference(path, source.text, found.source.text)
    else:
        rewrite(path, source.text, found.source.text, "--fix")
    said = f"{found.count} finding{'s' * (found.count != 1)} in {printable(path)}"
    print(f"would fix {said}" if only_show else f"fixed {said}", file=sys.stderr)
    return found.source


def rewrite(path: str, before: str, after: str, asked: str) -> None:
    """Writes the file anew, with its own mode, byte order mark and place behind a link."""
    if not Path(path).exists():
        raise Refused(f"{path}: {asked} is for a file of yours, not for one that comes with Plait")
    real = os.path.realpath(path)
    with open(real, "r+b") as file:  # so that one that may not be written is refused
        data = file.read()
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    if data != mark + before.encode():
        raise Refused(f"{path}: was changed while it was checked; check it again")
    write_whole(real, (mark + after.encode()).decode(), mode=mode)
