"""One node at a time: ours next to a live peer.

``onnx_node`` and ``openvino_node`` run one operator here and in onnxruntime or OpenVINO's CPU plugin, and return both
lists of outputs. Ours runs three times: eagerly; through :class:`Strict`, which shows an operator only what the binder
of native kernels shows it, so an operator that peeks at data fails in any test that uses it; and as a model of one node
in the engine, so that kernels are held to what the operator means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import onnxruntime_peer
import openvino_peer
from loopdbg.runtime import dtypes
from loopdbg.runtime.frontends.recurrent import expand_recurrent_operators
from loopdbg.runtime.graph import Graph, Operation, SequenceType, System, TensorType, Value
from loopdbg.runtime.model import Model
from loopdbg.runtime.ops.eager import EagerPrimitives
from loopdbg.runtime.ops.primitive_types import NoNativeKernel
from loopdbg.runtime.ops.registry import resolve

Array = np.ndarray[Any, np.dtype[Any]]
Result = Any  # an array, a list (sequence), None (an empty optional)


#: Operators that have kernels for some types and attributes alone.
_PARTLY_NATIVE = "GatherElements GatherND Scatter ScatterElements ScatterND"
_PARTLY_NATIVE += " ScatterElementsUpdate ScatterNDUpdate ScatterUpdate NonZero Unique"
PARTLY_NATIVE = frozenset(_PARTLY_NATIVE.split())


class BufferDescription:
    """What an operator may know of a buffer while kernels are bound."""

    def __init__(self, array: Array) -> None:
        assert isinstance(array, np.ndarray), f"a primitive got {type(array).__name__}"
        self.array = array
        self.shape, self.dtype, self.ndim, self.size = array.shape, array.dtype, array.ndim, array.size

    def __array__(self, *_: Any, **__: Any) -> Array:
        raise AssertionError("the operator looked at data without p.value")

    def __bool__(self) -> bool:
        raise AssertionError("the operator looked at data without p.value")


class StrictPrimitives:
    """The primitives on descriptions, each call held to the contract of ``Primitives``."""

    emits = True

    def __init__(self) -> None:
        self.eager = EagerPrimitives()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        primitive = getattr(self.eager, name)

        def call(*arguments: Any, **keywords: Any) -> Any:
            check = getattr(self, f"_check_{name}", None)
            if check is not None:
                check(*arguments, **keywords)
            result = primitive(*_reveal(arguments), **{k: _reveal(v) for k, v in keywords.items()})
            if name in ("value", "integers") or result is None:
                return result
            return tuple(map(BufferDescription, result)) if isinstance(result, tuple) else BufferDescription(result)

        return call

    @staticmethod
    def _check_map(function: Any, *inputs: BufferDescription) -> None:
        assert all(isinstance(x, BufferDescription) for x in inputs)
        if isinstance(function, np.ufunc) and all(x.dtype.isbuiltin == 1 for x in inputs):
            signature = "".join(x.dtype.char for x in inputs)
            loops = {loop.split("->")[0] for loop in function.types}
            assert signature in loops, f"{function.__name__} has no loop for {[str(x.dtype) for x in inputs]}"

    @staticmethod
    def _check_reduce(ufunc: Any, x: BufferDescription, axes: Sequence[int], keepdims: bool) -> None:
        assert all(type(axis) is int and 0 <= axis < x.ndim for axis in axes)
        assert len(set(axes)) == len(axes) and type(keepdims) is bool

    @staticmethod
    def _check_accumulate(ufunc: Any, x: BufferDescription, axis: int) -> None:
        assert type(axis) is int and 0 <= axis < x.ndim

    @staticmethod
    def _check_arg(which: str, x: BufferDescription, axis: int, last: bool) -> None:
        assert which in ("max", "min") and type(axis) is int and 0 <= axis < x.ndim and type(last) is bool

    @staticmethod
    def _check_matmul(a: BufferDescription, b: BufferDescription) -> None:
        assert a.ndim >= 1 and b.ndim >= 1 and a.dtype == b.dtype

    @staticmethod
    def _check_where(condition: BufferDescription, a: BufferDescription, b: BufferDescription) -> None:
        assert condition.dtype == bool and a.dtype == b.dtype

    @staticmethod
    def _check_reshape(x: BufferDescription, shape: Sequence[int]) -> None:
        assert all(isinstance(n, int | np.integer) and n >= 0 for n in shape)

    @staticmethod
    def _check_transpose(x: BufferDescription, perm: Sequence[int]) -> None:
        assert sorted(perm) == list(range(x.ndim))

    @staticmethod
    def _check_slice(x: BufferDescription, starts: Sequence[int], steps: Sequence[int], extents: Sequence[int]) -> None:
        for size, start, step, extent in zip(x.shape, starts, steps, extents, strict=True):
            assert extent == 0 or (0 <= start < size and 0 <= start + (extent - 1) * step < size)

    @staticmethod
    def _check_assemble(shape: Sequence[int], dtype: Any, pieces: Any, fill: Any = None) -> None:
        for piece, starts in pieces:
            assert piece.dtype == dtype
            for size, extent, start in zip(shape, piece.shape, starts, strict=True):
                assert start >= 0 and start + extent <= size
        if fill is None:
            assert sum(piece.size for piece, _ in pieces) == int(np.prod(shape))

    @staticmethod
    def _check_gather(x: BufferDescription, indices: BufferDescription, axis: int) -> None:
        assert indices.dtype in (np.int32, np.int64) and 0 <= axis < x.ndim

    @staticmethod
    def _check_constant(array: Any) -> None:
        assert isinstance(array, np.ndarray)


def _reveal(value: Any) -> Any:
    if isinstance(value, BufferDescription):
        return value.array
    if isinstance(value, list | tuple):
        return type(value)(_reveal(part) for part in value)
    return value


def _describe(value: Any) -> Any:
    return BufferDescription(value) if isinstance(value, np.ndarray) else value


def run_here(
    system: System,
    op_type: str,
    inputs: Sequence[Result],
    n_outputs: int = 1,
    *,
    version: int,
    domain: str = "",
    attributes: dict[str, Any],
) -> list[Result]:
    """Run one operator here: eagerly, and if it can be native through :class:`Strict` and the engine; all agree."""
    assert all(x is None or isinstance(x, np.ndarray | list) for x in inputs), "inputs are arrays, lists or None"
    node = Operation(
        name="node",
        op_type=op_type,
        domain=domain,
        version=version,
        inputs=[None if x is None else Value(f"in{k}") for k, x in enumerate(inputs)],
        outputs=[Value(f"out{k}") for k in range(n_outputs)],
        attributes=attributes,
    )
    if one_node_graph(system, node, inputs)[0].nodes != [node]:  # it is read as loops
        return engine_outputs(system, node, inputs)
    op = resolve(node, system)
    with np.errstate(all="ignore"):
        results = list(op.apply(EagerPrimitives(), inputs))
        lists = any(isinstance(x, list) for x in (*inputs, *results))
        if op.native and lists:
            for mine, eager in zip(engine_outputs(system, node, inputs), results, strict=False):
                assert isinstance(mine, list) == isinstance(eager, list)
                assert_close(mine if isinstance(mine, list) else [mine], eager if isinstance(eager, list) else [eager])
        elif op.native:
            try:
                described = op.apply(StrictPrimitives(), [_describe(x) for x in inputs])
            except NoNativeKernel:
                assert op.random or op_type in PARTLY_NATIVE  # it draws, and does that in Python
            else:
                assert len(described) == len(results)
                for eager, strict in zip(results, described, strict=True):
                    assert_same(_reveal(strict), eager)
            assert_close(engine_outputs(system, node, inputs), results[:n_outputs])
    return results


def engine_outputs(system: System, node: Operation, inputs: Sequence[Result]) -> list[Result]:
    """The outputs of a model of one node; kernels may sum in another order than NumPy."""
    graph, feeds = one_node_graph(system, node, inputs)
    return list(Model(graph).run(feeds).values())


def one_node_graph(system: System, node: Operation, inputs: Sequence[Result]) -> tuple[Graph, dict[str, Any]]:
    """A model of one node, and what to feed it."""
    feeds = {}
    for value, x in zip(node.inputs, inputs, strict=True):
        if value is not None and x is not None:
            value.type = SequenceType(TensorType()) if isinstance(x, list) else TensorType(x.dtype, x.shape)
            feeds[value.name] = x
    outputs = [value for value in node.outputs if value is not None]
    values = [value for value in node.inputs if value is not None]
    graph = Graph("one_node", inputs=values, outputs=outputs, nodes=[node], system=system)
    expand_recurrent_operators(graph)
    return graph, feeds


def assert_same(actual: Result, expected: Result) -> None:
    """Equal to the bit in values, and in dtype and shape."""
    assert (actual is None) == (expected is None)
    if isinstance(expected, np.ndarray):
        assert actual.dtype == expected.dtype and actual.shape == expected.shape
        if expected.dtype.hasobject or actual.tobytes() != expected.tobytes():  # a NaN of ml_dtypes equals nothing
            np.testing.assert_array_equal(actual, expected)


def assert_close(actual: Sequence[Result], expected: Sequence[Result], rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """Lists of outputs agree: dtype and shape exactly, integers and strings exactly, floats within tolerance."""
    assert len(actual) >= len(expected), f"{len(actual)} outputs, the peer has {len(expected)}"
    for k, (a, e) in enumerate(zip(actual, expected, strict=False)):
        if isinstance(e, list):
            assert_close(a, e, rtol, atol)
            assert len(a) == len(e)
            continue
        if e is None or a is None:
            assert a is None and e is None, f"output {k}"
            continue
        assert isinstance(a, np.ndarray), f"output {k} is {type(a).__name__}, not an array"
        assert a.shape == e.shape, f"output {k}: shape {a.shape}, the peer has {e.shape}"
        assert a.dtype == e.dtype, f"output {k}: dtype {a.dtype}, the peer has {e.dtype}"
        if a.dtype.kind in "biuOSU":
            np.testing.assert_array_equal(a, e, err_msg=f"output {k}")
        else:
            widened = np.complex128 if a.dtype.kind == "c" else np.float64
            np.testing.assert_allclose(a.astype(widened), e.astype(widened), rtol, atol, err_msg=f"output {k}")


def onnx_node(
    op_type: str, inputs: list[Result], n_outputs: int = 1, opset: int = 21, domain: str = "", **attributes: Any
) -> tuple[list[Result], list[Result]]:
    """(ours, onnxruntime's) outputs of one ONNX node. An input None is absent, a list is a sequence."""
    mine = run_here(System.ONNX, op_type, inputs, n_outputs, version=opset, domain=domain, attributes=attributes)
    return mine, onnxruntime_outputs(op_type, inputs, n_outputs, opset, domain, **attributes)


def onnxruntime_outputs(
    op_type: str, inputs: list[Result], n_outputs: int = 1, opset: int = 21, domain: str = "", **attributes: Any
) -> list[Result]:
    """What onnxruntime gives for one node, its optimiser off."""
    from onnx import TensorProto, helper, numpy_helper

    def type_of(value: Result) -> Any:
        if isinstance(value, list):
            return helper.make_sequence_type_proto(type_of(value[0]))
        return helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)

    names = ["" if x is None else f"in{k}" for k, x in enumerate(inputs)]
    outputs = [f"out{k}" for k in range(n_outputs)]
    attributes = {k: numpy_helper.from_array(v) if isinstance(v, np.ndarray) else v for k, v in attributes.items()}
    graph = helper.make_graph(
        [helper.make_node(op_type, names, outputs, domain=domain, **attributes)],
        "one_node",
        [helper.make_value_info(n, type_of(x)) for n, x in zip(names, inputs, strict=True) if n],
        [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in outputs],
    )
    for output in graph.output:
        output.ClearField("type")
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(domain, opset)], ir_version=10)
    feeds = {name: x for name, x in zip(names, inputs, strict=True) if name}
    return list(onnxruntime_peer.run(model, feeds, optimise=False).values())


