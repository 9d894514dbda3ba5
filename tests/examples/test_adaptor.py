"""`examples/adaptor/`: what its page shows is so, and a wrong worker is found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pages.console import agrees, commands, printed
from pages.programs import importing, ran

FOLDER = Path(__file__).parents[2] / "examples" / "adaptor"
PAGE = (FOLDER / "README.md").read_text(encoding="utf-8")


def test_its_page_shows_what_its_commands_print(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The round proven and run, both mistakes refused, and the silent phase found while it runs."""
    (tmp_path / "examples").symlink_to(root / "examples")
    monkeypatch.chdir(tmp_path)
    shown = commands(PAGE)
    assert len(shown) == 10
    for one in shown:
        lines = _by_python(one.command, monkeypatch) or printed(one.command, tmp_path)
        assert agrees(one.lines, lines), (one.command, "\n".join(lines))


def _by_python(command: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What `[NAME=VALUE] python PROGRAM ...` prints, or nothing for another command."""
    found = re.fullmatch(r"(?:(\w+)=(\w+) )?python (.*)", command)
    if found is None:
        return []
    if found[1]:
        monkeypatch.setenv(found[1], found[2])
    program, *arguments = found[3].split()
    code, text = ran(Path(program).resolve(), *arguments)
    return [*text.splitlines(), *([f"[{code}]"] if code else [])]


def test_every_phase_declares_what_its_call_touches(monkeypatch: pytest.MonkeyPatch) -> None:
    """In checked mode the rounds run to their end, so the proof is about what really happens."""
    monkeypatch.setenv("PLAIT_CHECK", "1")
    with importing(FOLDER):
        import compare  # pyright: ignore[reportMissingImports]

        monkeypatch.setattr(compare, "BATCHES", (3,))
        monkeypatch.setattr(compare, "NEW", 6)
        assert compare.main() == 0


def test_a_wrong_worker_is_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that takes every drafted token, right or not, has other tokens than plain decoding."""
    with importing(FOLDER):
        import compare  # pyright: ignore[reportMissingImports]
        from stand_in import Result, StandInWorker  # pyright: ignore[reportMissingImports]

        def sample(self, logits, draft_token):
            predict = logits.argmax(-1)
            return Result(predict, (predict[:, 0] >= 0) * predict.shape[1])

        monkeypatch.setattr(StandInWorker, "sample", sample)
        monkeypatch.setattr(compare, "BATCHES", (2,))
        assert compare.main() == 1
    printed = capsys.readouterr().out
    assert printed.count("identical to plain decoding: no") == 2


def test_the_page_names_every_phase(compiled) -> None:
    """A row of its table for each, in the order of the round."""
    schedule = compiled((FOLDER / "worker.spec").read_text(encoding="utf-8"))
    table = PAGE.partition("## With a worker of yours")[2]
    assert re.findall(r"^\| `(\w+)`", table, re.MULTILINE) == [p.name for p in schedule.phases]
