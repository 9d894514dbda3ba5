"""A launch recipe is read and never run: exports, options, their places, and hostile texts."""

from __future__ import annotations

import time

import pytest

from plait.compiler.recipe.recipe import read_recipe
from plait.dsl.diagnostic import SpecError
from plait.dsl.span import Source

RECIPE = """\
#!/bin/bash
# It isn't run.
export A=1 B="x y" C='$HOME'; export D=$HOME E="${F:-2}" && export G=`date` # don't
H=7
export H
if [ "$ROLE" = 'decode' ]; then
  export I=a\\
b
fi
cat <<EOF > note
it's not closed
EOF
unset A
export J=$(cat "a b") K=
L=5 nohup python -m sglang.launch_server --model m \\
  --speculative-num-steps=3 --cuda-graph-bs-decode 1 2 4 2>&1 --flag | tee log &
"""


def test_exports_and_their_values() -> None:
    """Quotes, several on a line, continuations; what would have to be run has no value."""
    found = {export.name: export.value for export in read_recipe(Source("r.sh", RECIPE)).exports}
    assert found == {
        **{"B": "x y", "C": "$HOME", "D": None, "E": None, "G": None, "H": "7"},
        **{"I": "ab", "J": None, "K": "", "L": "5"},
    }


def test_options_and_their_places() -> None:
    """Both ways to write a value; redirections are none."""
    options = read_recipe(Source("r.sh", RECIPE)).options
    assert [(one.name, [w.value for w in one.words]) for one in options] == [
        ("--model", ["m"]),
        ("--speculative-num-steps", ["3"]),
        ("--cuda-graph-bs-decode", ["1", "2", "4"]),
        ("--flag", []),
    ]
    assert str(options[2].span) == "r.sh:16:29"
    assert options[2].span.text == "--cuda-graph-bs-decode 1 2 4"


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("export A=1\nexport B='x\n", "this quote is never closed", "r.sh:2:10"),
        ('A="', "this double quote is never closed", "r.sh:1:3"),
        ("A=`x", "this backtick is never closed", "r.sh:1:3"),
        ("A=1\n\\", "a recipe does not end in a backslash", "r.sh:2:1"),
        ("A=1\0", "a recipe holds no NUL character", "r.sh:1:4"),
        ("#" * (10 << 20), "a recipe has at most 1,048,576 characters", "r.sh:1:1"),
    ],
)
def test_what_cannot_be_read_has_a_place(text: str, message: str, place: str) -> None:
    """One clear error, at the character."""
    with pytest.raises(SpecError) as raised:
        read_recipe(Source("r.sh", text))
    (found,) = raised.value.diagnostics
    assert (found.code, found.message, str(found.span)) == ("PL708", message, place)


@pytest.mark.parametrize(
    "text", ["$(", "${", "$(()", "--a ", "<<E ", "<<E\n", "A=1 ", "\\ ", '"$(" ', "$((", "{", "`x`"]
)
def test_a_hostile_text_takes_no_long_time(text: str) -> None:
    """Work grows with the length, not with its square."""
    start = time.perf_counter()
    read_recipe(Source("r.sh", text * (100_000 // len(text))))
    assert time.perf_counter() - start < 5


def test_the_recipe_of_the_page_fits_the_example(root, eagle, findings) -> None:
    """Exports and options of `docs/targets.md` are those of `eagle.spec`, on every target."""
    text = (root / "docs" / "targets.md").read_text(encoding="utf-8")
    recipe = read_recipe(Source("launch.sh", text.split("```sh\n")[1].split("```")[0]))
    for target in ("cpu", "cuda", "ascend910c"):
        assert findings(eagle, target=target, recipe=recipe) == []


def test_exports_are_the_environment(compiled, eagle, monkeypatch) -> None:
    """In place of the process's own; an old prefix is read as the new one."""
    monkeypatch.setenv("SGLANG_DISABLE_DRAFT_EXTEND_CUDA_GRAPH", "1")
    recipe = read_recipe(Source("r.sh", "export SGL_ENABLE_OVERLAP_PLAN_STREAM=0\n"))
    schedule = compiled(eagle, target="ascend910c", recipe=recipe)
    assert dict(schedule.environment) == {
        "SGLANG_ENABLE_OVERLAP_PLAN_STREAM": "0",
        "SGLANG_DISABLE_DRAFT_EXTEND_CUDA_GRAPH": None,
    }


def test_an_export_of_another_kind_is_shown_in_both_texts(eagle, findings, shown) -> None:
    """The flag in the spec, and the line of the recipe."""
    recipe = read_recipe(Source("r.sh", "export SGLANG_ENABLE_OVERLAP_PLAN_STREAM=maybe\n"))
    text = shown(findings(eagle, target="ascend910c", recipe=recipe))
    assert text.startswith("error[PL106]: the environment has SGLANG_ENABLE_OVERLAP_PLAN_STREAM")
    assert "eagle.spec:12:3" in text and "r.sh:1:8" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--cuda-graph-bs 1 2 4", "passes --cuda-graph-bs 1 2 4; `buckets` is 1 2 4 8"),
        ("--cuda-graph-max-bs-decode 16", "16; the largest of `buckets` is 8"),
        ("--speculative-num-draft-tokens=4", "tokens 4; `num_draft_tokens` is 3"),
        ("--speculative-num-steps three", "`--speculative-num-steps` takes a whole number"),
        ("--speculative-num-steps", "`--speculative-num-steps` takes a whole number"),
    ],
)
def test_options_are_compared(options: str, message: str, eagle, findings) -> None:
    """Lists, their largest, params that follow from others, and values of another kind; on cpu too."""
    recipe = read_recipe(Source("r.sh", f"serve {options}\n"))
    (found,) = findings(eagle, recipe=recipe)
    assert message in found.message and found.severity == "error"


def test_a_variant_that_fits_is_compared_only_when_asked(eagle, findings) -> None:
    """`deep` has three steps; the default and `serial` have two."""
    text = "serve --speculative-num-steps 3 --speculative-num-draft-tokens 4\n"
    recipe = read_recipe(Source("r.sh", text))
    assert len(findings(eagle, recipe=recipe)) == 2
    assert findings(eagle, recipe=recipe, variant="deep") == []


def test_a_dim_stands_for_the_sizes(root, findings) -> None:
    """Where no param has them; the place is the dim's."""
    text = (root / "examples" / "eagle_serial.spec").read_text(encoding="utf-8")
    recipe = read_recipe(Source("r.sh", "serve --cuda-graph-bs-decode 1 2\n"))
    (found,) = findings(Source("eagle_serial.spec", text), recipe=recipe)
    assert found.message.endswith("`bs` is 1 2 4 8")
    assert str(found.labels[0].span) == "eagle_serial.spec:11:7"
