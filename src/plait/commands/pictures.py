"""Pictures that a command was asked to write, by option."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from plait.commands.asked import write_whole

if TYPE_CHECKING:
    from plait.compiler.emit.picture import Picture

OPTIONS = ("html", "svg", "perfetto")


def pictures_asked(options: argparse.Namespace) -> bool:
    return any(getattr(options, name, None) for name in OPTIONS)


def write_pictures(options: argparse.Namespace, picture: Picture) -> None:
    """Raises OSError."""
    if options.html:
        from plait.compiler.emit.page.page import page

        write_whole(options.html, page(picture))
    if getattr(options, "svg", None):
        from plait.compiler.emit.svg import svg

        write_whole(options.svg, svg(picture))
    if getattr(options, "perfetto", None):
        from plait.compiler.emit.perfetto import perfetto

        write_whole(options.perfetto, perfetto(picture))
