"""Peer jobs for the body of a loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ....runtime.errors import UnsupportedError
from ....runtime.graph import (
    NO_PORT,
    Graph,
    Invariant,
    Loop,
    SlicedInput,
    System,
    Value,
    ValueType,
    bodies,
    captured_values,
    nodes_in_file,
)
from ....runtime.ops.registry import is_random
from ...peers.jobs import IrBodyJob, Job, variable_input_name
from .model_job import ir_file_job, operation_outputs, request_variables

if TYPE_CHECKING:
    from ....runtime.model import Model
    from ..running.sides import ModelSide


@dataclass(frozen=True)
class BodyJob:
    """A job, the names of the values that it is fed, and the values that it returns."""

    job: Job
    inputs: Mapping[Value, str]
    outputs: Sequence[Value]


def values_fed_to_body(loop: Loop) -> tuple[list[Value], list[Value]]:
    """Values that a body needs from outside an iteration: its parameters and its captures that are not constants.

    The second list holds results of random operators, which are fed to a peer.
    """
    if loop.system is System.OPENVINO:
        return list(loop.body.inputs), []
    captures = [value for value in captured_values(loop.body) if value.constant is None]
    random_nodes = (node for node in loop.body.nodes if is_random(node, loop.system))
    random_results = [value for node in random_nodes for value in node.outputs if value is not None]
    return [*loop.body.inputs, *captures], random_results


class BodyJobBuilder:
    """Builds the jobs for one loop; declared shapes are relaxed when they turn out to vary."""

    def __init__(self, side: ModelSide, loop: Loop) -> None:
        self.model = side.model
        self.loop = loop
        self._scratch = side.scratch
        self._shapes: dict[Value, list[int | None] | None] = {}

    def accepts(self, feeds: Mapping[Value, Any]) -> bool:
        """Whether the last job accepts these values; if not, the next one will."""
        accepted = True
        for value, data in feeds.items():
            if isinstance(data, list | tuple):
                continue
            shape = list(np.shape(data))
            if value not in self._shapes:
                self._shapes[value] = [*shape]
                accepted = False
                continue
            dims = self._shapes[value]
            if dims is None:
                continue
            if len(dims) != len(shape):
                self._shapes[value] = None
                accepted = False
            elif any(a is not None and a != b for a, b in zip(dims, shape, strict=True)):
                self._shapes[value] = [a if a == b else None for a, b in zip(dims, shape, strict=True)]
                accepted = False
        return accepted

    def build(self, feeds: Mapping[Value, Any], everything: bool = False) -> BodyJob:
        """Build a job for the body; ``everything``: return all node results, without optimisations.

        Raises:
            UnsupportedError: the body cannot be written as a model.
        """
        if self.loop.system is System.OPENVINO:
            return self._build_ir(feeds, everything)
        return self._build_onnx(feeds, everything)

    def _build_onnx(self, feeds: Mapping[Value, Any], everything: bool) -> BodyJob:
        from ....runtime.graph import OptionalType, SequenceType, TensorType
        from ...peers.onnx_writer import body_as_model, make_onnx_job, type_of_data

        types: dict[Value, ValueType] = {}
        for value, data in feeds.items():
            if isinstance(value.type, OptionalType):
                types[value] = value.type
            elif isinstance(data, list | tuple):
                types[value] = value.type if isinstance(value.type, SequenceType) else type_of_data(data)
            else:
                shape = self._shapes[value]
                types[value] = TensorType(np.asarray(data).dtype, None if shape is None else tuple(shape))
        loop = self.loop
        if loop.system is System.TENSORRT:
            from ...peers.tensorrt_to_onnx import body_as_onnx

            loop = body_as_onnx(loop, self.model.graph)
        body_model = body_as_model(loop, types, self.model.graph.opsets, everything, self._scratch)
        return BodyJob(make_onnx_job(body_model.model, plain=everything), dict(body_model.inputs), body_model.outputs)

    def _build_ir(self, feeds: Mapping[Value, Any], everything: bool) -> BodyJob:
        body = self.loop.body
        if self.loop.derived_from:
            raise UnsupportedError(f"it is made of {self.loop.derived_from}, and the file has no body of it")
        if NO_PORT in (*self.loop.input_ports, *self.loop.output_ports):
            raise UnsupportedError("its body uses variables of the model, which a body alone does not have")
        nodes = nodes_in_file(body)
        extra = [
            (value, node.name, k)
            for node in (nodes if everything else ())
            for k, value in enumerate(node.outputs)
            if value is not None
        ]
        job = IrBodyJob(
            str(self.model.path),
            path_to_loop(self.model.graph, self.loop)[self.model.graph.is_over_requests :],
            [self._shapes[value] for value in body.inputs],
            [np.asarray(feeds[value]).dtype.name for value in body.inputs],
            [(name, k) for _, name, k in extra],
            "" if self.model.graph.weights is None else str(self.model.graph.weights),
        )
        inputs = {value: str(k) for k, value in enumerate(body.inputs)}
        return BodyJob(job, inputs, [*body.outputs, *(value for value, _, _ in extra)])


class RequestJobBuilder:
    """Builds the jobs for one request to a stateful model: its file, with the variables as inputs and results; as
    results they have the values that they keep for the next request."""

    def __init__(self, side: ModelSide) -> None:
        self._model = side.model
        self._variables = request_variables(side.model.graph)
        (self._loop,) = side.model.graph.nodes
        #: The variables that have the values of the file before the first request.
        self.initial_in_file = {item.state for item in self._variables if item.name not in side.model.state}

    def accepts(self, feeds: Mapping[Value, Any]) -> bool:
        """Whether the last job accepts these values: the file declares its own shapes."""
        return True

    def build(self, feeds: Mapping[Value, Any], everything: bool = False) -> BodyJob:
        """Build a job for a request; ``everything``: return all node results in place of what variables keep."""
        graph, variables = self._model.graph, self._variables
        assert isinstance(self._loop, Loop)
        body = self._loop.body
        assigned = {item.assigned for item in variables}
        # OpenVINO returns unwritten memory for a further output whose value a variable of dynamic shape keeps, too.
        outputs = operation_outputs(body) if everything else {}
        extra = {value: place for value, place in outputs.items() if value not in assigned}
        names = [item.name for item in variables]
        job = replace(
            ir_file_job(self._model),
            state={},
            values=list(extra.values()),
            variables=[] if everything else names,
            fed_variables=names,
        )
        count = len(graph.outputs) - len(variables)
        kept = [] if everything else [item.state for item in variables]
        inputs = {port.inner: str(k) for k, port in enumerate(_request_ports(self._loop, self._model))}
        inputs |= {item.state: variable_input_name(item.name) for item in variables}
        return BodyJob(job, inputs, [*body.outputs[:count], *extra, *kept])


def _request_ports(loop: Loop, model: Model) -> list[SlicedInput | Invariant]:
    """The ports of a loop over requests that the model's inputs have, in their order."""
    all_ports: list[SlicedInput | Invariant] = [*loop.sliced_inputs, *loop.invariants]
    ports = {port.outer: port for port in all_ports}
    values = {value.name: value for value in model.graph.inputs}
    return [ports[values[port.name]] for port in model.inputs]


def path_to_loop(graph: Graph, loop: Loop) -> list[tuple[str, str]]:
    """The path from a graph to a nested loop: node names, and the graph of each node."""
    for node in graph.nodes:
        for role, inner in bodies(node):
            if node is loop:
                return [(node.name, role)]
            path = path_to_loop(inner, loop)
            if path:
                return [(node.name, role), *path]
    return []
