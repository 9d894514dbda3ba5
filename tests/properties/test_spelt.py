"""What tokens stand for, one by one, is the text that they were made of."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from plait.runtime.models.tiny.checkpoint import load_checkpoint
from plait.runtime.serve.chat import Message, as_comments

TOKENIZER = load_checkpoint().tokenizer


@given(st.text())
def test_the_bytes_of_tokens_are_those_of_their_text(text: str) -> None:
    """Whatever the letters, halves of them in two tokens included."""
    tokens = TOKENIZER.encode(text)
    assert b"".join(map(TOKENIZER.spelt, tokens)) == text.encode()


@given(st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), st.text())))
def test_no_content_passes_for_a_role(messages: list[tuple[str, str]]) -> None:
    """As many lines that begin a message as there are messages, and the one that the reply follows."""
    text = as_comments([Message(*one) for one in messages])
    assert text.endswith("\n")
    roles = [line for line in text.split("\n")[:-1] if f"{line}   "[:4] != "#   "]
    assert roles == [f"# {role}:" for role, _ in messages] + ["# assistant:"]
