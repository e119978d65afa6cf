"""OpenVINO in a separate process, which it may crash: builds nodes with its opset API, saves and runs them.

``python openvino_node_runner.py JOBS FOLDER FIRST``: JOBS is a pickle with a list of (type, opset, inputs, attributes,
oracle, looped), where an input is (array, whether it is a Const). For job k the folder gets ``k.xml``, ``k.bin`` and
``k.pickle``: the outputs, or the text of the error. ``looped``: ``k.loop.xml`` has the node in the body of a Loop of
three trips.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
from job_runner import run_jobs
from openvino import _pyopenvino
from openvino import opset16 as ops

CORE = ov.Core()


def build_model(type: str, opset: int, inputs: Any, attributes: Any) -> tuple[Any, list[Any]]:
    """The model of one node, and the values of its Parameters."""
    node, parameters, feeds = create_node(type, opset, inputs, attributes)
    results = [ops.result(port) for port in node.outputs()]
    return ov.Model(results, parameters, "one_node"), feeds


def build_loop_model(type: str, opset: int, inputs: Any, attributes: Any) -> Any:
    """The model of a Loop with the node in its body, and the outputs of the last of three trips."""
    node, inner, _ = create_node(type, opset, inputs, attributes)
    outer = [ops.parameter(p.get_shape(), p.get_element_type(), f"in{k}") for k, p in enumerate(inner)]
    go_on = ops.result(ops.constant(np.array(True)))
    results = [ops.result(port) for port in node.outputs()]
    loop = ops.loop(ops.constant(np.array(3)), ops.constant(np.array(True)))
    loop.set_function(ov.Model([*results, go_on], inner, "body"))
    loop.set_special_body_ports([-1, len(results)])
    for own, parameter in zip(inner, outer, strict=True):
        loop.set_invariant_input(own, parameter.output(0))
    taken = [loop.get_iter_value(result.output(0), -1) for result in results]
    return ov.Model([ops.result(value) for value in taken], outer, "in_a_loop")


def create_node(type: str, opset: int, inputs: Any, attributes: Any) -> tuple[Any, list[Any], list[Any]]:
    """The node, its Parameters, and their values."""
    parameters, feeds, ports = [], [], []
    for array, constant in inputs:
        if constant and type == "BinaryConvolution":  # filters are bits, the first one the highest of a byte
            packed = ov.Tensor(np.packbits(array), ov.Shape(array.shape), ov.Type.u1)
            ports.append(ov.op.Constant(packed).output(0))
        elif constant:
            ports.append(ops.constant(array).output(0))
        else:
            kind = ov.Type.string if array.dtype.kind == "U" else ov.Type(array.dtype)
            parameters.append(ops.parameter(ov.Shape(array.shape), kind, f"in{len(parameters)}"))
            ports.append(parameters[-1].output(0))
            feeds.append(array)
    return _pyopenvino.NodeFactory(f"opset{opset}").create(type, ports, attributes), parameters, feeds


def run_on_cpu_plugin(model: Any, feeds: list[Any]) -> list[Any]:
    """The outputs of the CPU plugin."""
    config = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": "1"}
    request = CORE.compile_model(model, "CPU", config).create_infer_request()
    request.infer({k: ov.Tensor(np.array(x, order="C")) for k, x in enumerate(feeds)})
    return [array_of(request.get_output_tensor(k)) for k in range(len(model.outputs))]


def run_on_reference(model: Any, feeds: list[Any]) -> list[Any]:
    """The outputs of the reference implementation."""
    results = []
    for port in model.outputs:
        known = port.get_partial_shape()
        results.append(ov.Tensor(port.get_element_type(), known.to_shape() if known.is_static else ov.Shape([0])))
    if not model.evaluate(results, [ov.Tensor(np.array(x, order="C")) for x in feeds]):
        raise RuntimeError("the core has no reference code for it")
    return [array_of(result) for result in results]


def array_of(tensor: Any) -> Any:
    """A copy of a tensor as an array, with strings as objects."""
    if tensor.element_type == ov.Type.string:
        return np.array(tensor.str_data, object)
    return np.array(tensor.data)


def run_case(
    stem: Path, type: str, opset: int, inputs: list[Any], attributes: dict[str, Any], oracle: str, in_a_loop: bool
) -> list[Any]:
    """Build a node, save it, and run it."""
    model, feeds = build_model(type, opset, inputs, attributes)
    ov.save_model(model, stem.with_suffix(".xml"), compress_to_fp16=False)
    if in_a_loop:
        model = build_loop_model(type, opset, inputs, attributes)
        ov.save_model(model, f"{stem}.loop.xml", compress_to_fp16=False)
        model, feeds = build_model(type, opset, inputs, attributes)
    return run_on_reference(model, feeds) if oracle == "core" else run_on_cpu_plugin(model, feeds)


if __name__ == "__main__":
    run_jobs(run_case)
