"""Comparing two models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdbg
import text_models
from loopdbg.debugger.compare.alignment import model_alignment
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions, compare_sides
from loopdbg.debugger.compare.running.sides import ModelSide
from text_models import SAMPLES

from .newton_models import NEWTON, write_wrong_newton


def side(model: loopdbg.Model, **inputs: Any) -> ModelSide:
    return ModelSide(model, inputs)


def test_a_model_and_itself() -> None:
    model = loopdbg.load(SAMPLES / "newton_sqrt.onnx")
    result = compare_sides(side(model, **NEWTON), side(model, **NEWTON), ComparisonOptions())
    assert result.same and result.compared_outputs == 2 and result.loops[0].iterations == 5


def test_identical_models_are_not_aligned(monkeypatch: pytest.MonkeyPatch) -> None:
    """What corresponds has one position in both."""

    def align(*arguments: object) -> None:
        raise AssertionError

    monkeypatch.setattr(model_alignment.ModelAlignment, "__init__", align)
    inputs = dict(np.load(SAMPLES / "two_layer_lstm.inputs.npz"))
    sides = [side(loopdbg.load(SAMPLES / "two_layer_lstm.onnx"), **inputs) for _ in range(2)]
    result = compare_sides(sides[0], sides[1], ComparisonOptions())
    assert result.same and result.script is not None and result.script.matched


def test_identical_models_that_are_aligned_after_all_show_the_cause() -> None:
    """Where two runs of one model differ, here as one of them gets another input."""
    sides = [side(loopdbg.load(SAMPLES / "newton_sqrt.onnx"), **NEWTON | {"a": a}) for a in (2.0, 3.0)]
    result = compare_sides(sides[0], sides[1], ComparisonOptions())
    first = result.loops[0]
    assert not result.same and first.cause is not None and first.cause.source is not None
    assert (first.cause.source.role, first.cause.source.name) == ("input", "a")


def test_a_changed_constant_is_named(tmp_path: Path) -> None:
    right = loopdbg.load(write_wrong_newton(tmp_path / "newton_sqrt.onnx"))
    left = loopdbg.load(SAMPLES / "newton_sqrt.onnx")
    result = compare_sides(side(left, **NEWTON), side(right, **NEWTON), ComparisonOptions())
    (loop,) = result.loops
    assert loop.first is not None and loop.first.iteration == 0
    assert loop.node is None and loop.cause is not None and loop.cause.source is not None
    source = loop.cause.source
    assert (source.role, source.name) == ("constant", "one_half")
    assert source.left == 0.5 and source.right == pytest.approx(0.49)
    (constant,) = result.static_differences
    assert (constant.kind, constant.name, constant.loop_path) == ("constant", "one_half", "main ▸ sqrt")
    assert result.outputs


def test_a_difference_in_an_inner_loop() -> None:
    left = text_models.model(text_models.NESTED)
    right = text_models.model(text_models.NESTED.replace("product = Mul (i, j)", "product = Add (i, j)"))
    inputs = {"M": np.int64(3), "K": np.int64(2)}
    result = compare_sides(side(left, **inputs), side(right, **inputs), ComparisonOptions())
    first = result.first
    assert first is not None and first.first is not None and first.node is not None
    assert first.left.count("▸") == 2
    # 0 * 0 and 0 + 0 are the same; 0 * 1 and 0 + 1 are not.
    assert (first.first.entry, first.first.iteration, first.node.name) == ((0,), 1, "product")
    assert dict(first.node.inputs)["j"] == 1 and dict(first.node.inputs)["i"] == 0


def test_an_ir_against_its_onnx_source(tmp_path: Path) -> None:
    openvino = pytest.importorskip("openvino")
    for name in ("newton_sqrt", "greedy_decoder", "two_layer_lstm", "mandelbrot"):
        source = SAMPLES / f"{name}.onnx"
        openvino.save_model(openvino.Core().read_model(source), tmp_path / f"{name}.xml", compress_to_fp16=False)
        with np.load(source.with_suffix(".inputs.npz")) as archive:
            inputs = dict(archive)
        left, right = loopdbg.load(source), loopdbg.load(tmp_path / f"{name}.xml")
        result = compare_sides(ModelSide(left, inputs), ModelSide(right, inputs), ComparisonOptions())
        assert result.same, (name, result)
        assert result.compared_outputs and all(loop.iterations for loop in result.loops)
        assert not [loop.only_left for loop in result.loops if loop.only_left], name
