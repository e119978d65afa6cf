"""A loop, or the body of one, written as ONNX from the graph: where no ONNX file has it, as of a TensorRT network, or
of a body that an operator was opened into."""

from __future__ import annotations

from dataclasses import replace

from ...runtime.errors import UnsupportedError
from ...runtime.graph import Graph, Loop, System, captured
from ...runtime.model import Model
from ..diff.bodies import fed_values
from ..peers.network import as_onnx, body_as_onnx
from ..peers.onnx_writer import cut_body, port_info, with_values
from .captured import begun_with
from .onnx_source import Types
from .part import Ask, Part, Port, refuse_random


def write_body(model: Model, loop: Loop, ask: Ask) -> Part:
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
    kinds = Types()
    types = {value: kinds.of(value, data) for value, data in {**given, **fed}.items()}
    try:
        written = body_as_onnx(loop, model.graph) if loop.system is System.TENSORRT else loop
        cut = cut_body(written, types, written.body.opsets or model.graph.opsets)
    except UnsupportedError as error:
        raise UnsupportedError(f"the body of loop '{loop.name}' is no model by itself: {error}") from None
    inputs = [Port(name, value, types[value]) for value, name in cut.inputs]
    names = [info.name for info in cut.model.proto.graph.output]
    outputs = [Port(name, value, types[value]) for name, value in zip(names, cut.outputs, strict=True)]
    return Part(cut.model, inputs, outputs, fed, given)


def write_loop(model: Model, loop: Loop, ask: Ask) -> Part:
    """All iterations of one entry of a loop.

    Raises:
        UnsupportedError: ONNX has no words for it, or it draws random numbers.
    """
    refuse_random(loop)
    around = list(dict.fromkeys([*begun_with(loop), *captured(loop.body)]))
    around += [scan.length for scan in loop.scan_outputs if scan.length is not None and scan.length not in around]
    fed_in = [value for value in around if value.constant is None]
    results = [value for value in loop.outputs if value is not None]
    fed, given = ask(fed_in, results)
    kinds = Types()
    types = {value: kinds.of(value, data) for value, data in {**fed, **given}.items()}
    constants = [value for value in around if value.constant is not None]
    graph = Graph(loop.name, fed_in, results, [loop], constants, system=loop.system, opsets=model.graph.opsets)
    written = as_onnx(graph)[0] if loop.system is System.TENSORRT else graph
    whole = with_values(written, (), {})
    proto = whole.proto
    ports = [
        [Port(info.name, value, types[value]) for info, value in zip(side, values, strict=True)]
        for side, values in ((proto.graph.input, fed_in), (proto.graph.output, results))
    ]
    for side, named in zip((proto.graph.input, proto.graph.output), ports, strict=True):
        del side[:]
        side.extend(port_info(port.name, port.type) for port in named)
    return Part(whole, ports[0], ports[1], fed, given)
