"""A loop, or the body of one, written as ONNX from the graph: where no ONNX file has it, as of a TensorRT network, or
of a body that an operator was opened into."""

from __future__ import annotations

from dataclasses import replace

from ...runtime.errors import UnsupportedError
from ...runtime.graph import Graph, Loop, System, captured_values
from ...runtime.model import Model
from ..compare.live_peer.body_job import fed_values
from ..peers.onnx_writer import body_as_model, model_with_values, port_info
from ..peers.tensorrt_to_onnx import as_onnx, body_as_onnx
from .capture_runs import outer_values_read
from .onnx_extract import PortTypes
from .submodel import CaptureValues, Submodel, SubmodelPort, refuse_random


def write_body(model: Model, loop: Loop, ask: CaptureValues) -> Submodel:
    """One iteration of a loop's body.

    Raises:
        UnsupportedError: ONNX has no words for it.
    """
    params, drawn = fed_values(loop)
    results = list(dict.fromkeys(loop.body.outputs))
    if loop.system is System.TENSORRT:
        wanted = [loop.condition, *(edge.result for edge in loop.back_edges)]
        wanted += [scan.result for scan in loop.scan_outputs] + [last.result for last in loop.last_values]
        results = [value for value in dict.fromkeys(wanted) if value is not None]
        loop = replace(loop, body=replace(loop.body, outputs=results))
    fed, given = ask([*params, *drawn], results)
    kinds = PortTypes()
    types = {value: kinds.port_type(value, data) for value, data in {**given, **fed}.items()}
    try:
        written = body_as_onnx(loop, model.graph) if loop.system is System.TENSORRT else loop
        cut = body_as_model(written, types, written.body.opsets or model.graph.opsets)
    except UnsupportedError as error:
        raise UnsupportedError(f"the body of loop '{loop.name}' is no model by itself: {error}") from None
    inputs = [SubmodelPort(name, value, types[value]) for value, name in cut.inputs]
    names = [info.name for info in cut.model.proto.graph.output]
    outputs = [SubmodelPort(name, value, types[value]) for name, value in zip(names, cut.outputs, strict=True)]
    return Submodel(cut.model, inputs, outputs, fed, given)


def write_loop(model: Model, loop: Loop, ask: CaptureValues) -> Submodel:
    """All iterations of one entry of a loop.

    Raises:
        UnsupportedError: ONNX has no words for it, or it draws random numbers.
    """
    refuse_random(loop)
    around = list(dict.fromkeys([*outer_values_read(loop), *captured_values(loop.body)]))
    around += [scan.length for scan in loop.scan_outputs if scan.length is not None and scan.length not in around]
    fed_in = [value for value in around if value.constant is None]
    results = [value for value in loop.outputs if value is not None]
    fed, given = ask(fed_in, results)
    kinds = PortTypes()
    types = {value: kinds.port_type(value, data) for value, data in {**fed, **given}.items()}
    constants = [value for value in around if value.constant is not None]
    graph = Graph(loop.name, fed_in, results, [loop], constants, system=loop.system, opsets=model.graph.opsets)
    written = as_onnx(graph)[0] if loop.system is System.TENSORRT else graph
    whole = model_with_values(written, (), {})
    proto = whole.proto
    ports = [
        [SubmodelPort(info.name, value, types[value]) for info, value in zip(side, values, strict=True)]
        for side, values in ((proto.graph.input, fed_in), (proto.graph.output, results))
    ]
    for side, named in zip((proto.graph.input, proto.graph.output), ports, strict=True):
        del side[:]
        side.extend(port_info(port.name, port.type) for port in named)
    return Submodel(whole, ports[0], ports[1], fed, given)
