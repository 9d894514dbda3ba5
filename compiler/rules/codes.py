"""Pages for the codes that no rule of the round has: mistakes in the text, in names, values and sizes.

What each means in a line stands in `dsl/codes.py`; here it is shown, refused and right.
"""

from __future__ import annotations

from plait.compiler.rules.rule import Rule
from plait.dsl.codes import CODES

_ROUND = """\
spec 1
pipeline p {{
  stream main
{lines}}}
"""
_STEP = "buffer x : i64[4] carried\nphase step on main { updates x }\n"


def _round(lines: str) -> str:
    """A whole spec with those lines in its pipeline."""
    return _ROUND.format(lines="".join(f"  {line}\n" for line in lines.splitlines()))


def _page(
    code: str, why: str, bad: str, mended: str, recipes: tuple[str, str] | None = None
) -> Rule:
    """Lines that begin with `spec` or a comment are a whole text already."""
    texts = [text if text.startswith(("spec", "#")) else _round(text) for text in (bad, mended)]
    return Rule(code, CODES[code].rstrip("."), why, *texts, recipes=recipes)


MISTAKES: tuple[Rule, ...] = (
    _page(
        "PL001",
        "Every statement begins with a reserved word, and nothing ends one. The message says what was\n"
        "being written, what could stand there, and one valid form. Reading goes on behind the mistake.",
        "buffer x : i64[4] carried\nphase step main { updates x }\n",
        _STEP,
    ),
    _page(
        "PL002",
        "Limits keep a text that nobody means from taking the machine with it. Split the file, or name a\n"
        "part of what is nested. A name has at most 100 characters.",
        _STEP.replace("step", "s" * 101),
        _STEP,
    ),
    _page(
        "PL003",
        "The first line of a file names the version of the language that it is written in. This Plait\n"
        "reads version 1.",
        "spec 2\npipeline p { stream main }\n",
        "spec 1\npipeline p { stream main }\n",
    ),
    _page(
        "PL004",
        "`prev` counts whole rounds, from 1 to 64; a phase, a capture or a call has one index.",
        _STEP + "join prev 0 step into host\n",
        _STEP + "join prev step into host  # allow PL901: the host may not run ahead\n",
    ),
    _page(
        "PL005",
        "A note is silenced only with a written reason, and an error never is.",
        _STEP + "# allow PL201: it is rare\n",
        _STEP,
    ),
    _page(
        "PL101",
        "A name stands for what is declared above it: a value, a stream, a buffer, a group, a pool, a\n"
        "module, or a point that an edge may name. The message gives the nearest one that is there.",
        _STEP.replace("updates x", "updates y"),
        _STEP,
    ),
    _page(
        "PL102",
        "Nothing is turned into something else: a truth is no number, and a time no size.",
        "param n = 1 + true\n" + _STEP,
        "param n = 1 + 1\n" + _STEP,
    ),
    _page(
        "PL103",
        "Whole numbers have at most 63 bits, and lists count from 0.",
        "param n = 4 // 0\n" + _STEP,
        "param n = 4 // 2\n" + _STEP,
    ),
    _page(
        "PL104",
        "Params, flags, dims, guards and loop variables share names, and so do streams, phases, captures\n"
        "and calls.",
        "param n = 1\nparam n = 2\n" + _STEP,
        "param n = 1\nparam m = 2\n" + _STEP,
    ),
    _page(
        "PL105",
        "A variant, `--set` and `--variant` name what the pipeline has.",
        _round("param n = 1\n" + _STEP) + "variant more of p { set m = 2 }\n",
        _round("param n = 1\n" + _STEP) + "variant more of p { set n = 2 }\n",
    ),
    _page(
        "PL106",
        "A param takes values of the kind of its default, a flag what its variable can say, a run-time\n"
        "param one of its choices.",
        _round("param n = 1\n" + _STEP) + "variant more of p { set n = true }\n",
        _round("param n = 1\n" + _STEP) + "variant more of p { set n = 2 }\n",
    ),
    _page(
        "PL107",
        "Types, classes, attributes and collectives are fixed words; the message gives the nearest.",
        _STEP.replace("i64", "i46"),
        _STEP,
    ),
    _page(
        "PL108",
        "The callable of a phase gets each access under a name of its own. `as` gives one; a buffer that\n"
        "is read and written apart is seen as `NAME_in` and `NAME_out`.",
        "buffer x : i64[4] carried\nbuffer y : i64[2] carried\n"
        "phase step on main { reads x[0], x[1]  updates y }\n",
        "buffer x : i64[4] carried\nbuffer y : i64[2] carried\n"
        "phase step on main { reads x[0] as first, x[1] as second  updates y }\n",
    ),
    _page(
        "PL109",
        "What a round is made of does not depend on where in it one stands. A module declares buffers\n"
        "and names for streams; dims, guards, groups and pools are the pipeline's.",
        _STEP + "when true { buffer y : i64[4] }\n",
        _STEP + "buffer y : i64[4]\n",
    ),
    _page(
        "PL110",
        "The author says what must hold, and why; at these settings it does not.",
        'param n = 3\nrequire n % 2 == 0, "rows go in pairs"\n' + _STEP,
        'param n = 4\nrequire n % 2 == 0, "rows go in pairs"\n' + _STEP,
    ),
    _page(
        "PL111",
        "An earlier round is over: its values can be read while they are kept, and not be changed.",
        _STEP.replace("updates x", "updates prev x"),
        _STEP,
    ),
    _page(
        "PL112",
        "A fork or a join begins at a stream, a phase, a launch, a call, a capture or its `loaded`; an\n"
        "await ends a launch.",
        _STEP + "join step.loaded into host\n",
        _STEP + "join step into host  # allow PL901: the host may not run ahead\n",
    ),
    _page(
        "PL113",
        "Scratch memory is any phase's to use and holds nothing afterwards.",
        _STEP + "buffer s : i64[4] scratch\nphase work on main { reads s  updates x }\n",
        _STEP + "buffer s : i64[4] scratch\nphase work on main { updates s, x }\n",
    ),
    _page(
        "PL114",
        "The host never knows when a stream is done with pinned memory that only streams touch.",
        "buffer x : i64[4] on pinned carried\nphase step on host { updates x }\n",
        "buffer x : i64[4] on host carried\nphase step on host { updates x }\n",
    ),
    _page(
        "PL115",
        "A spec takes modules from files in its own folder or below, and from the standard library.",
        "spec 1\nuse eagel\npipeline p { stream main }\n",
        "spec 1\nuse eagle\npipeline p { stream main }\n",
    ),
    _page(
        "PL116",
        "One phase takes part in one collective, so that ranks can be compared phase by phase.",
        "group tp\nbuffer x : i64[4] carried\n"
        "phase step on main { updates x  collective all_reduce over tp  collective broadcast over tp }\n",
        "group tp\nbuffer x : i64[4] carried\n"
        "phase sum on main { updates x  collective all_reduce over tp }\n"
        "phase send on main { updates x  collective broadcast over tp }\n",
    ),
    _page(
        "PL117",
        "What is taken on trust is written down with its reason, and is about parts of one buffer.",
        _STEP + 'assume disjoint x[0 .. 2], x[2 .. 3], ""\n',
        _STEP + 'assume disjoint x[0 .. 2], x[2 .. 3], "row 2 is never in use"\n',
    ),
    _page(
        "PL118",
        "A formal is what the call names, its default, or the caller's own of that name.",
        "spec 1\nmodule m(stream main, buffer y) { phase step on main { updates y } }\n"
        "pipeline p { stream main  buffer x : i64[4] carried  call m() }\n",
        "spec 1\nmodule m(stream main, buffer y) { phase step on main { updates y } }\n"
        "pipeline p { stream main  buffer x : i64[4] carried  call m(y = x) }\n",
    ),
    _page(
        "PL402",
        "A stream does its work in the order it was issued; it has nothing to wait for from itself.",
        _STEP + "join main into main\n",
        _STEP,
    ),
    _page(
        "PL403",
        "What a launch writes exists only after its await; without one nothing ever knows that it ended.",
        "buffer x : i64[4] carried\nlaunch step on main { updates x }\n",
        "buffer x : i64[4] carried\nlaunch step on main { updates x }\nawait step on main\n",
    ),
    _page(
        "PL503",
        "A graph is replayed as a whole: nothing outside waits for a part of it, and it waits inside for\n"
        "nothing but the rebind of a task.",
        "stream side\nbuffer x : i64[4] carried\nbuffer y : i64[4] carried\n"
        "phase look on side { updates y }\n"
        "capture g on main rows 4 {\n  join look into main\n  phase step on main { updates x, y }\n}\n"
        "fork side from g\n",
        "stream side\nbuffer x : i64[4] carried\nbuffer y : i64[4] carried\n"
        "phase look on side { updates y }\njoin look into main\n"
        "capture g on main rows 4 {\n  phase step on main { updates x, y }\n}\nfork side from g\n",
    ),
    _page(
        "PL504",
        "A capture records what is forked inside it; a stream that it does not fork is not captured.",
        "stream side\nbuffer x : i64[4] carried\n"
        "capture g on main rows 4 {\n  phase step on side { updates x }\n}\n",
        "buffer x : i64[4] carried\n"
        "capture g on main rows 4 {\n  phase step on main { updates x }\n}\n",
    ),
    _page(
        "PL505",
        "Captures stand side by side on device streams; launches begin on one; an interleave is captured\n"
        "whole.",
        "buffer x : i64[4] carried\ncapture g on host rows 4 { phase step on main { updates x } }\n",
        "buffer x : i64[4] carried\ncapture g on main rows 4 { phase step on main { updates x } }\n",
    ),
    _page(
        "PL601",
        "Sizes and rows count from 1, indices from 0, and a region lies within the shape, in every bucket.",
        _STEP.replace("updates x", "updates x[4]"),
        _STEP.replace("updates x", "updates x[3]"),
    ),
    _page(
        "PL602",
        "Each size of a dim, choice of a param and answer of a guard is a route of its own, and all of\n"
        "them are compiled. The bill says which factor is the dearest.",
        "".join(f"guard g{number}\n" for number in range(13)) + _STEP,
        "".join(f"guard g{number}\n" for number in range(2)) + _STEP,
    ),
    _page(
        "PL603",
        "Loops and calls are unrolled before anything runs, so a round has an end that can be counted.",
        "buffer x : i64[4] carried\nfor i in 1 .. 2000000 { phase step[i] on main { updates x } }\n",
        "buffer x : i64[4] carried\nfor i in 1 .. 20 { phase step[i] on main { updates x } }\n",
    ),
    _page(
        "PL708",
        "A recipe is read, never run: its lines are taken apart as a shell would.",
        _STEP,
        _STEP,
        ('export SGLANG_NPU_USE_MULTI_STREAM="1\n', 'export SGLANG_NPU_USE_MULTI_STREAM="1"\n'),
    ),
    _page(
        "PL902",
        "A comment that answers no note is left over, or stands on the wrong line.",
        _STEP + "# allow PL901: the host may not run ahead\n",
        _STEP,
    ),
)
