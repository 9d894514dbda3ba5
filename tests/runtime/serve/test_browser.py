"""The page in a real browser: what a person sees, and that its console has nothing to say."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from browsing.browser import Browser, browser, chromium
from plait.runtime.engine.observer import Round
from plait.runtime.serve.served import Served
from plait.runtime.trace import Slice
from serving.hosted import Hosted, Letters, hosted

pytestmark = pytest.mark.skipif(chromium() is None, reason="no chromium: apt-get install chromium")

HOSTILE = "<img src=x onerror=alert(1)>"
NEWEST = "+(document.getElementById('shown').textContent.match(/(\\d+)[;,]/)?.[1] ?? -1)"
"""The last round that the timeline is of."""
DRAWN = "document.getElementById('timeline').toDataURL()"


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture
def page(fresh: Browser) -> Iterator[Browser]:
    """Its console has to be silent."""
    fresh.problems.clear()
    fresh.size(1280, 900)
    yield fresh
    fresh.open("about:blank")
    assert not fresh.problems


@contextmanager
def asking(host: Hosted) -> Iterator[None]:
    """Two clients ask meanwhile, again and again."""
    done = threading.Event()

    def ask(first: int) -> None:
        body = {"model": host.service.served.name, "prompt": [first], "max_tokens": 200}
        while not done.is_set():
            host.post("/v1/completions", body)

    clients = [threading.Thread(target=ask, args=(number,)) for number in range(2)]
    for one in clients:
        one.start()
    try:
        yield
    finally:
        done.set()
        for one in clients:
            one.join()


def opened(page: Browser, host: Hosted) -> None:
    page.open(f"http://127.0.0.1:{host.port}/")


def text(page: Browser, id: str) -> str:
    return page.value(f"document.getElementById('{id}').textContent")


def first_cells(table: str) -> str:
    """Of the rows of a table, with commas."""
    rows = f"[...document.getElementById('{table}').tBodies[0].rows]"
    return f"{rows}.map((row) => row.cells[0].textContent).join()"


def test_the_timeline_moves_while_rounds_run(page: Browser) -> None:
    """Lanes, lengths, buckets and figures are of what runs, and stand still where they are held."""
    with hosted() as host:
        opened(page, host)
        page.wait("document.getElementById('status').className === 'good'")
        assert text(page, "status") == "ready, no requests"
        assert text(page, "shown") == "no round yet: send a request"
        empty = page.value(DRAWN)
        with asking(host):
            first = page.wait(f"({NEWEST}) >= 0 && ({NEWEST})")
            one = page.value(DRAWN)
            page.wait(f"({NEWEST}) > {first}")
            page.wait(f"{DRAWN} !== {one!r}")
            assert one != empty
            page.wait("document.getElementById('status').textContent === 'rounds are running'")
            page.wait(f"{first_cells('accepted')} === '0,1,2,3'")
            assert float(text(page, "mean_accepted")) > 1
            assert float(text(page, "tokens_a_second").replace(",", "")) > 0
            page.value("document.getElementById('hold').click()")
            held = text(page, "shown")
            count = text(page, "rounds_a_second")
            page.wait(f"document.getElementById('rounds_a_second').textContent !== {count!r}")
            assert text(page, "shown") == held
        assert set(page.value(first_cells("buckets")).split(",")) <= {"1", "2", "4"}


def test_a_hostile_name_is_shown_as_text(page: Browser) -> None:
    """Of a model, of a stream and of a phase, in the page, on the timeline and beside the pointer."""
    slices = (Slice(HOSTILE, "phase", f"{HOSTILE}\u202e", "", 7, 0, 1_000_000),)
    told = Round(7, "counted", "", 4, 1, (2,), 1e-3, slices, 0.0, HOSTILE)
    with hosted(served=Served(HOSTILE, Letters())) as host:
        opened(page, host)
        page.wait("document.getElementById('status').className === 'good'")
        host.call(lambda: host.feed.round(told))
        page.wait(f"({NEWEST}) === 7")
        assert text(page, "model") == HOSTILE
        assert text(page, "schedule").endswith(f" · {HOSTILE}")
        box = page.value("document.getElementById('timeline').getBoundingClientRect().toJSON()")
        where = {"x": box["x"] + box["width"] / 2, "y": box["y"] + 41}
        page.ask("Input.dispatchMouseEvent", type="mouseMoved", **where)
        page.wait("!document.getElementById('tip').hidden")
        assert page.value("document.querySelector('#tip b').textContent") == f"{HOSTILE}?"
        assert page.value("document.querySelector('#tip dd').textContent") == HOSTILE
        assert (
            page.value(
                "document.images.length + document.querySelectorAll('#tip :not(b, dl, dt, dd)').length"
            )
            == 0
        )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_telephone(page: Browser, scheme: str) -> None:
    """At 420 pixels nothing is to be scrolled sideways, and the scheme is the one that is asked for."""
    page.size(420, 800)
    page.scheme(scheme)
    with hosted(served=Served("n" * 200, Letters())) as host, asking(host):
        opened(page, host)
        page.wait(f"({NEWEST}) >= 0")
        assert page.value("document.documentElement.scrollWidth") <= 420
        paper = page.value("getComputedStyle(document.body).backgroundColor")
        assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(14, 17, 22)"}[scheme]


def test_it_asks_for_the_token(page: Browser) -> None:
    """A wrong one is said to be wrong; the right one is remembered by the tab alone, not in its address."""

    def give(token: str) -> Any:
        page.value(f"document.getElementById('token').value = {token!r}")
        return page.value("document.getElementById('asks').requestSubmit()")

    with hosted(token="open sesame") as host:
        opened(page, host)
        page.wait("!document.getElementById('asks').hidden")
        give("open")
        page.wait(
            "document.getElementById('status').textContent === \"that is not the server's token\""
        )
        give("open sesame")
        page.wait("document.getElementById('status').className === 'good'")
        assert page.value("document.getElementById('asks').hidden && location.href").endswith("/")
        opened(page, host)
        page.wait("document.getElementById('status').className === 'good'")
    refused = [one for one in page.problems if "401 (Unauthorized)" in one]
    assert len(refused) == 2  # which a browser says of its own accord
    page.wait("document.getElementById('status').className === 'bad'")
    page.problems.clear()  # the server has ended
