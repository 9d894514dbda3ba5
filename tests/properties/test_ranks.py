"""What ranks exchange, against ranks run one by one and compared two by two."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from drawing.rounds import elaborated, round_texts
from plait.compiler.elaboration.elaborate import elaborate
from plait.compiler.order import order
from plait.compiler.ranks.behaviours import behaviours
from plait.compiler.ranks.matching import mismatches
from plait.compiler.ranks.progress import ring
from plait.compiler.round import HOST, Collective, Group, Phase, Round
from plait.compiler.rules import collectives_beside
from plait.compiler.target import load_target
from plait.dsl.diagnostic import Report
from plait.dsl.library import load_library
from plait.dsl.settings import settings_for
from plait.dsl.span import Source

GROUPS = ("a", "b", "c")
Script = list[tuple[str, str, str]]
"""What a rank's host does, line by line: run a phase on a stream, wait on a stream, or wait itself."""


@st.composite
def scripts(draw: st.DrawFn) -> list[Script]:
    """Two or three ways to issue the same collectives, those of a group in one order."""
    phases = [f"{group}{n}" for group in GROUPS for n in range(draw(st.sampled_from([1, 1, 2])))]
    found = []
    for _ in range(draw(st.integers(2, 3))):
        places = draw(st.permutations([name[0] for name in phases]))
        left = {group: iter([name for name in phases if name[0] == group]) for group in GROUPS}
        script: Script = []
        stream_of: dict[str, str] = {}
        for group in places:
            name, stream = next(left[group]), draw(st.sampled_from("stu"))
            for other, its in stream_of.items():
                if its != stream and draw(st.integers(0, 7)) == 0:
                    script.append(("wait", stream, other))
                elif draw(st.integers(0, 7)) == 0:
                    script.append(("block", "host", other))
            stream_of[name] = stream
            script.append(("run", stream, name))
        found.append(script)
    return found


def text_of(scripts: list[Script]) -> str:
    """A pipeline in which each rank takes one of the scripts, by a param of its own."""
    words = {
        "run": "phase {1} on {0} {{ collective all_to_all over {2} }}",
        "wait": "fork {0} from {1}",
        "block": "join {1} into {0}",
    }
    lines = [f"param turn in {list(range(len(scripts)))} = 0", "stream s stream t stream u"]
    lines += [f"group {group}" for group in GROUPS]
    for number, script in enumerate(scripts):
        body = [words[word].format(on, name, name[0]) for word, on, name in script]
        lines.append(f"when turn == {number} {{ {' '.join(body)} }}")
    return f"spec 1\npipeline p {{ {' '.join(lines)} }}"


def hang(scripts: list[Script]) -> bool:
    """Whether ranks that take one script each come to a stop before all is done, run step by step."""
    begun: set[tuple[int, str]] = set()
    hosts = [list(script) for script in scripts]
    queues = [{"s": [], "t": [], "u": []} for _ in scripts]
    names = {name for word, _, name in scripts[0] if word == "run"}

    def over(name: str) -> bool:
        return all((rank, name) in begun for rank in range(len(scripts)))

    moved = True
    while moved:
        moved = False
        for rank, (host, streams) in enumerate(zip(hosts, queues, strict=True)):
            if host and (host[0][0] != "block" or over(host[0][2])):
                word, on, name = host.pop(0)
                if word != "block":
                    streams[on].append((word, name))
                moved = True
            for queue in streams.values():
                if not queue:
                    continue
                word, name = queue[0]
                if word == "run" and (rank, name) not in begun:
                    begun.add((rank, name))
                    moved = True
                if over(name):
                    queue.pop(0)
                    moved = True
    return not all(map(over, names))


@given(scripts())
@settings(max_examples=400)
def test_ranks_hang_just_where_a_ring_is_found(scripts: list[Script]) -> None:
    """The merged graph has a cycle when ranks of all behaviours, run together, come to a stop."""
    text = text_of(scripts)
    rounds = rounds_of(text)
    found = behaviours(rounds)
    assert found is not None and not list(mismatches(found))
    around = ring(found, [order(round) for round in rounds])
    assert (around is not None) == hang(scripts), text
    if around is not None:
        taken = dict.fromkeys(rank.order for rank in around.ranks)
        assert around.meets and hang([scripts[number] for number in taken]), text


GUARDS = ("g0", "g1", "g2", "g3")
Guarded = list[tuple[str, str, str | None]]
"""Of each guard its name, whose ranks agree on it (nobody's: ``), and the guard without which it is true."""
Issued = list[tuple[str, bool, str, str]]
"""Of each phase the guard that it stands under, what that has to be, its group and its name."""


