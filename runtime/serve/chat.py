"""A conversation as the text that a model continues."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple


class Message(NamedTuple):
    role: str
    content: str


class Template(NamedTuple):
    text: Callable[[Sequence[Message]], str]
    stops: tuple[str, ...]
    """Texts with which a model goes on to speak for somebody else."""


def as_comments(messages: Sequence[Message]) -> str:
    """A role a line, and below it what was said, each line behind `#   `: no content can spell a role.

    It is for models of Python: after `# assistant:` the reply stands as it is.

    >>> print(as_comments([Message("user", "Add two\\nnumbers.")]), end="")
    # user:
    #   Add two
    #   numbers.
    # assistant:
    """
    lines = []
    for role, content in messages:
        lines.append(f"# {role}:")
        lines += [f"#   {line}".rstrip() for line in content.splitlines()]
    return "\n".join([*lines, "# assistant:", ""])


COMMENTS = Template(as_comments, ("\n# user:", "\n# system:"))
"""What the model that comes with Plait is given."""
