"""Gives every piece to a node of its round: by name (A), by its stream and its place in the order (B), or by
what is left between two that are known (C)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from plait.compiler.align.consensus import RARE, Tokens, consensus
from plait.compiler.align.declared import Declared
from plait.compiler.align.lcs import common
from plait.compiler.align.names import Said
from plait.compiler.align.pieces import Piece
from plait.runtime.schedule import HOST

Place = tuple[int, int]
"""A node, and a lane on which it has work."""


@dataclass
class Matched:
    nodes: list[int]
    """Of each piece; -1: of none."""
    strengths: list[str]
    rounds: list[int]
    lanes: dict[int, int]
    """Of each declared stream the lane it was seen on."""
    templates: dict[Place, Tokens] = field(default_factory=dict)
    """What most instances of a node do on a lane, in order."""


def matched(
    declared: Declared,
    pieces: Sequence[Piece],
    said: Sequence[Said],
    windows: Sequence[int],
    rounds: list[int],
) -> Matched:
    found = Matched([-1] * len(pieces), [""] * len(pieces), rounds, {})
    _by_name(pieces, said, windows, found)
    found.lanes = _lanes(declared, pieces, said)
    chunks = _chunks(pieces, rounds)
    _learn(declared, pieces, said, chunks, found)
    expected = _expected(found)
    for (lane, _), chunk in chunks.items():
        wanted = expected.get(lane, [])
        if not _marked(wanted, pieces, windows, chunk, found):
            _by_order(wanted, pieces, said, chunk, found)
    _replays(declared, pieces, found)
    _alone(declared, pieces, found)
    return found


def _chunks(pieces: Sequence[Piece], rounds: Sequence[int]) -> dict[Place, list[int]]:
    """The pieces of each lane and round, by start."""
    chunks: dict[Place, list[int]] = {}
    for number, piece in enumerate(pieces):
        if rounds[number] >= 0:
            chunks.setdefault((piece.lane, rounds[number]), []).append(number)
    return chunks


def _by_name(
    pieces: Sequence[Piece], said: Sequence[Said], windows: Sequence[int], found: Matched
) -> None:
    """What one name means; and of windows that bear a name of several nodes, one after another."""
    several: dict[tuple[int, tuple[int, ...]], dict[int, list[int]]] = {}
    for number, one in enumerate(said):
        if len(one.nodes) == 1:
            found.nodes[number], found.strengths[number] = one.nodes[0], one.strength
        elif one.nodes and windows[number] >= 0:
            held = several.setdefault((found.rounds[number], one.nodes), {})
            held.setdefault(windows[number], []).append(number)
    for (_, nodes), held in several.items():
        if len(held) == len(nodes):
            order = sorted(held.values(), key=lambda numbers: pieces[numbers[0]].start)
            for node, numbers in zip(nodes, order, strict=True):
                for number in numbers:
                    found.nodes[number], found.strengths[number] = node, "A"


def _lanes(declared: Declared, pieces: Sequence[Piece], said: Sequence[Said]) -> dict[int, int]:
    """By where the work of each stream was named most often; a replay's counts where most of it is."""
    votes: dict[int, Counter[int]] = {}
    counted = Counter((one.nodes, pieces[number].lane) for number, one in enumerate(said))
    for (nodes, lane), times in counted.items():
        streams = {declared.nodes[node].stream for node in nodes}
        if len(streams) == 1:
            votes.setdefault(streams.pop(), Counter())[lane] += times
    return {
        stream: min(counted, key=lambda lane: (-counted[lane], lane))
        for stream, counted in sorted(votes.items())
    }


def _learn(
    declared: Declared,
    pieces: Sequence[Piece],
    said: Sequence[Said],
    chunks: dict[Place, list[int]],
    found: Matched,
) -> None:
    """The operations of every node, from the rounds in which pieces bear its name."""
    seen: dict[Place, list[Tokens]] = {}
    shared: dict[tuple[int, tuple[int, ...]], list[list[Tokens]]] = {}
    for (lane, _), chunk in chunks.items():
        of: dict[int, list[str]] = {}
        runs: dict[tuple[int, ...], list[list[str]]] = {}
        newest: tuple[int, ...] = ()
        for number in chunk:
            node, nodes = found.nodes[number], said[number].nodes
            if node >= 0:
                of.setdefault(node, []).append(pieces[number].token)
            elif nodes:
                if nodes != newest:
                    runs.setdefault(nodes, []).append([])
                runs[nodes][-1].append(pieces[number].token)
            newest = nodes or newest
        for node, tokens in of.items():
            seen.setdefault((node, lane), []).append(tuple(tokens))
        for nodes, made in runs.items():
            shared.setdefault((lane, nodes), []).append([tuple(run) for run in made])
    times: Counter[int] = Counter()
    for (node, _), tokens in seen.items():
        times[node] = max(times[node], len(tokens))
    for (node, lane), tokens in seen.items():
        often = RARE * len(tokens) > times[node] and (len(tokens) > 2 or times[node] < 3)
        if often:  # else strangers that were launched beside it
            found.templates[node, lane] = consensus(tokens)
    for (lane, nodes), rounds in shared.items():
        for node, tokens in zip(nodes, _split(rounds, len(nodes)), strict=False):
            found.templates.setdefault((node, lane), tokens)


