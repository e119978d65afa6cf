"""Peer jobs for the whole model: unchanged, or with additional outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ....runtime.graph import Graph, If, Loop, Node, Operation, System, TensorType, Value, nodes_in_file
from ...peers.jobs import IrJob, Job, OnnxJob

if TYPE_CHECKING:
    from ....runtime.model import Model
    from ...peers.process import LoadedModel
    from ..running.sides import ModelSide


def model_job(side: ModelSide) -> Job:
    """A job with the model in the form that the peer reads: its file if possible.

    Raises:
        UnsupportedError: the model cannot be written.
    """
    model = side.model
    if model.graph.system is System.OPENVINO:
        return ir_file_job(model)
    # Outputs are compared by position, so a file with more outputs than the graph is rewritten.
    if model.graph.system is System.ONNX and model.path is not None and not model.graph.missing_outputs:
        if model.path.suffix in (".onnx", ".pb"):
            return OnnxJob(path=str(model.path))
        # Only the onnx package reads ONNX's text formats.
        from ....runtime.modelfile.onnx_storage import read_model
        from ...peers.onnx_writer import make_onnx_job

        return make_onnx_job(read_model(model.path))
    return _onnx_job(side, {})


def trajectory_job(side: ModelSide, carried: Mapping[Loop, Sequence[tuple[Value, TensorType]]]) -> Job:
    """A job with the stacked carried values of loops of the main graph as outputs.

    Raises:
        UnsupportedError: the model cannot be written.
    """
    model = side.model
    if model.graph.system is not System.OPENVINO:
        return _onnx_job(side, carried)
    if model.graph.is_over_requests:
        names = {variable.assigned: variable.name for variable in request_variables(model.graph)}
        assigned = [names[value] for values in carried.values() for value, _ in values]
        return replace(ir_file_job(model), variables=assigned)
    indices = [(loop.name, loop.body.outputs.index(value)) for loop, values in carried.items() for value, _ in values]
    return replace(ir_file_job(model), trajectories=indices)


def main_graph_job(side: ModelSide, values: Sequence[Value], taken_branches: Mapping[If, Graph]) -> Job:
    """A job with values of the main graph as outputs, without the peer's optimisations. Of the Ifs in
    ``taken_branches`` (ONNX only) just that branch is written, inlined in the main graph.

    Raises:
        UnsupportedError: the model cannot be written.
    """
    from ...peers.onnx_writer import make_onnx_job, model_with_values

    model = side.model
    if model.graph.system is not System.OPENVINO:
        return make_onnx_job(model_with_values(_as_onnx(model.graph), values, taken_branches, side.scratch), plain=True)
    outputs = _output_locations(nodes_in_file(model.graph))
    return replace(ir_file_job(model), values=[outputs[value] for value in values])


def unavailable_values(side: ModelSide) -> set[Value]:
    """Node results of the main graph that the peer's graph does not contain.

    Raises:
        UnsupportedError: the model cannot be written.
    """
    graph = side.model.graph
    if graph.system is System.OPENVINO:
        return {value for node in graph.nodes for value in node.outputs if value is not None and _is_assign(node)}
    if graph.system is System.TENSORRT:
        return set(_output_locations(graph.nodes)) - set(_output_locations(_as_onnx(graph).nodes))
    return set()


def _as_onnx(graph: Graph) -> Graph:
    """A TensorRT network converted to ONNX, or any other graph unchanged."""
    if graph.system is not System.TENSORRT:
        return graph
    from ...peers.tensorrt_to_onnx import as_onnx

    return as_onnx(graph)[0]


@dataclass(frozen=True)
class RequestVariable:
    """A variable in the body of a loop over requests: its value before a request, and the one that this assigns."""

    name: str
    state: Value
    assigned: Value


def request_variables(graph: Graph) -> list[RequestVariable]:
    """The variables that requests assign. ``graph``: that of a loop over requests."""
    (loop,) = (node for node in graph.nodes if isinstance(node, Loop))
    edges = {edge.initial: edge for edge in loop.back_edges}
    return [
        RequestVariable(variable.name, edges[variable.state].param, edges[variable.state].result)
        for variable in graph.variables
        if variable.assigned is not None
    ]


def operation_outputs(graph: Graph) -> dict[Value, tuple[str, int]]:
    """For each value, the name of the node without subgraphs that computes it, and the output index. Nodes with
    subgraphs may have extra outputs for variables that the file lacks."""
    return _output_locations(
        node for node in nodes_in_file(graph) if isinstance(node, Operation) and not _is_assign(node)
    )


def _is_assign(node: Node) -> bool:
    """Whether it is OpenVINO's Assign, whose result cannot be read."""
    return node.op_type == "Assign"


def _output_locations(nodes: Iterable[Node]) -> dict[Value, tuple[str, int]]:
    return {value: (node.name, k) for node in nodes for k, value in enumerate(node.outputs) if value is not None}


def run_model(loaded: LoadedModel, feeds: Mapping[str, Any], model: Model) -> list[Any]:
    """The peer's outputs of a whole model; for a loop over requests, stacked over all requests, or a list if
    shapes differ.

    Raises:
        PeerError: the peer failed, crashed or hung.
    """
    if not model.graph.is_over_requests:
        return loaded.run(feeds)
    count = len(next(iter(feeds.values())))
    runs = [loaded.run({name: value[k] for name, value in feeds.items()}) for k in range(count)]
    outputs = zip(*runs, strict=True)
    return [np.stack(rows) if len({row.shape for row in rows}) == 1 else list(rows) for rows in outputs]


def ir_file_job(model: Model) -> IrJob:
    """A job with an unchanged IR."""
    return IrJob(
        str(model.path),
        weights="" if model.graph.weights is None else str(model.graph.weights),
        state=model.state,
    )


def _onnx_job(side: ModelSide, carried: Mapping[Loop, Sequence[tuple[Value, TensorType]]]) -> Job:
    """A job with the model rewritten so that loops return additional values."""
    from ...peers.onnx_writer import make_onnx_job, model_with_trajectories

    graph = side.model.graph
    if graph.system is System.TENSORRT:
        from ...peers.tensorrt_to_onnx import as_onnx

        graph, loops = as_onnx(graph)
        carried = {loops[loop]: values for loop, values in carried.items()}
    return make_onnx_job(model_with_trajectories(graph, carried, side.scratch))
