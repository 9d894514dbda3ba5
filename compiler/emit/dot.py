"""A Graphviz digraph of one round: a cluster a stream, bold arrows for waits."""

from __future__ import annotations

from plait.compiler.graph import graph
from plait.compiler.views.steps import few
from plait.runtime.schedule import Bucket, Schedule


def dot(schedule: Schedule, bucket: Bucket) -> str:
    made = graph(schedule, bucket)
    lines = [f'digraph "{schedule.name}" {{', "  rankdir=LR;", "  node [shape=box];"]
    for number, stream in enumerate(schedule.streams):
        own = [
            (name, data)
            for name, data in made.nodes(data=True)
            if data.get("stream") == stream.name
        ]
        if own:
            lines += [f"  subgraph cluster_{number} {{", f'    label="{stream.name}";']
            lines += [f'    "{name}"{_box(name, data)};' for name, data in own]
            lines.append("  }")
    for source, target, data in made.edges(data=True):
        lines.append(f'  "{source}" -> "{target}"{_arrow(data)};')
    return "\n".join(lines) + "\n}\n"


def _box(name: str, data: dict) -> str:
    if not data["phases"]:
        return ""
    return f' [shape=box3d, label="{name}\\n{few(data["phases"])}\\n{data["rows"]} rows"]'


def _arrow(data: dict) -> str:
    if data["rounds_back"]:
        return f' [style=dashed, constraint=false, label="+{data["rounds_back"]}"]'
    return " [style=bold]" if data["kind"] == "wait" else " [color=gray]"
