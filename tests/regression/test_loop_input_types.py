"""Iteration numbers and conditions that are sequences, and trip counts that are no integers, were internal errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from cli_runner import run_cli, save_text_model
from text_models import proto

MODEL = """g (int64 n, float x0) => (float last) {
  last = Loop <body = b (int64 i, bool c, float x) => (bool c2, float y) {
    c2 = Identity (c)
    y = Add (x, x)
  }> (n, , x0)
}"""


@pytest.mark.parametrize(("place", "what"), [(0, "iteration number, body input 0,"), (1, "condition, body input 1,")])
def test_sequences(place: int, what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = proto(MODEL)
    declared = model.graph.node[0].attribute[0].g.input[place]
    declared.CopyFrom(helper.make_tensor_sequence_value_info(declared.name, TensorProto.FLOAT, None))
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    for command in (["info"], ["run", "--input", "n=2"]):
        complaint = run_cli(capsys, *command[:1], path, *command[1:]).error_line
        assert f"its {what} '{declared.name}' is seq(float32[...])" in complaint


@pytest.mark.parametrize("value", ['string {"three"}', "float {3.5}", "bool {1}", "float {0x7fc00000}"])
@pytest.mark.parametrize("command", [["info"], ["info", "--json"], ["explain"], ["run"]])
def test_trip_counts(value: str, command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = MODEL.replace("int64 n, ", "").replace("{\n  last", "{\n  n = Constant <value = VALUE> ()\n  last", 1)
    array = {
        "string": np.array("three", object), "float": np.array(np.nan if "7fc" in value else 3.5, np.float32),
        "bool": np.array(True),
    }[value.split()[0]]  # fmt: skip
    model = proto(text.replace("VALUE", "float {0}"))
    model.graph.node[0].attribute[0].t.CopyFrom(onnx.numpy_helper.from_array(array))
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    ran = run_cli(capsys, *command[:1], path, *command[1:])
    if command == ["run"]:
        assert "trip count" in ran.error_line and "one integer" in ran.error_line
    else:
        assert ran.status == 0


def test_a_trip_count_that_is_an_integer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(capsys, "run", save_text_model(tmp_path, MODEL), "--input", "n=2").status == 0
