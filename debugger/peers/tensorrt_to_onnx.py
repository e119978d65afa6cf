"""Convert a TensorRT network to an equivalent ONNX graph for peers, none of which reads networks.

Values are kept, so that a peer's results can be looked up by them; only nodes are rewritten. kWHILE is tested before an
iteration: its condition is computed once before the loop, and at the end of each iteration from the next parameters.
Iterators become Gathers; loop outputs are reversed, padded and transposed after the loop.
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
from .tensorrt_operators_to_onnx import OPSET, OnnxGraphBuilder, convert_operator

_INT64 = np.dtype(np.int64)
_BOOL = np.dtype(np.bool_)
_INT64_SCALAR, _BOOL_SCALAR = TensorType(_INT64, ()), TensorType(_BOOL, ())
#: Slice range that omits the last element of an axis.
_SLICE_FROM_END = -(1 << 62)


def as_onnx(graph: Graph) -> tuple[Graph, Mapping[Loop, Loop]]:
    """Return a network's graph in ONNX operators, and its outermost loops with their replacements.

    Raises:
        UnsupportedError: a layer cannot be expressed in ONNX.
    """
    network = _NetworkConverter(graph)
    converted = network.convert_graph(graph, graph.outputs)
    return replace(converted, constants=[*graph.constants, *network.constants]), network.loops


def body_as_onnx(loop: Loop, graph: Graph) -> Loop:
    """Return a loop of a network with a body in ONNX operators; ``graph``: the network's graph.

    Raises:
        UnsupportedError: a layer cannot be expressed in ONNX.
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
        """Return a graph with rewritten nodes; its results are computed in it."""
        result = replace(
            graph, nodes=[], outputs=[], system=System.ONNX, opsets={"": OPSET}, notes=[], expanded_from={}
        )
        op = OnnxGraphBuilder(result, self.constants)
        self.convert_nodes(op, graph.nodes)
        # An ONNX graph returns neither outer values nor one value twice.
        computed = {value for node in graph.nodes for value in node.outputs}
        for value in outputs:
            is_new = value in computed and value not in result.outputs
            result.outputs.append(value if is_new else self.add_identity(op, value))
        return result

    def convert_nodes(self, op: OnnxGraphBuilder, nodes: Iterable[Node]) -> None:
        for node in nodes:
            if isinstance(node, Loop) and node.system is System.TENSORRT:
                self.convert_loop(op, node)
            elif isinstance(node, If):
                branches = (
                    self.convert_graph(branch, branch.outputs) for branch in (node.then_branch, node.else_branch)
                )
                then_branch, else_branch = branches
                op.graph.nodes.append(replace(node, op_type="If", then_branch=then_branch, else_branch=else_branch))
            elif isinstance(node, Operation) and node.domain == "tensorrt":
                convert_operator(op, node)
            else:
                op.graph.nodes.append(node)

    def add_identity(self, op: OnnxGraphBuilder, value: Value) -> Value:
        """Copy a value to a new result."""
        result = op.Identity(value)
        result.name, result.type = f"{value.name}_out", value.type
        return result

    # -- loops

    def convert_loop(self, op: OnnxGraphBuilder, loop: Loop) -> None:
        """Add a Loop with the operators before and after it."""
        op.name_prefix = loop.name
        count = None if loop.trip_count is None else op.cast(loop.trip_count, _INT64)
        first = self.convert_condition(op, loop, {edge.param: _initial_value(edge) for edge in loop.back_edges})
        if first is None:
            first = op.add_constant(True, _BOOL)
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
        body_op = OnnxGraphBuilder(body, self.constants)
        body_op.name_prefix = loop.name
        for port in loop.sliced_inputs:
            self.convert_iterator(body_op, loop, port, iteration, count)
        self.convert_nodes(body_op, loop.body.nodes)
        body_op.name_prefix = loop.name
        updated = self.convert_condition(body_op, loop, {edge.param: edge.result for edge in loop.back_edges})
        result = self.add_identity(body_op, received if updated is None else updated)
        carried = [self.add_identity(body_op, edge.result) for edge in loop.back_edges]
        elements = [self.add_identity(body_op, scan.result) for scan in loop.scan_outputs]
        for value, scan in zip(elements, loop.scan_outputs, strict=True):
            value.type = scan.result.type
        body.outputs = [result, *carried, *elements]
        finals = [Value(f"{edge.param.name}_final", edge.param.type) for edge in loop.back_edges]
        stacked = [Value(f"{scan.outer.name}_stacked") for scan in loop.scan_outputs]
        onnx_loop = Loop(
            name=loop.name,
            op_type="Loop",
            domain="",
            version=OPSET,
            inputs=[count, first, *(_initial_value(edge) for edge in loop.back_edges)],
            outputs=[*finals, *stacked],
            body=body,
            system=System.ONNX,
            trip_count=count,
            initial_condition=first,
            condition=result,
            condition_input=received,
            iteration=iteration,
            back_edges=[
                BackEdge(_initial_value(edge), edge.param, result)
                for edge, result in zip(loop.back_edges, carried, strict=True)
            ],
            last_values=[LastValueOutput(result, final) for result, final in zip(carried, finals, strict=True)],
            scan_outputs=[ScanOutput(value, stack) for value, stack in zip(elements, stacked, strict=True)],
        )
        op.graph.nodes.append(onnx_loop)
        self.loops[loop] = onnx_loop
        for output in loop.last_values:
            index = next(k for k, edge in enumerate(loop.back_edges) if edge is loop.back_edge_for(output))
            op.Identity(finals[index], out=output.outer)
        for scan, stack in zip(loop.scan_outputs, stacked, strict=True):
            self.convert_scan_output(op, loop, scan, stack)

    def convert_condition(self, op: OnnxGraphBuilder, loop: Loop, values: Mapping[Value, Value]) -> Value | None:
        """The condition of an iteration with these values; None if only the trip count decides."""
        if loop.condition is None:
            return None
        if loop.condition_node_count is None:
            raise UnsupportedError(f"{loop.describe()}: its condition is not asked before an iteration")
        copied = dict(values)
        copies = [_copy_node(node, copied) for node in loop.body.nodes[: loop.condition_node_count]]
        self.convert_nodes(op, copies)
        op.name_prefix = loop.name
        return copied.get(loop.condition, loop.condition)

    def convert_iterator(
        self, op: OnnxGraphBuilder, loop: Loop, port: SlicedInput, iteration: Value, count: Value | None
    ) -> None:
        """Add the element of an iterator as a node of the body."""
        index = iteration
        if port.stride < 0:
            length = count if port.from_trip_count else None
            length = op.axis_length(port.outer, port.axis) if length is None else length
            index = op.Sub(op.Sub(length, 1), iteration)
        if trailing_iterations_without_part(loop, port) != 0:
            # ONNX evaluates every node, so an unused slice beyond the end has to exist.
            index = op.Min(index, op.Sub(op.axis_length(port.outer, port.axis), 1))
        op.Gather(port.outer, index, out=port.inner, axis=port.axis)

    def convert_scan_output(self, op: OnnxGraphBuilder, loop: Loop, scan: ScanOutput, result: Value) -> None:
        """Convert a stacked output to the network's order: reversed, padded, on another axis."""
        kind = scan.result.type
        if not isinstance(kind, TensorType) or kind.shape is None or kind.dtype is None:
            raise UnsupportedError(f"{loop.describe()}: the type of '{scan.result.name}' is not known")
        if scan.reverse:
            ends = (op.add_constant([n]) for n in (-1, _SLICE_FROM_END, 0, -1))
            result = op.Slice(result, *ends)
        if scan.length is not None and not self._fills_length(loop, scan.length):
            length = op.Reshape(op.cast(scan.length, _INT64), [1])
            shape = op.Shape(result)
            first, rest = ((op.add_constant([a]), op.add_constant([b])) for a, b in ((0, 1), (1, 1 << 62)))
            missing = op.Sub(length, op.Slice(shape, *first))
            sizes = op.Concat(missing, op.Slice(shape, *rest), axis=0)
            zeros = op.ConstantOfShape(sizes, value=np.zeros(1, kind.dtype))
            result = op.Concat(result, zeros, axis=0)
        rank = len(kind.shape) + 1
        axis = scan.axis % rank
        perm = [*range(1, axis + 1), 0, *range(axis + 1, rank)]
        op.Transpose(result, out=scan.outer, perm=perm)

    def _fills_length(self, loop: Loop, length: Value) -> bool:
        """Whether a loop that only a constant trip count ends collects exactly that number of elements."""
        count = self.origins.constant_integer(loop.trip_count)
        return loop.condition is None and count is not None and count == self.origins.constant_integer(length)


