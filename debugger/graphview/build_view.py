"""Pictures of graphs: a body from what it gets to what it gives."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ...runtime.graph import BackEdge, Graph, If, Loop, Node, SlicedInput, Value, bodies, captured_values
from ...runtime.graph.dependence import port_values
from ..describe.condition import condition_slice, condition_text
from ..describe.node_text import NodeFormatter
from ..describe.subscripts import slice_line
from ..describe.termination import termination_rule
from ..describe.value_names import display_name, quote, scan_names
from .graph_view import BackEdgeArc, BoxKind, GraphBox, GraphView, GraphWire

#: The iteration number, where the body has no name for it.
_DEFAULT_ITERATION_NAME = "i"


def build_graph_view(
    graph: Graph, loop: Loop | None, phrases: NodeFormatter, opened: Collection[Node] = (), title: str = ""
) -> GraphView:
    """A graph as a picture.

    ``loop``: whose body the graph is, None for the main graph; ``phrases``: writes the nodes of the model; ``opened``:
    the loops and Ifs whose graphs are seen inside of their boxes.
    """
    return _GraphViewBuilder(graph, loop, loop, phrases, opened, title).build()


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
        found = condition_slice(loop) if loop is not None else None
        self.condition_values: set[object] = set()
        if found is not None:
            read = [edge.param for edge in found.carried] + [sliced.inner for sliced in found.slices]
            self.condition_values = {*found.nodes, *read, *found.captures}
            self.condition_values |= {loop.iteration} if found.reads_iteration and loop is not None else set()
        self.iteration_name = (
            display_name(loop.iteration) if loop is not None and loop.iteration is not None else _DEFAULT_ITERATION_NAME
        )
        self.boxes: list[GraphBox] = []
        self.arcs: list[BackEdgeArc] = []
        #: By value, the box that makes it, and those that read it.
        self.producer_boxes: dict[Value, int] = {}
        self.reader_boxes: dict[Value, dict[int, None]] = {}
        self.nodes = [node for node in graph.nodes if not self._is_constant(node)]
        self.read_values = {node: self._values_read_by(node) for node in self.nodes}

    def build(self) -> GraphView:
        """The picture."""
        self._add_inputs()
        for node in self.nodes:
            self._add_node(node)
        self._add_outputs()
        wires = [
            GraphWire(value, self.producer_boxes[value], tuple(found)) for value, found in self.reader_boxes.items()
        ]
        return GraphView(
            self.graph, self.loop, self.frame, self.title, tuple(self.boxes), tuple(wires), tuple(self.arcs)
        )

    # -- boxes

    def _add_box(self, box: GraphBox, reads: Iterable[Value | None] = ()) -> int:
        at = len(self.boxes)
        self.boxes.append(box)
        for value in reads:
            if value is not None and value in self.producer_boxes:
                self.reader_boxes.setdefault(value, {})[at] = None
        return at

    def _add_input_port(self, kind: BoxKind, value: Value, told: str, edge: BackEdge | None = None) -> None:
        """A box for what the graph gets."""
        self.producer_boxes[value] = self._add_box(
            GraphBox(kind, display_name(value), "", told, (value,), None, value in self.condition_values, edge)
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
        # Its value beside it is that of any iteration.
        return f"{initial}, then {self.phrases.operand(edge.result)}"

    def _add_node(self, node: Node) -> None:
        kind = BoxKind.LOOP if isinstance(node, Loop) else BoxKind.IF if isinstance(node, If) else BoxKind.NODE
        made = tuple(value for value in node.outputs if value is not None)
        name = quote(node.name) if isinstance(node, Loop | If) or not made else ", ".join(map(display_name, made))
        inside = self._build_subgraphs(node) if node in self.opened else ()
        told = self.phrases.assignment(node)
        at = self._add_box(
            GraphBox(kind, name, node.op_type, told, made, node, node in self.condition_values, subgraphs=inside),
            self.read_values[node],
        )
        self.producer_boxes.update(dict.fromkeys(made, at))

    def _build_subgraphs(self, node: Node) -> tuple[GraphView, ...]:
        if isinstance(node, Loop):
            return (build_graph_view(node.body, node, self.phrases, self.opened),)
        return tuple(
            _GraphViewBuilder(graph, None, self.frame, self.phrases, self.opened, word).build()
            for word, graph in bodies(node)
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
            name, text = display_name(edge.param), self.phrases.operand(edge.result)
            box = GraphBox(BoxKind.RESULT, name, "", f"{name} = {text}", (edge.result,), edge=edge)
            self.arcs.append(BackEdgeArc(edge, self._add_box(box, [edge.result]), self.producer_boxes[edge.param]))
        if loop.condition is not None and termination_rule(loop, self.phrases.origins).condition_decides:
            self._add_condition(loop, loop.condition)
        for scan, name in zip(loop.scan_outputs, scan_names(loop), strict=True):
            told = f"{quote(name)} collects {self.phrases.operand(scan.result)}"
            self._add_box(GraphBox(BoxKind.SCAN, quote(name), "", told, (scan.result,), scan=scan), [scan.result])
        for last in loop.last_values:
            if loop.back_edge_for(last) is None:
                told = f"{display_name(last.outer)} = {self.phrases.operand(last.result)} of the last iteration"
                self._add_box(GraphBox(BoxKind.LAST, display_name(last.outer), "", told, (last.result,)), [last.result])

    def _add_condition(self, loop: Loop, condition: Value) -> None:
        text = self.phrases.operand(condition, bare=True)
        told = f"goes on while {condition_text(loop, self.phrases)}"
        at = self._add_box(
            GraphBox(BoxKind.CONDITION, text, "", told, (condition,), affects_condition=True), [condition]
        )
        if loop.condition_input is not None and loop.condition_input in self.producer_boxes:
            self.arcs.append(BackEdgeArc(None, at, self.producer_boxes[loop.condition_input]))

    # -- what reads what

    def _is_constant(self, node: Node) -> bool:
        return bool(node.outputs) and all(v is None or self.phrases.constant(v) is not None for v in node.outputs)

    def _values_read_by(self, node: Node) -> Sequence[Value]:
        """What a node reads, with what the graphs inside it capture."""
        found = dict.fromkeys(value for value in node.inputs if value is not None)
        for _, inner in bodies(node):
            found.update(dict.fromkeys(captured_values(inner)))
        if isinstance(node, Loop):
            within = {*node.body.inputs, *(v for one in node.body.nodes for v in one.outputs if v is not None)}
            found.update((value, None) for value in port_values(node) if value is not None and value not in within)
        return list(found)

    def _used_values(self) -> list[Value]:
        found = {value: None for node in self.nodes for value in self.read_values[node]}
        loop = self.loop
        given = [*self.graph.outputs] if loop is None else [edge.result for edge in loop.back_edges]
        if loop is not None:
            given += [scan.result for scan in loop.scan_outputs] + [last.result for last in loop.last_values]
            given += [loop.condition] if loop.condition is not None else []
        found.update(dict.fromkeys(given))
        return list(found)
