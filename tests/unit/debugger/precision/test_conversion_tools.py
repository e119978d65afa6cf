"""What is printed for other tools, in these tools: onnxconverter-common, Polygraphy and NNCF."""

from __future__ import annotations

import sys
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import loopdbg
from loopdbg.debugger.precision.runs import PrecisionRuns
from lossy_models import CASES, TRIPS, X0, lossy_text
from text_models import proto

INPUTS = {"M": np.array(TRIPS), "x0": X0}
#: A product in the main graph, and one in a body.
PRODUCTS = """
g (int64 M, float[1,4] x0) => (float[1,4] y) {
    a = MatMul (x0, W)
    yes = Constant <value = bool {1}> ()
    x = Loop (M, yes, a) <body = b (int64 i, bool c, float[1,4] p) => (bool k, float[1,4] q) {
        k = Identity (c) m = MatMul (p, W) q = Tanh (m) }>
    y = MatMul (x, W)
}"""


def write_named(source: onnx.ModelProto, path: Path) -> Path:
    """Write a model whose nodes have names of their own."""

    def name_nodes(graph: onnx.GraphProto, prefix: str) -> None:
        for position, node in enumerate(graph.node):
            node.name = f"{prefix}{node.op_type}_{position}"
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH:
                    name_nodes(attribute.g, f"{node.name}/")

    name_nodes(source.graph, "")
    onnx.save(source, path)
    return path


def convert(path: Path, **options: Any) -> onnx.ModelProto:
    """The float16 file of onnxconverter-common."""
    float16 = pytest.importorskip("onnxconverter_common.float16")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        converted: onnx.ModelProto = float16.convert_float_to_float16(
            onnx.load(path), keep_io_types=True, min_positive_val=0, max_finite_val=65504, **options
        )
    return converted


def run_onnxruntime(path: Path) -> Any:
    """Without its optimizer. Its CPU provider computes float16 in float32, but does round where there is a Cast."""
    onnxruntime = pytest.importorskip("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, INPUTS)[0]


@pytest.mark.parametrize(("loss", "position", "iteration"), CASES[::4])
def test_float16_file_of_onnxconverter_common(loss: str, position: int, iteration: int, tmp_path: Path) -> None:
    path = write_named(proto(lossy_text(loss, position, iteration), 17), tmp_path / "wide.onnx")
    model = loopdbg.load(path)
    runs = PrecisionRuns(model, INPUTS, "float16")
    converted = tmp_path / "converted.onnx"
    onnx.save(convert(path), converted)
    narrow = runs.run(runs.nodes).outputs
    assert narrow is not None
    np.testing.assert_array_equal(np.asarray(loopdbg.load(converted).run(INPUTS)["x"]), np.asarray(narrow["x"]))

    wide_nodes = model.precision(INPUTS, tolerance=1e-6).wide_nodes
    assert wide_nodes is not None and wide_nodes.error == 0
    proto_with_list = eval(f"convert(path, {wide_nodes.block_list()})", {"convert": convert, "path": path})
    onnx.save(proto_with_list, converted)
    # It rounds between nodes of the list too, and the report says so.
    names = {node.name for node in wide_nodes.nodes}
    chosen = [node for node in runs.nodes if node.name in names]
    rounded = runs.run([node for node in runs.nodes if node not in chosen], chosen)
    assert rounded.outputs is not None and wide_nodes.converted_error == runs.error(rounded) > 1e-6
    for result in (loopdbg.load(converted).run(INPUTS)["x"], run_onnxruntime(converted)):
        np.testing.assert_array_equal(np.asarray(result), np.asarray(rounded.outputs["x"]))


@pytest.mark.parametrize(("loss", "position", "iteration"), CASES[1::4])
def test_saved_model_with_wide_nodes_in_onnxruntime(loss: str, position: int, iteration: int, tmp_path: Path) -> None:
    path = write_named(proto(lossy_text(loss, position, iteration), 17), tmp_path / "wide.onnx")
    mixed = tmp_path / "mixed.onnx"
    precision = loopdbg.load(path).precision(INPUTS, tolerance=1e-6, save=mixed)
    assert precision.wide_nodes is not None and 0 < len(precision.wide_nodes.nodes) < precision.node_count
    np.testing.assert_array_equal(run_onnxruntime(mixed), np.asarray(loopdbg.load(path).run(INPUTS)["x"]))


class Layer:
    """A layer of a network in TensorRT."""

    num_outputs, precision = 1, "float16"

    def __init__(self, name: str) -> None:
        self.name = name
        self.types: dict[int, str] = {}

    def set_output_type(self, index: int, dtype: str) -> None:
        self.types[index] = dtype


@pytest.mark.parametrize("runs_in_polygraphy", [False, True])
def test_polygraphy_script(runs_in_polygraphy: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_named(proto(lossy_text(*CASES[0]), 17), tmp_path / "wide.onnx")
    wide_nodes = loopdbg.load(path).precision(INPUTS, tolerance=1e-6).wide_nodes
    assert wide_nodes is not None
    names = [node.name for node in wide_nodes.nodes]
    trt = types.ModuleType("tensorrt")
    trt.float32 = "float32"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tensorrt", trt)
    layers = [Layer(name) for name in (*names, "another")]
    script = tmp_path / "postprocess.py"
    script.write_text(wide_nodes.block_list("polygraphy"), encoding="utf-8")
    if runs_in_polygraphy:
        common = pytest.importorskip("polygraphy.backend.common")
        common.invoke_from_script(str(script), "postprocess", network=layers)
    else:
        namespace: dict[str, Any] = {}
        exec(script.read_text(encoding="utf-8"), namespace)
        namespace["postprocess"](network=layers)
    assert [layer.precision for layer in layers] == [*["float32"] * len(names), "float16"]
    assert [layer.types for layer in layers] == [*[{0: "float32"}] * len(names), {}]


def test_nncf_scope(tmp_path: Path) -> None:
    source = proto(PRODUCTS, 17)
    weights = np.array([[30, 1e-3, 0, 2], [1, 0.3, 8, 0], [0, 1, 1e-3, 9], [4, 0, 1, 0.5]], np.float32)
    source.graph.initializer.append(onnx.numpy_helper.from_array(weights, "W"))
    path = write_named(source, tmp_path / "products.onnx")
    inputs = {"M": np.array(2), "x0": np.array([[1, -1, 0.01, 0.5]], np.float32)}
    precision = loopdbg.load(path).precision(inputs, "int8", tolerance=0.0)
    assert precision.wide_nodes is not None
    nodes = precision.wide_nodes.nodes
    assert [(node.name.count("/"), node.nested) for node in nodes] == [(0, False), (1, True), (0, False)]
    text = precision.wide_nodes.block_list("nncf")
    assert text == f"ignored_scope=nncf.IgnoredScope(names={[nodes[0].name, nodes[2].name]!r})"
    nncf = pytest.importorskip("nncf")
    dataset = nncf.Dataset([inputs])
    quantised = eval(f"nncf.quantize(model, dataset, {text})", {"nncf": nncf, "model": source, "dataset": dataset})
    assert not {node.op_type for node in quantised.graph.node} & {"QuantizeLinear", "DequantizeLinear"}
