"""EAGLE with captures that were written by `plait capture`."""

from __future__ import annotations

import json
import re

from plait.cli import main


def test_captures_that_were_found_decode_the_same_tokens(root, tmp_path, capsys) -> None:
    """The example without its captures, captured anew: one graph a round, and plain decoding's tokens."""
    text = (root / "examples" / "eagle.spec").read_text()
    text = re.sub(r"\n  capture [^\n]*\{\n(.*?)\n  \}", r"\n\1", text, flags=re.DOTALL)
    assert "capture" not in re.sub("#.*", "", text)
    path = tmp_path / "eagle.spec"
    path.write_text(text)
    assert main(["capture", str(path), "--write"]) == 0
    assert "a round: 9 launches, with the captures 2" in capsys.readouterr().out
    asked = ["run", str(path), "--max-new-tokens", "6", "--prompt", "The sea", "--json"]
    assert main(asked) == 0
    outcome = json.loads(capsys.readouterr().out)
    assert outcome["identical_to_plain"] is True
    assert outcome["captures"]["graph1"]["phases"][0] == "first"
    assert outcome["buffer_bytes"] > 0
