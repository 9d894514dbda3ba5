"""What every run of pytest here obeys: what is collected, which tests may be skipped, an option."""

from __future__ import annotations

from pathlib import Path

import pytest

# The three folders are collected as src/plait/..., under the names they are imported by; examples are
# programs of their own.
collect_ignore = ["compiler", "dsl", "runtime", "examples", "src/plait/examples"]

SKIPS = Path(__file__).parent / "tests" / "skips.txt"


def pytest_addoption(parser: pytest.Parser) -> None:
    help = "write tests/golden/*.txt as the messages read now"
    parser.addoption("--update-golden", action="store_true", help=help)


def pytest_sessionstart(session: pytest.Session) -> None:
    lines = SKIPS.read_text(encoding="utf-8").splitlines()
    allowed = {line for line in lines if line and not line.startswith("#")}
    session.config.pluginmanager.register(Skips(allowed), "skips")


class Skips:
    """Fails a run in which a test was skipped that the written list does not have."""

    def __init__(self, allowed: set[str]):
        self.allowed = allowed
        self.unlisted: list[str] = []

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report)

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.skipped and isinstance(report.longrepr, tuple):
            reason = report.longrepr[2].removeprefix("Skipped: ")
            file = report.nodeid.partition("::")[0]
            if not {f"{report.nodeid}: {reason}", f"{file}: {reason}"} & self.allowed:
                self.unlisted.append(f"{report.nodeid}: {reason}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.unlisted:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter) -> None:
        for line in self.unlisted:
            terminalreporter.write_line(f"SKIPPED, but not in {SKIPS.name}: {line}", red=True)
