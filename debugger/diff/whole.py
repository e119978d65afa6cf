"""The whole model as a job for a peer: as it stands, or with further values as outputs at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...runtime.graph import Graph, If, Loop, System, TensorType, Value, nodes_of_file
from ..peers.jobs import IrJob, Job, OnnxJob

if TYPE_CHECKING:
    from ...runtime.model import Model
    from .sides import ModelSide


def whole_model(side: ModelSide) -> Job:
    """The model as a peer reads it: from its file where it has one that peers read.

    Raises:
        UnsupportedError: it cannot be written as a model.
    """
    model = side.model
    if model.graph.system is System.OPENVINO:
        return IrJob(str(model.path), weights=_weights(model))
    if model.graph.system is System.ONNX and model.path is not None:
        return OnnxJob(path=str(model.path))
    return _written(model.graph, {})


def following(side: ModelSide, wanted: Mapping[Loop, Sequence[tuple[Value, TensorType]]]) -> Job:
    """With what loops of the main graph carry, stacked.

    Raises:
        UnsupportedError: it cannot be written as a model.
    """
    model = side.model
    if model.graph.system is not System.OPENVINO:
        return _written(model.graph, wanted)
    followed = [(loop.name, loop.body.outputs.index(value)) for loop, values in wanted.items() for value, _ in values]
    return IrJob(str(model.path), followed, _weights(model))


def showing(side: ModelSide, values: Sequence[Value], taken: Mapping[If, Graph]) -> Job:
    """With values of the main graph, and without the peer's optimisations. Of the Ifs in ``taken`` (ONNX alone) only
    that branch is written, as a part of the main graph.

    Raises:
        UnsupportedError: it cannot be written as a model.
    """
    from ..peers.onnx_writer import serialized, with_values

    model = side.model
    if model.graph.system is not System.OPENVINO:
        return OnnxJob(data=serialized(with_values(model.graph, values, taken)), plain=True)
    made = {
        value: (node.name, k)
        for node in nodes_of_file(model.graph)
        for k, value in enumerate(node.outputs)
        if value is not None
    }
    return IrJob(str(model.path), weights=_weights(model), values=[made[value] for value in values])


def _weights(model: Model) -> str:
    return "" if model.weights is None else str(model.weights)


def _written(graph: Graph, wanted: Mapping[Loop, Sequence[tuple[Value, TensorType]]]) -> Job:
    """A model written anew, in which loops give further values."""
    from ..peers.onnx_writer import serialized, with_trajectories

    if graph.system is System.TENSORRT:
        from ..peers.network import as_onnx

        graph, loops = as_onnx(graph)
        wanted = {loops[loop]: values for loop, values in wanted.items()}
    return OnnxJob(data=serialized(with_trajectories(graph, wanted)))
