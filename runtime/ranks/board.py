"""Where ranks read of each other: each keeps one entry in the store, how far it is and whether it lives.

The entry is written by a thread of its own, a few times in the time that ranks wait for each other, and
so costs a round nothing. What it counts up shows others that its process lives.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch.distributed import Store  # pyright: ignore[reportPrivateImportUsage]

LARGEST = 1 << 16
"""Bytes of an entry, and of what is said in it."""


class Board:
    """`said` gives what this rank has to say, as JSON values."""

    def __init__(self, store: Store, name: str, rank: int, beat: float, said: Callable[[], Any]):
        self.rank = rank
        self.beat = beat
        """Seconds from one entry to the next."""
        self._store = store
        self._name = name
        self._said = said
        self.lost = False
        """Whether the store has gone."""
        self._beats = 0
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="plait ranks", daemon=True)

    def begin(self) -> None:
        self._thread.start()

    def publish(self) -> None:
        """Writes this rank's entry now. Does nothing once the store is gone."""
        with self._lock:
            if self.lost:
                return
            self._beats += 1
            text = json.dumps({"beats": self._beats, **self._said()})
            try:
                self._store.set(self._key(self.rank), text[:LARGEST])
            except RuntimeError:
                self.lost = True
                self._over.set()

    def read(self, rank: int) -> dict[str, Any] | None:
        """What a rank has said last; None: nothing, or the store is gone."""
        try:
            if not self._store.check([self._key(rank)]):
                return None
            found = json.loads(self._store.get(self._key(rank))[: LARGEST + 1])
        except RuntimeError:
            self.lost = True
            return None
        except ValueError:
            return None
        return found if isinstance(found, dict) else None

    def await_all(self, ranks: Iterable[int], seconds: float) -> dict[int, dict[str, Any]]:
        """What each of them says, as far as they have said something within so long."""
        until = time.monotonic() + seconds
        missing = set(ranks)
        found: dict[int, dict[str, Any]] = {}
        while missing:
            for rank in sorted(missing):
                if (said := self.read(rank)) is not None:
                    found[rank] = said
            missing -= found.keys()
            if time.monotonic() > until:
                break
            if missing:
                time.sleep(0.01)
        return found

    def end(self) -> None:
        """Says the last, and nothing more."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        self.publish()

    def _key(self, rank: int) -> str:
        return f"{self._name}/{rank}"

    def _work(self) -> None:
        while not self._over.wait(self.beat):
            self.publish()
