"""Each hunt of docs/fault-finding.md finds its fault, by the commands that stand there."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from command_line import loopdbg as command
from hunting import HUNTS, Hunt, page

PAGE = Path(__file__).parents[2] / "docs" / "fault-finding.md"


@pytest.mark.parametrize("hunt", HUNTS, ids=[hunt.fault.partition(":")[0] for hunt in HUNTS])
def test_a_hunt(
    hunt: Hunt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hunt.build(tmp_path)
    monkeypatch.chdir(tmp_path)
    told = ""
    for line in hunt.commands:
        ran = command(capsys, *shlex.split(line)[1:])
        told += ran.out + ran.err
    assert len(hunt.commands) <= 5
    missing = [part for part in hunt.answer if part not in told]
    assert not missing, f"{missing} in\n{told}"


def test_the_page_has_them() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text
    assert len(HUNTS) >= 28
