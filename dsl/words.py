"""The reserved words. All 52 are reserved from the first version on, so that no spec breaks later."""

from __future__ import annotations

RESERVED = frozenset(
    [
        "spec",
        "use",
        "as",
        "pipeline",
        "module",
        "variant",
        "of",
        "set",
        "param",
        "in",
        "flag",
        "require",
        "dim",
        "over",
        "same",
        "guard",
        "if",
        "else",
        "group",
        "pool",
        "stream",
        "buffer",
        "on",
        "phase",
        "reads",
        "updates",
        "writes",
        "rows",
        "collective",
        "capacity",
        "cost",
        "when",
        "fork",
        "from",
        "join",
        "into",
        "capture",
        "launch",
        "await",
        "for",
        "call",
        "interleave",
        "by",
        "yield",
        "prev",
        "assume",
        "disjoint",
        "true",
        "false",
        "and",
        "or",
        "not",
    ]
)

SILENT = frozenset(
    ["as", "by", "capacity", "disjoint", "else", "from", "if", "in", "into", "of", "on", "over"]
)
"""Reserved words whose tokens the grammar leaves out of what it builds."""

DTYPES = ("bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64")
"""What the elements of a buffer are; `opaque` is none of them."""

UNITS = ("ns", "us", "ms", "KiB", "MiB", "GiB")
STREAM_KINDS = ("compute", "comm", "copy", "update")
BUFFER_ATTRIBUTES = ("carried", "copies", "pad", "scratch", "static", "task")
PHASE_ATTRIBUTES = ("across_rows", "host_sync", "raw", "skip_idle")
COLLECTIVES = (
    "all_gather",
    "all_reduce",
    "all_to_all",
    "broadcast",
    "low_latency",
    "reduce_scatter",
)

STATEMENTS = (
    *("param", "flag", "require", "dim", "guard", "group", "pool", "stream", "buffer", "assume"),
    *("phase", "launch", "await", "fork", "join", "capture", "call", "interleave", "yield"),
    *("for", "when"),
)
"""What a statement of a pipeline or a module begins with."""
TOP_LEVEL = ("use", "pipeline", "module", "variant")
CLAUSES = ("reads", "updates", "writes", "rows", "collective", "cost", "when")
"""What a clause of a phase begins with, in the order of `plait fmt`."""

FORMS = {
    "use": 'use "layers.spec" as layers',
    "pipeline": "pipeline NAME { ... }",
    "module": "module NAME(stream main, buffer x, count, mode = 1) { ... }",
    "variant": "variant NAME of PIPELINE { set PARAM = VALUE }",
    "set": "set PARAM = VALUE",
    "param": "param NAME = VALUE",
    "flag": 'flag NAME = env("VARIABLE", DEFAULT)',
    "require": 'require CONDITION, "why"',
    "dim": "dim NAME in [1, 2, 4]",
    "guard": "guard NAME over GROUP",
    "group": "group NAME = 8",
    "pool": "pool NAME = 2",
    "stream": "stream NAME",
    "buffer": "buffer NAME : i64[bs, 4] carried",
    "assume": 'assume disjoint A, B, "why"',
    "phase": "phase NAME on STREAM { reads A  writes B }",
    "launch": "launch NAME on STREAM { reads A  writes B }",
    "await": "await LAUNCH on STREAM",
    "reads": "reads A, B[_, 0] as first",
    "updates": "updates A",
    "writes": "writes A",
    "rows": "rows COUNT",
    "collective": "collective all_reduce over GROUP",
    "cost": "cost 35us",
    "when": "when CONDITION { ... } else { ... }",
    "fork": "fork STREAM from PHASE",
    "join": "join STREAM into STREAM",
    "capture": "capture NAME on STREAM rows COUNT { ... }",
    "call": "call MODULE(x = BUFFER, count = 4) as NAME",
    "interleave": "interleave by 2 { call A() call B() }",
    "yield": "yield",
    "for": "for NAME in FIRST .. LAST { ... }",
}
"""One valid form of each construct, shown where one is written wrong."""
