"""Compares a loop with a stateful model that is run once for each iteration.

OpenVINO's LowLatency2 replaces a TensorIterator by its body and its carried values by model variables. The runs of that
model are compared with the iterations of the loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ....runtime.graph import Graph, Loop, Operation, ScanOutput, SlicedInput, Value
from ....runtime.graph.producers import ProducerMap
from ....runtime.graph.stateful_runs_as_loop import unroll_requests
from ....runtime.input_validation import Data, variable_inputs
from ....runtime.model import Model, Port
from ....runtime.ops.constant_folding import ConstantFolder


def requests_as_loops(left: Model, right: Model, names: Mapping[str, str]) -> tuple[Model, Model]:
    """Both models, of which a stateful one becomes a loop over requests. ``names``: names of inputs and outputs of the
    left one with those of the right one."""
    reverse = {other: name for name, other in names.items()}
    return _requests_as_loop(left, right, reverse), _requests_as_loop(right, left, names)


def _requests_as_loop(model: Model, other: Model, names: Mapping[str, str]) -> Model:
    """The runs of a stateful model as one loop with the slices and scan outputs of another model's loop; the model
    itself if it is stateless, or the other one has no such loop."""
    if not model.graph.variables or other.graph.variables:
        return model
    ports = _pair_ports(other.inputs, model.inputs, names)
    results = _pair_ports(other.outputs, model.outputs, names)
    for loop in other.graph.nodes:
        if isinstance(loop, Loop):
            slices = {
                ports[name].name: _adapt_slice(p, ports[name], name, other)
                for name, p in _input_slices(other.graph, loop)
            }
            if not slices:
                continue
            scans = {results[name].name: replace(p, stack=False) for name, p in _output_scans(other, loop)}
            graph = unroll_requests(model.graph, slices, scans)
            _make_initial_state_constant(graph, model.state)
            for port in other.inputs:
                for value in graph.inputs:
                    if port.name in ports and value.name == ports[port.name].name:
                        value.name, value.type = port.name, port.type
            return Model(graph, model.path, model.graph.function, model.graph.weights)
    return model


def _make_initial_state_constant(graph: Graph, state: Mapping[str, Data]) -> None:
    """Make the initial values of the state constants, for the comparison."""
    for value, data in variable_inputs(graph, state):
        value.constant = data
        graph.inputs.remove(value)
        graph.constants.append(value)
    assigned = {variable.assigned for variable in graph.variables}
    graph.output_names = [
        name for name, value in zip(graph.output_names, graph.outputs, strict=True) if value not in assigned
    ]
    graph.outputs = [value for value in graph.outputs if value not in assigned]
    graph.variables = []


def _pair_ports(ports: Sequence[Port], own_ports: Sequence[Port], names: Mapping[str, str]) -> dict[str, Port]:
    """Ports by the other model's names: by given names, by name, then in order."""
    free = {port.name: port for port in own_ports}
    pairs = {port.name: free.pop(names[port.name]) for port in ports if names.get(port.name) in free}
    pairs |= {port.name: free.pop(port.name) for port in ports if port.name not in pairs and port.name in free}
    rest = (port.name for port in ports if port.name not in pairs)
    return pairs | dict(zip(rest, free.values(), strict=False))


def _adapt_slice(port_slice: SlicedInput, port: Port, name: str, other: Model) -> SlicedInput:
    """A slice adapted to the port, which keeps the sliced axis if the other model's input has that rank."""
    shape = next(port for port in other.inputs if port.name == name).shape
    return replace(port_slice, drop_axis=shape is not None and port.shape is not None and len(port.shape) < len(shape))


def _input_slices(graph: Graph, loop: Loop) -> Iterator[tuple[str, SlicedInput]]:
    """The slices of graph inputs in a loop."""
    for port_slice in (*loop.sliced_inputs, *(edge.initial for edge in loop.back_edges)):
        if isinstance(port_slice, SlicedInput):
            source, axes = _trace_transposes(port_slice.outer, graph)
            if source in graph.inputs:
                yield source.name, replace(port_slice, axis=axes[port_slice.axis] if axes else port_slice.axis)


def _output_scans(other: Model, loop: Loop) -> Iterator[tuple[str, ScanOutput]]:
    """The scan outputs that become model outputs."""
    scans = {scan.outer: scan for scan in loop.scan_outputs}
    for port, value in zip(other.outputs, other.graph.outputs, strict=False):
        source, axes = _trace_transposes(value, other.graph)
        if source in scans:
            axis = scans[source].axis
            yield port.name, replace(scans[source], axis=list(axes).index(axis) if axis in axes else axis)


def _trace_transposes(value: Value, graph: Graph) -> tuple[Value, tuple[int, ...]]:
    """The source of a transposed value, and for each of its axes the axis of the source; empty for the identity
    permutation."""
    origins = ProducerMap.for_graph(graph)
    constants = ConstantFolder(origins, graph.system)
    axes: tuple[int, ...] = ()
    while isinstance(node := origins.get(value), Operation) and node.inputs and node.inputs[0] is not None:
        order = constants.value_of(node.inputs[1]) if node.op_type == "Transpose" and len(node.inputs) > 1 else None
        if order is not None and order.ndim == 1 and order.size:
            axes = tuple(int(order[k]) for k in axes) or tuple(map(int, order))
        elif node.op_type != "Convert":
            break
        value = node.inputs[0]
    return value, axes
