"""The pytest plugin: the fixture ``loopdbg_same``. pytest finds it by its entry point; nothing else is imported until a
test compares something."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from .debugger.compare.api import Diff

_TOLERANCES = ("rtol", "atol")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The settings that a project may have in its ini-file."""
    for name in _TOLERANCES:
        parser.addini(f"loopdbg_{name}", f"{name} of floats where a test gives none (default: by dtype)")


@pytest.fixture
def loopdbg_same(pytestconfig: pytest.Config, record_property: Callable[[str, object], None]) -> Callable[..., Diff]:
    """:func:`loopdbg.testing.assert_same` with the tolerances of the ini-file.

    What was compared stands in pytest's JUnit report as properties: ``loopdbg_verdict``, and of the first difference
    ``loopdbg_iteration``, ``loopdbg_node`` and ``loopdbg_value``.
    """
    usual = {name: _number(pytestconfig, name) for name in _TOLERANCES}

    def same(model: Any, reference: Any, inputs: Any = None, **options: Any) -> Diff:
        __tracebackhide__ = True
        from .debugger.compare.report.findings import Verdict
        from .testing import assert_same

        allow = options.pop("allow", ())
        found = assert_same(model, reference, inputs, **{**usual, **options, "allow": tuple(Verdict)})
        record_property("loopdbg_verdict", found.verdict.value)
        if found.first is not None:
            for name in ("iteration", "node", "value"):
                record_property(f"loopdbg_{name}", getattr(found.first, name))
        if found.verdict is not Verdict.SAME and found.verdict not in allow:
            raise AssertionError(str(found))
        return found

    return same


def _number(config: pytest.Config, name: str) -> float | None:
    text = config.getini(f"loopdbg_{name}")
    try:
        return float(text) if text else None
    except ValueError:
        raise pytest.UsageError(f"loopdbg_{name} = {text}: a tolerance is a number from 0 on") from None
