"""``diff --against torch:FILE``: the file of the option is the program that is opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_runner import run_cli
from text_models import SAMPLES


def test_program_of_the_option_is_opened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = []

    def open_program(path: str) -> None:
        opened.append(path)
        raise KeyboardInterrupt

    monkeypatch.setattr("loopdbg.debugger.reference.torch_api.open_program", open_program)
    monkeypatch.setattr("loopdbg.tui.cli.comparison.reference.open_program", open_program, raising=False)
    program = tmp_path / "program.pt2"
    run_cli(capsys, "diff", SAMPLES / "newton_sqrt.onnx", "--against", f"torch:{program}")
    assert opened == [str(program)]
