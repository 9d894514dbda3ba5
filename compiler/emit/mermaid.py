"""A Mermaid flowchart of one round: a box a stream, thick arrows for waits."""

from __future__ import annotations

from plait.compiler.views.steps import Step, few, steps
from plait.runtime.schedule import Bucket, Schedule


def mermaid(schedule: Schedule, bucket: Bucket) -> str:
    found, edges = steps(schedule, bucket)
    lines = ["flowchart LR"]
    for number, stream in enumerate(schedule.streams):
        own = [place for place, step in enumerate(found) if step.stream == stream.name]
        if own:
            lines.append(f'  subgraph s{number}["{stream.name}"]')
            lines += [f"    n{place}{_box(found[place])}" for place in own]
            lines.append("  end")
    for edge in edges:
        target = "host" if edge.target is None else f"n{edge.target}"
        if edge.rounds_back:
            lines.append(f'  n{edge.source} -. "{_ago(edge.rounds_back)}" .-> {target}')
        else:
            lines.append(f"  n{edge.source} {'==>' if edge.waits else '-->'} {target}")
    return "\n".join(lines) + "\n"


def _box(step: Step) -> str:
    if not step.phases:
        return f'["{step.name}"]'
    return f'[["{step.name}: {few(step.phases)}<br/>{step.rows} rows"]]'


def _ago(rounds: int) -> str:
    return "next round" if rounds == 1 else f"{rounds} rounds later"
