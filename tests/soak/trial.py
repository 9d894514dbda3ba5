"""One process that tries inputs under a limit of memory, and says what it saw."""

from __future__ import annotations

import resource
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field

from plait.compiler.compile import Asked, prove_all
from plait.dsl.diagnostic import SpecError
from plait.dsl.format import formatted
from plait.dsl.library import load_library
from plait.dsl.span import Source

MEMORY = 512 << 20
MOST_PHASES = 2000


@dataclass
class Seen:
    what: str
    tried: int = 0
    sound: int = 0
    """Inputs in which nothing was found."""
    slowest: float = 0.0
    """Seconds of processor time of one input."""
    slowest_text: str = ""
    failures: list[str] = field(default_factory=list)


def names(text: str) -> bool:
    """Whether a text parses and its names load; then it is laid out too."""
    source = Source("input.spec", text)
    load_library(source)
    formatted(source)
    return True


def whole_check(text: str) -> bool:
    source = Source("input.spec", text)
    judged = prove_all(source, Asked(environment={}, most_phases=MOST_PHASES))
    return not any(found for one in judged for found in one.findings)


def tried(what: str, judge: Callable[[str], bool], texts: Iterable[str]) -> Seen:
    seen = Seen(what)
    for text in texts:
        start = time.process_time()
        try:
            seen.sound += judge(text)
        except SpecError as error:
            if not error.diagnostics:
                seen.failures.append(f"refused without a word: {text[:2000]!r}")
        except BaseException:
            seen.failures.append(f"{traceback.format_exc()[-2000:]}\n{text[:2000]!r}")
        took = time.process_time() - start
        seen.tried += 1
        if took > seen.slowest:
            seen.slowest, seen.slowest_text = took, text[:2000]
    return seen


def trial(seed: str, count: int, checks: int) -> dict:
    """What is seen of so many inputs, and so many whole checks, in this process, as JSON may hold it."""
    from soak.inputs import LARGE, inputs

    # What the interpreter maps without using it counts too, so the limit is on data, not on addresses.
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    seen = [
        tried("parse and names", names, inputs(seed, count)),
        tried("whole check", whole_check, inputs(f"{seed} check", checks)),
        *(tried(what, whole_check, [text]) for what, text in LARGE.items()),
    ]
    for one in seen[2:]:
        if one.sound:
            one.failures.append("ended without a diagnostic")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seen": [asdict(one) for one in seen], "peak_mib": peak}
