"""``loopdbg convert``: the files that it writes, and its messages where it writes none."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_runner import run_cli
from text_models import SAMPLES


def test_converted_model_is_written_run_and_compared(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target = tmp_path / "layers.py"
    ran = run_cli(capsys, "convert", SAMPLES / "two_layer_lstm.onnx", target)
    assert ran.status == 0
    assert ran.out.startswith(f"wrote {target}; ") and target.with_suffix(".npz").is_file()
    assert "import tensorrt as trt" in target.read_text(encoding="utf-8")
    inputs = SAMPLES / "two_layer_lstm.inputs.npz"
    assert run_cli(capsys, "run", target, "--inputs", inputs).status == 0


def test_convert_overwrites_only_on_request(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target = tmp_path / "n.py"
    arguments = ("convert", SAMPLES / "newton_sqrt.onnx", target, "--longest", 9)
    assert run_cli(capsys, *arguments).status == 0
    again = run_cli(capsys, *arguments)
    assert again.status == 2 and "is there already; --force overwrites it" in again.error_line
    assert run_cli(capsys, *arguments, "--force").status == 0


@pytest.mark.parametrize(
    ("name", "target", "status", "why"),
    [
        ("newton_sqrt.onnx", "n.txt", 2, "name it n.py"),
        ("newton_sqrt.onnx", "1 2.py", 2, "'1 2' is no name of a Python module"),
        ("newton_sqrt.onnx", "gone/n.py", 2, "there is no folder"),
        ("newton_sqrt.onnx", "n.py", 1, "TensorRT needs it in advance; --longest N sets the greatest length"),
        ("loop_infinite.xml", "n.py", 1, "neither a trip count nor a condition"),
        ("trt/counted.py", "n.py", 2, "is TensorRT network code already"),
    ],
)
def test_convert_refuses_unsupported_models(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, target: str, status: int, why: str
) -> None:
    ran = run_cli(capsys, "convert", SAMPLES / name, tmp_path / target)
    assert ran.status == status
    assert why in ran.error_line
    assert not (tmp_path / target).exists()


@pytest.mark.parametrize("folder", [".", "..", "/"])
def test_convert_refuses_a_folder_as_script(capsys: pytest.CaptureFixture[str], folder: str) -> None:
    ran = run_cli(capsys, "convert", SAMPLES / "newton_sqrt.onnx", folder)
    assert ran.status == 2
    assert ran.error_line == f"{folder}: TensorRT networks are Python code; name it network.py"
