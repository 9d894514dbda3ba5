"""What ranks tell each other before they meet in a group, in one process, over a store of its own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from torch.distributed import HashStore  # pyright: ignore[reportPrivateImportUsage]

from plait.runtime.ranks.alike import check_alike
from plait.runtime.ranks.error import RankError
from plait.runtime.runner import BindError

ONE = {"schedule": "1" * 64, "checked": "False", "source": "a", "settings": "b"}
OTHER = ONE | {"schedule": "2" * 64, "settings": "c"}
Begun = tuple[dict[str, str], dict[str, str]]


def told(*ranks: Begun | None, seconds: float = 30.0) -> list[str]:
    """What each rank that begins is told."""
    store = HashStore()

    def begin(rank: int, schedule: dict[str, str], settings: dict[str, str]) -> str:
        try:
            check_alike(store, rank, len(ranks), "p", seconds, schedule, settings)
        except (BindError, RankError) as error:
            return f"{type(error).__name__}: {error}"
        return "alike"

    with ThreadPoolExecutor(len(ranks)) as pool:
        begun = [pool.submit(begin, n, *one) for n, one in enumerate(ranks) if one is not None]
        return [future.result() for future in begun]


def test_ranks_that_are_alike_go_on() -> None:
    """The same schedule and the same settings."""
    assert told((ONE, {"--mode": "f32"}), (ONE, {"--mode": "f32"})) == ["alike", "alike"]


def test_another_schedule_is_named_on_all() -> None:
    """With the ranks that have each, and in what they differ."""
    expected = (
        "BindError: ranks have different schedules of p: ranks 0, 2 have 111111111111, rank 1 has "
        "222222222222; they differ in settings: compile it once, and give all ranks one file and one "
        "environment"
    )
    assert told((ONE, {}), (OTHER, {}), (ONE, {})) == [expected] * 3


def test_another_setting_is_named_on_all() -> None:
    """The first in which ranks differ, with what each has; one that has none of it differs, too."""
    expected = (
        "BindError: ranks were started differently: --mode exact on rank 0, --mode f32 on ranks 1, 2: "
        "start all of them alike"
    )
    ranks = [(ONE, {"--mode": mode, "z": mode}) for mode in ("exact", "f32", "f32")]
    assert told(*ranks) == [expected] * 3
    assert (
        told((ONE, {"--mode": "f32"}), (ONE, {}))
        == [
            "BindError: ranks were started differently: --mode f32 on rank 0, --mode None on rank 1: "
            "start all of them alike"
        ]
        * 2
    )


def test_a_rank_that_does_not_begin_is_named() -> None:
    """After so many seconds, by all the others."""
    expected = "RankError: ranks 1, 3 did not begin with p within 0.2 s"
    assert told((ONE, {}), None, (ONE, {}), None, seconds=0.2) == [expected] * 2
