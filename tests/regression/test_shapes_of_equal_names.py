"""Types that ONNX infers were looked up by name alone: `info` took the shape of a value for that of another one of the
same name in another body, and reported it as contradicted."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from loopdbg.runtime.frontends.onnx.operator_function_bodies import InferredTypes
from loopdbg.runtime.frontends.onnx.type_checks import contradictory_shapes
from text_models import proto

TWO = """g (float[2] x, double[3] w) => (float[2] a, double[3] b) <int64 n = {2}> {
  a = Loop (n, , x) <body = b1 (int64 i, bool c, float[2] s) => (bool c2, float[2] s2) {
    c2 = Identity (c) y = Neg (s) s2 = Abs (y) }>
  b = Loop (n, , w) <body = b2 (int64 j, bool d, double[3] t) => (bool d2, double[3] t2) {
    d2 = Identity (d) y = Neg (t) t2 = Abs (y) }>
}"""


def two_bodies(size: int) -> onnx.ModelProto:
    """Both bodies have a 'y', of shapes [2] and [3]; the second one declares its own."""
    model = proto(TWO)
    body = model.graph.node[1].attribute[0].g
    body.value_info.append(helper.make_tensor_value_info("y", TensorProto.DOUBLE, [size]))
    return model


@pytest.mark.parametrize(("size", "contradicted"), [(3, []), (4, [("y", "float64[4]", "float64[3]")])])
def test_a_declared_shape_is_compared_with_that_of_the_same_value(
    size: int, contradicted: list[tuple[str, str, str]], tmp_path: Path
) -> None:
    onnx.save(two_bodies(size), tmp_path / "m.onnx")
    result = contradictory_shapes(tmp_path / "m.onnx")
    assert [(name, str(declared), str(computed)) for name, declared, computed in result] == contradicted


def test_inferred_types_are_those_of_one_graph() -> None:
    types = InferredTypes(two_bodies(3))
    results = []
    for position in range(2):
        data = types.type_of(((position, "body"),), "y")
        assert data is not None
        results.append(onnx.TypeProto.FromString(data).tensor_type.elem_type)
    assert results == [TensorProto.FLOAT, TensorProto.DOUBLE]
    assert types.type_of((), "y") is None
