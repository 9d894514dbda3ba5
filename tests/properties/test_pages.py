"""Pages of a cache whatever comes and goes: held against dicts of who has what and what was written where."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from plait.runtime.cache.pages import NOBODY, NoRoom, Pages
from plait.runtime.cache.prefixes import Prefixes
from plait.runtime.cache.rows import Rows

SIZE = 2
MOST = 5
TOKENS = st.integers(-2, -1)
"""They have the same hash."""


class Serving(RuleBasedStateMachine):
    """Rows come, write, move, are kept and leave. What a position holds depends on the tokens up to it and,
    as NextN's does, on the one behind it."""

    def __init__(self) -> None:
        super().__init__()
        self.pages = Pages(12)
        self.rows = Rows(Prefixes(self.pages, SIZE, ahead=1), MOST)
        self.memory: dict[tuple[int, int], tuple[int, ...]] = {}
        """What each place holds."""
        self.texts: dict[int, list[int]] = {}
        self.totals: dict[int, int] = {}

    def place(self, row: int, position: int) -> tuple[int, int]:
        page = self.rows.table(row)[position // SIZE]
        assert page != NOBODY
        return page, position % SIZE

    def write(self, row: int, first: int) -> None:
        """All that is known of a text from a position on."""
        text = self.texts[row]
        for position in range(first, len(text) - 1):
            page, offset = self.place(row, position)
            assert self.pages.users(page) == 1
            self.memory[page, offset] = tuple(text[: position + 2])

    @rule(tokens=st.lists(TOKENS, min_size=1, max_size=8), more=st.integers(1, 5))
    def enter(self, tokens: list[int], more: int) -> None:
        """What is reused holds what the text's own run would have left there."""
        row, total = len(self.texts), min(len(tokens) + more, MOST * SIZE)
        tokens = tokens[: total - 1]
        room, before = self.rows.has_room(tokens, total), self.pages.room
        try:
            reused = self.rows.enter(row, tokens, total)
        except NoRoom:
            assert not room and self.pages.room == before
            return
        assert room
        assert reused < len(tokens)
        self.texts[row], self.totals[row] = list(tokens), total
        for position in range(reused):
            assert self.memory[self.place(row, position)] == tuple(tokens[: position + 2])
        self.write(row, reused)
        self.rows.keep(row, tokens)

    @precondition(lambda self: self.texts)
    @rule(data=st.data(), tokens=st.lists(TOKENS, min_size=1, max_size=4))
    def advance(self, data: st.DataObject, tokens: list[int]) -> None:
        row = data.draw(st.sampled_from(sorted(self.texts)))
        before = len(self.texts[row])
        self.texts[row] += tokens[: self.totals[row] - before]
        self.write(row, before - 1)

    @precondition(lambda self: self.texts)
    @rule(data=st.data(), keep=st.booleans())
    def leave(self, data: st.DataObject, keep: bool) -> None:
        """The last row moves into its place."""
        row, last = data.draw(st.sampled_from(sorted(self.texts))), len(self.texts) - 1
        if keep:
            self.rows.keep(row, self.texts[row])
        self.rows.leave(row)
        if row != last:
            self.rows.move(last, row)
        text, total = self.texts.pop(last), self.totals.pop(last)
        if row != last:
            self.texts[row], self.totals[row] = text, total

    @rule()
    def forget(self) -> None:
        self.pages.drop()
        assert self.pages.idle == 0

    @invariant()
    def every_page_is_somebodys_or_nobodys(self) -> None:
        """Users are those rows that have a page in their table, and what has none is idle or free."""
        tables = [[page for page in self.rows.table(row) if page] for row in self.texts]
        for page in range(1, self.pages.count):
            assert self.pages.users(page) == sum(table.count(page) for table in tables)
        used = {page for table in tables for page in table}
        assert self.pages.used == len(used)
        assert self.pages.room == self.pages.count - 1 - len(used)

    @invariant()
    def a_row_has_all_its_pages(self) -> None:
        for row, total in self.totals.items():
            held = [page for page in self.rows.table(row) if page]
            assert len(held) == len(set(held)) == -(-total // SIZE)

    @invariant()
    def what_is_known_is_there(self) -> None:
        """Whatever beginning is found, its pages hold it."""
        for text in self.texts.values():
            for place, page in enumerate(self.rows.prefixes.find(text)):
                for offset in range(SIZE):
                    end = place * SIZE + offset + 2
                    assert self.memory[page, offset] == tuple(text[:end])

    def teardown(self) -> None:
        for row in list(self.texts):
            self.rows.leave(row)
        self.pages.drop()
        assert self.pages.room == self.pages.count - 1
        assert len(self.rows.prefixes) == 0


TestServing = Serving.TestCase
TestServing.settings = settings(max_examples=100, stateful_step_count=40)


@given(st.lists(st.lists(TOKENS, max_size=9), max_size=6), st.lists(TOKENS, max_size=9))
def test_the_longest_beginning_is_found(kept: list[list[int]], asked: list[int]) -> None:
    """As long as any kept text agrees with it by whole pages and the token behind each."""
    pages = Pages(64)
    prefixes = Prefixes(pages, SIZE, ahead=1)
    for text in kept:
        prefixes.keep(text, pages.take(len(text) // SIZE + 1))

    def agreed(text: list[int]) -> int:
        whole = (min(len(text), len(asked)) - 1) // SIZE
        return max(
            (n for n in range(whole + 1) if text[: n * SIZE + 1] == asked[: n * SIZE + 1]),
            default=0,
        )

    longest = max((agreed(text) for text in kept if text), default=0) if asked else 0
    assert len(prefixes.find(asked)) == longest