def openvino_node(
    op_type: str,
    inputs: list[Array],
    n_outputs: int = 1,
    opset: int = 1,
    constant: Sequence[int] = (),
    **attributes: Any,
) -> tuple[list[Result], list[Result]]:
    """(ours, OpenVINO's CPU plugin's) outputs of one node of ``opset<opset>``.

    ``constant``: indices of inputs that the plugin gets as Const layers (axes and the like); the others are Parameters.
    Attributes are written as XML text. The plugin runs i64 as i32 and f64 as f32.
    """
    return openvino_nodes(op_type, [inputs], n_outputs, opset, constant, **attributes)


def openvino_nodes(
    op_type: str,
    several: Sequence[list[Array]],
    n_outputs: int = 1,
    opset: int = 1,
    constant: Sequence[int] = (),
    **attributes: Any,
) -> tuple[list[Result], list[Result]]:
    """The same for several sets of inputs, one after the other: the plugin compiles a model of them all, which is what
    takes the time."""
    text = {name: attribute_text(value) for name, value in attributes.items()}
    mine = [
        output
        for inputs in several
        for output in run_here(
            System.OPENVINO, op_type, inputs, n_outputs, version=opset, domain=f"opset{opset}", attributes=text
        )
    ]
    model = _openvino_model(op_type, several, n_outputs, opset, constant, attributes)
    return mine, openvino_peer.run(model, _feeds(several, constant))


