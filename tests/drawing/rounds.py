"""Random rounds as texts, drawn by hypothesis, and what they mean worked out the slow way."""

from __future__ import annotations

from collections.abc import Sequence

import networkx
from hypothesis import strategies as st

from plait.compiler.elaboration.elaborate import elaborate
from plait.compiler.order import order
from plait.compiler.races.conflicts import races
from plait.compiler.races.mend import applied, tight
from plait.compiler.round import HOST, Close, Edge, Open, Phase, Round, Vote
from plait.dsl.diagnostic import Report
from plait.dsl.library import load_library
from plait.dsl.settings import settings_for
from plait.dsl.span import Source

STREAMS = ("a", "b", "c")


@st.composite
def round_texts(draw: st.DrawFn) -> str:
    """A pipeline of up to 7 phases on up to 3 streams and the host, with edges and captures.

    Most have races; every name is declared and every region fits, so all of them elaborate.
    """
    streams = STREAMS[: draw(st.integers(1, 3))]
    buffers = {}
    for number in range(draw(st.integers(1, 3))):
        copies = draw(st.sampled_from([1, 1, 2, 3]))
        place = draw(st.sampled_from(["", "", "", " on host"]))
        buffers[f"x{number}"] = (copies, f"i64[4] carried copies {copies}{place}")
    lines = ["spec 1", "pipeline p {"]
    lines += [f"  stream {name}" for name in streams]
    lines += [f"  buffer {name} : {what}" for name, (_, what) in buffers.items()]
    phases: list[str] = []
    captures: list[str] = []

    def phase(stream: str) -> str:
        name = f"p{len(phases)}"
        phases.append(name)
        clauses = []
        for buffer, (copies, _) in buffers.items():
            kind = draw(st.sampled_from(["", "", "reads", "updates", "writes"]))
            back = draw(st.integers(0, copies - 1)) if kind == "reads" else 0
            part = draw(st.sampled_from(["", "", "[0 .. 1]", "[2]"]))
            if kind:
                clauses.append(f"{kind} {f'prev {back} ' if back else ''}{buffer}{part}")
        return f"phase {name} on {stream} {{ {' '.join(clauses)} }}"

    def point() -> str:
        kinds = ["stream"] + ["phase"] * bool(phases) + ["prev"] * bool(phases)
        kinds += ["capture"] * bool(captures)
        kind = draw(st.sampled_from(kinds))
        if kind == "stream":
            return draw(st.sampled_from(streams))
        name = draw(st.sampled_from(captures if kind == "capture" else phases))
        return f"prev {draw(st.integers(1, 2))} {name}" if kind == "prev" else name

    for _ in range(draw(st.integers(1, 9))):
        what = draw(st.sampled_from(["phase", "phase", "fork", "join", "host", "capture", "sync"]))
        if what == "phase":
            lines.append("  " + phase(draw(st.sampled_from(streams))))
        elif what == "host":
            lines.append("  " + phase("host"))
        elif what == "capture":
            stream = draw(st.sampled_from(streams))
            name = f"g{len(captures)}"
            inner = [phase(stream) for _ in range(draw(st.integers(1, 2)))]
            lines.append(f"  capture {name} on {stream} rows 4 {{ {' '.join(inner)} }}")
            captures.append(name)
        elif what == "sync":
            lines.append(f"  join {point()} into host")
        else:
            source, target = point(), draw(st.sampled_from(streams))
            if source != target:
                edge = (
                    f"fork {target} from {source}"
                    if what == "fork"
                    else f"join {source} into {target}"
                )
                lines.append("  " + edge)
    return "\n".join([*lines, "}", ""])


def slow_order(rounds: Sequence[Round]) -> networkx.DiGraph:
    """Happens-before as a graph, straight from the rules of the language, nothing clever.

    The rounds follow each other; all of them issue the same phases.

    Nodes are (round, item, "issue" | "run"): the host's issue of an item, and its run.
    """
    graph = networkx.DiGraph()
    host = None
    newest: dict[int, tuple] = {}
    waiting: dict[int, list[tuple]] = {}

    def follow(node: tuple, *before: tuple | None) -> None:
        graph.add_node(node)
        graph.add_edges_from((one, node) for one in before if one is not None)

    for number, round in enumerate(rounds):
        for place, item in enumerate(round.items):
            run = (number, place, "run")
            if isinstance(item, Edge):
                source = item.source
                if source.kind == "stream":
                    starts = [newest.get(source.number), *waiting.get(source.number, [])]
                else:
                    starts = [_named(rounds, source, number - source.rounds_back)]
                if item.target == HOST:
                    follow(run, host, *starts)
                    host = run
                    newest[HOST] = run
                else:
                    waiting.setdefault(item.target, []).extend(filter(None, starts))
                continue
            assert not isinstance(item, Vote)
            stream = item.stream if isinstance(item, Phase) else round.captures[item.capture].stream
            if stream == HOST:
                follow(run, host, *waiting.pop(HOST, []))
                host = newest[HOST] = run
                continue
            issue = (number, place, "issue")
            follow(issue, host)
            host = issue
            follow(run, issue, newest.get(stream), *waiting.pop(stream, []))
            newest[stream] = run
    return graph


def _named(rounds: Sequence[Round], source, number: int) -> tuple | None:
    if number < 0:
        return None
    for place, item in enumerate(rounds[number].items):
        found = (
            (source.kind == "phase" and isinstance(item, Phase) and item.number == source.number)
            or (
                source.kind == "capture"
                and isinstance(item, Close)
                and item.capture == source.number
            )
            or (
                source.kind == "loaded" and isinstance(item, Open) and item.capture == source.number
            )
        )
        if found:
            return (number, place, "run")
    raise AssertionError(source)


def elaborated(text: str) -> Round:
    """The one round of a text that has one bucket and no guard."""
    (round,) = routes(text)
    return round


def routes(text: str) -> list[Round]:
    """The rounds of a text, one a route."""
    library = load_library(Source("random.spec", text))
    file, report = library.file, Report()
    settings = settings_for(file, file.pipelines[0])
    found = elaborate(file.pipelines[0], library, settings, report)
    assert not report.errors, report.errors
    return found


def mended(round: Round) -> Round:
    """The round with the tight edge of its first race added, until none is left."""
    while found := races(order(round)):
        round = applied(round, [tight(round, found[0])])
    return round
