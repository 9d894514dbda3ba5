"""What stands in a trace as plain data, for JSON. Times are nanoseconds."""

from __future__ import annotations

from typing import Any

from plait.compiler.traces.summary import Summary


def as_data(found: Summary) -> dict[str, Any]:
    trace = found.trace
    return {
        "file": trace.file,
        "format": trace.format,
        "about": trace.about,
        "zero": trace.zero,
        "start": found.start,
        "span": found.span,
        "end": trace.end,
        "kinds": {kind: {"slices": slices, "time": time} for kind, slices, time in found.kinds},
        "lanes": [
            {
                **trace.lanes[one.lane]._asdict(),
                **{key: value for key, value in one._asdict().items() if key != "lane"},
            }
            for one in found.lanes
        ],
        "threads": found.threads,
        "coverage": trace.coverage._asdict(),
        "replays": [one._asdict() for one in found.replays],
        "joins": [
            {
                "waiter": trace.lanes[join.waiter].name,
                "at": join.at,
                "until": join.until if join.until >= 0 else None,
                "source_lane": trace.lanes[join.source_lane].name
                if join.source_lane >= 0
                else None,
                "source": trace.slices[join.source].name if join.source >= 0 else None,
                "source_end": trace.slices[join.source].end if join.source >= 0 else None,
                "then": trace.slices[join.then].name if join.then >= 0 else None,
            }
            for join in trace.joins
        ],
        "rounds": [{**one._asdict(), "live": dict(one.live)} for one in trace.rounds],
        "ranges": [one._asdict() for one in found.ranges],
        "flows": len(trace.flows),
        "arrows": [one._asdict() for one in trace.arrows],
        "stated": trace.stated,
        "overlaps": [
            [trace.slices[place]._asdict() for place in pair] for pair in trace.overlaps[:100]
        ],
        "notes": trace.notes,
        "unknown": trace.unknown,
    }
