"""`--output`, `--record` and `export` onto a file that the command reads are refused; the file stays what it was."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest

from cli_runner import CliResult, run_cli, save_text_model
from text_models import SAMPLES, SUM, proto


@pytest.fixture
def onnx_model(tmp_path: Path) -> Path:
    np.savez(tmp_path / "given.npz", M=np.int64(3), v0=np.float32(1))
    return save_text_model(tmp_path, SUM)


def refused(ran: CliResult, path: Path, before: bytes, message: str) -> None:
    assert ran.status == 2
    assert message in ran.error_line
    assert path.read_bytes() == before


@pytest.mark.parametrize("option", ["--output", "--record", "--record --force"])
@pytest.mark.parametrize("name", ["model.onnx", "given.npz", "linked", "hard"])
def test_the_model_and_its_inputs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], onnx_model: Path, option: str, name: str
) -> None:
    inputs = tmp_path / "given.npz"
    (tmp_path / "linked").symlink_to(inputs)
    os.link(inputs, tmp_path / "hard")
    word, *force = option.split()
    target = tmp_path / name
    ran = run_cli(capsys, "run", onnx_model, "--inputs", inputs, word, target, *force)
    refused(ran, target, target.read_bytes(), "it is left as it is, give another name")
    assert (ran.status, "reads or records" in ran.err) == (2, word == "--output")
    with np.load(inputs) as left:
        assert sorted(left) == ["M", "v0"]


def test_sidecar_inputs(tmp_path: Path, capsys: pytest.CaptureFixture[str], onnx_model: Path) -> None:
    target = onnx_model.with_suffix(".inputs.npz")
    shutil.copy(tmp_path / "given.npz", target)
    refused(run_cli(capsys, "run", onnx_model, "--output", target), target, target.read_bytes(), "reads or records")


def test_the_weights_of_an_ir(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for suffix in (".xml", ".bin"):
        shutil.copy((SAMPLES / "loop_for.xml").with_suffix(suffix), tmp_path)
    for target in (tmp_path / "loop_for.xml", tmp_path / "loop_for.bin"):
        before = target.read_bytes()
        refused(run_cli(capsys, "run", tmp_path / "loop_for.xml", "--output", target), target, before, "reads or")


def test_external_data_and_single_inputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = proto("g (float[300] x) => (float[300] y) { y = Add (x, w) }")
    result.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(300, np.float32), "w"))
    onnx.save(result, tmp_path / "m.onnx", save_as_external_data=True, location="w.data", size_threshold=0)
    np.save(tmp_path / "x.npy", np.ones(300, np.float32))
    for target in (tmp_path / "w.data", tmp_path / "x.npy"):
        before = target.read_bytes()
        ran = run_cli(capsys, "run", tmp_path / "m.onnx", "--input", f"x={tmp_path / 'x.npy'}", "--output", target)
        refused(ran, target, before, "outputs are saved in the form that the ending names")


def test_outputs_onto_the_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str], onnx_model: Path) -> None:
    target = tmp_path / "both.npz"
    arguments = ("run", onnx_model, "--inputs", tmp_path / "given.npz", "--record", target)
    assert "reads or records" in run_cli(capsys, *arguments, "--output", target).error_line
    assert not target.exists()
    assert run_cli(capsys, *arguments).status == 0
    before = target.read_bytes()
    refused(run_cli(capsys, "export", target, target), target, before, "reads or records")


def test_outputs_are_replaced_by_outputs(tmp_path: Path, capsys: pytest.CaptureFixture[str], onnx_model: Path) -> None:
    target = tmp_path / "out.npz"
    target.touch()
    for count in (3, 4):
        arguments = ("run", onnx_model, "--input", f"M={count}", "--input", "v0=1", "--output", target)
        assert run_cli(capsys, *arguments).status == 0
        with np.load(target) as outputs:
            assert outputs["s"].shape == (count,)
