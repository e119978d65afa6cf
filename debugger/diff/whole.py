"""The whole model as a job for a peer: as it stands, or with further values as outputs at the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...runtime.graph import Graph, If, Loop, Node, Operation, System, TensorType, Value, nodes_of_file
from ..peers.jobs import IrJob, Job, OnnxJob

if TYPE_CHECKING:
    from ...runtime.model import Model
    from ..peers.process import Loaded
    from .sides import ModelSide


def whole_model(side: ModelSide) -> Job:
    """The model as a peer reads it: from its file where it has one that peers read.

    Raises:
        UnsupportedError: it cannot be written as a model.
    """
    model = side.model
    if model.graph.system is System.OPENVINO:
        return _file(model)
    # Outputs are compared by position, so a file with more outputs than the graph is not given as it is.
    if model.graph.system is System.ONNX and model.path is not None and not model.graph.not_computed:
        if model.path.suffix in (".onnx", ".pb"):
            return OnnxJob(path=str(model.path))
        # ONNX's text forms are known to the onnx package alone.
        from ...runtime.frontends.onnx.model_file import read_model
        from ..peers.onnx_writer import onnx_job

        return onnx_job(read_model(model.path))
    return _written(model.graph, {})


def following(side: ModelSide, wanted: Mapping[Loop, Sequence[tuple[Value, TensorType]]]) -> Job:
    """With what loops of the main graph carry, stacked.

    Raises:
        UnsupportedError: it cannot be written as a model.
    """
    model = side.model
    if model.graph.system is not System.OPENVINO:
        return _written(model.graph, wanted)
    if model._inside.requests:
        made = [made_by_operations(loop.body)[value] for loop, values in wanted.items() for value, _ in values]
        return replace(_file(model), values=made)
    followed = [(loop.name, loop.body.outputs.index(value)) for loop, values in wanted.items() for value, _ in values]
    return replace(_file(model), trajectories=followed)


def showing(side: ModelSide, values: Sequence[Value], taken: Mapping[If, Graph]) -> Job:
    """With values of the main graph, and without the peer's optimisations. Of the Ifs in ``taken`` (ONNX alone) only
    that branch is written, as a part of the main graph.

    Raises:
        UnsupportedError: it cannot be written as a model.
    """
    from ..peers.onnx_writer import onnx_job, with_values

    model = side.model
    if model.graph.system is not System.OPENVINO:
        return onnx_job(with_values(_in_onnx(model.graph), values, taken), plain=True)
    made = _made(nodes_of_file(model.graph))
    return replace(_file(model), values=[made[value] for value in values])


def not_shown(side: ModelSide) -> set[Value]:
    """What nodes of the main graph compute that is not in the graph which a peer is given.

    Raises:
        UnsupportedError: it cannot be written as a model.
    """
    graph = side.model.graph
    return set(_made(graph.nodes)) - set(_made(_in_onnx(graph).nodes)) if graph.system is System.TENSORRT else set()


def _in_onnx(graph: Graph) -> Graph:
    """A network of TensorRT in ONNX's words, any other graph as it is."""
    if graph.system is not System.TENSORRT:
        return graph
    from ..peers.network import as_onnx

    return as_onnx(graph)[0]


def made_by_operations(graph: Graph) -> dict[Value, tuple[str, int]]:
    """The node without a body that makes a value of a graph, by name, and which of its outputs that is. One with a body
    may have outputs that the file does not have, for variables."""
    return _made(node for node in nodes_of_file(graph) if isinstance(node, Operation))


def _made(nodes: Iterable[Node]) -> dict[Value, tuple[str, int]]:
    return {value: (node.name, k) for node in nodes for k, value in enumerate(node.outputs) if value is not None}


def run_whole(loaded: Loaded, feeds: Mapping[str, Any], model: Model) -> list[Any]:
    """What a peer gives for a whole model; for requests, each of their outputs on one more axis in front.

    Raises:
        PeerError: it failed, crashed or hung.
    """
    if not model._inside.requests:
        return loaded.run(feeds)
    count = len(next(iter(feeds.values())))
    runs = [loaded.run({name: value[k] for name, value in feeds.items()}) for k in range(count)]
    return [np.stack(one) for one in zip(*runs, strict=True)]


def _file(model: Model) -> IrJob:
    """An IR as it is."""
    return IrJob(
        str(model.path), weights="" if model._inside.weights is None else str(model._inside.weights), state=model.state
    )


def _written(graph: Graph, wanted: Mapping[Loop, Sequence[tuple[Value, TensorType]]]) -> Job:
    """A model written anew, in which loops give further values."""
    from ..peers.onnx_writer import onnx_job, with_trajectories

    if graph.system is System.TENSORRT:
        from ..peers.network import as_onnx

        graph, loops = as_onnx(graph)
        wanted = {loops[loop]: values for loop, values in wanted.items()}
    return onnx_job(with_trajectories(graph, wanted))
