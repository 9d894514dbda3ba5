"""What a name in a trace says of a schedule: which nodes it may mean, and of which round."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from plait.compiler.align.declared import Declared
from plait.runtime.schedule import HOST

LONGEST_PATTERN = 200
LONGEST_NAME = 400
"""Characters of a name that are looked at."""
SHORTEST_WORD = 4
"""Letters of a phase's name that is looked for within a kernel's."""

ALIASES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"step\[TARGET_VERIFY\b.*", ("verify", "target_verify", "target")),
    (r"EAGLE_VERIFY", ("verify", "target_verify", "target")),
    (r"step\[DRAFT_EXTEND\b.*", ("extend", "draft_extend")),
    (r"step\[DECODE\b.*", ("decode", "step", "draft")),
    (r"step\[EXTEND\b.*", ("prefill", "extend")),
    (r"draft", ("draft",)),
    (r"draft_extend", ("extend", "draft_extend")),
    (r"prepare input", ("prepare", "plan_verify")),
    (r"forward", ("verify", "forward", "target")),
    (r"post process", ("post_process", "accept")),
    (r"sample_token", ("accept", "sample")),
    (r"draft_token", ("draft",)),
    (r"async_state_update", ("commit", "publish")),
)
"""Names that serving engines give to parts of a round, with what specs call them: the first one there."""
_STEP = re.compile(r"ProfilerStep#(\d{1,9})")
_MARK = re.compile(r"(?:(?P<pipeline>[^/#]+)/)?(?P<name>[^#]*[^# ]) #(?P<round>\d{1,9})")
_LIVE = re.compile(r"\bbs=(\d{1,9})\b")
_SUFFIX = re.compile(r"\([A-Z]\)$")
_WORD = re.compile(r"[A-Za-z0-9_]+")
_TEMPLATE = re.compile(r"<[^<>]*>")
_ROUND = re.compile(r" #\d+$")
_NUMBER = re.compile(r"__\d+(?:_\d+)*|\b0x[0-9a-f]+|_[0-9a-f]{12,}")


class MapError(Exception):
    """A `--map` that cannot be used."""


class Said(NamedTuple):
    """What a name says."""

    nodes: tuple[int, ...] = ()
    """Those it may mean, in issue order."""
    round: int = -1
    live: int = -1
    """Requests, where it tells them."""
    strength: str = "A"
    whole: bool = False
    """Whether it is of a round as a whole."""


NOTHING = Said()


class Names:
    """By patterns that were given, by the schedule's own names, and by those that engines use."""

    def __init__(self, declared: Declared, pipeline: str, maps: Sequence[str] = ()):
        self.pipeline = pipeline
        self.known: dict[str, tuple[int, ...]] = {}
        self.words: dict[str, tuple[int, ...]] = {}
        self.said: dict[str, Said] = {}
        self.on_host = frozenset(n for n, node in enumerate(declared.nodes) if node.stream == HOST)
        for number, node in enumerate(declared.nodes):
            names = (node.title, *node.phases, *node.bodies)
            for name in dict.fromkeys(names):
                self.known[name] = (*self.known.get(name, ()), number)
        for name, nodes in self.known.items():
            if len(name) >= SHORTEST_WORD and _WORD.fullmatch(name):
                self.words[name] = nodes
        self.maps = [self.map(one) for one in maps]
        self.aliases = [
            (re.compile(pattern), next((self.known[one] for one in of if one in self.known), ()))
            for pattern, of in ALIASES
        ]

    def map(self, text: str) -> tuple[re.Pattern[str], tuple[int, ...]]:
        """`REGEX=PHASE`. Raises MapError."""
        pattern, equals, phase = text.rpartition("=")
        if not equals or not pattern:
            raise MapError(f"{text}: write it as REGEX=PHASE")
        if phase not in self.known:
            known = ", ".join(list(self.known)[:12])
            raise MapError(f"{text}: `{phase}` is no phase or capture of the round; it has {known}")
        if len(pattern) > LONGEST_PATTERN:
            raise MapError(f"{text[:40]}...: a pattern has at most {LONGEST_PATTERN} characters")
        if not _is_linear(pattern):
            raise MapError(
                f"{text}: repeats what repeats, or refers back, which may take for ever; say it plainly"
            )
        try:
            return re.compile(pattern), self.known[phase]
        except re.error as error:
            raise MapError(f"{text}: is no regular expression ({error})") from None

    def of(self, name: str) -> Said:
        """Worked out once for each name."""
        found = self.said.get(name)
        if found is None:
            found = self.said[name] = self._of(name[:LONGEST_NAME])
        return found

    def _of(self, name: str) -> Said:
        live = int(found[1]) if (found := _LIVE.search(name)) else -1
        for pattern, nodes in self.maps:
            if pattern.search(name):
                return Said(nodes, -1, live)
        if found := _STEP.fullmatch(name):
            return Said((), int(found[1]), whole=True)
        if name == self.pipeline:
            return Said(whole=True)
        if found := _MARK.fullmatch(name):
            of, inner, round = found["pipeline"], found["name"], int(found["round"])
            if of is None and inner in (self.pipeline, "round"):
                return Said((), round, whole=True)
            if of in (None, self.pipeline) and inner in self.known:
                return Said(self.known[inner], round)
        if name in self.known:
            return Said(self.known[name], -1, live)
        if (plain := _SUFFIX.sub("", name)) in self.known:
            return Said(self.known[plain])
        for pattern, nodes in self.aliases:
            if nodes and pattern.fullmatch(name):
                return Said(nodes, -1, live)
        return self.within(name)

    def within(self, name: str) -> Said:
        """By the longest name of a phase that begins a word of this one."""
        best, nodes = "", ()
        for word in _WORD.findall(_TEMPLATE.sub("", name)):
            word = word.lower()
            for end in range(len(word), SHORTEST_WORD - 1, -1):
                if (end == len(word) or word[end] == "_") and word[:end] in self.words:
                    if end > len(best):
                        best, nodes = word[:end], self.words[word[:end]]
                    break
        return Said(nodes, strength="B") if nodes else NOTHING


def token(name: str) -> str:
    """A kernel's name without what differs from one launch to the next."""
    whole = name = name[:LONGEST_NAME].replace("(anonymous namespace)::", "")
    while (shorter := _TEMPLATE.sub("", name)) != name:
        name = shorter
    name = name.partition("(")[0].removeprefix("void ").strip()
    return _NUMBER.sub("", _ROUND.sub("", name)) or whole


def _is_linear(pattern: str) -> bool:
    """Whether no group that repeats holds a repetition, and nothing refers back."""
    if re.search(r"\\[1-9]|\(\?P=|\(\?\(", pattern):
        return False
    plain = re.sub(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", "x", pattern)
    depth: list[bool] = [False]
    for place, letter in enumerate(plain):
        following = plain[place + 1 : place + 2]
        if letter == "(":
            depth.append(False)
        elif letter == ")" and len(depth) > 1:
            repeats = depth.pop()
            if repeats and following and following in "*+{":
                return False
            depth[-1] |= repeats or (following != "" and following in "*+{")
        elif letter in "*+{":
            depth[-1] = True
    return True
