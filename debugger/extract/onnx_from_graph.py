"""Writes a loop or its body as ONNX from the graph, where no ONNX file contains it: a TensorRT network, or the body of
an expanded operator."""

from __future__ import annotations

from dataclasses import replace

from ...runtime.errors import UnsupportedError
from ...runtime.graph import Graph, Loop, System, captured_values
from ...runtime.model import Model
from ...runtime.modelfile.onnx_graph import port_value_info
from ..compare.live_peer.body_job import values_fed_to_body
from ..peers.onnx_writer import body_as_model, model_with_values
from ..peers.tensorrt_to_onnx import as_onnx, body_as_onnx
from .capture_runs import outer_values_read
from .onnx_extract import PortTypes
from .submodel import CaptureValues, Submodel, SubmodelPort, reject_random_operators


def build_body_submodel(model: Model, loop: Loop, capture: CaptureValues) -> Submodel:
    """One iteration of a loop's body.

    Raises:
        UnsupportedError: ONNX cannot express it.
    """
    params, random_values = values_fed_to_body(loop)
    results = list(dict.fromkeys(loop.body.outputs))
    if loop.system is System.TENSORRT:
        candidates = [loop.condition, *(edge.result for edge in loop.back_edges)]
        candidates += [scan.result for scan in loop.scan_outputs] + [final.result for final in loop.last_values]
        results = [value for value in dict.fromkeys(candidates) if value is not None]
        loop = replace(loop, body=replace(loop.body, outputs=results))
    feeds, values = capture([*params, *random_values], results)
    port_types = PortTypes()
    types = {value: port_types.port_type(value, data) for value, data in {**values, **feeds}.items()}
    try:
        source = body_as_onnx(loop, model.graph) if loop.system is System.TENSORRT else loop
        body_model = body_as_model(source, types, source.body.opsets or model.graph.opsets)
    except UnsupportedError as error:
        where = f"the body of loop '{loop.name}' is no model by itself"
        raise UnsupportedError.with_location(where, error) from None
    inputs = [SubmodelPort(name, value, types[value]) for value, name in body_model.inputs]
    names = [info.name for info in body_model.model.proto.graph.output]
    outputs = [SubmodelPort(name, value, types[value]) for name, value in zip(names, body_model.outputs, strict=True)]
    return Submodel(body_model.model, inputs, outputs, feeds, values)


def write_loop(model: Model, loop: Loop, capture: CaptureValues) -> Submodel:
    """All iterations of one entry of a loop.

    Raises:
        UnsupportedError: ONNX cannot express it, or it draws random numbers.
    """
    reject_random_operators(loop)
    outer = list(dict.fromkeys([*outer_values_read(loop), *captured_values(loop.body)]))
    outer += [scan.length for scan in loop.scan_outputs if scan.length is not None and scan.length not in outer]
    inputs = [value for value in outer if value.constant is None]
    results = [value for value in loop.outputs if value is not None]
    feeds, values = capture(inputs, results)
    port_types = PortTypes()
    types = {value: port_types.port_type(value, data) for value, data in {**feeds, **values}.items()}
    constants = [value for value in outer if value.constant is not None]
    graph = Graph(loop.name, inputs, results, [loop], constants, system=loop.system, opsets=model.graph.opsets)
    source = as_onnx(graph)[0] if loop.system is System.TENSORRT else graph
    onnx_model = model_with_values(source, (), {})
    proto = onnx_model.proto
    ports = [
        [SubmodelPort(info.name, value, types[value]) for info, value in zip(side, values, strict=True)]
        for side, values in ((proto.graph.input, inputs), (proto.graph.output, results))
    ]
    for side, port_list in zip((proto.graph.input, proto.graph.output), ports, strict=True):
        del side[:]
        side.extend(port_value_info(port.name, port.type) for port in port_list)
    return Submodel(onnx_model, ports[0], ports[1], feeds, values)
