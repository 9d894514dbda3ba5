"""A picture as a drawing that needs no script, for pages where none runs: in the reader's own scheme."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from rich.cells import cell_len

from plait.compiler.emit.palette import DARK, LIGHT
from plait.compiler.emit.picture import KINDS, Bar, Group, Picture, Round, stacked
from plait.compiler.timing.ticks import ticks
from plait.dsl.render.cut import cut
from plait.dsl.render.figures import shown
from plait.dsl.render.printable import printable

WIDTH = 960
EDGE, ROW, BAR, THIN, TITLE, AXIS = 20, 26, 20, 6, 30, 24
CELL = 7
"""Pixels of a character that is one column wide in a terminal, at most."""
ROOM = 90
"""Pixels of a mark of the axis, at least."""
LONGEST_LABEL = 24
"""Columns."""
MOST_ARROWS = 200
"""With more of them nothing could be told from another, and none is drawn."""
STYLE = """\
text { font: 12px ui-sans-serif, system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
.title { font-size: 15px; font-weight: 600; }
.group { font-weight: 600; }
.right { text-anchor: end; }
.middle { text-anchor: middle; }
.arrow { fill: none; stroke-width: 1.25; }
.changed { stroke-width: 1.5; stroke-dasharray: 4 3; }
"""


def svg(picture: Picture, width: int = WIDTH) -> str:
    """A whole SVG document with the same lanes as the page: the same picture gives the same bytes.

    Colours follow the reader's scheme. Of bars narrower than a pixel one is drawn a pixel.
    """
    return _Drawing(picture, width).text()


class _Drawing:
    """Across, places are hundredths of a pixel; down, pixels."""

    def __init__(self, picture: Picture, width: int):
        self.picture = picture
        self.width = width
        self.end = max(picture.end, 1)
        labels = [lane.name for group in picture.groups for lane in group.lanes]
        labels += ["critical path" for group in picture.groups if group.path]
        widest = max((cell_len(printable(label)) for label in labels), default=0)
        self.gutter = EDGE + min(widest, LONGEST_LABEL) * CELL + 12
        self.y = EDGE
        self.parts: list[str] = []

    def text(self) -> str:
        self.head()
        top, self.y = self.y, self.y + AXIS
        for group in self.picture.groups:
            self.group(group)
        axis = list(self.axis(top))
        self.legend()
        width, height, title = self.width, self.y + EDGE, _harmless(self.picture.title)
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
            f' viewBox="0 0 {width} {height}" role="img" aria-label="{title}">',
            f"<title>{title}</title>",
            f"<style>\n{STYLE}{_colours(LIGHT)}",
            f"@media (prefers-color-scheme: dark) {{\n{_colours(DARK)}\n}}\n</style>",
            f'<rect class="paper" x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="12"/>',
            *axis,
            *self.parts,
            "</svg>",
        ]
        return "\n".join(lines) + "\n"

    def head(self) -> None:
        columns = (self.width - 2 * EDGE) // CELL
        self.write(EDGE * 100, self.y + 14, cut(self.picture.title, columns * 4 // 5), "title ink")
        self.y += 24
        for note in self.picture.notes:
            self.write(EDGE * 100, self.y + 10, cut(note, columns), "soft")
            self.y += 18
        self.y += 8

    def axis(self, top: int) -> Iterator[str]:
        """After the lanes are drawn, behind them."""
        for at, label in ticks(self.end, (self.width - EDGE - self.gutter) // ROOM):
            x = self.x(at)
            yield f'<path class="rule" d="M{_pixels(x)} {top + 6}V{self.y}"/>'
            if x // 100 + 4 + len(label) * CELL < self.width - EDGE:
                yield f'<text class="soft" x="{_pixels(x + 400)}" y="{top + 14}">{label}</text>'

    def group(self, group: Group) -> None:
        if len(self.picture.groups) > 1:
            self.write(EDGE * 100, self.y + 20, cut(group.name, 80), "group ink")
            self.y += TITLE
        place, top = len(self.parts), self.y
        if group.rounds:
            for one in group.rounds:
                self.round(one)
            self.y += ROW - 4
        if group.path:
            self.row("critical path", group.path)
        rows: dict[int, tuple[int, Bar]] = {}
        for lane in group.lanes:
            for depth, bars in enumerate(stacked(lane.bars)):
                rows |= {bar.number: (self.y, bar) for bar in bars}
                self.row("" if depth else lane.name, bars)
        self.parts[place:place] = [
            f'<rect class="band" x="{_pixels(self.x(one.start))}" y="{top}"'
            f' width="{_pixels(self.x(one.end) - self.x(one.start))}" height="{self.y - top}"/>'
            for one in group.rounds[::2]
        ]
        held = [one for one in group.arrows if one.held and {one.source, one.target} <= rows.keys()]
        if len(held) <= MOST_ARROWS:
            for one in held:
                self.arrow(*rows[one.source], *rows[one.target])
        self.y += 8

    def round(self, one: Round) -> None:
        left, right = self.x(one.start), self.x(one.end)
        columns = (right - left) // 100 // CELL
        for told in (f"{one.name} · {shown(one.end - one.start)}", one.name):
            if cell_len(printable(told)) < columns:
                self.write((left + right) // 2, self.y + 15, told, "soft middle")
                return

    def row(self, label: str, bars: Sequence[Bar]) -> None:
        self.write((self.gutter - 12) * 100, self.y + 17, cut(label, LONGEST_LABEL), "ink right")
        drawn = ("", -1)
        for bar in bars:
            colour = "accent" if bar.on_path else bar.kind if bar.kind in KINDS else "phase"
            left, right = self.x(bar.start), self.x(bar.end)
            here = colour, left // 100
            if right - left >= 100 or here != drawn:
                self.bar(bar, colour, left, max(right, left + 100))
            drawn = here
        self.y += ROW

    def bar(self, bar: Bar, colour: str, left: int, right: int) -> None:
        inset, corner = (50, 4) if right - left > 800 else (0, 1)
        high = THIN if bar.kind == "wait" and not bar.on_path else BAR
        self.parts.append(
            f'<rect class="{colour}{" changed" * bar.changed}" x="{_pixels(left + inset)}"'
            f' y="{self.y + (ROW - high) // 2}" width="{_pixels(right - left - 2 * inset)}"'
            f' height="{high}" rx="{corner}"><title>{_harmless(bar.name or "idle")}:'
            f" {shown(bar.end - bar.start)}</title></rect>"
        )
        columns = ((right - left) // 100 - 9) // CELL
        if high == BAR and columns >= min(cell_len(printable(bar.name)), 3):
            ink = "on-accent" if bar.on_path else "ink"
            self.write(left + 500, self.y + 17, cut(bar.name, columns), ink)

    def arrow(self, above: int, source: Bar, below: int, target: Bar) -> None:
        if above == below:
            return
        left, right = self.x(source.end), self.x(target.start)
        bend = max(0, min(4000, (right - left) // 2))
        turn = 1 if below > above else -1
        high, low = above + ROW // 2 + turn * BAR // 2, below + ROW // 2 - turn * BAR // 2
        self.parts.append(
            f'<path class="arrow" d="M{_pixels(left)} {high}C{_pixels(left + bend)} {high}'
            f" {_pixels(right - bend)} {low} {_pixels(right)} {low}"
            f'm-3 {-4 * turn}l3 {4 * turn}l3 {-4 * turn}"/>'
        )

    def legend(self) -> None:
        bars = [bar for one in self.picture.groups for lane in one.lanes for bar in lane.bars]
        drawn = {bar.kind if bar.kind in KINDS else "phase" for bar in bars if not bar.on_path}
        told = [("accent", "on the critical path")] * any(bar.on_path for bar in bars)
        told += [("changed", "changed")] * any(bar.changed for bar in bars)
        told += [(kind, says) for kind, says in KINDS.items() if kind in drawn]
        x, self.y = EDGE, self.y + 18
        for colour, says in told:
            wide = 30 + len(says) * CELL
            if x + wide > self.width - EDGE:
                x, self.y = EDGE, self.y + 20
            self.parts.append(
                f'<rect class="{colour}" x="{x}" y="{self.y - 10}" width="12" height="12" rx="3"/>'
            )
            self.write((x + 18) * 100, self.y, says, "soft")
            x += wide

    def write(self, x: int, y: int, text: str, classes: str) -> None:
        if text:
            self.parts.append(
                f'<text class="{classes}" x="{_pixels(x)}" y="{y}">{_harmless(text)}</text>'
            )

    def x(self, at: int) -> int:
        room = self.width - EDGE - self.gutter
        return self.gutter * 100 + at * room * 100 // self.end


def _pixels(hundredths: int) -> str:
    whole, rest = divmod(hundredths, 100)
    return f"{whole}.{rest:02}".rstrip("0").rstrip(".")


def _harmless(text: str) -> str:
    return escape(printable(text))


def _colours(scheme: dict[str, str]) -> str:
    inks = ("ink", "soft", "on-accent")
    rules = [f".{name} {{ fill: {scheme[name]} }}" for name in (*inks, "band", "accent", *KINDS)]
    rules += [
        f".paper {{ fill: {scheme['card']}; stroke: {scheme['line']} }}",
        f".rule {{ stroke: {scheme['line']} }}",
        f".arrow {{ stroke: {scheme['ink']} }}",
        f".changed {{ stroke: {scheme['changed']} }}",
        "rect.changed:not([class*=' ']) { fill: none }",
    ]
    return "\n".join(rules)
