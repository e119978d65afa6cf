"""A loop, and the same network as a model that is run once for each iteration.

OpenVINO's LowLatency2 makes of a TensorIterator what its body is, and of what it carries variables of the model. The
two are compared as what they are for a user: the runs of the one are the iterations of the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ....runtime.graph import Graph, Loop, Operation, ScanOutput, SlicedInput, Value
from ....runtime.graph.producers import ProducerMap
from ....runtime.graph.stateful_unroll import unroll_requests
from ....runtime.input_validation import Data, variable_inputs
from ....runtime.model import Model, Port
from ....runtime.ops.constant_folding import ConstantFolder


def requests_as_loop(model: Model, other: Model, names: Mapping[str, str]) -> Model | None:
    """The runs of a model that keeps variables as one loop, which cuts and collects as a loop of another model does.

    None where the model keeps nothing, or the other one has no such loop. ``names``: inputs and outputs of the other
    model with what they are called in this one.
    """
    if not model.graph.variables or other.graph.variables:
        return None
    ports = _pair_ports(other.inputs, model.inputs, names)
    results = _pair_ports(other.outputs, model.outputs, names)
    for loop in other.graph.nodes:
        if isinstance(loop, Loop):
            cut = {
                ports[name].name: _adapt_slice(one, ports[name], name, other)
                for name, one in _input_slices(other.graph, loop)
            }
            if not cut:
                continue
            joined = {results[name].name: replace(one, stack=False) for name, one in _output_scans(other, loop)}
            graph = unroll_requests(model.graph, cut, joined)
            _fix_initial_state(graph, model.state)
            for theirs in other.inputs:
                for value in graph.inputs:
                    if theirs.name in ports and value.name == ports[theirs.name].name:
                        value.name, value.type = theirs.name, theirs.type
            return Model(graph, model.path, model._internals.function, model._internals.weights)
    return None


def _fix_initial_state(graph: Graph, state: Mapping[str, Data]) -> None:
    """Let what is kept from run to run begin as constants, which is what it is compared with."""
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


def _pair_ports(theirs: Sequence[Port], ours: Sequence[Port], names: Mapping[str, str]) -> dict[str, Port]:
    """Ports by the other model's names: as they are said to be, by name, then those that are left in their order."""
    free = {port.name: port for port in ours}
    found = {port.name: free.pop(names[port.name]) for port in theirs if names.get(port.name) in free}
    found |= {port.name: free.pop(port.name) for port in theirs if port.name not in found and port.name in free}
    rest = (port.name for port in theirs if port.name not in found)
    return found | dict(zip(rest, free.values(), strict=False))


def _adapt_slice(one: SlicedInput, port: Port, name: str, other: Model) -> SlicedInput:
    """A part as the model takes it, which has the axis that is cut where the other model's whole input has it."""
    whole = next(port for port in other.inputs if port.name == name).shape
    return replace(one, drop_axis=whole is not None and port.shape is not None and len(port.shape) < len(whole))


def _input_slices(graph: Graph, loop: Loop) -> Iterator[tuple[str, SlicedInput]]:
    """How a loop cuts inputs of its graph."""
    for one in (*loop.sliced_inputs, *(edge.initial for edge in loop.back_edges)):
        if isinstance(one, SlicedInput):
            source, axes = _trace_transposes(one.outer, graph)
            if source in graph.inputs:
                yield source.name, replace(one, axis=_source_axis(axes, one.axis))


def _output_scans(other: Model, loop: Loop) -> Iterator[tuple[str, ScanOutput]]:
    """How a loop collects outputs of its model."""
    scans = {scan.outer: scan for scan in loop.scan_outputs}
    for port, value in zip(other.outputs, other.graph.outputs, strict=False):
        source, axes = _trace_transposes(value, other.graph)
        if source in scans:
            axis = scans[source].axis
            yield port.name, replace(scans[source], axis=list(axes).index(axis) if axis in axes else axis)


def _source_axis(axes: Sequence[int], axis: int) -> int:
    return axes[axis] if axes else axis


def _trace_transposes(value: Value, graph: Graph) -> tuple[Value, tuple[int, ...]]:
    """Where a value comes from but for the order of its axes, and for each of its axes which one it is there; no axes:
    the same ones."""
    origins = ProducerMap.for_graph(graph)
    constants = ConstantFolder(origins, graph.system)
    axes: tuple[int, ...] = ()
    while isinstance(node := origins.producer(value), Operation) and node.inputs and node.inputs[0] is not None:
        order = constants.value_of(node.inputs[1]) if node.op_type == "Transpose" and len(node.inputs) > 1 else None
        if order is not None and order.ndim == 1 and order.size:
            axes = tuple(int(order[k]) for k in axes) or tuple(map(int, order))
        elif node.op_type != "Convert":
            break
        value = node.inputs[0]
    return value, axes
