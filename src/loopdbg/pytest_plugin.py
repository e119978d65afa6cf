"""The pytest plugin with the fixtures ``loopdbg_same`` and ``loopdbg_invariants``, found by its entry point; other
modules are imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from .debugger.compare.api import Diff

_TOLERANCES = ("rtol", "atol")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the ini-file settings."""
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
