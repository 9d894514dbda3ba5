"""The report as a page for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from plait.dsl.render.figures import counted, percent, shown
from plait.dsl.render.printable import printable

LEAST_GAP = 0.005
"""Of a round, what a gap on the path must take for a line of its own."""
MOST_SIGNATURES = 4
GAPS = {
    "launch": "launched late",
    "latency": "began late, with all it waits for over",
    "front": "nothing in the trace comes before it",
    "unknown": "unknown: what decides it is not in the trace",
}
KINDS = {"wait": "", "stream": " on its stream", "issue": " though the host issues it only then"}


def text(found: dict[str, Any]) -> str:
    parts = [_head, _path, _joins, _communication, _padding, _not_seen, _broken, _notes]
    pages = ["\n".join(part(found)) for part in parts]
    return "\n\n".join(page for page in pages if page) + "\n"


def _head(found: dict[str, Any]) -> Iterator[str]:
    rounds, match, edges = found["rounds"], found["matched"], found["edges"]
    partial = f" ({rounds['partial']} partial dropped)" if rounds["partial"] else ""
    letters = "  ".join(f"{letter} {times}" for letter, times in match["letters"].items() if times)
    variant = f"@{found['variant']}" if found["variant"] else ""
    yield f"schedule {found['schedule']}{variant} at {found['bucket']}"
    device = printable(found["device"]) or "no device"
    yield f"trace    {printable(found['trace'])} ({found['format']}, {device})"
    yield f"rounds   {rounds['whole']}{partial}, {rounds['measured']} measured"
    whole = counted(rounds["whole"], "round")
    yield (
        f"matched  {match['nodes']} of {match['declared']} nodes, {percent(match['share'])} of what "
        f"{whole} have ({letters or 'none'}), {percent(match['time'])} of the busy time"
    )
    yield f"orders   {edges['held']} of {edges['checked']} kept, within {shown(found['tolerance'])}"
    round = found["round"]
    if round["rounds"]:
        yield f"ROUND    {_spread(round)}, {shown(found['floor'])} without any gap"
    if (accepted := found["accepted"]) is not None:
        cost = found["cost_per_token"]
        yield (
            f"COST     {shown(cost['time'])} a token: the time of {cost['rounds']} rounds by the "
            f"{accepted['tokens']:g} tokens of {accepted['from']} ({accepted['a_round']:g} a round; "
            f"round by round {_spread(cost)})"
        )


def _spread(one: dict[str, int]) -> str:
    return f"{shown(one['median'])} +-{shown(one['mad'])}"


def _path(found: dict[str, Any]) -> Iterator[str]:
    if not found["path"]:
        return
    yield f"{'CRITICAL PATH':<40} {'median':>10}   {'share':>7}  conf  rounds"
    rest = 0
    for one in found["path"]:
        if one["kind"] == "busy":
            name = f"{one['node']}  ({one['stream']})"
            yield (
                f"  {name:<38} {shown(one['median']):>10}   {percent(one['share']):>7}  "
                f"{one['confidence']:^4}  {one['rounds']}"
            )
            continue
        if one["share"] < LEAST_GAP and one["kind"] != "unknown":
            rest += one["total"]
            continue
        name = f"before {one['node']}" if one["node"] else "?"
        yield (
            f"  {name:<38} {shown(one['median']):>10}   {percent(one['share']):>7}        {one['rounds']}"
            f"  {GAPS[one['kind']]}"
        )
    total = sum(one["total"] for one in found["path"])
    if rest:
        yield f"  {'other gaps':<38} {'':>10}   {percent(rest / total):>7}"
    yield f"  {'sum':<38} {'':>10}   {shown(total)}: the {found['round']['rounds']} rounds, exactly"
    for one in found["signatures"][:MOST_SIGNATURES]:
        nodes = "a part is unknown" if one["nodes"] is None else " > ".join(one["nodes"])
        yield f"  in {one['rounds']}: {nodes}"
    if more := found["signatures"][MOST_SIGNATURES:]:
        yield f"  in {sum(one['rounds'] for one in more)}: {len(more)} other paths"


def _joins(found: dict[str, Any]) -> Iterator[str]:
    if not found["joins"]:
        return
    yield f"{'JOINS':<34} {'last':>9}   {'waited for the last':<24} then, until it began"
    for join in found["joins"]:
        latency = _spread(join["latency"]) if join["latency"]["rounds"] else "unknown"
        unknown = f", last unknown in {join['unknown']}" if join["unknown"] else ""
        yield f"  {join['join']:<66} {latency}{unknown}"
        for source in join["sources"]:
            back = f" (round r - {source['rounds_back']})" if source["rounds_back"] else ""
            name = f"  <- {source['node']}{back}"
            last = f"{source['last']} of {join['rounds']}"
            waited = _spread(source["waited"]) if source["waited"]["rounds"] else ""
            yield f"  {name:<31} {last:>9}   {waited:<24}".rstrip()


def _communication(found: dict[str, Any]) -> Iterator[str]:
    if not found["communication"]:
        return
    yield (
        f"{'COMMUNICATION':<26} {'total':>10} {'covered':>10} {'exposed':>10}          "
        f"{'device-wide':>11} {'on the path':>11}  conf"
    )
    for one in found["communication"]:
        yield (
            f"  {one['node']:<24} {shown(one['total']):>10} {shown(one['covered']):>10} "
            f"{shown(one['exposed']):>10} {percent(one['share']):>8} "
            f"{shown(one['exposed_device_wide']):>11} {shown(one['exposed_on_path']):>11}  "
            f" {one['confidence']}"
        )
    yield "  covered by work that has no order with it; device-wide, by any work; on the path, of its rounds"


def _padding(found: dict[str, Any]) -> Iterator[str]:
    if not found["padding"]:
        return
    yield f"{'GRAPHS':<26} {'live':<12} {'rows':>6} {'real':>6} {'padded':>12}   at most"
    for one in found["padding"]:
        live = ", ".join(f"{dim} = {size}" for dim, size in one["live"].items())
        padded = f"{one['rows_padded']} {percent(one['rows_padded'] / one['rows_replayed'])}"
        yield (
            f"  {one['capture']:<24} {live:<12} {one['rows_replayed']:>6} {one['rows_real']:>6} {padded:>12}"
            f"   {shown(one['at_most'])} a replay, in {one['rounds']} rounds"
        )


def _not_seen(found: dict[str, Any]) -> Iterator[str]:
    nodes, lanes = found["not_seen"]["nodes"], found["not_seen"]["lanes"]
    if not nodes and not lanes:
        return
    yield "NOT SEEN"
    for node in nodes:
        yield f"  {node} is declared and not in the trace"
    for one in lanes:
        where = f" on {printable(one['lane'])}" if one["lane"] else ""
        took = f"{counted(one['times'], 'time')}, {shown(one['time'])}"
        yield f"  {printable(one['name'])}{where} is of no node: {took}"


def _broken(found: dict[str, Any]) -> Iterator[str]:
    if not found["broken"] and not found["overlaps"]:
        return
    yield "BROKEN"
    for one in found["broken"]:
        back = f" of round r - {one['rounds_back']}" if one["rounds_back"] else ""
        yield (
            f"  {one['target']} began {shown(one['early'])} before {one['source']}{back} ended"
            f"{KINDS[one['kind']]}, in {one['rounds']} of {one['of']} rounds ({one['confidence']})"
        )
    for one in found["overlaps"]:
        yield (
            f"  {printable(one['lane'])} runs two things at once {one['pairs']:,} times, "
            f"{shown(one['time'])} in all, which no stream does: its times cannot be trusted"
        )


def _notes(found: dict[str, Any]) -> Iterator[str]:
    if found["notes"]:
        yield "NOTES"
        for note in found["notes"]:
            yield f"  {printable(note)}"


def ranks_text(found: list[dict[str, Any]]) -> str:
    """What ranks show side by side."""
    if not found:
        return "RANKS\n  no collective of the schedule is in all of the traces\n"
    lines = [f"{'RANKS':<34} {'last':>9}   waited for the last"]
    for one in found:
        lines.append(f"  {one['node']}")
        for number, rank in enumerate(one["ranks"]):
            last = f"{rank['last']} of {one['rounds']}"
            waited = _spread(rank["waited"]) if rank["last"] < one["rounds"] else ""
            held = rank["held_up_by"] if rank["last"] else None
            why = f"its own join waits for {held}" if held else ""
            name = f"rank {number}  {printable(rank['trace'])}"
            lines.append(f"    {name:<30} {last:>9}   {waited or why}".rstrip())
    return "\n".join(lines) + "\n"