def _feeds(several: Sequence[list[Array]], constant: Sequence[int]) -> list[Array]:
    return [np.array(x, order="C") for inputs in several for k, x in enumerate(inputs) if k not in constant]


def attribute_text(value: Any) -> str:
    """An attribute as an IR file has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(str(part) for part in value)
    return str(value)


def openvino_outputs(
    op_type: str,
    inputs: list[Array],
    n_outputs: int = 1,
    opset: int = 1,
    constant: Sequence[int] = (),
    **attributes: Any,
) -> list[Result]:
    """What OpenVINO's CPU plugin gives for one node."""
    model = _openvino_model(op_type, [inputs], n_outputs, opset, constant, attributes)
    return openvino_peer.run(model, _feeds([inputs], constant))


def openvino_reference(op_type: str, inputs: list[Array], opset: int = 1, **attributes: Any) -> list[Result]:
    """What OpenVINO's own reference code (``Model.evaluate``) gives for one node with one output.

    For the few places where the plugin leaves the specification and the reference keeps to it.
    """
    import openvino

    model = _openvino_model(op_type, [inputs], 1, opset, (), attributes)
    shape = model.output(0).get_partial_shape().to_shape()
    result = openvino.Tensor(model.output(0).get_element_type(), shape)
    assert model.evaluate([result], [openvino.Tensor(np.array(x, order="C")) for x in inputs])
    return [np.array(result.data)]


