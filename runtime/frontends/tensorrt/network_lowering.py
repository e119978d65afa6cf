"""Lowers a network to a loop graph."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import ModelError
from ...graph import BackEdge, Graph, If, LastValueOutput, Loop, ScanOutput, SlicedInput, System, Value
from .build_checks import check_nesting, check_network, loop_notes
from .control_flow import IIfConditional, ILoop
from .enums import LoopOutput, TripLimit
from .layer import ILayer, ITensor
from .layer_lowering import lower_layer, tensor_name
from .lowering_scope import OPSET, LoweringScope, UniqueNames
from .nesting import NestedScope, Nesting, ScopeItem
from .network import INetworkDefinition


def lower_network(network: INetworkDefinition, name: str) -> Graph:
    """Lower a network to a graph; ``name``: of the model.

    Raises:
        ModelError: TensorRT's build would reject it; the message has the layer's name and its line of the script.
        UnsupportedError: a layer is not supported.
    """
    check_network(network)
    nesting = Nesting(network)
    check_nesting(nesting)
    nesting.assign_scopes()
    return _NetworkLowerer(network, nesting).lower_graph(name)


class _NetworkLowerer:
    def __init__(self, network: INetworkDefinition, nesting: Nesting) -> None:
        self.network, self.nesting = network, nesting
        self.names = UniqueNames()
        self.values: dict[ITensor, Value] = {}
        self.main = Graph("main", system=System.TENSORRT, opsets={"": OPSET})

    def lower_graph(self, name: str) -> Graph:
        network, main = self.network, self.main
        if not network.outputs and not network.loops:
            raise ModelError(f"{network.script_location}: the network has no output; mark_output(tensor) marks one")
        main.name = name
        for tensor in network.inputs:
            self.values[tensor] = Value(self.names.value_name(tensor.name), tensor.type)
            main.inputs.append(self.values[tensor])
        if not network.outputs:
            main.notes.append("The network has no output: TensorRT refuses to build it.")
        self.lower_scope(self.nesting.main_scope, main)
        main.outputs = [self.values[tensor] for tensor in network.outputs]
        main.output_names = _unique_names([tensor.name for tensor in network.outputs])
        main.notes += network.notes
        return main

    def lower_scope(self, nested: NestedScope, graph: Graph) -> None:
        """Lower all items of a scope."""
        scope = LoweringScope(graph, self.main, self.names)
        for item in nested.items:
            if isinstance(item, ILoop):
                graph.nodes.append(self.lower_loop(item))
            elif isinstance(item, IIfConditional):
                graph.nodes.append(self.lower_conditional(item))
            else:
                self.lower_layer(scope, item)

    def lower_layer(self, scope: LoweringScope, layer: ILayer) -> None:
        inputs = [None if tensor is None else self.values[tensor] for tensor in layer._inputs]
        for tensor, value in zip(layer._outputs, lower_layer(scope, layer, inputs), strict=True):
            self.values[tensor] = value

    def new_value(self, tensor: ITensor) -> Value:
        """A new value for a tensor that no operator computes."""
        self.values[tensor] = Value(self.names.value_name(tensor_name(tensor)), tensor.type)
        return self.values[tensor]

    def input_value(self, layer: ILayer, index: int = 0) -> Value:
        """The value of a required input."""
        return self.values[layer.required_input(index)]

    # -- loops

    def lower_loop(self, loop: ILoop) -> Loop:
        nested = self.nesting.inner_scope(loop, "body")
        name = self.names.node_name(loop.name)
        body = Graph(f"{name}/body", system=System.TENSORRT)
        limit = loop.limit(TripLimit.WHILE)
        condition_items = self._move_condition_items_first(loop, nested)
        with self.names.body_names():
            params = [self.new_value(layer._outputs[0]) for layer in (*loop.recurrences, *loop.iterators)]
            body.inputs = params
            self.lower_scope(nested, body)
        count = loop.limit(TripLimit.COUNT)
        trip_count = None if count is None else self.input_value(count)
        condition = None if limit is None else self.input_value(limit)
        edges = [
            BackEdge(self.input_value(layer), self.values[layer._outputs[0]], self.input_value(layer, 1))
            for layer in loop.recurrences
        ]
        lengths = [layer.length for layer in loop.outputs if layer.kind is not LoopOutput.LAST_VALUE]
        inputs = [trip_count, *(edge.initial for edge in edges)]
        inputs += [self.input_value(layer) for layer in loop.iterators]
        inputs += [self.values[tensor] for tensor in lengths if tensor is not None]
        body_values = {value for node in body.nodes for value in node.outputs} | set(params)
        results = [
            condition,
            *(edge.result for edge in edges),
            *(self.input_value(output_layer) for output_layer in loop.outputs),
        ]
        body.outputs = list(dict.fromkeys(value for value in results if value is not None and value in body_values))
        lowered = Loop(
            name=name,
            op_type="ILoop",
            domain="",
            version=OPSET,
            inputs=[value for value in inputs if isinstance(value, Value)],
            outputs=[self.new_value(layer._outputs[0]) for layer in loop.outputs],
            body=body,
            system=System.TENSORRT,
            trip_count=trip_count,
            condition=condition,
            back_edges=edges,
            notes=list(loop_notes(self.network, loop, self.nesting)),
            source=loop.script_location.origin(),
        )
        if condition is not None:
            # A layer is lowered to one node, several or none.
            needed = {self.values[tensor] for item in nested.items[:condition_items] for tensor in _outputs(item)}
            ends = [k + 1 for k, node in enumerate(body.nodes) if not needed.isdisjoint(node.outputs)]
            lowered.condition_node_count = max(ends, default=0)
        for iterator in loop.iterators:
            reverse = bool(iterator.reverse)
            lowered.sliced_inputs.append(
                SlicedInput(
                    self.input_value(iterator),
                    self.values[iterator._outputs[0]],
                    int(iterator.axis),
                    *((-1, 0, -1) if reverse else (0, -1, 1)),
                    drop_axis=True,
                    from_trip_count=reverse and trip_count is not None,
                )
            )
        for layer, outer in zip(loop.outputs, lowered.outputs, strict=True):
            assert outer is not None
            result = self.input_value(layer)
            if layer.kind is LoopOutput.LAST_VALUE:
                edge = next(edge for edge in edges if edge.param is result)
                lowered.last_values.append(LastValueOutput(result, outer, edge))
            else:
                assert layer.length is not None
                lowered.scan_outputs.append(
                    ScanOutput(
                        result,
                        outer,
                        int(layer.axis),
                        reverse=layer.kind is LoopOutput.REVERSE,
                        length=self.values[layer.length],
                    )
                )
        return lowered

    def _move_condition_items_first(self, loop: ILoop, nested: NestedScope) -> int:
        """Move the items that the condition needs to the front of the body; returns their number."""
        limit = loop.limit(TripLimit.WHILE)
        if limit is None:
            return 0
        body_items = set(nested.items)
        stack = [self.nesting._item_of_layer(layer) for layer in [limit.required_input(0)._layer] if layer is not None]
        needed: set[ScopeItem] = set()
        while stack:
            item = stack.pop()
            if item in body_items and item not in needed:
                needed.add(item)
                stack += self.nesting.predecessors[item]
        nested.items.sort(key=lambda item: item not in needed)
        return len(needed)

    # -- conditionals

    def lower_conditional(self, conditional: IIfConditional) -> If:
        name = self.names.node_name(conditional.name)
        branches = [self._lower_branch(conditional, name, role, index) for index, role in enumerate(("then", "else"))]
        return If(
            name=name,
            op_type="IIfConditional",
            domain="",
            version=OPSET,
            inputs=[self.input_value(conditional.conditions[0])],
            outputs=[self.new_value(layer._outputs[0]) for layer in conditional.outputs],
            then_branch=branches[0],
            else_branch=branches[1],
            source=conditional.script_location.origin(),
        )

    def _lower_branch(self, conditional: IIfConditional, name: str, role: str, index: int) -> Graph:
        graph = Graph(f"{name}/{role}", system=System.TENSORRT)
        self.lower_scope(self.nesting.inner_scope(conditional, role), graph)
        graph.outputs = [self.input_value(layer, index) for layer in conditional.outputs]
        return graph


def _outputs(item: ScopeItem) -> list[ITensor]:
    layers: Sequence[ILayer] = [item] if isinstance(item, ILayer) else item.outputs
    return [tensor for layer in layers for tensor in layer._outputs]


def _unique_names(names: Sequence[str]) -> list[str]:
    """Make names unique."""
    allocator = UniqueNames()
    return [allocator.value_name(name) for name in names]
