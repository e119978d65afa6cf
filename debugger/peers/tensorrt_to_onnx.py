"""A TensorRT network as an ONNX graph that means the same: what peers are handed, since none of them reads networks.

Values stay what they are, so that what a peer gives can be looked up by them; only nodes are written anew. kWHILE is
asked before an iteration: what it needs is computed once before the loop, and at the end of each iteration from what
the next one gets. Iterators become Gathers, and what loops collect is turned, reversed and padded behind them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...runtime.errors import UnsupportedError
from ...runtime.graph import (
    BackEdge,
    Graph,
    If,
    LastValueOutput,
    Loop,
    Node,
    Operation,
    ScanOutput,
    SlicedInput,
    System,
    TensorType,
    Value,
)
from ...runtime.graph.dependence import trailing_iterations_without_part
from ...runtime.graph.producers import ProducerMap
from .tensorrt_operators import OPSET, OnnxGraphBuilder, convert_operator

_INT64 = np.dtype(np.int64)
_BOOL = np.dtype(np.bool_)
_INT64_SCALAR, _BOOL_SCALAR = TensorType(_INT64, ()), TensorType(_BOOL, ())
#: Before every element, for an axis that is cut from its end.
_SLICE_FROM_END = -(1 << 62)


def as_onnx(graph: Graph) -> tuple[Graph, Mapping[Loop, Loop]]:
    """A network's graph in ONNX's words, and its loops of the outermost level with what they became.

    Raises:
        UnsupportedError: ONNX has no words for a layer.
    """
    network = _NetworkConverter(graph)
    found = network.convert_graph(graph, graph.outputs)
    return replace(found, constants=[*graph.constants, *network.constants]), network.loops


def body_as_onnx(loop: Loop, graph: Graph) -> Loop:
    """A loop of a network with a body in ONNX's words; ``graph``: the network's.

    Raises:
        UnsupportedError: ONNX has no words for a layer.
    """
    network = _NetworkConverter(graph)
    body = network.convert_graph(loop.body, ())
    constants = [*loop.body.constants, *network.constants]
    return replace(loop, body=replace(body, outputs=loop.body.outputs, constants=constants))


class _NetworkConverter:
    def __init__(self, graph: Graph) -> None:
        self.origins = ProducerMap.for_graph(graph)
        self.constants: list[Value] = []
        self.loops: dict[Loop, Loop] = {}

    def convert_graph(self, graph: Graph, outputs: Sequence[Value]) -> Graph:
        """A graph with its nodes written anew; its results are its own."""
        made = replace(graph, nodes=[], outputs=[], system=System.ONNX, opsets={"": OPSET}, notes=[], expanded_from={})
        writer = OnnxGraphBuilder(made, self.constants)
        self.convert_nodes(writer, graph.nodes)
        # ONNX's graphs return neither what is around them nor one value twice.
        own = {value for node in graph.nodes for value in node.outputs}
        for value in outputs:
            once = value in own and value not in made.outputs
            made.outputs.append(value if once else self.add_identity(writer, value))
        return made

    def convert_nodes(self, writer: OnnxGraphBuilder, nodes: Iterable[Node]) -> None:
        for node in nodes:
            if isinstance(node, Loop) and node.system is System.TENSORRT:
                self.convert_loop(writer, node)
            elif isinstance(node, If):
                branches = (
                    self.convert_graph(branch, branch.outputs) for branch in (node.then_branch, node.else_branch)
                )
                then, other = branches
                writer.graph.nodes.append(replace(node, op_type="If", then_branch=then, else_branch=other))
            elif isinstance(node, Operation) and node.domain == "tensorrt":
                convert_operator(writer, node)
            else:
                writer.graph.nodes.append(node)

    def add_identity(self, writer: OnnxGraphBuilder, value: Value) -> Value:
        """The same value as a result of its own."""
        found = writer.add_operator("Identity", value)
        found.name, found.type = f"{value.name}_out", value.type
        return found

    # -- loops

    def convert_loop(self, writer: OnnxGraphBuilder, loop: Loop) -> None:
        """A Loop, with what has to stand before and behind it."""
        writer.name_prefix = loop.name
        count = None if loop.trip_count is None else writer.cast(loop.trip_count, _INT64)
        begins = self.convert_condition(writer, loop, {edge.param: _initial_value(edge) for edge in loop.back_edges})
        if begins is None:
            begins = writer.add_constant(True, _BOOL)
        iteration, received = (
            Value(f"{loop.name}/iteration", _INT64_SCALAR),
            Value(f"{loop.name}/condition", _BOOL_SCALAR),
        )
        body = Graph(
            loop.body.name,
            [iteration, received, *(edge.param for edge in loop.back_edges)],
            constants=list(loop.body.constants),
            system=System.ONNX,
        )
        inside = OnnxGraphBuilder(body, self.constants)
        inside.name_prefix = loop.name
        for port in loop.sliced_inputs:
            self.convert_iterator(inside, loop, port, iteration, count)
        self.convert_nodes(inside, loop.body.nodes)
        inside.name_prefix = loop.name
        following = self.convert_condition(inside, loop, {edge.param: edge.result for edge in loop.back_edges})
        decides = self.add_identity(inside, received if following is None else following)
        carried = [self.add_identity(inside, edge.result) for edge in loop.back_edges]
        collected = [self.add_identity(inside, scan.result) for scan in loop.scan_outputs]
        for value, scan in zip(collected, loop.scan_outputs, strict=True):
            value.type = scan.result.type
        body.outputs = [decides, *carried, *collected]
        finals = [Value(f"{edge.param.name}_final", edge.param.type) for edge in loop.back_edges]
        stacked = [Value(f"{scan.outer.name}_stacked") for scan in loop.scan_outputs]
        made = Loop(
            name=loop.name,
            op_type="Loop",
            domain="",
            version=OPSET,
            inputs=[count, begins, *(_initial_value(edge) for edge in loop.back_edges)],
            outputs=[*finals, *stacked],
            body=body,
            system=System.ONNX,
            trip_count=count,
            initial_condition=begins,
            condition=decides,
            condition_input=received,
            iteration=iteration,
            back_edges=[
                BackEdge(_initial_value(edge), edge.param, result)
                for edge, result in zip(loop.back_edges, carried, strict=True)
            ],
            last_values=[LastValueOutput(result, final) for result, final in zip(carried, finals, strict=True)],
            scan_outputs=[ScanOutput(value, whole) for value, whole in zip(collected, stacked, strict=True)],
        )
        writer.graph.nodes.append(made)
        self.loops[loop] = made
        for last in loop.last_values:
            at = next(k for k, edge in enumerate(loop.back_edges) if edge is loop.back_edge_for(last))
            writer.add_operator("Identity", finals[at], out=last.outer)
        for scan, whole in zip(loop.scan_outputs, stacked, strict=True):
            self.convert_scan_output(writer, loop, scan, whole)

    def convert_condition(self, writer: OnnxGraphBuilder, loop: Loop, values: Mapping[Value, Value]) -> Value | None:
        """The condition of an iteration that gets these values; None where nothing decides but the trip count."""
        if loop.condition is None:
            return None
        if loop.condition_node_count is None:
            raise UnsupportedError(f"{loop.describe()}: its condition is not asked before an iteration")
        known = dict(values)
        copies = [_copy_node(node, known) for node in loop.body.nodes[: loop.condition_node_count]]
        self.convert_nodes(writer, copies)
        writer.name_prefix = loop.name
        return known.get(loop.condition, loop.condition)

    def convert_iterator(
        self, writer: OnnxGraphBuilder, loop: Loop, port: SlicedInput, iteration: Value, count: Value | None
    ) -> None:
        """What an iterator gives; it becomes a node of the body."""
        place = iteration
        if port.stride < 0:
            length = count if port.from_trip_count else None
            length = writer.axis_length(port.outer, port.axis) if length is None else length
            place = writer.add_operator("Sub", writer.add_operator("Sub", length, writer.add_constant(1)), iteration)
        if trailing_iterations_without_part(loop, port) != 0:
            # ONNX evaluates every node: a part beyond the end, which nothing needs, has to be one.
            place = writer.add_operator(
                "Min",
                place,
                writer.add_operator("Sub", writer.axis_length(port.outer, port.axis), writer.add_constant(1)),
            )
        writer.add_operator("Gather", port.outer, place, out=port.inner, axis=port.axis)

    def convert_scan_output(self, writer: OnnxGraphBuilder, loop: Loop, scan: ScanOutput, whole: Value) -> None:
        """What a loop stacked in order on axis 0, as the network has it: reversed, padded, on another axis."""
        kind = scan.result.type
        if not isinstance(kind, TensorType) or kind.shape is None or kind.dtype is None:
            raise UnsupportedError(f"{loop.describe()}: the type of '{scan.result.name}' is not known")
        if scan.reverse:
            ends = (writer.add_constant([n]) for n in (-1, _SLICE_FROM_END, 0, -1))
            whole = writer.add_operator("Slice", whole, *ends)
        if scan.length is not None and not self._fills_length(loop, scan.length):
            length = writer.add_operator("Reshape", writer.cast(scan.length, _INT64), writer.add_constant([1]))
            shape = writer.add_operator("Shape", whole)
            first, rest = ((writer.add_constant([a]), writer.add_constant([b])) for a, b in ((0, 1), (1, 1 << 62)))
            missing = writer.add_operator("Sub", length, writer.add_operator("Slice", shape, *first))
            room = writer.add_operator("Concat", missing, writer.add_operator("Slice", shape, *rest), axis=0)
            zeros = writer.add_operator("ConstantOfShape", room, value=np.zeros(1, kind.dtype))
            whole = writer.add_operator("Concat", whole, zeros, axis=0)
        rank = len(kind.shape) + 1
        axis = scan.axis % rank
        perm = [*range(1, axis + 1), 0, *range(axis + 1, rank)]
        writer.add_operator("Transpose", whole, out=scan.outer, perm=perm)

    def _fills_length(self, loop: Loop, length: Value) -> bool:
        """Whether a loop that nothing but a constant trip count ends collects just that many."""
        count = self.origins.constant_integer(loop.trip_count)
        return loop.condition is None and count is not None and count == self.origins.constant_integer(length)


def _initial_value(edge: BackEdge) -> Value:
    assert isinstance(edge.initial, Value)
    return edge.initial


def _copy_node(node: Node, values: dict[Value, Value]) -> Node:
    """A node that computes from other values; its results are new ones, which ``values`` then has."""
    if isinstance(node, Loop):
        raise UnsupportedError(f"{node.describe()}: kWHILE may not depend on an inner loop")
    inputs = [None if value is None else values.get(value, value) for value in node.inputs]
    outputs = [None if value is None else Value(value.name, value.type) for value in node.outputs]
    if isinstance(node, If):
        then, other = (_copy_graph(branch, values) for branch in (node.then_branch, node.else_branch))
        made: Node = replace(node, inputs=inputs, outputs=outputs, then_branch=then, else_branch=other)
    else:
        made = replace(node, inputs=inputs, outputs=outputs)
    pairs = zip(node.outputs, outputs, strict=True)
    values.update((old, new) for old, new in pairs if old is not None and new is not None)
    return made


def _copy_graph(graph: Graph, values: Mapping[Value, Value]) -> Graph:
    known = dict(values)
    nodes = [_copy_node(node, known) for node in graph.nodes]
    return replace(graph, nodes=nodes, outputs=[known.get(value, value) for value in graph.outputs])
