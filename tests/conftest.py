"""What many tests start from: example specs, small compiles, rendered findings."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from plait.compiler.compile import Asked, compile_source, prove, prove_all
from plait.compiler.order import Order
from plait.compiler.recipe.recipe import read_recipe
from plait.compiler.rules.rule import Rule
from plait.dsl.diagnostic import Diagnostic, SpecError
from plait.dsl.span import Source
from plait.runtime.schedule import Schedule

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"

# One seed for a commit, so that CI never fails by chance and every commit tries other cases.
settings.register_profile(
    "plait",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("plait")


@pytest.fixture(autouse=True)
def quiet_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No flag of the machine that runs the tests reaches a spec."""
    for name in list(os.environ):
        if name.startswith(("SGLANG_", "PLAIT_")):
            monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """As bodies have on a stream: two that fight for a core make small kernels slow."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def eagle() -> Source:
    return Source("eagle.spec", (EXAMPLES / "eagle.spec").read_text(encoding="utf-8"))


Compile = Callable[..., Schedule]


@pytest.fixture(scope="session")
def compiled() -> Compile:
    """Compiles a text: `compiled(text, settings={...}, variant=..., capture=...)`."""

    def compile(text: str | Source, **asked) -> Schedule:
        source = text if isinstance(text, Source) else Source("test.spec", text)
        return compile_source(source, Asked(**asked))

    return compile


@pytest.fixture(scope="session")
def proven() -> Callable[..., Order]:
    """The order of a text at its largest bucket."""

    def prove_text(text: str | Source, **asked) -> Order:
        source = text if isinstance(text, Source) else Source("test.spec", text)
        return prove(source, Asked(**asked)).widest

    return prove_text


@pytest.fixture(scope="session")
def findings() -> Callable[..., list[Diagnostic]]:
    """What `plait check` finds in a text, variants and all.

    A `small` round is one made to show something else: nothing of it has to run beside its forks.
    """

    def check(text: str | Source, small: bool = False, **asked) -> list[Diagnostic]:
        source = text if isinstance(text, Source) else Source("test.spec", text)
        try:
            judged = prove_all(source, Asked(**asked))
        except SpecError as error:
            return error.diagnostics
        found = [diagnostic for one in judged for diagnostic in one.findings]
        return [one for one in found if not (small and one.code == "PL903")]

    return check


@pytest.fixture(scope="session")
def shown() -> Callable[[list[Diagnostic]], str]:
    """Findings as a terminal without colour shows them."""

    def show(diagnostics: list[Diagnostic]) -> str:
        from plait.dsl.render.terminal import render

        file = io.StringIO()
        render(diagnostics, file)
        return "\n".join(line.rstrip() for line in file.getvalue().splitlines()).strip() + "\n"

    return show


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Holds a text against `tests/golden/NAME.txt`, or writes it there with `--update-golden`."""

    def hold(name: str, text: str) -> None:
        path = ROOT / "tests" / "golden" / f"{name}.txt"
        if request.config.getoption("--update-golden"):
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return hold


@pytest.fixture(scope="session")
def found_in_example(findings) -> Callable[[Rule, int], list[Diagnostic]]:
    """What is found in the bad (0) or the mended (1) example of a rule, on its target and recipe."""

    def found(rule: Rule, number: int) -> list[Diagnostic]:
        try:
            recipe = rule.recipes and read_recipe(Source("launch.sh", rule.recipes[number]))
        except SpecError as error:
            return error.diagnostics
        asked = {"target": rule.target, "limits": rule.limits, "recipe": recipe}
        return findings((rule.bad, rule.mended)[number], **asked)

    return found
