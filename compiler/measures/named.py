"""What a span is, in words."""

from __future__ import annotations

from plait.compiler.measures.window import Window

WORDS = {
    "link": "{} on its way",
    "load": "load of {}",
    "replay": "start of {}",
    "record": "record of {}",
    "wait": "wait for {}",
    "block": "wait for {}",
    "vote": "vote on {}",
    "round": "begin of the round",
}
ISSUED = {
    "phase": "issue of {}",
    "load": "issue of the load of {}",
    "replay": "launch of {}",
    "record": "issue of the record of {}",
    "wait": "issue of the wait for {}",
}
"""On a host, what only issues something."""


def named(found: Window, span: int | None) -> str:
    """None: nothing ran."""
    if span is None:
        return "nothing"
    doing, one = found.spans[span].what, found.spans[span]
    issues = one.stream < 0 and found.phase(one) is None
    words = {**WORDS, **ISSUED} if issues else WORDS
    return words.get(doing.kind, "{}").format(doing.name)


def lane_named(found: Window, span: int | None) -> str:
    """The stream that it is on, or the host."""
    if span is None:
        return ""
    stream = found.spans[span].stream
    places = found.steady.simulation.lanes.places
    return found.schedule.streams[places[stream][2] if stream >= 0 else 0].name


def group_named(found: Window, span: int | None) -> str:
    """What it is counted as among all of its sort: a phase without indices, or what is no phase."""
    if span is None:
        return "nothing"
    one = found.spans[span]
    phase = found.phase(one)
    if one.stream < 0:
        return "the host" if phase is None else f"{phase.body} on the host"
    if phase is not None:
        return phase.body
    return {"load": "loads", "replay": "starts of graphs"}.get(one.what.kind, "records and waits")
