"""The pytest plugin: the fixtures ``loopdbg_same`` and ``loopdbg_invariants``, and the coverage of a test suite. It is
found by its entry point; other modules are imported on first use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from .debugger.compare.api import Diff

_TOLERANCES = ("rtol", "atol")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the options and the ini-file settings."""
    group = parser.getgroup("loopdbg")
    group.addoption(
        "--loopdbg-coverage",
        nargs="?",
        const="",
        metavar="FILE",
        help="what tests cover of the loops of models, as a table or written into FILE (.html, .json)",
    )
    group.addoption(
        "--loopdbg-coverage-fail-under",
        type=float,
        metavar="PERCENT",
        help="fail if tests cover less of the loops; implies --loopdbg-coverage",
    )
    for name in _TOLERANCES:
        parser.addini(f"loopdbg_{name}", f"{name} of floats where a test gives none (default: by dtype)")


@pytest.fixture
def loopdbg_same(pytestconfig: pytest.Config, record_property: Callable[[str, object], None]) -> Callable[..., Diff]:
    """:func:`loopdbg.testing.assert_same` with the tolerances of the ini-file.

    The result is recorded as properties of pytest's JUnit report: ``loopdbg_verdict``, and for the first difference
    ``loopdbg_iteration``, ``loopdbg_node`` and ``loopdbg_value``.
    """
    defaults = {name: _number(pytestconfig, name) for name in _TOLERANCES}

    def compare(model: Any, reference: Any, inputs: Any = None, **options: Any) -> Diff:
        __tracebackhide__ = True
        from .debugger.compare.report.findings import Verdict
        from .testing import assert_same

        allow = options.pop("allow", ())
        result = assert_same(model, reference, inputs, **{**defaults, **options, "allow": tuple(Verdict)})
        record_property("loopdbg_verdict", result.verdict.value)
        if result.first is not None:
            for name in ("iteration", "node", "value"):
                record_property(f"loopdbg_{name}", getattr(result.first, name))
        if result.verdict is not Verdict.SAME and result.verdict not in allow:
            raise AssertionError(str(result))
        return result

    return compare


@pytest.fixture
def loopdbg_invariants() -> Callable[..., None]:
    """:func:`loopdbg.testing.assert_invariants`."""
    from .testing import assert_invariants

    return assert_invariants


def _number(config: pytest.Config, name: str) -> float | None:
    text = config.getini(f"loopdbg_{name}")
    try:
        return float(text) if text else None
    except ValueError:
        raise pytest.UsageError(f"loopdbg_{name} = {text}: a tolerance is a number from 0 on") from None


def pytest_configure(config: pytest.Config) -> None:
    """Measure coverage if it is requested."""
    if _measures_coverage(config):
        config.pluginmanager.register(_CoveragePlugin(config), "loopdbg-coverage")


def _measures_coverage(config: pytest.Config) -> bool:
    options = ("loopdbg_coverage", "loopdbg_coverage_fail_under")
    return any(config.getoption(name) is not None for name in options)


class _CoveragePlugin:
    """Accumulates the coverage of a test suite, also over the workers of pytest-xdist."""

    def __init__(self, config: pytest.Config) -> None:
        from .debugger.coverage.report_files import check_coverage_path
        from .debugger.coverage.suite_coverage import CoverageCollector
        from .runtime.errors import UsageError

        self._path = Path(path) if (path := config.getoption("loopdbg_coverage")) else None
        self._minimum: float | None = config.getoption("loopdbg_coverage_fail_under")
        self._collector = CoverageCollector()
        self._lines: list[str] = []
        try:
            if self._path is not None:
                check_coverage_path(self._path)
        except UsageError as error:
            raise pytest.UsageError(f"--loopdbg-coverage {error}") from None

    def pytest_sessionstart(self) -> None:
        self._collector.start()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker has ended."""
        self._collector.add(getattr(node, "workeroutput", {}).get("loopdbg_coverage", ()))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self._collector.stop()
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["loopdbg_coverage"] = self._collector.to_json()
            return
        from .debugger.coverage.report import coverage_lines, summary_line
        from .debugger.coverage.report_files import save_coverage
        from .debugger.coverage.suite_coverage import total_percent

        parts = self._collector.results()
        for coverage, _ in parts:
            self._lines += [summary_line(coverage)] if self._path is not None else [*coverage_lines(coverage), ""]
        if self._path is not None:
            save_coverage(self._path, parts)
            self._lines.append(f"written into {self._path}")
        percent = total_percent([coverage for coverage, _ in parts])
        self._lines.append(f"loops covered: {percent:.1f}%")
        if self._minimum is not None and percent < self._minimum:
            self._lines.append(f"FAIL: less than the required {self._minimum:g}%")
            if session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._lines:
            terminalreporter.section("loop coverage")
            for line in self._lines:
                terminalreporter.write_line(line)
