"""Builds the graph view of a body, from its inputs to its outputs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ...runtime.graph import BackEdge, Graph, If, Loop, Node, SlicedInput, Value, bodies, captured_values
from ...runtime.graph.dependence import port_values
from ..describe.condition_analysis import condition_slice, condition_text
from ..describe.node_text import NodeFormatter
from ..describe.subscripts import slice_line
from ..describe.termination import termination_rule
from ..describe.value_names import display_name, quote, scan_names
from .graph_view import BackEdgeArc, BoxKind, GraphBox, GraphView, GraphWire

#: The name of the iteration number if the body has none.
_DEFAULT_ITERATION_NAME = "i"


def build_graph_view(
    graph: Graph, loop: Loop | None, phrases: NodeFormatter, opened: Collection[Node] = ()
) -> GraphView:
    """Build the view of a graph.

    ``loop``: the loop whose body it is, None for the main graph; ``phrases``: formats the nodes; ``opened``: the loops
    and Ifs whose subgraphs are shown in their boxes.
    """
    return _GraphViewBuilder(graph, loop, loop, phrases, opened, "").build()


class _GraphViewBuilder:
    def __init__(
        self,
        graph: Graph,
        loop: Loop | None,
        frame: Loop | None,
        phrases: NodeFormatter,
        opened: Collection[Node],
        title: str,
    ) -> None:
        self.graph, self.loop, self.frame = graph, loop, frame
        self.phrases, self.opened, self.title = phrases, opened, title
        condition = condition_slice(loop) if loop is not None else None
        self.condition_values: set[object] = set()
        if condition is not None:
            inputs = [edge.param for edge in condition.carried] + [sliced.inner for sliced in condition.slices]
            self.condition_values = {*condition.nodes, *inputs, *condition.captures}
            self.condition_values |= {loop.iteration} if condition.reads_iteration and loop is not None else set()
        self.iteration_name = (
            display_name(loop.iteration) if loop is not None and loop.iteration is not None else _DEFAULT_ITERATION_NAME
        )
        self.boxes: list[GraphBox] = []
        self.arcs: list[BackEdgeArc] = []
        #: The producing box and the reading boxes of each value.
        self.producer_boxes: dict[Value, int] = {}
        self.reader_boxes: dict[Value, dict[int, None]] = {}
        self.nodes = [node for node in graph.nodes if not self._is_constant(node)]
        self.read_values = {node: self._values_read_by(node) for node in self.nodes}

    def build(self) -> GraphView:
        """Build the view."""
        self._add_inputs()
        for node in self.nodes:
            self._add_node(node)
        self._add_outputs()
        wires = [
            GraphWire(value, self.producer_boxes[value], tuple(readers)) for value, readers in self.reader_boxes.items()
        ]
        return GraphView(
            self.graph, self.loop, self.frame, self.title, tuple(self.boxes), tuple(wires), tuple(self.arcs)
        )

    # -- boxes

    def _add_box(self, box: GraphBox, reads: Iterable[Value | None] = ()) -> int:
        index = len(self.boxes)
        self.boxes.append(box)
        for value in reads:
            if value is not None and value in self.producer_boxes:
                self.reader_boxes.setdefault(value, {})[index] = None
        return index

    def _add_input_port(self, kind: BoxKind, value: Value, description: str, edge: BackEdge | None = None) -> None:
        """Add a box for an input of the graph."""
        self.producer_boxes[value] = self._add_box(
            GraphBox(kind, display_name(value), "", description, (value,), None, value in self.condition_values, edge)
        )

    def _add_inputs(self) -> None:
        used = self._used_values()
        if self.loop is not None:
            self._add_body_inputs(self.loop, used)
        for value in self.graph.inputs:
            if value in used and value not in self.producer_boxes and self.loop is None:
                self._add_input_port(BoxKind.INPUT, value, f"{display_name(value)}: an input")
        own = {value for node in self.graph.nodes for value in node.outputs}
        for value in used:
            if value not in own and value not in self.producer_boxes and self.phrases.constant(value) is None:
                self._add_input_port(BoxKind.CAPTURED, value, f"{display_name(value)}: captured")

    def _add_body_inputs(self, loop: Loop, used: Collection[Value]) -> None:
        for edge in loop.back_edges:
            if edge.param not in self.producer_boxes:
                self._add_input_port(BoxKind.CARRIED, edge.param, self._initial_text(edge), edge)
        if loop.condition_input in used and loop.condition_input is not None:
            self._add_input_port(
                BoxKind.CARRIED,
                loop.condition_input,
                f"{display_name(loop.condition_input)}: the condition of the iteration before",
            )
        for sliced in loop.sliced_inputs:
            if sliced.inner in used and sliced.inner not in self.producer_boxes:
                self._add_input_port(BoxKind.SLICED, sliced.inner, slice_line(sliced, self.iteration_name))
        if loop.iteration is not None and loop.iteration in used:
            self._add_input_port(
                BoxKind.ITERATION, loop.iteration, f"{display_name(loop.iteration)}: the iteration number"
            )
        for invariant in loop.invariants:
            if invariant.inner in used and invariant.inner not in self.producer_boxes:
                self._add_input_port(
                    BoxKind.CAPTURED,
                    invariant.inner,
                    f"{display_name(invariant.inner)} = {display_name(invariant.outer)}",
                )

    def _initial_text(self, edge: BackEdge) -> str:
        if isinstance(edge.initial, SlicedInput):
            initial = slice_line(edge.initial, None)
        else:
            initial = f"{display_name(edge.param)} = {self.phrases.operand(edge.initial)}"
        # The value shown in the box changes with the iteration.
        return f"{initial}, then {self.phrases.operand(edge.result)}"

    def _add_node(self, node: Node) -> None:
        kind = BoxKind.LOOP if isinstance(node, Loop) else BoxKind.IF if isinstance(node, If) else BoxKind.NODE
        values = tuple(value for value in node.outputs if value is not None)
        name = quote(node.name) if isinstance(node, Loop | If) or not values else ", ".join(map(display_name, values))
        subgraphs = self._build_subgraphs(node) if node in self.opened else ()
        text = self.phrases.assignment(node)
        index = self._add_box(
            GraphBox(kind, name, node.op_type, text, values, node, node in self.condition_values, subgraphs=subgraphs),
            self.read_values[node],
        )
        self.producer_boxes.update(dict.fromkeys(values, index))

    def _build_subgraphs(self, node: Node) -> tuple[GraphView, ...]:
        if isinstance(node, Loop):
            return (build_graph_view(node.body, node, self.phrases, self.opened),)
        return tuple(
            _GraphViewBuilder(graph, None, self.frame, self.phrases, self.opened, label).build()
            for label, graph in bodies(node)
        )

    def _add_outputs(self) -> None:
        if self.loop is None:
            for value in self.graph.outputs:
                text = self.phrases.operand(value)
                self._add_box(GraphBox(BoxKind.OUTPUT, text, "", f"return {text}", (value,)), [value])
            return
        self._add_body_outputs(self.loop)

    def _add_body_outputs(self, loop: Loop) -> None:
        for edge in loop.back_edges:
            name, operand = display_name(edge.param), self.phrases.operand(edge.result)
            box = GraphBox(BoxKind.RESULT, name, "", f"{name} = {operand}", (edge.result,), edge=edge)
            self.arcs.append(BackEdgeArc(edge, self._add_box(box, [edge.result]), self.producer_boxes[edge.param]))
        if loop.condition is not None and termination_rule(loop, self.phrases.origins).condition_decides:
            self._add_condition(loop, loop.condition)
        for scan, name in zip(loop.scan_outputs, scan_names(loop), strict=True):
            line = f"{quote(name)} collects {self.phrases.operand(scan.result)}"
            self._add_box(GraphBox(BoxKind.SCAN, quote(name), "", line, (scan.result,), scan=scan), [scan.result])
        for last in loop.last_values:
            if loop.back_edge_for(last) is None:
                line = f"{display_name(last.outer)} = {self.phrases.operand(last.result)} of the last iteration"
                self._add_box(GraphBox(BoxKind.LAST, display_name(last.outer), "", line, (last.result,)), [last.result])

    def _add_condition(self, loop: Loop, condition: Value) -> None:
        name = self.phrases.operand(condition, bare=True)
        text = f"goes on while {condition_text(loop, self.phrases)}"
        index = self._add_box(
            GraphBox(BoxKind.CONDITION, name, "", text, (condition,), affects_condition=True), [condition]
        )
        if loop.condition_input is not None and loop.condition_input in self.producer_boxes:
            self.arcs.append(BackEdgeArc(None, index, self.producer_boxes[loop.condition_input]))

    # -- reads of nodes

    def _is_constant(self, node: Node) -> bool:
        return bool(node.outputs) and all(v is None or self.phrases.constant(v) is not None for v in node.outputs)

    def _values_read_by(self, node: Node) -> Sequence[Value]:
        """The values that a node reads, including captures of its subgraphs."""
        values = dict.fromkeys(value for value in node.inputs if value is not None)
        for _, inner in bodies(node):
            values.update(dict.fromkeys(captured_values(inner)))
        if isinstance(node, Loop):
            own = {*node.body.inputs, *(v for item in node.body.nodes for v in item.outputs if v is not None)}
            values.update((value, None) for value in port_values(node) if value is not None and value not in own)
        return list(values)

    def _used_values(self) -> list[Value]:
        used = {value: None for node in self.nodes for value in self.read_values[node]}
        loop = self.loop
        results = [*self.graph.outputs] if loop is None else [edge.result for edge in loop.back_edges]
        if loop is not None:
            results += [scan.result for scan in loop.scan_outputs] + [last.result for last in loop.last_values]
            results += [loop.condition] if loop.condition is not None else []
        used.update(dict.fromkeys(results))
        return list(used)
