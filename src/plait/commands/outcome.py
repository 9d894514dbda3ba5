"""What a run of `plait run` came to, for a terminal."""

from __future__ import annotations

from typing import Any

from plait.dsl.render.figures import counted


def show_outcome(outcome: dict[str, Any], trace: str | None) -> None:
    """A line for each thing, and where the trace went."""
    histogram = "  ".join(f"{n}: {times}" for n, times in outcome["accepted_histogram"].items())
    buckets = ", ".join(f"{size} ({rounds} rounds)" for size, rounds in outcome["buckets"].items())
    rows = ", ".join(f"{name} {width}" for name, width in outcome["widths"].items()) or "none"
    distinct = outcome["distinct_4gram_ratio"]
    lines = [
        ("schedule", f"{outcome['schedule']} ({outcome['source']}), mode {outcome['mode']}"),
        *([("ranks", f"{outcome['ranks']}, {outcome['exchange']}")] if outcome["exchange"] else []),
        ("capture", outcome["capture"] if outcome["widths"] else "none: all phases eager"),
        ("rounds", f"{outcome['rounds']}, {outcome['waits']} waits each"),
        ("buckets", buckets or "-"),
        ("rows a request", rows),
        ("memory", _memory(outcome)),
        ("accepted a round", f"{outcome['accepted_mean']:.2f}   ({histogram})"),
        ("distinct 4-grams", "-" if distinct is None else f"{distinct:.2f}"),
        ("tokens/s", _speed(outcome)),
        ("cost a token", _cost(outcome)),
    ]
    if outcome["faults"]:
        failed = counted(len(outcome["faults"]), "round")
        what = f"{failed} failed, the requests prefilled again"
        lines.insert(3, ("faults", what))
    for lost in outcome["lost"]:
        sizes = ", ".join(f"{dim} = {size}" for dim, size in lost["sizes"].items())
        phases, rounds = counted(lost["phases"], "phase"), counted(lost["rounds"], "round")
        lines.append(("no graph", f"{lost['capture']} at {sizes}: {phases} one by one in {rounds}"))
    if (compared := outcome.get("compared")) is not None:
        lines.append(("compared", _compared(compared)))
    if "unchecked" in outcome:
        lines.insert(0, ("UNCHECKED", f"refused for {', '.join(outcome['unchecked'])}"))
    print()
    for name, value in lines:
        print(f"{name:<17} {value}")
    if trace:
        print(f"{'trace':<17} {trace}   (open it at ui.perfetto.dev)")
    if outcome["identical_to_plain"] is not None:
        print(f"identical to plain: {'yes' if outcome['identical_to_plain'] else 'NO'}")


def _memory(outcome: dict[str, Any]) -> str:
    """What was allocated, beside what was planned of it."""
    graphs = sum(sum(bucket.values()) for bucket in outcome["graph_bytes"].values())
    planned = f"{outcome['arena_bytes']:,} in the plan, which saves {outcome['saved_bytes']:,}"
    return f"{outcome['buffer_bytes']:,} bytes of buffers ({planned}), {graphs:,} of graphs"


def _compared(compared: dict[str, Any]) -> str:
    if not compared["replays"]:
        return "nothing: no graph was replayed"
    if not compared["differing"]:
        return f"{compared['replays']} replays, phase by phase: no difference"
    return f"{compared['differing']} of {compared['replays']} replays differ\n{compared['text']}"


def _cost(outcome: dict[str, Any]) -> str:
    cost, accepted = outcome["cost_per_token"], outcome["accepted_mean"]
    if cost is None:
        return "-"
    return f"{1e3 * cost:.2f} ms: {1e3 * cost * accepted:.2f} ms a round over {accepted:.2f} tokens"


def _speed(outcome: dict[str, Any]) -> str:
    speed, plain = outcome["tokens_per_s"], outcome["plain_tokens_per_s"]
    if speed is None:
        return "-   (prefill gives the first token of each text; there were no rounds)"
    if plain is None:
        return f"{speed:.0f} speculative"
    return f"{speed:.0f} speculative, {plain:.0f} plain: {outcome['speedup']:.2f} x"
