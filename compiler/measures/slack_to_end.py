"""Slack within one simulation: by how much something could end later without the end of all being later."""

from __future__ import annotations

from plait.compiler.measures.graph import Graph


def slacks_to_end(graph: Graph) -> list[int]:
    """Of every span, in nanoseconds; everything else takes as long as it did.

    Parts of a collective end together. O(spans and what they waited for).
    """
    spans, whole = graph.spans, graph.simulation.end
    parts: dict[int, list[int]] = {}
    for number, span in enumerate(spans):
        parts.setdefault(span.met, []).append(number)
    latest = [whole] * len(spans)
    begin = [whole] * len(spans)
    for last in sorted(parts, reverse=True):  # what follows a meeting has higher numbers
        together = parts[last]
        ends = min((begin[each] for part in together for each in graph.after[part]), default=whole)
        for part in together:
            latest[part] = ends
            begin[part] = ends - (spans[part].end - graph.begins[part])
    return [end - span.end for end, span in zip(latest, spans, strict=True)]
