"""Models that onnxruntime saved after full optimisation, with channels in blocks, next to the ones they were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import onnxruntime_peer
from loopdbg.runtime.errors import ExecutionError, ModelError
from loopdbg.runtime.frontends.onnx import nchwc_block_size
from loopdbg.runtime.frontends.onnx.reader import from_proto
from loopdbg.runtime.model import Model

Array = np.ndarray[Any, np.dtype[Any]]
NCHWC = nchwc_block_size.NCHWC_DOMAIN
BLOCK = nchwc_block_size.native_block_channels()
pytestmark = pytest.mark.skipif(BLOCK != 16, reason="runs on processors with AVX-512, whose blocks have 16 channels")


class NchwcModelBuilder:
    """A network as it is put together, from x on."""

    def __init__(self, *shape: int, seed: int = 0) -> None:
        self.r = np.random.default_rng(seed)
        self.shape = shape
        self.nodes: list[onnx.NodeProto] = []
        self.weights: dict[str, Array] = {}

    def node(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        name = f"{op_type.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, list(inputs), [name], **attributes))
        return name

    def conv(self, x: str, inputs: int, outputs: int, size: int = 3, act: str = "", group: int = 1, **more: Any) -> str:
        w, b = f"w{len(self.nodes)}", f"b{len(self.nodes)}"
        scale = 1 / np.sqrt(inputs // group * size * size)
        self.weights[w] = (self.r.normal(size=(outputs, inputs // group, size, size)) * scale).astype(np.float32)
        self.weights[b] = self.r.normal(size=outputs).astype(np.float32)
        y = self.node("Conv", x, w, b, group=group, kernel_shape=[size, size], **more)
        return self.node(act, y) if act else y

    def model(self, *outputs: str) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes,
            "g",
            [helper.make_tensor_value_info("x", 1, self.shape)],
            [helper.make_tensor_value_info(name, 1, None) for name in outputs],
            [numpy_helper.from_array(data, name) for name, data in self.weights.items()],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def optimised(model: onnx.ModelProto, folder: Path) -> onnx.ModelProto:
    """As onnxruntime writes it after full optimisation."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = onnxruntime_peer.FATAL_LOG_SEVERITY
    options.optimized_model_filepath = str(folder / "optimised.onnx")
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return onnx.load(folder / "optimised.onnx")


def image(*shape: int) -> Array:
    return np.random.default_rng(9).normal(size=shape).astype(np.float32)


def build_network(kind: str) -> tuple[onnx.ModelProto, set[str]]:
    """A network, and the operators that its optimised form is to hold."""
    net = NchwcModelBuilder(2, 16, 9, 8)
    match kind:
        case "few channels":
            net = NchwcModelBuilder(2, 3, 9, 8)
            return net.model(net.conv("x", 3, 20, act="Relu", pads=[1, 1, 1, 1], strides=[2, 2])), {"ReorderOutput"}
        case "half a block":
            y = net.conv(net.conv("x", 16, 40, act="LeakyRelu"), 40, 24, 1)
            return net.model(y), {"ReorderInput"}
        case "input of 20":
            net = NchwcModelBuilder(2, 20, 9, 8)
            return net.model(net.conv("x", 20, 32)), {"ReorderInput"}
        case "depthwise":
            y = net.conv("x", 16, 24)
            y = net.conv(y, 24, 24, group=24, act="Sigmoid", pads=[1, 1, 1, 1])
            return net.model(net.conv(y, 24, 40, 1)), {"Conv"}
        case "groups":
            net = NchwcModelBuilder(2, 64, 9, 8)
            return net.model(net.conv("x", 64, 64, group=2, dilations=[2, 1])), {"Conv"}
        case "residual":
            a = net.conv("x", 16, 32, act="Relu", pads=[1, 1, 1, 1])
            b = net.conv(a, 32, 32, pads=[1, 1, 1, 1])
            return net.model(net.node("Relu", net.node("Add", a, b))), {"Conv"}
        case "pools":
            a = net.conv("x", 16, 32, act="Tanh")
            b = net.node("MaxPool", a, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1], ceil_mode=1)
            more = {"count_include_pad": 1, "pads": [1, 1, 1, 1]}
            c = net.node("AveragePool", b, kernel_shape=[2, 3], **more)
            return net.model(net.conv(c, 32, 16)), {"MaxPool", "AveragePool"}
        case "global":
            a = net.conv("x", 16, 32)
            b = net.conv(net.node("GlobalAveragePool", a), 32, 16, 1)
            c = net.conv(net.node("GlobalMaxPool", a), 32, 16, 1)
            return net.model(b, c), {"GlobalAveragePool", "GlobalMaxPool"}
        case "between":
            a, b = net.conv("x", 16, 32), net.conv("x", 16, 16)
            c = net.node("Concat", a, b, axis=1)
            return net.model(net.conv(net.node("HardSigmoid", net.node("Mul", c, c)), 48, 20, 1)), {"Conv"}
        case "upsampled" | "interpolated":
            net.weights["scales"] = np.array([1, 1, 2, 3], np.float32)
            how = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
            if kind == "interpolated":
                how = {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}
            y = net.node("Resize", net.conv("x", 16, 32), "", "scales", **how)
            return net.model(net.conv(y, 32, 16, 1)), {"Upsample"}
        case "channels last":
            y = net.conv(net.node("Transpose", "x", perm=[0, 3, 1, 2]), 16, 32)
            net.shape = (2, 9, 8, 16)
            return net.model(net.node("Transpose", y, perm=[0, 2, 3, 1])), {"ReorderInput", "ReorderOutput"}
    raise AssertionError(kind)


