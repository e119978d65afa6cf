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
    ran = {
        kind: [report for report in terminalreporter.stats.get(kind, []) if "::test_node_case[" in report.nodeid]
        for kind in ("passed", "failed")
    }
    if any(ran.values()):
        lines.append(f"of {sum(map(len, ran.values()))} node tests of ONNX {len(ran['passed'])} are right")
        lines += [f"  wrong: {report.nodeid.partition('[')[2][:-1]}" for report in ran["failed"]]
    if lines:
        terminalreporter.section("conformance")
        for line in lines:
            terminalreporter.write_line(str(line))
