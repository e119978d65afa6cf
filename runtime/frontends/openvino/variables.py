"""OpenVINO IR, the variables: ReadValue and Assign -> values that a graph gets and gives.

A variable of a model is an input and an output of its graph, behind its own: what a run gives, the next one gets. In a
body it is carried: by a back edge of a loop, by outputs of an If. A graph reads what a variable was when it began (a
body: its iteration), and what it assigns holds from its end on. OpenVINO's CPU plugin gives the same (2026.4:
TensorIterator with constant, computed and outer initial values, and If).

Written spec: docs.openvino.ai, "ReadValue-6", "Assign-6" and "Stateful models".
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
from .ir_document import IrDocument, IrLayer

#: What a variable is at some place: its value and, where that cannot be said before it runs, whether there is one.
VariableState = tuple[Value, ...]


class VariableConnector:
    """The ReadValues and Assigns of one document, until the whole graph is there."""

    def __init__(self, document: IrDocument) -> None:
        self._document = document
        self._types: dict[str, TensorType] = {}
        self._reads: dict[Operation, str] = {}
        self._assigns: dict[Operation, str] = {}
        self._layers: dict[Node, IrLayer] = {}
        #: What a variable is before anything is assigned; None where a node computes that.
        self._initial: dict[str, Array | None] = {}

    def add_layer(self, layer: IrLayer, operation: Operation) -> None:
        """Take a ReadValue or an Assign.

        Raises:
            ModelError: it names no variable, its type is not known, or nothing is connected to it.
        """
        name = layer.data.get("variable_id")
        if not name:
            raise self._document.error(layer.element, f"{layer} lacks its attribute 'variable_id'")
        declared = self._variable_type(layer)
        reads = layer.kind == "readvalue"
        if reads or name not in self._types:
            self._types[name] = declared
        if not reads and not operation.inputs:
            raise self._document.error(layer.element, f"nothing is connected to {layer}")
        (self._reads if reads else self._assigns)[operation] = name
        self._layers[operation] = layer

    def _variable_type(self, layer: IrLayer) -> TensorType:
        """Of the attributes (version 6), or of a port."""
        ports = (*layer.outputs, *layer.inputs)
        word, shape = layer.data.get("variable_type"), layer.data.get("variable_shape")
        dtype = element_type(self._document, layer, word or next((port.precision for port in ports), None))
        if dtype is None:
            raise self._document.error(layer.element, f"{layer}: the type of its variable is not known")
        if shape is not None:
            return TensorType(dtype, self._document.shape(layer, shape))
        return TensorType(dtype, ports[0].dims if ports else None)

    def connect(self, graph: Graph) -> None:
        """Give the model's graph its variables, and lead them through the bodies that use them.

        Raises:
            ModelError: a variable is assigned twice.
        """
        taken = {value.name for value in graph.inputs}
        constants = ConstantFolder(ProducerMap.for_graph(graph), graph.system)
        for name in self._types:
            self._initial[name] = initial = self._constant(name, constants)
            state = self._add_variable_inputs(name, graph, taken)
            # Where a node computes what it is before that, nothing is read of it then but its type.
            values = (self._zeros(name) if initial is None else initial, np.array(False))
            defaults = {one.name: value for one, value in zip(state, values, strict=False)}
            graph.defaults = {**graph.defaults, **defaults}
            variable = Variable(name, *state)
            variable.initial = self._computed(name)
            graph.variables.append(variable)
            after = self._thread_through_graph(graph, name, state)
            if after is not state:
                variable.assigned = after[0]
                graph.outputs.append(after[0])
                graph.output_names.append(variable.output_name)

    def _constant(self, name: str, constants: ConstantFolder) -> Array | None:
        """What a variable is before anything is assigned, where all of its ReadValues say the same constant."""
        found = [constants.value_of(read.inputs[0]) if read.inputs else self._zeros(name) for read in self._of(name)]
        first = found[0] if found else self._zeros(name)
        same = all(one is not None and first is not None and np.array_equal(one, first) for one in found)
        return first if same else None

    def _zeros(self, name: str) -> Array:
        shape = self._types[name].shape or ()
        return np.zeros([dim if isinstance(dim, int) else 0 for dim in shape], self._types[name].dtype)

    def _computed(self, name: str) -> Value | None:
        if self._initial[name] is not None:
            return None
        return next((read.inputs[0] for read in self._of(name) if read.inputs), None)

    def _of(self, name: str) -> Iterator[Operation]:
        return (read for read, of in self._reads.items() if of == name)

    def _add_variable_inputs(self, name: str, graph: Graph, taken: set[str]) -> VariableState:
        """A variable as inputs of a graph.

        What a graph reads is called as the variable is: its input where that is known before it runs, otherwise what
        its ReadValue gives.
        """
        reads = (node for node in graph.nodes if isinstance(node, Operation) and self._reads.get(node) == name)
        read = next(reads, None)
        given = None if read is None else read.outputs[0]
        state = [Value(name, self._types[name])]
        if self._initial[name] is None:
            state.append(Value(f"{name} is known", TensorType(np.dtype(np.bool_), ())))
            if given is not None:
                state[0].name = f"{name} (kept)"
                given.name = name
        elif read is not None and given is not None:
            state = [given]
            given.name, given.type = name, self._types[name]
            graph.nodes.remove(read)
        for one in state:
            while one.name in taken:
                one.name += "_"
            taken.add(one.name)
        graph.inputs += state
        return tuple(state)

    def _thread_through_graph(self, graph: Graph, name: str, before: VariableState) -> VariableState:
        """Lead a variable through a graph; returns what it is at its end, ``before`` where nothing assigns it."""
        after = before
        for node in graph.nodes:
            made = before
            if isinstance(node, Operation):
                if self._reads.get(node) == name:
                    # Where it needs no initial value, the variable has it already.
                    node.inputs[:] = [*before, *(node.inputs[:1] if len(before) > 1 else ())]
                elif self._assigns.get(node) == name and node.inputs[0] is not None:
                    made = (node.inputs[0], *(self._true_constant(graph) for _ in before[1:]))
            elif self._uses_variable(node, name):
                made = (
                    self._thread_through_loop(node, name, before)
                    if isinstance(node, Loop)
                    else self._thread_through_if(node, name, before)
                )
            if made is not before and after is not before:
                where = self._layers.get(node)
                element = self._document.root if where is None else where.element
                raise self._document.error(element, f"{where or node.name}: the variable '{name}' is assigned twice")
            after = made if made is not before else after
        return after

    def _uses_variable(self, node: Node, name: str) -> bool:
        inner = (one for _, body in bodies(node) for one in walk(body) if isinstance(one, Operation))
        return any(self._reads.get(one) == name or self._assigns.get(one) == name for one in inner)

    def _true_constant(self, graph: Graph) -> Value:
        made = Value("assigned", TensorType(np.dtype(np.bool_), ()), np.array(True))
        graph.constants.append(made)
        return made

    def _thread_through_loop(self, loop: Node, name: str, before: VariableState) -> VariableState:
        """Lead a variable through a loop: from one iteration to the next."""
        assert isinstance(loop, Loop)
        body = loop.body
        inner = self._add_variable_inputs(name, body, {value.name for value in body.inputs})
        after = self._thread_through_graph(body, name, inner)
        loop.inputs += before
        loop.input_ports += [NO_PORT] * len(before)
        if after is inner:
            loop.invariants += map(Invariant, before, inner)
            return before
        edges = [BackEdge(*one) for one in zip(before, inner, after, strict=True)]
        made = tuple(Value(f"{param.name} after {loop.name}", param.type) for param in inner)
        loop.back_edges += edges
        loop.outputs += made
        loop.output_ports += [NO_PORT] * len(made)
        loop.last_values += map(LastValueOutput, after, made, edges)
        body.outputs += after
        body.output_names += [f"{param.name} (assigned)" for param in inner]
        return made

    def _thread_through_if(self, node: Node, name: str, before: VariableState) -> VariableState:
        """Lead a variable through an If: a branch that does not assign it leaves it as it is."""
        afters = [self._thread_through_graph(branch, name, before) for _, branch in bodies(node)]
        if all(after is before for after in afters):
            return before
        for (_, branch), after in zip(bodies(node), afters, strict=True):
            branch.outputs += after
        made = tuple(Value(f"{value.name} after {node.name}", value.type) for value in before)
        node.outputs += made
        return made
