"""A constant with the length of the exporter's example contradicts a named dimension: nothing reported it before a run,
and the error of a run left open where the size comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import loopdbg
from cli_runner import run_cli as command
from loopdbg.runtime.errors import ExecutionError
from text_models import model


def graph(inputs: str, node: str, constants: str = "", output: str = "float[?,?,?] y") -> str:
    return f"g ({inputs}) => ({output}) {constants} {{ {node} }}"


X = "float[2,T,6] x"
EXPAND = graph("float[2,T,1] x", "y = Expand (x, c)", "<int64[3] c = {2, 7, 6}>")
RESHAPE = graph(X, "y = Reshape (x, c)", "<int64[2] c = {14, 6}>", "float[?,?] y")
COPIED = graph(X, "y = Reshape (x, c)", "<int64[4] c = {0, 7, 2, 3}>", "float[?,?,?,?] y")
ADD = graph(X, "y = Add (x, c)", "<float[7,1] c = {1, 2, 3, 4, 5, 6, 7}>")
NODE = graph(X, "c = Constant <value = float[7,1] {1, 2, 3, 4, 5, 6, 7}> () y = Add (c, x)")
COMPUTED = graph(
    "float[2,T,1] x", "c = Concat <axis = 0> (a, b) y = Expand (x, c)", "<int64[2] a = {2, 7}, int64[1] b = {6}>"
)
INSIDE = """g (int64 n, float[2,T,1] x) => (float[?,?,?] y) <int64[3] c = {2, 7, 1}> {
  y = Loop (n, , x) <body = b (int64 i, bool d, float[2,T,1] s) => (bool d2, float[2,T,1] s2) {
    d2 = Identity (d) s2 = Expand (s, c) }> }"""

#: Model, name of the constant, sizes of T that run and one that does not.
FIXED = [
    (EXPAND, "'c' is [2,7,6]", "fits only T = 7 or 1", (7, 1), 11),
    (RESHAPE, "'c' is [14,6]", "fits only T = 7", (7,), 11),
    (COPIED, "'c' is [0,7,2,3]", "fits only T = 7", (7,), 14),
    (ADD, "'c' has the shape [7,1]", "fits only T = 7 or 1", (7, 1), 11),
    (NODE, "'c' has the shape [7,1]", "fits only T = 7 or 1", (7, 1), 2),
    (COMPUTED, "'c' is [2,7,6]", "fits only T = 7 or 1", (7, 1), 11),
    (INSIDE, "'c' is [2,7,1]", "fits only T = 7 or 1", (7, 1), 11),
]
FREE = [
    graph("float[2,T,1] x", "y = Expand (x, c)", "<int64[3] c = {2, 1, 6}>"),
    graph("float[2,T,1] x", "y = Expand (x, c)", "<int64[2] c = {1, 6}>"),
    graph("float[2,7,1] x", "y = Expand (x, c)", "<int64[3] c = {2, 7, 6}>"),
    graph("float[2,?,1] x", "y = Expand (x, c)", "<int64[3] c = {2, 7, 6}>"),  # no size is promised
    graph(X, "y = Reshape (x, c)", "<int64[3] c = {2, -1, 3}>"),
    graph(X, "y = Reshape (x, c)", "<int64[3] c = {0, 0, 6}>"),
    graph(X, "y = Reshape (x, c)", "<int64[4] c = {2, 0, 2, 3}>", "float[?,?,?,?] y"),
    graph(X, "y = Add (x, c)", "<float[6] c = {1, 2, 3, 4, 5, 6}>"),
    graph(X, "y = Add (x, c)", "<float[2,1,1] c = {1, 2}>"),
    graph(X, "s = Shape (x) y = Expand (x, s)"),
    graph("float[2,T,1] x, int64[3] c", "y = Expand (x, c)"),  # the shape is an input
]


def feeds(source: loopdbg.Model, size: int) -> dict[str, Any]:
    shapes = {"x": (2, size, *(source.inputs[-1].shape or ())[2:])}
    return {"n": np.int64(1), "x": np.ones(shapes["x"], np.float32)}


def run(source: loopdbg.Model, size: int) -> Any:
    inputs = feeds(source, size)
    return source.run({port.name: inputs[port.name] for port in source.inputs})["y"]


@pytest.mark.parametrize(("text", "constant", "sizes", "runs", "fails"), FIXED)
def test_a_fixed_size_is_reported_and_true(
    text: str, constant: str, sizes: str, runs: tuple[int, ...], fails: int
) -> None:
    source = model(text)
    (note,) = source.graph.notes
    assert f"the constant {constant}:" in note and sizes in note and "declared as float32[2,T," in note
    for size in runs:
        assert run(source, size).size
    with pytest.raises(ExecutionError) as caught:
        run(source, fails)
    assert f"the constant {constant}:" in str(caught.value) and sizes in str(caught.value)


@pytest.mark.parametrize("text", FREE)
def test_free_sizes_are_not_reported(text: str) -> None:
    assert not model(text).graph.notes


def test_an_error_for_another_reason_does_not_name_the_constant() -> None:
    source = model(
        graph(f"{X}, int64[3] t", "z = Add (x, c) y = Reshape (z, t)", "<float[7,1] c = {1, 2, 3, 4, 5, 6, 7}>")
    )
    with pytest.raises(ExecutionError) as caught:
        source.run({"x": np.ones((2, 7, 6), np.float32), "t": np.array([5, 5, 5])})
    assert "constant" not in str(caught.value)


def test_the_same_size_in_many_constants_is_one_note() -> None:
    source = model(
        graph(
            X,
            "a = Add (x, c) b = Mul (a, c) e = Expand (x, d) f = Sub (x, c) y = Add (b, x)",
            "<float[7,1] c = {1, 2, 3, 4, 5, 6, 7}, int64[3] d = {2, 7, 6}>",
        )
    )
    (note,) = source.graph.notes
    assert "Add 'Add_0'" in note and "so do 2 other nodes" in note


@pytest.mark.parametrize(("size", "outcome"), [(11, "onnxruntime fails too: "), (7, "")])
def test_a_comparison_tells_what_the_peer_makes_of_it(
    size: int, outcome: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]>{EXPAND}'), path)
    np.savez(tmp_path / "in.npz", x=np.ones((2, size, 1), np.float32))
    ran = command(capsys, "diff", path, "--against", "onnxruntime", "--inputs", tmp_path / "in.npz")
    assert ran.status == (1 if outcome else 0)
    assert outcome in ran.err
