"""A pipe or a device in place of a file was waited for, or read without an end; the data of a test input was looked for
where loopdbg runs, not next to it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from cli_runner import run_cli as command
from cli_runner import save_text_model
from text_models import SAMPLES

TEXT = "g (float[3] x) => (float[3] y) { y = Neg (x) }"
MODEL_INPUTS = ("--input", "a=2", "--input", "tol=1e-6")

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")


@pytest.mark.parametrize("name", ["f.onnx", "f.xml", "f.loopdb", "f.py"])
def test_a_pipe_in_place_of_a_model(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    for verb in ("info", "run", "explain"):
        assert command(capsys, verb, tmp_path / name).status == 1


@pytest.mark.parametrize(
    "options", [("--inputs", "PIPE"), ("--input", "a=PIPE"), ("-x", "PIPE", "--batch"), ("-x", "/dev/zero", "--batch")]
)
def test_a_pipe_in_place_of_inputs_and_commands(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: tuple[str, ...]
) -> None:
    os.mkfifo(tmp_path / "f.npy")
    words = [word.replace("PIPE", str(tmp_path / "f.npy")) for word in options]
    inputs = MODEL_INPUTS if "-x" in options else MODEL_INPUTS[2:]
    ran = command(capsys, "run", SAMPLES / "newton_sqrt.onnx", *inputs, *words)
    assert ran.status in (1, 2) and "no regular file" in ran.err and "Traceback" not in ran.err


def external(folder: Path, location: str, **more: int) -> Path:
    """Test data whose only input has its data in another file."""
    data = folder / "data"
    data.mkdir(exist_ok=True)
    tensor = numpy_helper.from_array(np.float32([1, 2, 3]), "x")
    for key, value in (("location", location), *more.items()):
        tensor.external_data.add(key=key, value=str(value))
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    (data / "input_0.pb").write_bytes(tensor.SerializeToString())
    return data


def test_external_data_of_test_input(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.bin").write_bytes(np.float32([9, 9, 9]).tobytes())
    monkeypatch.chdir(tmp_path)
    path, data = save_text_model(tmp_path, TEXT), external(tmp_path, "x.bin")
    ran = command(capsys, "run", path, "--inputs", data)
    assert ran.status == 1 and "its data in 'x.bin': No such file" in ran.error_line
    (data / "x.bin").write_bytes(bytes(8) + np.float32([1, 2, 3]).tobytes())
    external(tmp_path, "x.bin", offset=8)
    ran = command(capsys, "run", path, "--inputs", data)
    assert ran.status == 0 and "[-1.0, -2.0, -3.0]" in ran.out


@pytest.mark.parametrize(
    ("location", "why"),
    [
        ("../x.bin", "leads out of the folder"),
        ("ABSOLUTE", "leads out of the folder"),
        ("link", "leads out of the folder"),
        ("short", "are asked for"),
    ],
)
def test_data_that_is_nowhere_to_be_looked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, location: str, why: str
) -> None:
    (tmp_path / "x.bin").write_bytes(np.float32([9, 9, 9]).tobytes())
    data = external(tmp_path, location.replace("ABSOLUTE", str(tmp_path / "x.bin")), length=12)
    (data / "link").symlink_to(tmp_path / "x.bin")
    (data / "short").write_bytes(bytes(4))
    ran = command(capsys, "run", save_text_model(tmp_path, TEXT), "--inputs", data)
    assert ran.status == 1 and why in ran.error_line


@pytest.mark.skipif(sys.platform != "linux", reason="names in bytes are Linux's")
def test_a_name_that_is_not_utf_8(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"caf\xe9.onnx")
    odd.write_bytes((SAMPLES / "newton_sqrt.onnx").read_bytes())
    assert command(capsys, "run", odd, *MODEL_INPUTS, "--record", tmp_path / "odd.loopdb").status == 0
    assert command(capsys, "info", tmp_path / "odd.loopdb").status == 0
