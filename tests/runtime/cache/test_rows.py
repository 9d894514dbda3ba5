"""Rows share pages of what is known, and give up the longest unused."""

from __future__ import annotations

import pytest

from plait.runtime.cache.pages import NOBODY, NoRoom, Pages
from plait.runtime.cache.prefixes import Prefixes
from plait.runtime.cache.rows import Rows


def rows(count: int, ahead: int = 1) -> Rows:
    """Pages of two positions."""
    return Rows(Prefixes(Pages(count), 2, ahead), 4)


def test_a_beginning_is_shared() -> None:
    """With the token behind it, which NextN's cache depends on; the last token is always left to run."""
    made = rows(10)
    made.enter(0, [1, 2, 3, 4, 5], 8)
    made.keep(0, [1, 2, 3, 4, 5])
    assert made.table(0) == [1, 2, 3, 4]
    assert made.enter(1, [1, 2, 3, 4, 5], 6) == 4 and made.table(1) == [1, 2, 5, NOBODY]
    assert made.enter(2, [1, 2, 3, 4], 5) == 2 and made.table(2)[0] == 1
    assert made.enter(3, [1, 2, 9], 3) == 0


def test_a_target_alone_depends_on_no_token_behind() -> None:
    """Then the page is the same whatever follows."""
    made = rows(10, ahead=0)
    made.enter(0, [1, 2, 3], 3)
    made.keep(0, [1, 2, 3])
    assert made.enter(1, [1, 2, 9], 3) == 2


def test_two_that_said_the_same() -> None:
    """The one that leaves later gives its copy up, and what follows is found behind the other's."""
    made = rows(10)
    for row in (0, 1):
        made.enter(row, [7], 7)
    made.keep(0, [7, 8, 9])
    made.leave(0)
    made.keep(1, [7, 8, 9, 5, 6])
    made.leave(1)
    assert made.pages.used == 0 and made.pages.idle == 2
    assert made.enter(0, [7, 8, 9, 5, 6], 6) == 4


def test_the_longest_unused_is_given_up_first() -> None:
    """Of a text its end before its beginning, and nothing that a request has."""
    made = rows(6)
    for text in ([1, 1, 1, 1, 1], [2, 2, 2]):
        made.enter(0, text, len(text))
        made.keep(0, text)
        made.leave(0)
    assert made.pages.idle == 3 and made.pages.room == 5
    made.enter(0, [3] * 6, 6)
    assert [len(made.prefixes.find(text)) for text in ([1, 1, 1, 1, 1], [2, 2, 2])] == [1, 1]
    assert made.enter(1, [1, 1, 1], 4) == 2 and made.pages.room == 0
    assert not made.has_room([2, 2, 2], 3)
    with pytest.raises(NoRoom, match="1 pages are asked for, and 0 are without users"):
        made.enter(2, [9], 2)


def test_room_is_for_the_last_token() -> None:
    """Of a whole request, less what it shares; what it shares is no room for the rest."""
    made = rows(4)
    made.enter(0, [1, 1, 1], 3)
    made.keep(0, [1, 1, 1])
    made.leave(0)
    assert made.has_room([1, 1, 1], 6) and not made.has_room([1, 1, 1], 7)
    assert made.could_enter(6) and not made.could_enter(7)


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        (lambda: Pages(1), "1 pages: there is one that is nobody's, and at least one more"),
        (lambda: Pages(3).give_back([2]), "page 2 has no user"),
        (lambda: Pages(3).know(2), "page 2 is known already, or nobody's to fill"),
        (lambda: Prefixes(Pages(3), 2, 2), "ahead = 2"),
        (
            lambda: (made := rows(4)).enter(0, [1], 1) or made.enter(0, [1], 1),
            "row 0 has a request",
        ),
    ],
)
def test_what_must_not_happen(wrong, what: str) -> None:
    """Whoever counts wrong is told at once."""
    with pytest.raises(ValueError, match=what):
        wrong()
