"""The buckets of a dim that pad fewest rows over the sizes seen, and that the target has room for.

A best list has each bucket at the least size that may be one and holds what it serves; so it is looked
for among those sizes alone, one for every size seen.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

from plait.compiler.buckets.fewest import Padding, fewest, padded, seen_padding
from plait.compiler.buckets.place import place_of
from plait.compiler.buckets.trial import Trial
from plait.compiler.budgets.bill import Bill
from plait.compiler.budgets.over import exceeded
from plait.compiler.compile import Asked, expand, prove_all, target_of
from plait.dsl import syntax
from plait.dsl.diagnostic import Diagnostic, SpecError
from plait.dsl.library import load_library
from plait.dsl.settings import choose_pipeline
from plait.dsl.span import Source
from plait.dsl.suggest import did_you_mean

MOST_BUCKETS = 256
MOST_STEPS = 256
"""Sizes above one that was seen among which the next that may be a bucket is looked for."""
MOST_TRIES = 64
BUDGETS = ("PL802", "PL804", "PL805")
"""What fewer buckets may mend."""


class NoPlan(Exception):
    """No list of buckets will do. The text is one clear line."""


@dataclass(frozen=True)
class Plan:
    dim: str
    now: list[int]
    buckets: list[int]
    rounds: int
    rows: int
    """Live ones, over all rounds seen."""
    rows_now: int
    """Of them, those of rounds that a bucket of now holds."""
    padded_now: int
    """Over the same rounds."""
    too_large: int
    """Rounds that none holds."""
    padded: int
    most: int
    """Buckets that were asked for."""
    asked: Bill
    """Of the best list of so many."""
    bill: Bill
    """Of the list chosen, which may be shorter."""
    left_out: dict[int, str]
    """Sizes seen that the spec rules out as buckets, and why."""
    statement: str
    """That says the buckets, or the argument."""
    source: Source
    """The spec with these buckets; as it was where `--set` gives them."""


def planned(
    source: Source, asked: Asked, dim: str | None, counts: dict[int, int], most: int | None
) -> Plan:
    """Raises SpecError for a spec that is wrong, TargetError, NoPlan, and TooMuch."""
    library, target = load_library(source), target_of(asked)
    pipeline = choose_pipeline(library.file, asked.pipeline, asked.variant)
    node = _dim(pipeline, dim)
    _stop_on_errors(source, asked)
    trial = Trial(library, pipeline, node, asked, target)
    rounds = expand(library, pipeline, asked, target)
    now = sorted({round.sizes[node.name.text] for round in rounds})
    most = min(most or len(now), MOST_BUCKETS)
    place = place_of(library.file, pipeline, node, asked)
    for _ in range(MOST_TRIES):
        sizes = _candidates(trial, list(counts), now)
        padding = seen_padding(sizes, counts)
        wished, chosen = _chosen(trial, sizes, padding, most)
        errors = _errors(*place.with_buckets(chosen, source, asked))
        if not errors:
            break
        _rule_out(trial, chosen, errors, lambda size: place.with_buckets([size], source, asked))
    else:
        raise NoPlan(f"no list of {node.name.text} was found that the spec allows")
    held = {size: times for size, times in counts.items() if size <= now[-1]}
    return Plan(
        node.name.text,
        now,
        chosen,
        sum(counts.values()),
        sum(size * times for size, times in counts.items()),
        sum(size * times for size, times in held.items()),
        padded(now, seen_padding(now, held)),
        sum(counts.values()) - sum(held.values()),
        padded(chosen, seen_padding(chosen, counts)),
        most,
        trial.bill(wished),
        trial.bill(chosen),
        {size: trial.wrong[size] for size in counts if size in trial.wrong},
        place.said(chosen),
        _laid_out(source, place.with_buckets(chosen, source, asked)[0]),
    )


def _laid_out(before: Source, after: Source) -> Source:
    """In the one layout, if the text was before."""
    from plait.dsl.format import formatted

    return Source(after.name, formatted(after)) if formatted(before) == before.text else after


def _dim(pipeline: syntax.Pipeline, name: str | None) -> syntax.Dim:
    dims = {node.name.text: node for node in pipeline.body if isinstance(node, syntax.Dim)}
    if name in dims:
        return dims[name]
    if not dims:
        raise NoPlan(f"the pipeline {pipeline.name.text} has no `dim`, so it has no buckets")
    if name is not None:
        raise NoPlan(f"--dim {name}: there is no such dim; {did_you_mean(name, dims)}")
    if len(dims) > 1:
        raise NoPlan(f"there are {len(dims)} dims: choose one, --dim {' or --dim '.join(dims)}")
    return next(iter(dims.values()))


def _candidates(trial: Trial, seen: list[int], now: list[int]) -> list[int]:
    """For every size seen the least that may be a bucket and holds it, each once."""
    found: list[int] = []
    for size, above in zip(seen, [*seen[1:], None], strict=True):
        last = size + MOST_STEPS if above is None else min(above - 1, size + MOST_STEPS)
        steps = [*range(size, last + 1)]
        if above is None:
            steps += now[bisect_left(now, last + 1) :]
        right = next((step for step in steps if trial.why_not(step) is None), None)
        if right is not None:
            found.append(right)
        elif above is None:
            name, why = trial.dim.name.text, trial.wrong[size]
            raise NoPlan(f"no bucket can hold {name} = {size}: {why}, nor is one up to {steps[-1]}")
    return found


def _chosen(
    trial: Trial, sizes: list[int], padding: Padding, most: int
) -> tuple[list[int], list[int]]:
    """The best list of at most so many, and the best that its target has room for."""
    lists = [[sizes[place] for place in places] for _, places in fewest(len(sizes), most, padding)]
    for chosen in reversed(lists):
        if trial.bill(chosen).fits:
            return lists[-1], chosen
    alone = f"{trial.dim.name.text} = {lists[0][0]} alone takes"
    raise NoPlan(
        f"dropping buckets cannot help: {alone} {exceeded(trial.bill(lists[0]))}; "
        "`plait explain --budget` has the bill"
    )


def _rule_out(
    trial: Trial,
    chosen: list[int],
    errors: list[Diagnostic],
    alone: Callable[[int], tuple[Source, Asked]],
) -> None:
    """Notes which of the sizes chosen a rule refuses by itself. Raises SpecError where none is."""
    before = len(trial.wrong)
    for size in chosen:
        if found := _errors(*alone(size)):
            trial.rule_out(size, found)
    if len(trial.wrong) == before:
        raise SpecError(errors)


def _stop_on_errors(source: Source, asked: Asked) -> None:
    if errors := _errors(source, asked):
        raise SpecError(errors)


def _errors(source: Source, asked: Asked) -> list[Diagnostic]:
    """What is wrong in any variant, but for what fewer buckets may mend."""
    try:
        found = [finding for one in prove_all(source, asked) for finding in one.findings]
    except SpecError as error:
        found = error.diagnostics
    return [one for one in found if one.severity == "error" and one.code not in BUDGETS]
