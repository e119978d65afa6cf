"""Converts variables of OpenVINO IR (ReadValue and Assign) to inputs and outputs of a graph.

A variable of a model is an additional last input and output of its graph: the output of a run is the input of the next.
In a body it is carried by a back edge of a loop, or by outputs of an If. A graph reads the value at its begin (in a
body: of its iteration); an assigned value holds from its end on. OpenVINO's CPU plugin does the same (2026.4:
TensorIterator with constant, computed and outer initial values, and If).

Specification: docs.openvino.ai, "ReadValue-6", "Assign-6" and "Stateful models".
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...graph import (
    NO_PORT,
    Array,
    BackEdge,
    Graph,
    Invariant,
    LastValueOutput,
    Loop,
    Node,
    Operation,
    TensorType,
    Value,
    Variable,
    bodies,
    walk,
)
from ...graph.producers import ProducerMap
from ...ops.constant_folding import ConstantFolder
from .constants import element_type
from .ir_document import IrLayer, IrXml

#: The state of a variable: its value and, where this is known only at run time, whether it has one.
VariableState = tuple[Value, ...]


class VariableConnector:
    """Collects the ReadValues and Assigns of one document, and connects them in the complete graph."""

    def __init__(self, document: IrXml) -> None:
        self._document = document
        self._types: dict[str, TensorType] = {}
        self._reads: dict[Operation, str] = {}
        self._assigns: dict[Operation, str] = {}
        self._layers: dict[Node, IrLayer] = {}
        #: Initial value of a variable; None where a node computes it.
        self._initial: dict[str, Array | None] = {}

    def add_layer(self, layer: IrLayer, operation: Operation) -> None:
        """Register a ReadValue or an Assign.

        Raises:
            ModelError: it has no variable, an unknown type, or no input.
        """
        name = layer.data.get("variable_id")
        if not name:
            raise self._document.error(layer.element, f"{layer} lacks its attribute 'variable_id'", name="variable_id")
        declared = self._variable_type(layer)
        reads = layer.kind == "readvalue"
        if reads or name not in self._types:
            self._types[name] = declared
        if not reads and not operation.inputs:
            raise self._document.error(layer.element, f"nothing is connected to {layer}")
        (self._reads if reads else self._assigns)[operation] = name
        self._layers[operation] = layer

    def _variable_type(self, layer: IrLayer) -> TensorType:
        """The type from the attributes (version 6), or from a port."""
        ports = (*layer.outputs, *layer.inputs)
        type_text, shape = layer.data.get("variable_type"), layer.data.get("variable_shape")
        dtype = element_type(self._document, layer, type_text or next((port.precision for port in ports), None))
        if dtype is None:
            raise self._document.error(layer.element, f"{layer}: the type of its variable is not known")
        if shape is not None:
            return TensorType(dtype, self._document.shape(layer, shape))
        return TensorType(dtype, ports[0].dims if ports else None)

    def connect(self, graph: Graph) -> None:
        """Add the variables to the model's graph, and thread them through the bodies that use them.

        Raises:
            ModelError: a variable is assigned twice.
        """
        used = {value.name for value in graph.inputs}
        constants = ConstantFolder(ProducerMap.for_graph(graph), graph.system)
        for name in self._types:
            self._initial[name] = initial = self._constant_initial_value(name, constants)
            state = self._add_variable_inputs(name, graph, used)
            # Where a node computes the initial value, only the type of this one is used.
            values = (self._zero_state(name) if initial is None else initial, np.array(False))
            defaults = {value_input.name: value for value_input, value in zip(state, values, strict=False)}
            graph.defaults = {**graph.defaults, **defaults}
            variable = Variable(name, *state)
            variable.initial = self._computed_initial_value(name)
            graph.variables.append(variable)
            final = self._thread_through_graph(graph, name, state)
            if final is not state:
                variable.assigned = final[0]
                graph.outputs.append(final[0])
                graph.output_names.append(variable.output_name)

    def _constant_initial_value(self, name: str, constants: ConstantFolder) -> Array | None:
        """The initial value of a variable, if all of its ReadValues have the same constant."""
        data = [constants.value_of(r.inputs[0]) if r.inputs else self._zero_state(name) for r in self._reads_of(name)]
        first = data[0] if data else self._zero_state(name)
        all_equal = all(x is not None and first is not None and np.array_equal(x, first) for x in data)
        return first if all_equal else None

    def _zero_state(self, name: str) -> Array:
        shape = self._types[name].shape or ()
        return np.zeros([dim if isinstance(dim, int) else 0 for dim in shape], self._types[name].dtype)

    def _computed_initial_value(self, name: str) -> Value | None:
        if self._initial[name] is not None:
            return None
        return next((read.inputs[0] for read in self._reads_of(name) if read.inputs), None)

    def _reads_of(self, name: str) -> Iterator[Operation]:
        return (read for read, variable in self._reads.items() if variable == name)

    def _add_variable_inputs(self, name: str, graph: Graph, used: set[str]) -> VariableState:
        """Add a variable as inputs of a graph.

        The value that a graph reads has the variable's name: its input where the initial value is constant, else the
        output of its ReadValue.
        """
        reads = (node for node in graph.nodes if isinstance(node, Operation) and self._reads.get(node) == name)
        read = next(reads, None)
        read_value = None if read is None else read.outputs[0]
        state = [Value(name, self._types[name])]
        if self._initial[name] is None:
            state.append(Value(f"{name} is known", TensorType(np.dtype(np.bool_), ())))
            if read_value is not None:
                state[0].name = f"{name} (kept)"
                read_value.name = name
        elif read is not None and read_value is not None:
            state = [read_value]
            read_value.name, read_value.type = name, self._types[name]
            graph.nodes.remove(read)
        for value in state:
            while value.name in used:
                value.name += "_"
            used.add(value.name)
        graph.inputs += state
        return tuple(state)

    def _thread_through_graph(self, graph: Graph, name: str, before: VariableState) -> VariableState:
        """Thread a variable through a graph; returns its final state, ``before`` where nothing assigns it."""
        after = before
        for node in graph.nodes:
            assigned = before
            if isinstance(node, Operation):
                if self._reads.get(node) == name:
                    # The initial value is only needed where the state may be unknown.
                    node.inputs[:] = [*before, *(node.inputs[:1] if len(before) > 1 else ())]
                elif self._assigns.get(node) == name and node.inputs[0] is not None:
                    assigned = (node.inputs[0], *(self._add_true_constant(graph) for _ in before[1:]))
            elif self._bodies_use_variable(node, name):
                assigned = (
                    self._thread_through_loop(node, name, before)
                    if isinstance(node, Loop)
                    else self._thread_through_if(node, name, before)
                )
            if assigned is not before and after is not before:
                layer = self._layers.get(node)
                element = self._document.root if layer is None else layer.element
                raise self._document.error(
                    element, f"{layer or node.name}: the variable '{name}' is assigned twice", name=name
                )
            after = assigned if assigned is not before else after
        return after

    def _bodies_use_variable(self, node: Node, name: str) -> bool:
        inner = (operation for _, body in bodies(node) for operation in walk(body) if isinstance(operation, Operation))
        return any(self._reads.get(operation) == name or self._assigns.get(operation) == name for operation in inner)

    def _add_true_constant(self, graph: Graph) -> Value:
        constant = Value("assigned", TensorType(np.dtype(np.bool_), ()), np.array(True))
        graph.constants.append(constant)
        return constant

    def _thread_through_loop(self, loop: Node, name: str, before: VariableState) -> VariableState:
        """Thread a variable through a loop, from one iteration to the next."""
        assert isinstance(loop, Loop)
        body = loop.body
        inner = self._add_variable_inputs(name, body, {value.name for value in body.inputs})
        after = self._thread_through_graph(body, name, inner)
        loop.inputs += before
        loop.input_ports += [NO_PORT] * len(before)
        if after is inner:
            loop.invariants += map(Invariant, before, inner)
            return before
        edges = [BackEdge(*edge) for edge in zip(before, inner, after, strict=True)]
        outputs = tuple(Value(f"{param.name} after {loop.name}", param.type) for param in inner)
        loop.back_edges += edges
        loop.outputs += outputs
        loop.output_ports += [NO_PORT] * len(outputs)
        loop.last_values += map(LastValueOutput, after, outputs, edges)
        body.outputs += after
        body.output_names += [f"{param.name} (assigned)" for param in inner]
        return outputs

    def _thread_through_if(self, node: Node, name: str, before: VariableState) -> VariableState:
        """Thread a variable through an If; a branch that does not assign it forwards it."""
        afters = [self._thread_through_graph(branch, name, before) for _, branch in bodies(node)]
        if all(after is before for after in afters):
            return before
        for (_, branch), after in zip(bodies(node), afters, strict=True):
            branch.outputs += after
        outputs = tuple(Value(f"{value.name} after {node.name}", value.type) for value in before)
        node.outputs += outputs
        return outputs
