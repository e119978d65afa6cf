"""The whole model as a job for a peer: as it stands, or with further values as outputs at the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ....runtime.graph import Graph, If, Loop, Node, Operation, System, TensorType, Value, nodes_in_file
from ...peers.jobs import IrJob, Job, OnnxJob

if TYPE_CHECKING:
    from ....runtime.model import Model
    from ...peers.process import LoadedModel
    from ..running.sides import ModelSide


def model_job(side: ModelSide) -> Job:
    """The model as a peer reads it: from its file where it has one that peers read.

    Raises:
        UnsupportedError: it cannot be written as a model.
    """
    model = side.model
    if model.graph.system is System.OPENVINO:
        return _ir_file_job(model)
    # Outputs are compared by position, so a file with more outputs than the graph is not given as it is.
    if model.graph.system is System.ONNX and model.path is not None and not model.graph.missing_outputs:
        if model.path.suffix in (".onnx", ".pb"):
            return OnnxJob(path=str(model.path))
        # ONNX's text forms are known to the onnx package alone.
        from ....runtime.frontends.onnx.model_file import read_model
        from ...peers.onnx_writer import make_onnx_job

        return make_onnx_job(read_model(model.path))
    return _onnx_job(model.graph, {})


def trajectory_job(side: ModelSide, wanted: Mapping[Loop, Sequence[tuple[Value, TensorType]]]) -> Job:
    """With what loops of the main graph carry, stacked.

    Raises:
        UnsupportedError: it cannot be written as a model.
    """
    model = side.model
    if model.graph.system is not System.OPENVINO:
        return _onnx_job(model.graph, wanted)
    if model._internals.is_over_requests:
        made = [operation_outputs(loop.body)[value] for loop, values in wanted.items() for value, _ in values]
        return replace(_ir_file_job(model), values=made)
    followed = [(loop.name, loop.body.outputs.index(value)) for loop, values in wanted.items() for value, _ in values]
    return replace(_ir_file_job(model), trajectories=followed)


def main_graph_job(side: ModelSide, values: Sequence[Value], taken: Mapping[If, Graph]) -> Job:
    """With values of the main graph, and without the peer's optimisations. Of the Ifs in ``taken`` (ONNX alone) only
    that branch is written, as a part of the main graph.

    Raises:
        UnsupportedError: it cannot be written as a model.
    """
    from ...peers.onnx_writer import make_onnx_job, model_with_values

    model = side.model
    if model.graph.system is not System.OPENVINO:
        return make_onnx_job(model_with_values(_as_onnx(model.graph), values, taken), plain=True)
    made = _node_outputs(nodes_in_file(model.graph))
    return replace(_ir_file_job(model), values=[made[value] for value in values])


def unavailable_values(side: ModelSide) -> set[Value]:
    """What nodes of the main graph compute that is not in the graph which a peer is given.

    Raises:
        UnsupportedError: it cannot be written as a model.
    """
    graph = side.model.graph
    return (
        set(_node_outputs(graph.nodes)) - set(_node_outputs(_as_onnx(graph).nodes))
        if graph.system is System.TENSORRT
        else set()
    )


def _as_onnx(graph: Graph) -> Graph:
    """A network of TensorRT in ONNX's words, any other graph as it is."""
    if graph.system is not System.TENSORRT:
        return graph
    from ...peers.tensorrt_to_onnx import as_onnx

    return as_onnx(graph)[0]


def operation_outputs(graph: Graph) -> dict[Value, tuple[str, int]]:
    """The node without a body that makes a value of a graph, by name, and which of its outputs that is. One with a body
    may have outputs that the file does not have, for variables."""
    return _node_outputs(node for node in nodes_in_file(graph) if isinstance(node, Operation))


def _node_outputs(nodes: Iterable[Node]) -> dict[Value, tuple[str, int]]:
    return {value: (node.name, k) for node in nodes for k, value in enumerate(node.outputs) if value is not None}


def run_model(loaded: LoadedModel, feeds: Mapping[str, Any], model: Model) -> list[Any]:
    """What a peer gives for a whole model; for requests, each of their outputs on one more axis in front.

    Raises:
        PeerError: it failed, crashed or hung.
    """
    if not model._internals.is_over_requests:
        return loaded.run(feeds)
    count = len(next(iter(feeds.values())))
    runs = [loaded.run({name: value[k] for name, value in feeds.items()}) for k in range(count)]
    return [np.stack(one) for one in zip(*runs, strict=True)]


def _ir_file_job(model: Model) -> IrJob:
    """An IR as it is."""
    return IrJob(
        str(model.path),
        weights="" if model._internals.weights is None else str(model._internals.weights),
        state=model.state,
    )


def _onnx_job(graph: Graph, wanted: Mapping[Loop, Sequence[tuple[Value, TensorType]]]) -> Job:
    """A model written anew, in which loops give further values."""
    from ...peers.onnx_writer import make_onnx_job, model_with_trajectories

    if graph.system is System.TENSORRT:
        from ...peers.tensorrt_to_onnx import as_onnx

        graph, loops = as_onnx(graph)
        wanted = {loops[loop]: values for loop, values in wanted.items()}
    return make_onnx_job(model_with_trajectories(graph, wanted))