def _split(rounds: Sequence[list[Tokens]], nodes: int) -> list[Tokens]:
    """Of nodes that bear one name what each does: a run each, or all in one run, the same again and again."""
    apart = [runs for runs in rounds if len(runs) == nodes]
    if 2 * len(apart) > len(rounds):
        return [consensus([runs[place] for runs in apart]) for place in range(nodes)]
    whole = consensus([tuple(one for run in runs for one in run) for runs in rounds])
    size = len(whole) // nodes
    if not size or len(whole) % nodes:
        return []
    return [whole[place * size : (place + 1) * size] for place in range(nodes)]


def _expected(found: Matched) -> dict[int, list[tuple[int, str]]]:
    """Of every lane the operations of a round in order, each with its node."""
    made: dict[int, list[tuple[int, str]]] = {}
    for node, lane in sorted(found.templates):
        made.setdefault(lane, []).extend((node, token) for token in found.templates[node, lane])
    return made


def _marked(
    expected: Sequence[tuple[int, str]],
    pieces: Sequence[Piece],
    windows: Sequence[int],
    chunk: Sequence[int],
    found: Matched,
) -> bool:
    """Whether marks have said all there is to say of a lane in a round."""
    left = [number for number in chunk if found.nodes[number] < 0]
    if not left:
        return True
    if any(windows[number] < 0 and found.nodes[number] >= 0 for number in chunk):
        return False
    tokens = {token for _, token in expected}
    return not any(pieces[number].token in tokens for number in left)


def _by_order(
    expected: Sequence[tuple[int, str]],
    pieces: Sequence[Piece],
    said: Sequence[Said],
    chunk: Sequence[int],
    found: Matched,
) -> None:
    """In one lane and round: what stands where the order of the lane has it."""
    pairs = common([token for _, token in expected], [pieces[n].token for n in chunk])
    sure = [(i, j) for i, j in pairs if _fits(expected[i][0], chunk[j], said, found)]
    for i, j in sure:
        if found.nodes[chunk[j]] < 0:
            found.nodes[chunk[j]], found.strengths[chunk[j]] = expected[i][0], "B"
    for (i, j), (k, m) in pairwise([(-1, -1), *sure, (len(expected), len(chunk))]):
        between = [n for n in chunk[j + 1 : m] if found.nodes[n] < 0]
        wanted = [node for node, _ in expected[i + 1 : k]]
        for number in chunk[j + 1 : m]:
            if found.nodes[number] in wanted:  # under a name of its own, and still of that node
                wanted.remove(found.nodes[number])
        _left(between, wanted, said, found)


def _fits(node: int, number: int, said: Sequence[Said], found: Matched) -> bool:
    known = found.nodes[number]
    return known == node if known >= 0 else not said[number].nodes or node in said[number].nodes


def _left(between: list[int], wanted: list[int], said: Sequence[Said], found: Matched) -> None:
    """What is seen between two that are known: where as much is missing, or one node alone may be meant."""
    if len(between) == len(wanted) or (len(set(wanted)) == 1 and len(between) > len(wanted)):
        meant = wanted
    elif len(set(wanted)) == 1:
        meant = wanted[: len(between)]
    else:
        meant = []
    for number, node in zip(between, meant, strict=False):
        if _fits(node, number, said, found):
            found.nodes[number], found.strengths[number] = node, "C"


def _replays(declared: Declared, pieces: Sequence[Piece], found: Matched) -> None:
    """A replay is of one capture: what most of it was given to; else the one that is left, in order."""
    held: dict[int, list[int]] = {}
    for number, piece in enumerate(pieces):
        if piece.replay >= 0:
            held.setdefault(piece.replay, []).append(number)
    graphs = [n for n, node in enumerate(declared.nodes) if node.kind == "capture"]
    unknown: dict[int, list[list[int]]] = {}
    for numbers in held.values():
        votes = Counter(found.nodes[n] for n in numbers if found.nodes[n] in graphs)
        rounds = Counter(found.rounds[n] for n in numbers)
        round = min(rounds, key=lambda one: (-rounds[one], one))
        if votes:
            node = min(votes, key=lambda one: (-votes[one], one))
            _give(numbers, node, round, found)
        elif round >= 0:
            unknown.setdefault(round, []).append(numbers)
    if not unknown:
        return
    given = {(found.nodes[n], found.rounds[n]) for n in range(len(pieces))}
    for round, left in unknown.items():
        free = [node for node in graphs if (node, round) not in given]
        if len(free) == len(left):
            for node, numbers in zip(free, left, strict=True):
                _give(numbers, node, round, found)


def _give(numbers: Sequence[int], node: int, round: int, found: Matched) -> None:
    for number in numbers:
        if found.nodes[number] != node:
            found.strengths[number] = "B"
        found.nodes[number], found.rounds[number] = node, round


def _alone(declared: Declared, pieces: Sequence[Piece], found: Matched) -> None:
    """The one node of a stream that was not seen is what one lane does of which nothing is known."""
    seen = set(found.nodes)
    lanes = {piece.lane for piece in pieces} - set(found.lanes.values())
    lanes -= {pieces[n].lane for n, node in enumerate(found.nodes) if node >= 0}
    streams = {node.stream for node in declared.nodes if node.kind != "load"} - set(found.lanes)
    streams.discard(HOST)
    if len(lanes) != 1 or len(streams) != 1:
        return
    (lane,), (stream,) = lanes, streams
    own = [n for n, node in enumerate(declared.nodes) if node.stream == stream]
    if len(own) != 1 or own[0] in seen:
        return
    found.lanes[stream] = lane
    for number, piece in enumerate(pieces):
        if piece.lane == lane and found.rounds[number] >= 0:
            found.nodes[number], found.strengths[number] = own[0], "C"
