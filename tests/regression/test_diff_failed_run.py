"""``diff`` reports what it compared before a run failed, and what failed where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from cli_runner import run_cli
from text_models import proto

#: Iteration 3 reads beyond the end of its row.
MODEL = """g (float[6,2] x, float[1,2] h0, int64[6] k) => (float[1,2] h) {
  h = Scan <num_scan_inputs = 2, body = b (float[1,2] state, float[2] row, int64 i) => (float[1,2] new) {
    element = Gather <axis = 0> (row, i)
    new = Add (state, element)
  }> (h0, x, k)
}"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    onnx.save(proto(MODEL), tmp_path / "m.onnx")
    rows = np.arange(12, dtype=np.float32).reshape(6, 2)
    indices = np.array([0, 1, 0, 2, 0, 0])
    np.savez(tmp_path / "in.npz", x=rows, h0=np.zeros((1, 2), np.float32), k=indices)
    return tmp_path / "m.onnx"


def compare_failing(model: Path, capsys: pytest.CaptureFixture[str], *words: object) -> dict[str, Any]:
    ran = run_cli(capsys, "diff", model, *words, "--inputs", model.parent / "in.npz", "--json")
    assert ran.status == 1
    comparison: dict[str, Any] = json.loads(ran.out)["comparisons"][0]
    error = comparison["error"]
    assert (error["op_type"], error["loop"], error["iteration"]) == ("Gather", "Scan_0", 3)
    assert error["text"] in ran.err
    return comparison


def test_iterations_before_a_failure_are_compared(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    comparison = compare_failing(model, capsys, model)
    (loop,) = comparison["loops"]
    assert (comparison["verdict"], loop["iterations"], loop["unended"]) == ("cannot compare", 3, 3)


def test_difference_before_a_failure_is_reported(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx.save(proto(MODEL.replace("Add (state", "Sub (state")), model.with_name("other.onnx"))
    comparison = compare_failing(model, capsys, model.with_name("other.onnx"))
    (loop,) = comparison["loops"]
    assert comparison["verdict"] == "differ"
    assert (loop["first"]["iteration"], loop["node"]["op_type"]) == (1, "Add")


def test_reference_is_compared_up_to_a_failure(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(model.with_name("values.npz"), new=np.array([[[0, 0]], [[3, 3]], [[8, 8]]], np.float32))
    (loop,) = compare_failing(model, capsys, model.with_name("values.npz"))["loops"]
    assert (loop["iterations"], loop["first"]["iteration"]) == (3, 2)


def test_runtime_is_compared_up_to_a_failure(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnxruntime")
    comparison = compare_failing(model, capsys, "--against", "onnxruntime")
    (loop,) = comparison["loops"]
    assert (loop["iterations"], loop["differing"], loop["unended"]) == (3, 0, 3)
    assert "onnxruntime fails too" in comparison["error"]["text"]
