"""Flags against what the runtimes of a target read."""

from __future__ import annotations

import pytest

from plait.dsl.span import Source

SPEC = """\
spec 1
pipeline p {{
  flag it = env("{name}", {default})
  stream main
  buffer x : i64[4] carried
  phase step on main {{ updates x }}
}}
"""


def said(findings, name: str, default: str, target: str) -> list[tuple[str, str]]:
    text = SPEC.format(name=name, default=default)
    return [(found.code, found.help) for found in findings(text, target=target)]


@pytest.mark.parametrize("target", ["cpu", "cuda", "ascend910c"])
@pytest.mark.parametrize("name", ["eagle", "eagle_serial"])
def test_the_examples_are_clean_on_every_target(name: str, target: str, root, findings) -> None:
    """No error and no note."""
    text = (root / "examples" / f"{name}.spec").read_text(encoding="utf-8")
    assert findings(Source(f"{name}.spec", text), target=target) == []


@pytest.mark.parametrize(
    ("name", "default", "target", "expected"),
    [
        ("SGLANG_NPU_USE_MULTI_STREAM", "false", "ascend910c", []),
        (
            "SGLANG_NPU_USE_MULTI_STREAM",
            "false",
            "cuda",
            [("PL701", "it is read on ascend910c")],
        ),
        (
            "SGLANG_ENABLE_OVERLAP_PLAN_STREM",
            "false",
            "ascend910c",
            [("PL701", "did you mean `SGLANG_ENABLE_OVERLAP_PLAN_STREAM`?")],
        ),
        (
            "SGLANG_ENABLE_MAGIC_EXTEND",
            "false",
            "cuda",
            [("PL701", "leave the flag out, or correct the name: sglang 0.5.23 has none like it")],
        ),
        ("SGLANG_ENABLE_OVERLAP_PLAN_STREM", "false", "cpu", []),
        ("SGL_ENABLE_OVERLAP_PLAN_STREAM", "false", "ascend910c", []),
        ("SGLANG_LOG_MS", "false", "ascend910c", []),
        (
            "SGLANG_RAGGED_VERIFY_MODE",
            '"compact"',
            "cuda",
            [("PL703", 'write `"static"`, or add a variant with `set it = "static"`')],
        ),
        (
            "SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK",
            "true",
            "cuda",
            [("PL703", "write `128`, or add a variant with `set it = 128`")],
        ),
        ("TASK_QUEUE_ENABLE", "1", "cuda", [("PL702", "it is read on ascend910c")]),
        (
            "OUR_OWN_SWITCH",
            "1",
            "cuda",
            [
                (
                    "PL702",
                    "if your own code reads it, list it below `[[flags]]` in a target of yours",
                )
            ],
        ),
    ],
)
def test_a_flag_is_held_against_its_readers(name, default, target, expected, findings) -> None:
    """Read here, read elsewhere, read by nobody, and another default."""
    assert said(findings, name, default, target) == expected
