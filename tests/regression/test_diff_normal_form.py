"""Models that mean the same were stated to be written otherwise: a weight stored transposed, an axis counted from the
other end, a rank that one of them declares, an argument that was an attribute."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import loopdbg
from diff_checks import compare_models, static_differences
from text_models import load_proto, model, proto

F32 = np.float32


def loop(body: str, kind: str = "float[3]", more: str = "") -> str:
    return f"""g ({kind} x, float[3] a) => ({kind} y) <int64 n = {{3}}, bool go = {{1}}{more}> {{
      y = Loop (n, go, x) <body = b (int64 i, bool c, {kind} h) => (bool c2, {kind} h_next) {{
        c2 = Identity (c)
        {body}
      }}>
    }}"""


VECTOR = {"x": F32([0.5, -1, 2]), "a": F32([0.5, 1, 2])}
MATRIX = {"x": F32([[0.5, -1, 2], [1, 3, 0.25]]), "a": F32([0.5, 1, 2])}
SOFTMAX = loop("s = Softmax <axis = -1> (h)\nh_next = Add (s, h)")
SQUARE = loop("s = Softmax <axis = -1> (h)\nh_next = Add (s, h)", "float[2,3]")
CONCAT = loop(
    "s0, s1 = Split <axis = -1> (h, sizes)\nh_next = Concat <axis = -1> (s1, s0)", more=", int64[2] sizes = {1, 2}"
)
NORM = loop("m = LayerNormalization <axis = -1> (h, a)\nh_next = Tanh (m)")
PRODUCT = loop("m = MatMul (h, W)\nh_next = Tanh (m)", "float[1,3]", ", float[3,3] W = {1, 2, 3, 4, 5, 6, 7, 8, 9}")
TURNED = PRODUCT.replace("1, 2, 3, 4, 5, 6, 7, 8, 9", "1, 4, 7, 2, 5, 8, 3, 6, 9")


@pytest.mark.parametrize(
    ("left", "right", "inputs"),
    [
        (SOFTMAX, SOFTMAX.replace("axis = -1", "axis = 0"), VECTOR),
        (SQUARE, SQUARE.replace("axis = -1", "axis = 1"), MATRIX),
        (CONCAT, CONCAT.replace("axis = -1", "axis = 0"), VECTOR),
        (NORM, NORM.replace("axis = -1>", "axis = -1, stash_type = 1, epsilon = 1.0e-5>"), VECTOR),
        (
            PRODUCT,
            TURNED.replace("m = MatMul (h, W)", "t = Transpose <perm = [1, 0]> (W)\nm = MatMul (h, t)"),
            {"x": F32([[0.1, -0.2, 0.3]]), "a": VECTOR["a"]},
        ),
    ],
)
def test_nothing_is_listed(left: str, right: str, inputs: dict[str, np.ndarray]) -> None:
    result = compare_models(left, right, **inputs)
    assert result.same and not result.static_differences


def test_a_weight_that_is_really_transposed_is_listed() -> None:
    result = compare_models(PRODUCT, TURNED, x=F32([[0.1, -0.2, 0.3]]), a=VECTOR["a"])
    assert static_differences(result) == [("constant", "W")]


def test_the_ir_of_a_model_keeps_its_weight_transposed(tmp_path: Path) -> None:
    openvino = pytest.importorskip("openvino")
    path, net = tmp_path / "m.onnx", tmp_path / "m.xml"
    onnx.save(proto(PRODUCT.replace(", float[3] a)", ")")), path)
    openvino.save_model(openvino.convert_model(path), net, compress_to_fp16=False)
    inputs = {"x": F32([[0.1, -0.2, 0.3]])}
    result = compare_models(loopdbg.load(path), loopdbg.load(net), **inputs)
    assert result.same and not result.static_differences
    result = compare_models(model(TURNED.replace(", float[3] a)", ")")), loopdbg.load(net), **inputs)
    assert not result.same and static_differences(result) == [("constant", "W")]


def test_attributes_that_became_inputs() -> None:
    old = "g (float[1,3] x) => (float[3] y) { y = Squeeze <axes = [0]> (x) }"
    new = "g (float[1,3] x) => (float[3] y) <int64[1] axes = {0}> { y = Squeeze (x, axes) }"
    result = compare_models(model(old, 11), model(new, 13), x=F32([[1, 2, 3]]))
    assert result.same and not result.static_differences


def test_a_shape_that_one_model_declares() -> None:
    text = """g (float[3] h0, float[4,3] xs) => (float[3] last) {
      more = Mul (xs, xs)
      last = Scan <num_scan_inputs = 1, body = b (float[3] h, float[3] u) => (float[3] h_next) { h_next = Add (h, u) }>
        (h0, more)
    }"""
    declared = proto(text)
    declared.graph.value_info.append(onnx.helper.make_tensor_value_info("more", onnx.TensorProto.FLOAT, [4, 3]))
    result = compare_models(load_proto(declared), text, h0=F32([0, 0, 0]), xs=np.ones((4, 3), F32))
    assert result.same and not result.static_differences


@pytest.mark.parametrize(("intermediate", "is_same"), [(11, True), (10, False)])
def test_a_conversion_to_a_wider_type_and_back(intermediate: int, is_same: bool) -> None:
    """float64 holds all numbers of float32; float16 does not."""
    plain = "g (float[2] x) => (float[2] y) { y = Neg (x) }"
    converted = (
        f"g (float[2] x) => (float[2] y) {{ w = Cast <to = {intermediate}> (x)\nb = Cast <to = 1> (w)\ny = Neg (b) }}"
    )
    result = compare_models(plain, converted, x=F32([1, 2]))
    assert result.same and bool(result.static_differences) is not is_same


@pytest.mark.parametrize(("axes", "is_same"), [(2, True), (3, False)])
def test_a_factor_of_one_next_to_a_dimension_without_a_number(axes: int, is_same: bool) -> None:
    """A factor with more axes gives the result another shape."""
    sizes = ",".join("1" * axes)
    plain = "g (float[m,2] x) => (float[a,b] y, float[m,2] z) { y = Neg (x)\nz = Neg (x) }"
    factor = f"<float[{sizes}] f = {{1}}> {{ p = Mul (x, f)\n"
    result = compare_models(plain, plain.replace("{ y = Neg (x)", f"{factor}y = Neg (p)"), x=F32([[1, 2], [3, 4]]))
    assert bool(result.static_differences) is not is_same
