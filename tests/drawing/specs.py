"""Random specs as texts: every statement and clause of the language, with names and sizes that fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from hypothesis import strategies as st

from plait.dsl.words import COLLECTIVES, DTYPES, PHASE_ATTRIBUTES


@dataclass
class _Place:
    """What can be named where a statement stands."""

    streams: list[str]
    buffers: dict[str, list[str] | None]
    """With the sizes of their axes; None: not known."""
    sizes: list[str]
    """Whole numbers from 1 on."""
    truths: list[str]
    groups: list[str] = field(default_factory=list)
    pools: list[str] = field(default_factory=list)
    scratch: set[str] = field(default_factory=set)
    pinned: set[str] = field(default_factory=set)
    points: list[str] = field(default_factory=list)
    index: str = ""
    """Of the loop around it."""

    def inside(self, **changes) -> _Place:
        """A block of its own: what it adds is not seen behind it."""
        return _Place(
            **{**self.__dict__, "points": [*self.points], "buffers": {**self.buffers}, **changes}
        )


@dataclass
class _Module:
    name: str
    points: list[str]
    buffers: list[str]


@st.composite
def spec_texts(draw: st.DrawFn) -> str:
    """A file of a pipeline with its modules and variants: at most 16 routes, and some 20 statements."""
    return _Writer(draw).file()


@st.composite
def written_anyhow(draw: st.DrawFn) -> str:
    """Such a file with its blanks, line ends and comments anywhere."""
    random = Random(draw(st.integers(0, 1 << 32)))
    text = draw(spec_texts())
    gaps = [" "] * 8 + [
        "  ",
        "\t",
        "\n",
        "\r\n",
        "\n\n\n",
        " # why\n",
        '\n# 1 { " }\n\n# 2\n',
        "#\n",
    ]
    parts = text.replace("\n", " ").split('"')  # what stands within a text is left as it is
    for place in range(0, len(parts), 2):
        words = parts[place].split(" ")
        parts[place] = "".join(random.choice(gaps) + word for word in words)
    return '"'.join(parts) + random.choice(["", "\n", "# the end", "\n\n# the end\n\n"])


class _Writer:
    def __init__(self, draw: st.DrawFn):
        self.draw = draw
        self.count = 0
        self.modules: list[_Module] = []

    # Choices

    def pick(self, options: Sequence):
        return options[self.draw(st.integers(0, len(options) - 1))]

    def maybe(self, *texts: str) -> str:
        """One of the texts, or none."""
        return self.pick(["", *texts])

    def name(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    # Files

    def file(self) -> str:
        modules = [self.module() for _ in range(self.pick((0, 0, 1, 1, 2)))]
        parts = [*modules, self.pipeline()]
        for _ in range(self.draw(st.integers(0, 2))):
            parts.append(f"variant {self.name('v')} of p {{ {self.settings()} }}")
        if self.maybe("turned"):
            parts.reverse()
        return "\n".join([*self.pick([["spec 1"], []]), *parts, ""])

    def settings(self) -> str:
        return " ".join(
            self.maybe(text)
            for text in ("set steps = 2", "set wide = not true", 'set mode = "b"', "set picked = 3")
        )

    def module(self) -> str:
        name = self.name("m")
        place = _Place(["main"], {"x": None}, ["n", "k"], ["k > 1", "not (n == 1)"])
        lines = [
            f"module {name}(stream main, buffer x, n, k = {self.pick(['1', '2', '1 + 1'])}) {{"
        ]
        if self.maybe("alias"):
            lines.append("stream also = main" + self.maybe(" if k > 1 else main"))
            place.streams.append("also")
        if self.maybe("param"):
            lines.append(f"param inner = {self.size(place)}")
            place.sizes.append("inner")
        for _ in range(self.draw(st.integers(0, 2))):
            lines.append(self.buffer(place))
        unfit = place.scratch | place.pinned | {"x"}
        own = [name for name in place.buffers if name not in unfit]
        for _ in range(self.draw(st.integers(1, 3))):
            lines += self.statement(place) if self.maybe("", "go on") else ["yield"]
        self.modules.append(_Module(name, place.points, own))
        return "\n".join([*lines, "}"])

    def pipeline(self) -> str:
        place = _Place([], {}, ["steps", "3", "table[0]"], ["wide", 'mode == "a"', "true", "false"])
        lines = [
            "pipeline p {",
            f"param steps = {self.pick(['1', '2', '5 - 2', '-(-2)', '7 % 4'])}",
            f"param table = {self.pick(['[1, 2]', '[1, 1 + 1,3]', '[2]'])}",
            'param mode = "a"',
            f'flag wide = env("WIDE", {self.pick(["true", "false"])})',
            f"param part = {self.pick(['1.5', '2.0', '10.25 / 3', '0.001'])}",
            f"param time = {self.pick(['35us', '1.5ms', '4MiB', '2 * 8ns'])}",
            "require steps >= 1" + self.maybe(', "at least one"'),
        ]
        lines.append("param picked in [1, 3] = 1" if self.maybe("chosen") else "param picked = 1")
        lines.append(self.maybe("group world = 8", "group world"))
        lines.append("group ep" + self.maybe(" = 4") + (" in world" if lines[-1] else ""))
        place.groups = ["ep"]
        agreed = self.maybe(" over ep", " same over ep")
        lines.append(f"dim bs in {self.pick(['[1, 2]', '[1]', '[table[0], 9]'])}{agreed}")
        place.sizes += ["bs", "picked", "steps * bs"]
        if self.maybe("guard"):
            agreed, condition = self.maybe(" over ep"), self.truth(place)
            chosen = f" if {condition} else {self.truth(place)}"
            lines.append(f"guard ready{agreed}{self.maybe(chosen)}")
            place.truths.append("ready")
        lines += ["pool graphs", f"pool slots = {self.size(place)}"]
        place.pools = ["graphs", "slots"]
        lines.append("stream main" + self.maybe(" : compute"))
        lines.append(f"stream side{self.maybe(' : copy')}{self.maybe(' if wide else main')}")
        lines.append(
            "stream third" + self.maybe(" = side", f" = main if {self.truth(place)} else side")
        )
        place.streams = ["main", "side", "third"]
        place.buffers["b0"] = None
        lines.append("buffer b0 : opaque carried")
        for _ in range(self.draw(st.integers(1, 3))):
            lines.append(self.buffer(place))
        for _ in range(self.draw(st.integers(1, 4))):
            lines += self.statement(place, self.maybe("capture", "interleave", "assume", "launch"))
        return "\n".join([*(line for line in lines if line), "}"])

    # Values

    def size(self, place: _Place) -> str:
        a, b = self.pick(place.sizes), self.pick(place.sizes)
        forms = (a, b, "4", f"{a} + {b}", f"2 * ({a} + 1)", f"max({a}, 2)", f"ceil_div({a}, {b})")
        more = (
            f"len([{a}, 2])",
            f"{a} - -1",
            f"min({a}, {b}) * 2 // 2",
            f"(({a}) + 1) // 1 % 9 + 1",
        )
        return self.pick((*forms, *more))

    def truth(self, place: _Place) -> str:
        a, b, size = self.pick(place.truths), self.pick(place.truths), self.pick(place.sizes)
        forms = (
            a,
            f"not {a}",
            f"{a} and {b}",
            f"({a} or {b}) and not ({a} and {b})",
            f"{size} > 2",
        )
        return self.pick((*forms, f"{size} in [1, 2]", f"({a}) == ({b})", f"{size} <= 2 or {b}"))

    # Declarations

    def buffer(self, place: _Place) -> str:
        name = self.name("b")
        axes = [self.size(place) for _ in range(self.draw(st.integers(1, 3)))]
        what = f"{self.pick(DTYPES)}[{', '.join(axes)}]"
        carried = f" carried copies {self.pick('123')}"
        kind = self.pick(("", "", "carried", "opaque", "scratch", "host", "pinned", "task", "pad"))
        if kind == "carried":  # no size of it may be picked before the round
            axes = ["4", "2 * 3"]
            what = f"f32[4, 2 * 3]{carried}{self.maybe(' static')}"
        elif kind == "opaque":
            axes = None
            what = f"opaque carried{self.maybe(' static')}"
        elif kind == "pad":
            what += f" pad {self.pick(['0', '-1', '0.5', '- 2.5'])}"
        elif kind in ("host", "pinned"):
            what += f" on {kind}{self.maybe(' copies 2')}"
        elif kind:
            what += f" {kind}"
        elif place.pools:
            what += self.maybe(f" in {self.pick(place.pools)}", " static")
        place.buffers[name] = axes
        place.scratch |= {name} if kind == "scratch" else set()
        place.pinned |= {name} if kind == "pinned" else set()
        return f"buffer {name} : {what}"

    # The round

    def statement(self, place: _Place, kind: str = "") -> list[str]:
        kind = kind or self.pick(
            ("phase", "phase", "phase", "edge", "edge", "block", "loop", "call")
        )
        if kind == "edge" and len(place.streams) > 1:
            return [self.edge(place)]
        if kind == "block":
            return self.block(place)
        if kind == "loop" and not place.index:
            index = self.name("i")
            inside = place.inside(index=index, sizes=[*place.sizes, f"({index} + 1)"])
            first, last = self.pick(("0", "1", "-1 + 1")), self.pick((place.sizes[0], "2", "0"))
            return [f"for {index} in {first} .. {last} {{", *self.statements(inside), "}"]
        if kind == "call" and self.modules and not place.index and "main" in place.streams[:1]:
            return [self.call(place)]
        if kind == "capture":
            return self.capture(place)
        if kind == "interleave" and self.modules:
            first, second = self.call(place), self.call(place)
            return [f"interleave by {self.pick(['0', '1', '3 - 1'])} {{", first, second, "}"]
        if kind == "assume":
            name = next(
                (n for n, axes in place.buffers.items() if axes and n not in place.scratch), ""
            )
            return [f'assume disjoint {name}[0], {name}[0 .. 0], "never both"'] if name else []
        if kind == "launch":
            phase = self.phase(place, self.pick(place.streams), "launch")
            awaited = f"await {place.points[-1]} on {self.pick(place.streams)}"
            return [phase, *self.statements(place), awaited]
        stream = self.pick([*place.streams, "host"] if place.groups else place.streams)
        return [self.phase(place, stream)]

    def statements(self, place: _Place) -> list[str]:
        found = []
        for _ in range(self.draw(st.integers(0, 2))):
            found += self.statement(place)
        return found

    def block(self, place: _Place) -> list[str]:
        lines = [f"when {self.truth(place)} {{", *self.statements(place.inside())]
        if self.maybe("else"):
            lines += ["} else " + self.maybe(f"when {self.truth(place)} ") + "{"]
            lines += self.statements(place.inside())
        return [*lines, "}"]

    def phase(self, place: _Place, stream: str, word: str = "phase") -> str:
        name = self.name("ph") + (
            f"[{place.index}]" if place.index else self.maybe("[2]", "[1 + 1]")
        )
        attributes = self.maybe(*PHASE_ATTRIBUTES) if word == "phase" else ""
        clauses = self.clauses(place, stream == "host")
        place.points.append(name)
        return f"{word} {name} on {stream} {attributes} {{ {' '.join(clauses)} }}"

    def clauses(self, place: _Place, host: bool) -> list[str]:
        found: list[str] = []
        several: dict[str, list[str]] = {}
        names = [name for name in place.buffers if not (host and name in place.pinned)]
        for name in names[self.draw(st.integers(0, len(names))) :][:3]:
            kind = "updates" if name in place.scratch else self.pick(("reads", "updates", "writes"))
            several.setdefault(kind, []).append(self.access(place, name, kind))
        for kind, accesses in several.items():
            clause = f"{kind} {', '.join(accesses)}"
            found.append(self.pick((clause, clause, f"when {self.truth(place)} {{ {clause} }}")))
        found.append(self.maybe(f"rows {self.size(place)}"))
        found.append(self.maybe(f"cost {self.pick(['35us', '1.5us * 2', '2ms + 1ns'])}"))
        if place.groups and self.maybe("collective"):
            capacity = self.maybe(f" capacity {self.size(place)}")
            clause = f"collective {self.pick(COLLECTIVES)} over ep{capacity}"
            found.append(self.pick((clause, f"when {self.truth(place)} {{ {clause} }}")))
        turned = self.draw(st.integers(0, len(found)))
        return [clause for clause in found[turned:] + found[:turned] if clause]

    def access(self, place: _Place, name: str, kind: str) -> str:
        axes = place.buffers[name]
        region = ""
        if axes and self.maybe("region"):
            entries = [self.pick(("_", "0", f"{n} - 1", f"0 .. {n} - 1")) for n in axes]
            region = f"[{', '.join(entries[: self.draw(st.integers(1, len(axes)))])}]"
        prev = self.maybe("prev ", "prev 2 ") if kind == "reads" else ""
        argument = f" as {self.name('a')}"
        return f"{prev}{name}{region}{argument if '.' in name else self.maybe(argument)}"

    def edge(self, place: _Place) -> str:
        target = self.pick(place.streams)
        point = self.pick([*place.points, *(one for one in place.streams if one != target)])
        if point in place.points and self.maybe("earlier"):
            point = f"prev {self.maybe('1 ', '2 ')}{point}"
        if self.maybe("", "fork"):
            return f"fork {target} from {point}"
        return (
            f"join {point} into {self.pick((target, target, 'host')) if place.groups else target}"
        )

    def capture(self, place: _Place) -> list[str]:
        name, stream = self.name("g"), self.pick(("main", "side"))
        pool = self.maybe(" in graphs")
        condition = self.maybe(f" when {self.truth(place)}")
        lines = [f"capture {name} on {stream} rows {self.size(place)}{pool}{condition} {{"]
        inside = place.inside(points=[], streams=[stream], groups=[])
        lines.append(self.phase(inside, stream))
        if self.maybe("fork"):
            other = "side" if stream == "main" else "main"
            point = self.pick((stream, f"{name}.loaded", *inside.points))
            lines += [
                f"fork {other} from {point}",
                self.phase(inside, other),
                f"join {other} into {stream}",
            ]
        lines += [*self.statements(inside), "}"]
        place.points += [name, f"{name}.loaded"]
        return lines

    def call(self, place: _Place) -> str:
        module, name = self.pick(self.modules), self.name("c")
        unfit = place.scratch | place.pinned
        plain = [buffer for buffer in place.buffers if "." not in buffer and buffer not in unfit]
        given = [f"x = {self.pick(plain)}", f"n = {self.size(place)}"]
        given += [self.maybe(f"k = {self.size(place)}"), self.maybe("main = main")]
        index = self.maybe("[0]", "[3 - 1]")
        place.points += [f"{name}{index}", *(f"{name}{index}.{point}" for point in module.points)]
        place.buffers |= {f"{name}{index}.{buffer}": None for buffer in module.buffers}
        return f"call {module.name}({', '.join(filter(None, given))}) as {name}{index}"
