"""`plait run` with the second model, by its name."""

from __future__ import annotations

import pytest

from plait.cli import main


def test_a_model_is_run_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    """Tokens are those of plain decoding; a round that needs a head is refused for it, by one line."""
    prompt = ["--model", "small-llama", "--prompt", "def read(self):", "--max-new-tokens", "8"]
    assert main(["run", "examples/lookup.spec", "--set", "buckets=[1]", *prompt]) == 0
    assert capsys.readouterr().out.endswith("identical to plain: yes\n")
    assert main(["run", "examples/eagle.spec", *prompt]) == 2
    assert capsys.readouterr().err == (
        "plait run: eagle.spec: drafts with a NextN head, which this model has not; a round that drafts "
        "without one is examples/lookup.spec\n"
    )


def test_a_name_that_is_none_is_taken_for_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    """The refusal says which file was looked for."""
    assert main(["run", "examples/lookup.spec", "--model", "medium-llama"]) == 2
    assert (
        "medium-llama: there is no such model: take tiny, small-llama, or a folder"
        in capsys.readouterr().err
    )
