"""What the tests here count is printed at their end: ``record_property("conformance", line)``."""

from __future__ import annotations

from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the lines that tests recorded."""
    lines = [
        value
        for kind in ("passed", "failed")
        for report in terminalreporter.stats.get(kind, [])
        for name, value in report.user_properties
        if name == "conformance"
    ]
    if lines:
        terminalreporter.section("conformance")
        for line in lines:
            terminalreporter.write_line(str(line))
