"""Versions of operator sets that cannot be went to ONNX's tables as they were."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from cli_runner import run_cli
from text_models import SUM, proto


@pytest.mark.parametrize("version", [-(2**63), -1, 0, 2**31, 2**62])
def test_it_is_an_error_of_the_model(version: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = proto(SUM)
    model.opset_import[0].version = version
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    for command in (["info"], ["run", "--input", "M=2"]):
        complaint = run_cli(capsys, *command[:1], path, *command[1:]).error_line
        assert f"it imports version {version} of the operator set 'ai.onnx', which cannot be" in complaint


def test_versions_that_are_only_new(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = proto(SUM)
    model.opset_import[0].version = 999
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    assert run_cli(capsys, "run", path, "--input", "M=2").status == 0
