"""The outputs that ONNX test data has were not read: a wrong result passed."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from cli_runner import run_cli as command
from text_models import proto

MODEL = """g (float[2] x0) => (float[2] last, float[2] doubled) {
  n = Constant <value = int64 {3}> ()
  last = Loop (n, , x0) <body = b (int64 i, bool c, float[2] a) => (bool c2, float[2] y) {
    c2 = Identity (c)
    one = Constant <value = float {1}> ()
    y = Add (a, one)
  }>
  doubled = Add (last, last)
}"""


def written(folder: Path, **outputs: list[float]) -> Path:
    data = folder / "test_data_set_0"
    data.mkdir()
    onnx.save(proto(MODEL), folder / "model.onnx")
    for name, value, numbers in (
        ("input_0", "x0", [1, 2]),
        ("output_0", "last", outputs.get("last")),
        ("output_1", "doubled", outputs.get("doubled")),
    ):
        if numbers is not None:
            tensor = numpy_helper.from_array(np.float32(numbers), value)
            (data / f"{name}.pb").write_bytes(tensor.SerializeToString())
    return folder / "model.onnx"


def test_outputs_as_expected(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = written(tmp_path, last=[4, 5], doubled=[8, 10])
    ran = command(capsys, "run", path)
    assert ran.status == 0 and "all 2 outputs are as in" in ran.err
    assert command(capsys, "run", path, "--inputs", tmp_path / "test_data_set_0").status == 0


def test_an_output_that_differs_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = written(tmp_path, last=[4, 99], doubled=[8, 10])
    for more in ((), ("--inputs", tmp_path / "test_data_set_0")):
        ran = command(capsys, "run", path, *more)
        assert ran.status == 5
        assert re.search(
            r"^loopdbg: output 'last' differs from .*test_data_set_0: 1 of 2 elements differ", ran.err, re.M
        )
    # Other inputs give other outputs.
    ran = command(capsys, "run", path, "--input", "x0=[0,0]")
    assert ran.status == 0 and "differs" not in ran.err


def test_a_folder_without_outputs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ran = command(capsys, "run", written(tmp_path))
    assert ran.status == 0 and "outputs are as" not in ran.err


def test_expected_outputs_of_another_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = written(tmp_path)
    good, bad, none = tmp_path / "good.npz", tmp_path / "bad.npz", tmp_path / "none.npz"
    np.savez(good, last=np.float32([4, 5]))
    np.savez(bad, last=np.float32([4, 6]))
    np.savez(none, other=np.float32(1))
    assert command(capsys, "run", path, "--expect", good).status == 0
    assert command(capsys, "run", path, "--expect", bad).status == 5
    ran = command(capsys, "run", path, "--expect", none)
    assert ran.status == 1 and "the model has no output 'other'" in ran.error_line
    ran = command(capsys, "run", path, "--expect", tmp_path / "missing.npz")
    assert ran.status == 1 and "no such file" in ran.error_line
