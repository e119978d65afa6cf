"""Thirty functions that each call the next one twice stand for 2^30 nodes: refused before any is made."""

from __future__ import annotations

import time
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from cli_runner import run_cli


def doubling(depth: int) -> onnx.ModelProto:
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("f", 1)]

    def call(name: str, text: str, text_value: str) -> onnx.NodeProto:
        return helper.make_node(name, [text], [text_value], domain="f")

    functions = [
        helper.make_function(
            "f", f"F{k}", ["a"], ["r"], [call(f"F{k + 1}", "a", "b"), call(f"F{k + 1}", "b", "r")], opsets
        )
        for k in range(depth)
    ]
    functions.append(
        helper.make_function("f", f"F{depth}", ["a"], ["r"], [helper.make_node("Add", ["a", "a"], ["r"])], opsets)
    )
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, []) for name in "xy")
    graph = helper.make_graph([call("F0", "x", "y")], "g", [x], [y])
    return helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=10)


def test_too_many_nodes_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bomb.onnx"
    for depth in (30, 900):
        onnx.save(doubling(depth), path)
        before = time.process_time()
        for command in ("info", "run"):
            assert (f"{2**depth} nodes" if depth < 40 else f"2^{depth} nodes") in run_cli(
                capsys, command, path
            ).error_line
        assert time.process_time() - before < 5


def test_some_thousand_are_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "calls.onnx"
    onnx.save(doubling(10), path)
    assert "1024 Add" in run_cli(capsys, "info", path).out


def test_functions_that_call_themselves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = doubling(3)
    model.functions[3].node[0].op_type = "F0"
    model.functions[3].node[0].domain = "f"
    del model.functions[3].node[0].input[1:]
    path = tmp_path / "circle.onnx"
    onnx.save(model, path)
    assert "calls a function that it is part of" in run_cli(capsys, "info", path).error_line