KINDS = [
    *("few channels", "half a block", "input of 20", "depthwise", "groups", "residual", "pools", "global", "between"),
    *("upsampled", "interpolated", "channels last"),
]


def results(model: onnx.ModelProto, x: Array) -> list[Array]:
    return list(Model(from_proto(model, "m.onnx")).run({"x": x}).values())


@pytest.mark.parametrize("kind", KINDS)
def test_an_optimised_network_gives_what_it_gave_before(kind: str, tmp_path: Path) -> None:
    model, wanted = build_network(kind)
    result = optimised(model, tmp_path)
    assert wanted <= {node.op_type for node in result.graph.node if node.domain == NCHWC}
    x = image(*[dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim])
    expected = onnxruntime_peer.run(model, {"x": x}).values()
    for mine, other in zip(results(result, x), expected, strict=True):
        assert mine.shape == other.shape
        np.testing.assert_allclose(mine, other, 1e-4, 1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_each_value_is_onnxruntimes(kind: str, tmp_path: Path) -> None:
    """In blocks too, since its parts are handed to onnxruntime where they are compared."""
    model, _ = build_network(kind)
    result = optimised(model, tmp_path)
    known = {value.name for value in result.graph.output}
    names = [name for node in result.graph.node for name in node.output if name not in known]
    result.graph.output.extend(helper.make_tensor_value_info(name, 1, None) for name in names)
    x = image(*[dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim])
    expected = onnxruntime_peer.run(result, {"x": x}, optimise=False)
    assert set(names) < set(expected)
    for name, mine in zip(expected, results(result, x), strict=True):
        assert mine.shape == expected[name].shape
        np.testing.assert_allclose(mine, expected[name], 1e-4, 1e-5, err_msg=name)


# --- How large a block is.


def with_blocks_of_8(model: onnx.ModelProto) -> onnx.ModelProto:
    """A network as a processor has it whose blocks are of 8 channels; padding that is only for 16 is cut off."""
    result = onnx.ModelProto.FromString(model.SerializeToString())
    weights = {item.name: item for item in result.graph.initializer}
    for node in result.graph.node:
        if node.domain != NCHWC or node.op_type != "Conv":
            continue
        w = numpy_helper.to_array(weights[node.input[1]])
        o, i, h, v = w.shape
        if i < 16:
            plain = w.reshape(o // 16, i, h, v, 16).transpose(0, 4, 1, 2, 3).reshape(w.shape)
        else:
            plain = w.reshape(o // 16, i // 16, h, v, 16, 16).transpose(0, 5, 1, 4, 2, 3).reshape(w.shape)
        kept = [k for k in range(o) if plain[k // 8 * 8 : k // 8 * 8 + 8].any()]
        inputs = [k for k in range(i) if i < 8 or plain[:, k // 8 * 8 : k // 8 * 8 + 8].any()]
        plain = plain[kept][:, inputs]
        o, i = plain.shape[:2]
        if i < 8:
            again = plain.reshape(o // 8, 8, i, h, v).transpose(0, 2, 3, 4, 1)
        else:
            again = plain.reshape(o // 8, 8, i // 8, 8, h, v).transpose(0, 2, 4, 5, 3, 1)
        weights[node.input[1]].CopyFrom(numpy_helper.from_array(again.reshape(plain.shape).copy(), node.input[1]))
        bias = numpy_helper.to_array(weights[node.input[2]])[kept]
        weights[node.input[2]].CopyFrom(numpy_helper.from_array(bias, node.input[2]))
    return result


@pytest.mark.parametrize("kind", ["few channels", "half a block"])
def test_numbers_of_channels_tell_how_large_a_block_is(kind: str, tmp_path: Path) -> None:
    model, _ = build_network(kind)
    sixteens = optimised(model, tmp_path)
    eights = with_blocks_of_8(sixteens)
    assert (nchwc_block_size.infer_block_channels(sixteens), nchwc_block_size.infer_block_channels(eights)) == (16, 8)
    x = image(*[dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim])
    (expected,) = onnxruntime_peer.run(model, {"x": x}).values()
    for item in (sixteens, eights):
        graph = from_proto(item, "m.onnx")
        (mine,) = Model(graph).run({"x": x}).values()
        np.testing.assert_allclose(mine, expected, 1e-4, 1e-5)
        assert not graph.notes


def test_where_nothing_tells_the_file_is_one_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = build_network("residual")
    result = optimised(model, tmp_path)
    assert nchwc_block_size.infer_block_channels(result) is None
    (note,) = from_proto(result, "m.onnx").notes
    assert "they are read as 16, as on this machine" in note
    monkeypatch.setattr("loopdbg.runtime.frontends.onnx.nchwc_block_size.native_block_channels", lambda: 8)
    graph = from_proto(with_blocks_of_8(result), "m.onnx")
    x = image(2, 16, 9, 8)
    (expected,) = onnxruntime_peer.run(model, {"x": x}).values()
    (mine,) = Model(graph).run({"x": x}).values()
    np.testing.assert_allclose(mine, expected, 1e-4, 1e-5)


def test_a_network_within_a_branch(tmp_path: Path) -> None:
    """Weights and nodes that tell may be anywhere in the file."""
    model, _ = build_network("few channels")
    result = optimised(model, tmp_path)
    inner = onnx.GraphProto.FromString(result.graph.SerializeToString())
    del inner.input[:]
    name = inner.output[0].name
    choice = helper.make_node("If", ["chosen"], ["y"], then_branch=inner, else_branch=inner)
    graph = helper.make_graph(
        [choice],
        "g",
        [result.graph.input[0], helper.make_tensor_value_info("chosen", 9, [])],
        [helper.make_tensor_value_info("y", 1, None)],
    )
    whole = helper.make_model(graph, opset_imports=result.opset_import, ir_version=8)
    assert nchwc_block_size.infer_block_channels(whole) == 16
    x = image(2, 3, 9, 8)
    (mine,) = Model(from_proto(whole, "m.onnx")).run({"x": x, "chosen": np.array(True)}).values()
    np.testing.assert_allclose(mine, onnxruntime_peer.run(model, {"x": x})[name], 1e-4, 1e-5)


# --- What cannot be.


def node(op_type: str, shapes: list[tuple[int, ...]], **attributes: Any) -> list[Array]:
    names = [f"x{k}" for k in range(len(shapes))]
    graph = helper.make_graph(
        [helper.make_node(op_type, names, ["y"], domain=NCHWC, **attributes)],
        "g",
        [helper.make_tensor_value_info(name, 1, shape) for name, shape in zip(names, shapes, strict=True)],
        [helper.make_empty_tensor_value_info("y")],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(NCHWC, 1)]
    result = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    inputs = {name: image(*shape) for name, shape in zip(names, shapes, strict=True)}
    return list(Model(from_proto(result, "m.onnx")).run(inputs).values())


@pytest.mark.parametrize(
    ("op_type", "shapes", "attributes", "message"),
    [
        ("ReorderInput", [(2, 16, 5)], {}, r"input of shape \(2, 16, 5\) is no image"),
        ("ReorderOutput", [(1, 32, 2, 2)], {"channels": 16}, "channels=16 do not fill 2 blocks of 16"),
        ("ReorderOutput", [(1, 24, 2, 2)], {"channels": 24}, "no image with channels in blocks of 16"),
        ("Conv", [(1, 16, 5, 5), (24, 16, 3, 3)], {}, "kernel of shape .* has no blocks of 16 channels"),
        ("Conv", [(1, 16, 5, 5), (16, 24, 3, 3)], {}, "kernel of shape .* has no blocks of 16 channels"),
        (
            "Conv",
            [(1, 16, 5, 5), (16, 16, 3, 3)],
            {"block": 16},
            "an attribute 'block' that this opset does not define",
        ),
        ("MaxPool", [(1, 16, 5, 5)], {}, "lacks its attribute 'kernel_shape'"),
        ("Upsample", [(1, 16, 5, 5)], {"scales": [1, 2, 2, 2]}, r"scales=\[1, 2, 2, 2\] are not 1, 1 and two"),
        (
            "Upsample",
            [(1, 16, 5, 5)],
            {"scales": [1, 1, 2, 2], "mode": "cubic"},
            "attribute mode='cubic' is not one of",
        ),
        (
            "Upsample",
            [(1, 16, 5, 5)],
            {"scales": [1, 1, 2, 2], "coordinate_transformation_mode": "half_pixel"},
            "attribute coordinate_transformation_mode='half_pixel' is not one of asymmetric",
        ),
    ],
)
def test_errors(op_type: str, shapes: list[tuple[int, ...]], attributes: dict[str, Any], message: str) -> None:
    with pytest.raises((ModelError, ExecutionError), match=message):
        node(op_type, shapes, **attributes)


def test_an_operator_that_the_domain_has_not() -> None:
    with pytest.raises(ExecutionError, match="no implementation of operator Own"):
        node("Own", [(1, 16, 5, 5)])
