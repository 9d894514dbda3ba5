"""The reserved words. All 52 are reserved from the first version on, so that no spec breaks later."""

from __future__ import annotations

RESERVED = frozenset(
    "spec use as pipeline module variant of set param in flag require dim over same guard if else "
    "group pool stream buffer on phase reads updates writes rows collective capacity cost when fork "
    "from join into capture launch await for call interleave by yield prev assume disjoint true "
    "false and or not".split()
)

FORMS = {
    "spec": "spec 1",
    "pipeline": "pipeline NAME { ... }",
    "variant": "variant NAME of PIPELINE { set PARAM = VALUE }",
    "set": "set PARAM = VALUE",
    "param": "param NAME = VALUE",
    "flag": 'flag NAME = env("VARIABLE", DEFAULT)',
    "require": 'require CONDITION, "why"',
    "dim": "dim NAME in [1, 2, 4]",
    "stream": "stream NAME",
    "buffer": "buffer NAME : i64[bs, 4] carried",
    "phase": "phase NAME on STREAM { reads A  writes B }",
    "reads": "reads A, B[_, 0] as first",
    "updates": "updates A",
    "writes": "writes A",
    "rows": "rows COUNT",
    "when": "when CONDITION { ... } else { ... }",
    "fork": "fork STREAM from PHASE",
    "join": "join STREAM into STREAM",
    "capture": "capture NAME on STREAM rows COUNT { ... }",
    "for": "for NAME in FIRST .. LAST { ... }",
}
"""One valid form of each construct, shown where one is written wrong."""
