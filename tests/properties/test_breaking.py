"""Whatever is put into a sound capture that no graph may hold, breaking it gives a sound text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from plait.compiler.compile import Asked, prove_all
from plait.compiler.graphs.breaking import broken
from plait.dsl.span import Source

SIDES = ("side", "other")
HEAD = """\
spec 1

pipeline p {
  stream main
  stream side
  stream other
  buffer m : i64[4] carried
  buffer a : i64[4] carried
  buffer b : i64[4] carried
  buffer n : i64[4]
  phase before on main { updates m }
  capture g on main rows 4 {
"""
OWN = {"main": "m", "side": "a", "other": "b"}


@st.composite
def captures(draw: st.DrawFn) -> str:
    """Branches that touch buffers of their own, come back, and leave again; obstacles anywhere."""
    lines: list[str] = []
    open: list[str] = []
    made: dict[str, list[str]] = {}
    obstacles = 0

    def phase(stream: str, more: str = "", also: str = "") -> None:
        made.setdefault(stream, []).append(f"p{len(lines)}")
        lines.append(f"phase p{len(lines)} on {stream}{more} {{{also} updates {OWN[stream]} }}")

    phase("main", also=" writes n")
    for _ in range(draw(st.integers(2, 12))):
        what = draw(
            st.sampled_from(["fork", "join", "phase", "phase", "reads", "raw", "sync", "wait"])
        )
        away = [side for side in SIDES if side not in open]
        if what == "fork" and away:
            open.append(draw(st.sampled_from(away)))
            made.pop(open[-1], None)
            lines.append(f"fork {open[-1]} from {draw(st.sampled_from(['main', *made['main']]))}")
        elif what == "join" and open:
            side = open.pop(draw(st.integers(0, len(open) - 1)))
            lines.append(
                f"join {draw(st.sampled_from([side, *made.get(side, [])[-1:]]))} into main"
            )
        elif what == "wait":
            obstacles += 1
            lines.append("join main into host")
        else:
            more = {"raw": " raw", "sync": " host_sync"}.get(what, "")
            obstacles += bool(more)
            # A raw launch is ordered with nothing on its stream; what it touches has no other user here.
            phase(
                draw(st.sampled_from(["main", *open])), more, " reads n" if what == "reads" else ""
            )
    lines += [f"join {side} into main" for side in open]
    if not obstacles:
        lines.append("phase last on main host_sync { updates m }")
    return HEAD + "\n".join(lines) + "\n}\nphase after on main { updates m, a, b }\n}\n"


@given(captures())
def test_a_broken_capture_is_sound(text: str) -> None:
    """It is never refused, and holds nothing any more that it may not."""
    found = broken(Source("p.spec", text), Asked())
    assert found is not None
    errors = [d for one in prove_all(found.source, Asked()) for d in one.findings]
    assert not [one for one in errors if one.severity == "error"]
    assert broken(found.source, Asked()) is None
