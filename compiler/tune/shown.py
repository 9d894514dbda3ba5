"""What was found as a page for a terminal, and as data."""

from __future__ import annotations

from typing import Any

from plait.compiler.tune.candidate import Candidate, price_of
from plait.compiler.tune.price import Objective, Price
from plait.compiler.tune.search import Ended, Tuned
from plait.dsl.render.figures import as_number, counted, in_words, percent, shown

ENDED: dict[Ended, str] = {
    "all": "all that the moves lead to was tried: this is the best of it",
    "bound": "it ended there, as nothing can be faster",
    "budget": "the budget ended it: --budget N looks at more",
    "stopped": "it was stopped: this is the best so far",
}


def text(found: Tuned, name: str, where: str, costs: str) -> str:
    """`name`: of the spec; `where`: what is live."""
    start, best = price_of(found.start), price_of(found.best)
    figure = _figure(found.objective)
    then = f"{figure(start)} -> {figure(best)} {_unit(found.objective)}"
    if not found.best.steps:
        then = f"{figure(start)} {_unit(found.objective)}, and nothing better was found"
    out = [
        f"{name} at {where}, tuned for {found.objective} with the costs of {costs}, simulated: {then}"
    ]
    if found.objective != "token" and (start.tokens, best.tokens) != (1, 1):
        token = _figure("token")
        out.append(f"by --accept a token takes {token(start)} -> {token(best)}")
    if found.best.steps:
        out += ["", "what was done:", *_steps(found)]
    out += ["", *_bound(found), *_looked(found), ENDED[found.ended], "", *_front(found)]
    return "\n".join(out) + "\n"


def _steps(found: Tuned) -> list[str]:
    figure = _figure(found.objective)
    return [
        f"{number:>3}. {step}" + (f": {figure(step.price)}" if step.price else "")
        for number, step in enumerate(found.best.steps, 1)
    ]


def _bound(found: Tuned) -> list[str]:
    bound = shown(round(found.bound.time))
    gap = found.gap
    above = f"; this one is {percent(gap)} above it" if gap else ", and this one is as fast"
    return [
        f"no schedule of these phases takes less than {bound} a round ({found.bound.what}){above}"
    ]


def _looked(found: Tuned) -> list[str]:
    counts = found.counts
    refused = ", ".join(f"{code} {times}" for code, times in sorted(counts.refused.items()))
    parts = [
        f"{counts.priced:,} proven and priced",
        f"{counts.pruned:,} not priced for their bounds",
        f"{counts.unsound:,} refused" + (f" ({refused})" if refused else ""),
        f"{counts.other_work:,} that would compute something else",
    ]
    return [f"looked at {counted(counts.seen, 'other text')}: " + ", ".join(parts)]


def _front(found: Tuned) -> list[str]:
    out = ["what none beats in time, memory and streams at once:"]
    tokens = found.objective == "token"
    out.append(f"  {'a token' if tokens else 'a round':>10} {'memory':>12} streams steps")
    for one in found.front:
        price = price_of(one)
        time = shown(round(price.token if tokens else price.time))
        mark = "  <- this one" if price.figures == price_of(found.best).figures else ""
        memory = in_words(price.memory)
        row = f"  {time:>10} {memory:>12} {price.streams:>7} {len(one.steps):>5}"
        out.append(f"{row}{mark}")
    return out


def as_data(found: Tuned, name: str, where: str, costs: str) -> dict[str, Any]:
    """Times are nanoseconds, exact where they are whole."""
    counts = found.counts
    return {
        "spec": name,
        "at": where,
        "costs": costs,
        "objective": found.objective,
        "start": _figures(price_of(found.start)),
        "best": _figures(price_of(found.best)),
        "steps": _steps_data(found.best),
        "bound": {"time": as_number(found.bound.time), "what": found.bound.what},
        "gap": float(found.gap),
        "looked": {
            "seen": counts.seen,
            "priced": counts.priced,
            "pruned": counts.pruned,
            "refused": dict(sorted(counts.refused.items())),
            "other_work": counts.other_work,
        },
        "ended": found.ended,
        "front": [{**_figures(price_of(one)), "steps": _steps_data(one)} for one in found.front],
        "text": found.best.source.text,
    }


def _steps_data(one: Candidate) -> list[dict[str, Any]]:
    return [
        {
            "move": step.move,
            "added": list(step.added),
            "dropped": list(step.dropped),
            "after": step.price and _figures(step.price),
        }
        for step in one.steps
    ]


def _figures(price: Price) -> dict[str, Any]:
    return {
        "time": as_number(price.time),
        "memory": price.memory,
        "streams": price.streams,
        "token": as_number(price.token),
    }


def _figure(objective: Objective) -> Any:
    if objective == "memory":
        return lambda price: in_words(price.memory)
    if objective == "token":
        return lambda price: shown(round(price.token))
    return lambda price: shown(round(price.time))


def _unit(objective: Objective) -> str:
    return {"memory": "of memory", "time": "a round", "token": "a token"}[objective]