def _openvino_model(
    op_type: str,
    several: Sequence[list[Array]],
    n_outputs: int,
    opset: int,
    constant: Sequence[int],
    attributes: dict[str, Any],
) -> Any:
    """A node for each set of inputs, written as IR and read by OpenVINO."""
    import openvino

    layers: list[str] = []
    edges: list[str] = []
    weights = bytearray()
    data = " ".join(f'{name}="{attribute_text(value)}"' for name, value in attributes.items())
    for inputs in several:
        first = len(layers)
        node = first + len(inputs)
        for k, x in enumerate(inputs):
            layers.append(_source(first + k, x, weights if k in constant else None))
            edges.append(f'<edge from-layer="{first + k}" from-port="0" to-layer="{node}" to-port="{k}"/>')
        ports = "".join(f'<port id="{len(inputs) + k}" precision="FP32"/>' for k in range(n_outputs))
        layers.append(
            f'<layer id="{node}" name="node{node}" type="{op_type}" version="opset{opset}"><data {data}/>'
            f"<input>{_ports(inputs)}</input><output>{ports}</output></layer>"
        )
        for k in range(n_outputs):
            result = len(layers)
            layers.append(
                f'<layer id="{result}" name="out{result}" type="Result" version="opset1">'
                '<input><port id="0" precision="FP32"/></input></layer>'
            )
            edges.append(f'<edge from-layer="{node}" from-port="{len(inputs) + k}" to-layer="{result}" to-port="0"/>')
    xml = f'<net name="nodes" version="11"><layers>{"".join(layers)}</layers><edges>{"".join(edges)}</edges></net>'
    blob = openvino.Tensor(np.frombuffer(bytes(weights) or b"\0", np.uint8))
    return openvino_peer.core().read_model(xml.encode(), blob)


def _source(number: int, x: Array, weights: bytearray | None) -> str:
    """The layer of an input: a Parameter, or a Const whose data is put among the weights."""
    data = f'shape="{",".join(map(str, x.shape))}" element_type="{_element_type(x)}"'
    if weights is not None:
        data += f' offset="{len(weights)}" size="{x.nbytes}"'
        weights += x.tobytes() + b"\0" * (-x.nbytes % 16)
    return (
        f'<layer id="{number}" name="in{number}" type="{"Parameter" if weights is None else "Const"}" version="opset1">'
        f"<data {data}/><output>{_ports([x])}</output></layer>"
    )


def _ports(arrays: Sequence[Array]) -> str:
    return "".join(
        f'<port id="{k}" precision="{_precision(x)}">' + "".join(f"<dim>{n}</dim>" for n in x.shape) + "</port>"
        for k, x in enumerate(arrays)
    )


def _precision(x: Array) -> str:
    """The word that a port has for an element type: upper case, FP for floats."""
    word = _element_type(x).upper()
    return {"BOOLEAN": "BOOL"}.get(word, "FP" + word[1:] if word.startswith("F") else word)


def _element_type(x: Array) -> str:
    words = {"bool": "boolean", "float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16"}
    word = words.get(x.dtype.name) or x.dtype.name.replace("uint", "u").replace("int", "i")
    assert dtypes.dtype_from_openvino(word) == x.dtype
    return word
