"""Random rounds whose graphs wait for rebinds, many of them further down."""

from __future__ import annotations

from hypothesis import strategies as st

STREAMS = ("main", "upd", "side")


@st.composite
def rebound_texts(draw: st.DrawFn, fenced: bool = False) -> str:
    """Up to three captures on one stream, a rebind for each, and edges that may close a circle.

    `fenced`: every rebind waits for the replays of the round before that read what it writes.
    """
    count = draw(st.integers(1, 3))
    lines = ["spec 1", "pipeline p {", *(f"  stream {name}" for name in STREAMS)]
    lines += ["  buffer h : i64[4] on host carried", "  buffer x : i64[4] carried"]
    lines += [f"  buffer t{number} : i64[4] task" for number in range(count)]
    work = [("capture", number) for number in range(count)]
    work += [("rebind", number) for number in range(count)]
    work += [("host", 0)] * draw(st.integers(0, 1))
    work += [("edge", number) for number in range(draw(st.integers(0, 5)))]
    reads = [draw(st.integers(0, count - 1)) for _ in range(count)]
    points: list[str] = []
    for kind, number in draw(st.permutations(work)):
        if kind == "capture":
            rebind = reads[number]
            lines.append(f"  capture g{number} on main rows 4 {{")
            lines.append(f"    phase a{number} on main {{ updates x }}")
            lines.append(f"    join rebind{rebind} into main")
            lines.append(f"    phase b{number} on main {{ reads t{rebind}  updates x }}")
            lines.append("  }")
            points.append(f"g{number}")
        elif kind == "rebind":
            stream = draw(st.sampled_from(["upd", "upd", "side", "host"]))
            readers = [one for one in range(count) if fenced and reads[one] == number]
            lines += [f"  join prev g{one} into {stream}" for one in readers]
            lines.append(f"  phase rebind{number} on {stream} {{ writes t{number} }}")
            points.append(f"rebind{number}")
        elif kind == "host":
            lines.append("  phase look on host { updates h }")
        else:
            prev = draw(st.sampled_from(["", "", "", "prev "]))
            point = draw(st.sampled_from([*points, *STREAMS]))
            target = draw(st.sampled_from([*STREAMS, "host"]))
            if point != target:
                lines.append(f"  join {prev if point in points else ''}{point} into {target}")
    return "\n".join([*lines, "}", ""])
