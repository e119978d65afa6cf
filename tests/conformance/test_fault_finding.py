"""Each hunt of docs/fault-finding.md finds its fault, by the commands that stand there."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from cli_runner import run_cli as command
from fault_finding import FAULT_SCENARIOS, FaultScenario, render_page

PAGE = Path(__file__).parents[2] / "docs" / "fault-finding.md"


@pytest.mark.parametrize("hunt", FAULT_SCENARIOS, ids=[hunt.fault.partition(":")[0] for hunt in FAULT_SCENARIOS])
def test_a_hunt(
    hunt: FaultScenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hunt.build(tmp_path)
    monkeypatch.chdir(tmp_path)
    message = ""
    for line in hunt.commands:
        ran = command(capsys, *shlex.split(line)[1:])
        message += ran.out + ran.err
    assert len(hunt.commands) <= 5
    missing = [part for part in hunt.expected_output if part not in message]
    assert not missing, f"{missing} in\n{message}"


def test_the_page_has_them() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert render_page(text) == text
    assert len(FAULT_SCENARIOS) >= 28
