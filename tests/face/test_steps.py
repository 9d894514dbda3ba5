"""Steps of a page: files, edits and commands in their order, and edits that do not fit."""

from __future__ import annotations

import pytest

from pages.console import Shown
from pages.steps import Edited, Written, edited, steps

PAGE = """\
Write `a.spec`:

```spec
one
two
```

    $ plait check a.spec
    sound

More of `a.spec`:

```diff
 one
+and
@@
-two
+three
```

```python
beside()
```
"""


def test_a_page_is_read_from_top_to_bottom() -> None:
    """A block with a name above it is a file, or an edit of it; one without is only to be read."""
    assert steps(PAGE) == [
        Written(0, "a.spec", "one\ntwo\n"),
        Shown("", 7, "plait check a.spec", ("sound",)),
        Edited(10, "a.spec", (" one", "+and", "@@", "-two", "+three")),
    ]


def test_an_edit_is_made_where_its_lines_stand() -> None:
    """Part after part; where they are not to be found, or twice, nothing is guessed."""
    lines = (" one", "+and", "@@", "-two", "+three")
    assert edited("one\ntwo\n", lines) == "one\nand\nthree\n"
    for text in ("one\n", "one\ntwo\ntwo\n"):
        with pytest.raises(ValueError, match="times:\ntwo"):
            edited(text, lines)
