"""Between an ONNX model and the IR that was made of it the search ended where a converter had written other operators,
although names reported which is which."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import loopdbg
from fault_finding_models import (
    CELL,
    CELL_INPUTS,
    CELL_WEIGHTS,
    DECODER,
    DECODER_INPUTS,
    DECODER_WEIGHTS,
    replace_parts,
    save_with_weights,
)
from loopdbg.debugger.compare.report.findings import Comparison
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions, compare_sides
from loopdbg.debugger.compare.running.sides import ModelSide

openvino = pytest.importorskip("openvino")


def converted(folder: Path, text: str, weights: dict[str, np.ndarray]) -> Path:
    save_with_weights(folder / "wrong.onnx", text, weights)
    openvino.save_model(openvino.convert_model(folder / "wrong.onnx"), folder / "wrong.xml", compress_to_fp16=False)
    return folder / "wrong.xml"


def compared(folder: Path, text: str, weights: dict, inputs: dict, *changes: tuple[str, str]) -> Comparison:
    save_with_weights(folder / "right.onnx", text, weights)
    models = (
        loopdbg.load(folder / "right.onnx"),
        loopdbg.load(converted(folder, replace_parts(text, *changes), weights)),
    )
    return compare_sides(ModelSide(models[0], inputs), ModelSide(models[1], inputs), ComparisonOptions())


@pytest.mark.parametrize(
    ("change", "value", "remark"),
    [
        (("gate_o, gate_f", "gate_f, gate_o"), "gate_o", ""),
        (("Mul (f, c)", "Mul (f, h)"), "kept", "computed from 'c' here, from 'h' there"),
        (("(frame, W, B)", "(frame, W)"), "gates", "what they are computed from is the same"),
    ],
)
def test_a_cell(tmp_path: Path, change: tuple[str, str], value: str, remark: str) -> None:
    result = compared(tmp_path, CELL, CELL_WEIGHTS, CELL_INPUTS, change)
    assert result.first is not None and result.first.node is not None and result.first.cause is not None
    assert result.first.node.name == value and remark in result.first.cause.remark


@pytest.mark.parametrize(
    ("change", "value", "iteration", "remark"),
    [
        (("LessOrEqual", "Less"), "seen", 0, "what they are computed from is the same"),
        (("(keys_new)\n", "(keys)\n"), "raw", 10, "computed from 'keys_new' here, from 'keys' there"),
    ],
)
def test_a_decoder(tmp_path: Path, change: tuple[str, str], value: str, iteration: int, remark: str) -> None:
    result = compared(tmp_path, DECODER, DECODER_WEIGHTS, DECODER_INPUTS, change)
    assert result.first is not None and result.first.node is not None and result.first.cause is not None
    assert result.first.node.name == value and remark in result.first.cause.remark
    assert result.first.node.difference.iteration == iteration


def test_what_was_not_changed_is_the_same(tmp_path: Path) -> None:
    assert compared(tmp_path, CELL, CELL_WEIGHTS, CELL_INPUTS).same
