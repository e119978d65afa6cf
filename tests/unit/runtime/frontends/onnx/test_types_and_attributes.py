"""Types, data and attributes of a model."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from loopdbg.runtime.dtypes import dtype_from_onnx
from loopdbg.runtime.errors import UnsupportedError
from loopdbg.runtime.frontends.onnx import reader as frontend
from loopdbg.runtime.frontends.onnx.proto_decoding import tensor_to_array
from loopdbg.runtime.graph import Graph, OptionalType, SequenceType, TensorType

from .onnx_texts import assert_refused, operation, proto, read_text, value_names


def attributes_of(**attributes: Any) -> Any:
    """The attributes of a node as the front end gives them."""
    result = helper.make_node("Custom", [], ["y"], domain="own", **attributes)
    model = proto("g () => (float y) {}", imports=', "own" : 3')
    model.graph.node.append(result)
    return operation(frontend.from_proto(model, "m"), "y").attributes


def test_types() -> None:
    graph = read_text(
        """g (float[N,3,?] a, int64[] b, string[2] c, bool d, seq(float[N]) e, optional(int64[2]) f,
             optional(seq(bfloat16[2])) h, float8e5m2 k) => (float[N,3,?] y) { y = Identity (a) }"""
    )
    assert [str(value.type) for value in graph.inputs] == [
        *("float32[N,3,?]", "int64[...]", "string[2]", "bool[]"),
        *("seq(float32[N])", "optional(int64[2])", "optional(seq(bfloat16[2]))", "float8_e5m2[]"),
    ]
    assert isinstance(graph.inputs[4].type, SequenceType)
    assert isinstance(graph.inputs[5].type, OptionalType)


def test_unknown_types_stay_open() -> None:
    model = proto("g (float[4] a, float[4] b, float[2] d) => (float e) { e = Neg (a) t = Neg (b) }")
    model.graph.input[0].ClearField("type")
    model.graph.input[1].type.tensor_type.elem_type = 0
    model.graph.input[2].type.tensor_type.shape.dim[0].dim_value = -1
    graph = frontend.from_proto(model, "m")
    assert [str(value.type) for value in graph.inputs] == ["?[...]", "?[4]", "float32[?]"]
    (unknown,) = graph.nodes[1].outputs
    assert unknown is not None
    assert unknown.type == TensorType()


def test_types_of_inner_values() -> None:
    graph = read_text("""g (float[2] x) => (int64[2] z) <float[2] y> { y = Neg (x) z = Cast <to = 7> (y) }""")
    assert [str(node.outputs[0].type) for node in graph.nodes if node.outputs[0]] == ["float32[2]", "int64[2]"]


@pytest.mark.parametrize("kind", ["map_type", "sparse_tensor_type", "opaque_type"])
def test_unsupported_types(kind: str) -> None:
    model = proto("g (float x) => (float y) { y = Neg (x) }")
    getattr(model.graph.input[0].type, kind).SetInParent()
    assert isinstance(assert_refused(model, "input 'x'", kind.removesuffix("_type"), "not supported"), UnsupportedError)


def test_unsupported_element_type() -> None:
    model = proto("g (float x) => (float y) { y = Neg (x) }")
    model.graph.input[0].type.tensor_type.elem_type = 999
    assert isinstance(assert_refused(model, "input 'x': ONNX element type 999"), UnsupportedError)
    model.graph.input[0].type.tensor_type.elem_type = 1
    model.graph.initializer.append(TensorProto(name="w", data_type=999))
    assert_refused(model, "initializer 'w': ONNX element type 999")


def test_an_input_with_an_initializer_may_be_left_out() -> None:
    graph = read_text("g (float x, float k = {3}) => (float y) { y = Add (x, k) }")
    assert value_names(graph.inputs) == ["x", "k"]
    assert dict(graph.defaults) == {"k": np.float32(3)}
    assert graph.constants == []
    assert [value.constant for value in graph.inputs] == [None, None]


def constant(tensor: TensorProto) -> Any:
    model = proto("g (float x) => (float y) { y = Neg (x) }")
    model.graph.initializer.append(tensor)
    (value,) = frontend.from_proto(model, "m").constants
    assert value.constant is not None
    assert value.type == TensorType(value.constant.dtype, value.constant.shape)
    return value.constant


@pytest.mark.parametrize(
    "dtype",
    [
        *("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("bool", "complex64", "complex128"),
        *(ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.int4, ml_dtypes.uint4),
    ],
)
def test_initializers(dtype: Any) -> None:
    data = np.array([[1, 0, 3], [4, 5, 6]]).astype(dtype)
    got = constant(onnx.numpy_helper.from_array(data, "w"))
    assert got.dtype == data.dtype
    np.testing.assert_array_equal(got.astype(np.complex128), data.astype(np.complex128))


def test_strings() -> None:
    got = constant(TensorProto(name="w", data_type=8, dims=[2, 2], string_data=[b"a", "ü".encode(), b"z\0", b"\xff"]))
    assert got.dtype == object
    assert got.tolist() == [["a", "ü"], ["z\0", b"\xff"]]


def test_broken_data() -> None:
    model = proto("g (float x) => (float y) { y = Neg (x) }")
    model.graph.initializer.append(TensorProto(name="w", data_type=1, dims=[3], raw_data=b"\0" * 8))
    assert_refused(model, "initializer 'w': its data cannot be read")


@pytest.mark.parametrize(
    ("dims", "indices", "expected"),
    [
        ([5], [[1], [4]], [0, 7, 0, 0, 8]),
        ([2, 3], [2, 3], [[0, 0, 7], [8, 0, 0]]),
        ([2, 2], [[0, 1], [1, 0]], [[0, 7], [8, 0]]),
    ],
)
def test_sparse_initializers_become_dense(dims: list[int], indices: Any, expected: Any) -> None:
    model = proto("g (float x) => (float y) { y = Add (x, w) }")
    sparse = model.graph.sparse_initializer.add(dims=dims)
    sparse.values.CopyFrom(onnx.numpy_helper.from_array(np.array([7, 8], np.float32), "w"))
    sparse.indices.CopyFrom(onnx.numpy_helper.from_array(np.array(indices), "i"))
    graph = frontend.from_proto(model, "m")
    (value,) = graph.constants
    assert value.constant is not None
    assert value.constant.dtype == np.float32
    assert value.constant.tolist() == expected
    sparse.dims[0] = 1
    sparse.dims.append(1)
    assert_refused(model, "sparse initializer 'w'", "broken sparse tensor")
    sparse.dims[:] = [1 << 40, 1 << 40]
    assert_refused(model, "sparse initializer 'w'", "broken sparse tensor")


def test_attributes_are_plain_values() -> None:
    plain = {"i": 3, "f": 0.5, "s": "text", "b": b"\xff\x00", "ints": [1, 2], "floats": [0.5], "strings": ["a", "b"]}
    got = attributes_of(**plain)
    assert got == plain
    assert {name: type(value) for name, value in got.items()} == {name: type(value) for name, value in plain.items()}


def test_attributes_that_are_tensors_and_types() -> None:
    tensor = onnx.numpy_helper.from_array(np.arange(3))
    got = attributes_of(
        t=tensor,
        ts=[tensor, tensor],
        tp=helper.make_tensor_type_proto(1, ["N"]),
        tps=[helper.make_tensor_type_proto(7, None)],
    )
    np.testing.assert_array_equal(got["t"], np.arange(3))
    assert [item.tolist() for item in got["ts"]] == [[0, 1, 2]] * 2
    assert [str(item) for item in (got["tp"], *got["tps"])] == ["float32[N]", "int64[...]"]


def test_attributes_that_are_refused() -> None:
    model = proto("g () => (float y) { y = Constant <value = float {1}> () }")
    attribute = model.graph.node[0].attribute[0]
    attribute.type = 0
    assert_refused(model, "Constant 'Constant_0' (opset 16): attribute 'value' has no type")
    attribute.type = onnx.AttributeProto.SPARSE_TENSOR
    assert_refused(model, "attribute 'value' is of the kind SPARSE_TENSOR, and Constant takes TENSOR")
    attribute.name = "sparse_value"
    assert isinstance(assert_refused(model, "attribute 'sparse_value' is of the kind SPARSE_TENSOR"), UnsupportedError)
    attribute.name = "value"
    attribute.ref_attr_name = "outer"
    assert_refused(model, "attribute 'value' refers to the attribute 'outer' of a function, but is in none")


def test_graphs_of_other_operators() -> None:
    body = "<body: graph = b (float a) => (float r) { r = Neg (a) }>"
    error = assert_refused(
        f"g (float x) => (float y) {{ y = own.Repeat {body} (x) }}",
        "Repeat 'Repeat_0' (own opset 3) has a graph as its attribute 'body'",
        imports=', "own" : 3',
    )
    assert isinstance(error, UnsupportedError)


def test_operator_sets() -> None:
    graph = read_text("""g (float x) => (float y) { t = Neg (x) y = own.Twice (t) }""", imports=', "own" : 3')
    assert [(n.domain, n.version, n.describe()) for n in graph.nodes] == [
        ("", 16, "Neg 'Neg_0' (opset 16)"),
        ("own", 3, "Twice 'Twice_1' (own opset 3)"),
    ]
    assert graph.opsets == {"": 16, "own": 3}


def test_ai_onnx_is_the_empty_domain() -> None:
    model = proto("g (float x) => (float y) { y = Neg (x) }")
    model.opset_import[0].domain = "ai.onnx"
    (node,) = frontend.from_proto(model, "m").nodes
    assert (node.domain, node.version) == ("", 16)


def test_operators_without_operator_set() -> None:
    assert_refused("g (float x) => (float y) { y = own.Twice (x) }", "Twice 'Twice_0'", "domain 'own'", "opset_import")
    model = proto("g (float x) => (float y) { y = Neg (x) }")
    del model.opset_import[:]
    assert_refused(model, "Neg 'Neg_0'", "domain 'ai.onnx'", "opset_import")
    model.ir_version = 2
    assert frontend.from_proto(model, "m").opsets == {"": 1}


def test_constants_stay_nodes() -> None:
    graph: Graph = read_text(
        "g (float x) => (float y) <float w = {2}> { k = Constant <value = float {1}> () y = Add (k, w) }"
    )
    assert operation(graph, "k").attributes["value"] == 1
    assert value_names(graph.constants) == ["w"]


def test_nameless_ports() -> None:
    model = proto("g (float x) => (float y) { y = Neg (x) }")
    model.graph.output.add()
    assert_refused(model, "an output of the model has no name")
    model.graph.input.add()
    assert_refused(model, "an input of the model has no name")


@pytest.mark.parametrize("code", [code for code in range(1, 27) if code != TensorProto.STRING])
def test_data_is_read_as_onnx_reads_it(code: int) -> None:
    """Most types are read without the onnx package, in both forms in which their data may stand."""
    dtype = dtype_from_onnx(code)
    elements = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
    tensors = [numpy_helper.from_array(elements)]
    if dtype.kind != "c":
        tensors.append(onnx.helper.make_tensor("t", code, (2, 3), elements.ravel().tolist()))
    for tensor in tensors:
        data = tensor_to_array(tensor, None, "t")
        assert (data.dtype, data.shape) == (dtype, (2, 3))
        assert data.tobytes() == numpy_helper.to_array(tensor).tobytes()