def _initial_value(edge: BackEdge) -> Value:
    assert isinstance(edge.initial, Value)
    return edge.initial


def _copy_node(node: Node, values: dict[Value, Value]) -> Node:
    """Copy a node with substituted inputs; its new results are added to ``values``."""
    if isinstance(node, Loop):
        raise UnsupportedError(f"{node.describe()}: kWHILE may not depend on an inner loop")
    inputs = [None if value is None else values.get(value, value) for value in node.inputs]
    outputs = [None if value is None else Value(value.name, value.type) for value in node.outputs]
    if isinstance(node, If):
        then_branch, else_branch = (_copy_graph(branch, values) for branch in (node.then_branch, node.else_branch))
        copy: Node = replace(node, inputs=inputs, outputs=outputs, then_branch=then_branch, else_branch=else_branch)
    else:
        copy = replace(node, inputs=inputs, outputs=outputs)
    pairs = zip(node.outputs, outputs, strict=True)
    values.update((old, new) for old, new in pairs if old is not None and new is not None)
    return copy


def _copy_graph(graph: Graph, values: Mapping[Value, Value]) -> Graph:
    copied = dict(values)
    nodes = [_copy_node(node, copied) for node in graph.nodes]
    return replace(graph, nodes=nodes, outputs=[copied.get(value, value) for value in graph.outputs])
