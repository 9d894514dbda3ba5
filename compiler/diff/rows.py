"""Everything that differs between two schedules but for what follows from it: rows in a fixed order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from plait.compiler.diff.facts import Key, Parts, Texts, facts
from plait.compiler.diff.names import Thing
from plait.compiler.diff.programs import listing
from plait.compiler.diff.row import Row
from plait.compiler.diff.side import Side
from plait.runtime.schedule import Schedule

FOLLOWED = frozenset({"capture", "phase", "edge", "issue"})
"""Kinds that account for what instructions there are."""


def rows(before: Side, after: Side, names: Mapping[Thing, str]) -> list[Row]:
    """Equal schedules give none, swapped ones mirrored rows.

    Where buckets differ otherwise, it is said of the one that each side is looked at in.
    """
    found = list(_Rows(before, after, names).rows())
    if FOLLOWED.isdisjoint(row.kind for row in found):
        found += _programs(before.schedule, after.schedule, names)
    return found


def _called(names: Mapping[Thing, str], thing: Thing) -> str:
    """What the second side calls a thing of the first; of a load, its capture says."""
    kind, name = thing
    if (capture := name.removesuffix(".loaded")) != name and ("capture", capture) in names:
        return f"{names['capture', capture]}.loaded"
    if thing in names:
        return names[thing]
    for word in ("start of ", "end of "):
        if kind == "capture" and name.startswith(word):
            return word + _called(names, (kind, name.removeprefix(word)))
    return name


class _Rows:
    def __init__(self, before: Side, after: Side, names: Mapping[Thing, str]):
        self.first, self.second = facts(before.schedule), facts(after.schedule)
        self.seen = facts(before.schedule, lambda thing: _called(names, thing))
        """The first side in the names of the second."""
        self.at = before.at.name, after.at.name
        self.buckets = {
            one.name: names["bucket", one.name]
            for one in before.schedule.buckets
            if ("bucket", one.name) in names
        }

    def rows(self) -> Iterator[Row]:
        for kind, second in self.second.items():
            known = {
                key: (own, parts, self.seen[kind][key])
                for key, (own, parts) in zip(self.seen[kind], self.first[kind].items(), strict=True)
            }
            for key in dict.fromkeys([*known, *second]):
                if key not in second:
                    own, parts, _ = known[key]
                    yield Row(kind, _shown(own), "", self.whole(parts, 0), "")
                elif key not in known:
                    yield Row(kind, "", _shown(key), "", self.whole(second[key], 1))
                else:
                    yield from self.both(kind, key, second[key], *known[key])

    def both(
        self, kind: str, key: Key, after: Parts, own: Key, before: Parts, seen: Parts
    ) -> Iterator[Row]:
        was, now = _shown(own), _shown(key)
        told: dict[str, tuple[str, str]] = {}
        for part in dict.fromkeys([*before, *after]):
            texts = before.get(part, {}), seen.get(part, {}), after.get(part, {})
            if (differs := self.differs(*texts)) is not None:
                told[part] = differs
        if told:
            says = [", ".join(filter(None, side)) for side in zip(*told.values(), strict=True)]
            yield Row(kind, was, now, says[0] or "nothing", says[1] or "nothing", tuple(told))
        elif was != now and key[0][0] == kind:
            yield Row(kind, was, now, was, now)

    def differs(self, before: Texts, seen: Texts, after: Texts) -> tuple[str, str] | None:
        """What the sides say of one part where they say different things, bucket by bucket."""
        buckets = [
            (own, name)
            for own, name in (("", ""), *self.buckets.items())
            if own in before or name in after
        ]
        if not buckets:
            told = self.one(before, 0), self.one(after, 1)
            return None if {*seen.values()} == {*after.values()} else told
        found: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for own, name in buckets:
            if seen.get(name, "") != after.get(name, ""):
                texts = before.get(own, ""), after.get(name, "")
                found.setdefault(texts, []).append((own, name))
        if not found:
            return None
        if len(found) == 1 and len(next(iter(found.values()))) == len(buckets):
            return next(iter(found))
        here = [one for one in found.items() if self.at in one[1]]
        texts, places = (here or list(found.items()))[0]
        more = sum(map(len, found.values())) - len(places)
        return _apart(texts, places, more, 0), _apart(texts, places, more, 1)

    def whole(self, parts: Parts, side: int) -> str:
        return ", ".join(filter(None, (self.one(texts, side) for texts in parts.values())))

    def one(self, texts: Texts, side: int) -> str:
        """What is said in all buckets, or in the one that is looked at."""
        told = list(dict.fromkeys(texts.values()))
        if len(told) <= 1:
            return told[0] if told else ""
        at = self.at[side] if self.at[side] in texts else list(texts)[-1]
        return texts[at] and f"{texts[at]} at {at}"


def _apart(texts: tuple[str, str], places: list[tuple[str, str]], more: int, side: int) -> str:
    """What one side says in some buckets, where it says something else in more."""
    at = _few([names[side] for names in places])
    return f"{texts[side] or 'nothing'} at {at}" + (
        f" and otherwise at {more} more" if more else ""
    )


def _programs(before: Schedule, after: Schedule, names: Mapping[Thing, str]) -> Iterator[Row]:
    """The first instruction that differs, of every bucket that both have."""
    others = {bucket.name: bucket for bucket in after.buckets}
    for bucket in before.buckets:
        other = others.get(names.get(("bucket", bucket.name), ""))
        if other is None:
            continue
        seen = listing(before, bucket, lambda thing: _called(names, thing))
        own, second = listing(before, bucket), listing(after, other)
        for number in range(max(len(seen), len(second))):
            if seen[number : number + 1] != second[number : number + 1]:
                says = [
                    f"instruction {number} is {side[number] if number < len(side) else 'not there'}"
                    for side in (own, second)
                ]
                yield Row("program", bucket.name, other.name, says[0], says[1])
                break


def _shown(key: Key) -> str:
    joint = " in " if key[0][0] == "stream" else " -> "
    return joint.join(name for _, name in key)


def _few(names: list[str]) -> str:
    if len(names) <= 2:
        return ", ".join(names)
    return f"{names[0]}, ... {names[-1]} ({len(names)} buckets)"