@st.composite
def guarded(draw: st.DrawFn) -> tuple[Guarded, Issued]:
    """Guards of which some are agreed on and some asked, and collectives that follow them."""
    guards: Guarded = []
    for name in GUARDS[: draw(st.integers(1, 4))]:
        asked = draw(st.sampled_from([None, None, *(other for other, *_ in guards)]))
        guards.append((name, draw(st.sampled_from(["tp", "tp", "attn", ""])), asked))
    names = st.sampled_from([name for name, *_ in guards])
    groups = st.sampled_from(["tp", "attn"])
    issued = []
    for number in range(draw(st.integers(0, 4))):
        group = draw(groups)
        guard, wanted = draw(names), draw(st.booleans())
        issued.append((guard, wanted, group, f"x{number}"))
        if draw(st.booleans()):  # the same one the other way round
            issued.append((guard, not wanted, group, f"x{number}"))
    return guards, issued


def guarded_text(guards: Guarded, issued: Issued) -> str:
    lines = ["spec 1", "pipeline p {", "group tp", "group attn in tp", "stream s"]
    for name, over, asked in guards:
        agreement = f" over {over}" if over else ""
        lines.append(f"guard {name}{agreement}" + (f" if {asked} else true" if asked else ""))
    for guard, wanted, group, name in issued:
        phase = f"phase {name} on s {{ collective all_reduce over {group} }}"
        lines.append(f"when {guard if wanted else f'not {guard}'} {{ {phase} }}")
    return "\n".join([*lines, "}"])


def done(
    guards: Guarded, issued: Issued, answers: tuple[bool, ...]
) -> dict[tuple[str, bool], list]:
    """What a rank that would give these answers exchanges, over each group and by its host or not."""
    values: dict[str, bool] = {}
    votes: list[tuple[str, list[str]]] = []
    for (name, over, asked), answer in zip(guards, answers, strict=True):
        if asked is not None and not values[asked]:
            values[name] = True
            continue
        values[name] = answer
        if votes and votes[-1][0] == over:
            votes[-1][1].append(name)
        else:
            votes.append((over, [name]))
    found: dict[tuple[str, bool], list] = {}
    for over, names in votes:
        found.setdefault((over, True), []).append(names)
    for guard, wanted, group, name in issued:
        if values[guard] == wanted:
            found.setdefault((group, False), []).append(name)
    return found


@given(guarded())
@settings(max_examples=400)
def test_matching_finds_what_every_pair_of_ranks_shows(drawn: tuple[Guarded, Issued]) -> None:
    """A communicator has a mismatch when two ranks that agree where they must do not do the same there."""
    guards, issued = drawn
    text = guarded_text(guards, issued)
    slow = set()
    for ours, theirs in product(product([True, False], repeat=len(guards)), repeat=2):
        for group, host in product(("tp", "attn"), (True, False)):
            agreed = {"tp"} if group == "tp" else {"tp", "attn"}
            alike = all(
                a == b or over not in agreed
                for a, b, (_, over, _) in zip(ours, theirs, guards, strict=True)
            )
            one, other = (done(guards, issued, answers) for answers in (ours, theirs))
            if alike and one.get((group, host)) != other.get((group, host)):
                slow.add((group, host))
    rounds = rounds_of(text)
    found = behaviours(rounds)
    different = list(mismatches(found)) if found else []
    names = rounds[0].groups
    assert {(names[m.communicator[0]].name, m.communicator[1]) for m in different} == slow, text
    for mismatch in different:
        assert mismatch.cause is not None and any("differ" in line for line in mismatch.witness())


@given(round_texts(), st.data())
@settings(max_examples=200)
def test_collectives_beside_each_other_are_those_that_clocks_leave_apart(
    text: str, data: st.DataObject
) -> None:
    """One next collective a queue and group is enough to see whether any two have no order."""
    round = _with_collectives(elaborated(text), data)
    found = order(round)
    target = load_target("ascend910c")
    moments = [
        (moment, phase.collective.group)
        for by_item in found.moments
        for place, moment in by_item.items()
        if isinstance(phase := round.items[place], Phase) and phase.collective is not None
    ]
    apart = any(
        g != h and not a.after(b) and not b.after(a) for a, g in moments for b, h in moments
    )
    assert bool(collectives_beside.check(round, found, target)) == apart, text


def _with_collectives(round: Round, data: st.DataObject) -> Round:
    """Some of the phases on streams take part in a collective, of one of two groups."""
    items = []
    for item in round.items:
        if isinstance(item, Phase) and item.stream != HOST:
            group = data.draw(st.sampled_from([None, 0, 1]))
            if group is not None:
                collective = Collective("all_reduce", group, item.span)
                item = item.replace(collective=collective)
        items.append(item)
    phases = tuple(item for item in items if isinstance(item, Phase))
    groups = tuple(Group(name, phases[0].span) for name in "ab") if phases else ()
    return replace(round, items=tuple(items), phases=phases, groups=groups)


def rounds_of(text: str) -> list[Round]:
    """Those of every route of a text."""
    library = load_library(Source("random.spec", text))
    report = Report()
    pipeline = library.file.pipelines[0]
    rounds = elaborate(pipeline, library, settings_for(library.file, pipeline), report)
    assert not report.errors, (text, report.errors)
    return rounds
