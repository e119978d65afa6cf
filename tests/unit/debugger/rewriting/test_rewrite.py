"""Rewrites: what counts as the same result, and what a written file keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import loopdbg
import text_models
from loopdbg.debugger.compare.running.value_comparison import Tolerance
from loopdbg.debugger.rewriting.editable_model import EditableOnnx, open_editable
from loopdbg.debugger.rewriting.random_cases import random_inputs
from loopdbg.debugger.rewriting.rewrite import Rewrite, apply_verified, bit_identical, verify_rewrite

_DOUBLE = "g (float[N] x) => (float[N] y) { y = Add (x, x) }"
_TIMES_TWO = "g (float[N] x) => (float[N] y) { t = Constant <value = float {2}> () y = Mul (x, t) }"
_ROUNDED = "g (float[N] x) => (float[N] y) { t = Constant <value = float {2.0000002}> () y = Mul (x, t) }"


def _verify(left: str, right: str, tolerance: Tolerance | None = None) -> Any:
    original = text_models.model(left)
    return verify_rewrite(original, text_models.model(right), random_inputs(original, 20), 10.0, tolerance)


def test_equal_models_are_identical() -> None:
    result = _verify(_DOUBLE, _TIMES_TWO)
    assert (result.is_identical, result.compared) == (True, 20)


def test_one_unit_in_the_last_place_is_a_difference() -> None:
    result = _verify(_DOUBLE, _ROUNDED)
    assert not result.agrees
    assert "'y' differs" in result.difference


def test_a_stated_rounding_is_measured() -> None:
    result = _verify(_DOUBLE, _ROUNDED, Tolerance(1e-6, 0.0))
    assert (result.agrees, result.is_identical) == (True, False)
    assert 0 < result.largest < 1e-5


def test_another_signature_is_a_difference() -> None:
    assert "outputs" in _verify(_DOUBLE, _DOUBLE.replace("y", "z")).difference


def test_a_model_that_never_runs_is_not_verified() -> None:
    text = "g (float[2] x, float[3] y) => (float[2] z) { z = Add (x, y) }"
    result = _verify(text, text)
    assert (result.agrees, result.compared) == (False, 0)
    assert result.failed


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (np.float32([0.0]), np.float32([-0.0]), False),
        (np.float32([np.nan, 1]), -np.float32([np.nan, -1]), True),
        (np.float32([np.nan, 1]), np.float32([np.nan, 2]), False),
        (np.ones(2, np.float32), np.ones(2), False),
        (np.ones((1, 2)), np.ones(2), False),
        ([np.ones(2)], [np.ones(2)], True),
        ([np.ones(2)], [np.ones(2)] * 2, False),
        (np.array(["a"], object), np.array(["b"], object), False),
    ],
)
def test_bit_identical(left: Any, right: Any, same: bool) -> None:
    assert bit_identical(left, right) is same


def test_inputs_have_edge_cases_and_several_sizes() -> None:
    model = text_models.model("g (int64 m, bool c, float[N] x) => (float[N] y) { y = Add (x, x) }")
    cases = list(random_inputs(model, 30))
    assert len(cases) == 30
    assert {int(case["m"]) for case in cases} >= {0, -1, 1, 2}
    assert {bool(case["c"]) for case in cases} == {True, False}
    assert {np.size(case["x"]) for case in cases} >= {0, 1, 2, 3}
    assert any(np.isnan(case["x"]).any() for case in cases)


def test_a_written_file_keeps_metadata_and_external_data(tmp_path: Path) -> None:
    proto = text_models.proto("g (float[4] x) => (float[4] y) { y = Add (x, w) }")
    weights = np.arange(4, dtype=np.float32)
    proto.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    proto.metadata_props.add(key="author", value="the lab")
    proto.graph.node[0].doc_string, proto.graph.node[0].name = "adds", "sum"
    source = tmp_path / "a" / "model.onnx"
    source.parent.mkdir()
    onnx.save(proto, source, save_as_external_data=True, location="w.data", size_threshold=0)
    model = open_editable(source)

    def use_sum(edited: EditableOnnx) -> None:
        edited.proto.graph.node[0].op_type = "Sum"

    rewrite = Rewrite("sum", "main", "sum", "Add becomes Sum", use_sum)
    original = loopdbg.load(source)
    edited, result = apply_verified(model, [rewrite], original, list(random_inputs(original, 5)), 5.0)
    assert edited is not None
    assert result.is_identical
    target = tmp_path / "b" / "model.onnx"
    assert edited.write(target) == [target, target.parent / "w.data"]
    written = onnx.load(target, load_external_data=False)
    assert written.metadata_props == proto.metadata_props
    assert (written.graph.node[0].doc_string, written.graph.node[0].name) == ("adds", "sum")
    assert written.graph.initializer[0].external_data[0].value == "w.data"
    assert bit_identical(loopdbg.load(target).run({"x": weights})["y"], weights * 2)


def test_a_wrong_edit_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "model.onnx"
    onnx.save(text_models.proto(_DOUBLE), source)

    def use_mul(edited: EditableOnnx) -> None:
        edited.proto.graph.node[0].op_type = "Mul"

    original = loopdbg.load(source)
    wrong = Rewrite("wrong", "main", "y", "Add becomes Mul", use_mul)
    edited, result = apply_verified(open_editable(source), [wrong], original, list(random_inputs(original, 5)), 5.0)
    assert edited is None
    assert "'y' differs" in result.difference


def test_an_ir_is_written_as_it_was(tmp_path: Path) -> None:
    source = text_models.SAMPLES / "loop_for.xml"
    model = open_editable(source)
    target = tmp_path / source.name
    model.write(target)
    original = loopdbg.load(source)
    inputs = random_inputs(original, 3)
    assert verify_rewrite(original, loopdbg.load(target), inputs, 10.0).is_identical
