"""Pictures of graphs: a body from what it gets to what it gives."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ...runtime.graph import BackEdge, Graph, If, Loop, Node, SlicedInput, Value, bodies, captured
from ...runtime.graph.dependence import ports
from ..words.condition import condition_slice, condition_text
from ..words.endings import ending
from ..words.names import named, quote, scan_names
from ..words.node_text import Phrases
from ..words.subscripts import slice_line
from .records import Arc, Box, Kind, Picture, Wire

#: The iteration number, where the body has no name for it.
_INDEX = "i"


def picture_of(
    graph: Graph, loop: Loop | None, phrases: Phrases, opened: Collection[Node] = (), title: str = ""
) -> Picture:
    """A graph as a picture.

    ``loop``: whose body the graph is, None for the main graph; ``phrases``: writes the nodes of the model; ``opened``:
    the loops and Ifs whose graphs are seen inside of their boxes.
    """
    return _Builder(graph, loop, loop, phrases, opened, title).picture()


class _Builder:
    def __init__(
        self,
        graph: Graph,
        loop: Loop | None,
        frame: Loop | None,
        phrases: Phrases,
        opened: Collection[Node],
        title: str,
    ) -> None:
        self.graph, self.loop, self.frame = graph, loop, frame
        self.phrases, self.opened, self.title = phrases, opened, title
        found = condition_slice(loop) if loop is not None else None
        self.deciding: set[object] = set()
        if found is not None:
            read = [edge.param for edge in found.carried] + [sliced.inner for sliced in found.slices]
            self.deciding = {*found.nodes, *read, *found.captures}
            self.deciding |= {loop.iteration} if found.iteration and loop is not None else set()
        self.index = named(loop.iteration) if loop is not None and loop.iteration is not None else _INDEX
        self.boxes: list[Box] = []
        self.arcs: list[Arc] = []
        #: By value, the box that makes it, and those that read it.
        self.makers: dict[Value, int] = {}
        self.readers: dict[Value, dict[int, None]] = {}
        self.nodes = [node for node in graph.nodes if not self._is_constant(node)]
        self.reads = {node: self._read_by(node) for node in self.nodes}

    def picture(self) -> Picture:
        """The picture."""
        self._enter()
        for node in self.nodes:
            self._node(node)
        self._leave()
        wires = [Wire(value, self.makers[value], tuple(found)) for value, found in self.readers.items()]
        return Picture(self.graph, self.loop, self.frame, self.title, tuple(self.boxes), tuple(wires), tuple(self.arcs))

    # -- boxes

    def _add(self, box: Box, reads: Iterable[Value | None] = ()) -> int:
        at = len(self.boxes)
        self.boxes.append(box)
        for value in reads:
            if value is not None and value in self.makers:
                self.readers.setdefault(value, {})[at] = None
        return at

    def _port(self, kind: Kind, value: Value, told: str, edge: BackEdge | None = None) -> None:
        """A box for what the graph gets."""
        self.makers[value] = self._add(Box(kind, named(value), "", told, (value,), None, value in self.deciding, edge))

    def _enter(self) -> None:
        used = self._used()
        if self.loop is not None:
            self._enter_body(self.loop, used)
        for value in self.graph.inputs:
            if value in used and value not in self.makers and self.loop is None:
                self._port(Kind.INPUT, value, f"{named(value)}: an input")
        own = {value for node in self.graph.nodes for value in node.outputs}
        for value in used:
            if value not in own and value not in self.makers and self.phrases.constant(value) is None:
                self._port(Kind.CAPTURED, value, f"{named(value)}: captured")

    def _enter_body(self, loop: Loop, used: Collection[Value]) -> None:
        for edge in loop.back_edges:
            if edge.param not in self.makers:
                self._port(Kind.CARRIED, edge.param, self._begins(edge), edge)
        if loop.condition_input in used and loop.condition_input is not None:
            self._port(
                Kind.CARRIED,
                loop.condition_input,
                f"{named(loop.condition_input)}: the condition of the iteration before",
            )
        for sliced in loop.sliced_inputs:
            if sliced.inner in used and sliced.inner not in self.makers:
                self._port(Kind.SLICED, sliced.inner, slice_line(sliced, self.index))
        if loop.iteration is not None and loop.iteration in used:
            self._port(Kind.ITERATION, loop.iteration, f"{named(loop.iteration)}: the iteration number")
        for invariant in loop.invariants:
            if invariant.inner in used and invariant.inner not in self.makers:
                self._port(Kind.CAPTURED, invariant.inner, f"{named(invariant.inner)} = {named(invariant.outer)}")

    def _begins(self, edge: BackEdge) -> str:
        if isinstance(edge.initial, SlicedInput):
            initial = slice_line(edge.initial, None)
        else:
            initial = f"{named(edge.param)} = {self.phrases.operand(edge.initial)}"
        # Its value beside it is that of any iteration.
        return f"{initial}, then {self.phrases.operand(edge.result)}"

    def _node(self, node: Node) -> None:
        kind = Kind.LOOP if isinstance(node, Loop) else Kind.IF if isinstance(node, If) else Kind.NODE
        made = tuple(value for value in node.outputs if value is not None)
        name = quote(node.name) if isinstance(node, Loop | If) or not made else ", ".join(map(named, made))
        inside = self._inside(node) if node in self.opened else ()
        told = self.phrases.assignment(node)
        at = self._add(
            Box(kind, name, node.op_type, told, made, node, node in self.deciding, inside=inside), self.reads[node]
        )
        self.makers.update(dict.fromkeys(made, at))

    def _inside(self, node: Node) -> tuple[Picture, ...]:
        if isinstance(node, Loop):
            return (picture_of(node.body, node, self.phrases, self.opened),)
        return tuple(
            _Builder(graph, None, self.frame, self.phrases, self.opened, word).picture() for word, graph in bodies(node)
        )

    def _leave(self) -> None:
        if self.loop is None:
            for value in self.graph.outputs:
                text = self.phrases.operand(value)
                self._add(Box(Kind.OUTPUT, text, "", f"return {text}", (value,)), [value])
            return
        self._leave_body(self.loop)

    def _leave_body(self, loop: Loop) -> None:
        for edge in loop.back_edges:
            name, text = named(edge.param), self.phrases.operand(edge.result)
            box = Box(Kind.RESULT, name, "", f"{name} = {text}", (edge.result,), edge=edge)
            self.arcs.append(Arc(edge, self._add(box, [edge.result]), self.makers[edge.param]))
        if loop.condition is not None and ending(loop, self.phrases.origins).decides:
            self._condition(loop, loop.condition)
        for scan, name in zip(loop.scan_outputs, scan_names(loop), strict=True):
            told = f"{quote(name)} collects {self.phrases.operand(scan.result)}"
            self._add(Box(Kind.SCAN, quote(name), "", told, (scan.result,), scan=scan), [scan.result])
        for last in loop.last_values:
            if loop.edge_of(last) is None:
                told = f"{named(last.outer)} = {self.phrases.operand(last.result)} of the last iteration"
                self._add(Box(Kind.LAST, named(last.outer), "", told, (last.result,)), [last.result])

    def _condition(self, loop: Loop, condition: Value) -> None:
        text = self.phrases.operand(condition, bare=True)
        told = f"goes on while {condition_text(loop, self.phrases)}"
        at = self._add(Box(Kind.CONDITION, text, "", told, (condition,), decides=True), [condition])
        if loop.condition_input is not None and loop.condition_input in self.makers:
            self.arcs.append(Arc(None, at, self.makers[loop.condition_input]))

    # -- what reads what

    def _is_constant(self, node: Node) -> bool:
        return bool(node.outputs) and all(v is None or self.phrases.constant(v) is not None for v in node.outputs)

    def _read_by(self, node: Node) -> Sequence[Value]:
        """What a node reads, with what the graphs inside it capture."""
        found = dict.fromkeys(value for value in node.inputs if value is not None)
        for _, inner in bodies(node):
            found.update(dict.fromkeys(captured(inner)))
        if isinstance(node, Loop):
            within = {*node.body.inputs, *(v for one in node.body.nodes for v in one.outputs if v is not None)}
            found.update((value, None) for value in ports(node) if value is not None and value not in within)
        return list(found)

    def _used(self) -> list[Value]:
        found = {value: None for node in self.nodes for value in self.reads[node]}
        loop = self.loop
        given = [*self.graph.outputs] if loop is None else [edge.result for edge in loop.back_edges]
        if loop is not None:
            given += [scan.result for scan in loop.scan_outputs] + [last.result for last in loop.last_values]
            given += [loop.condition] if loop.condition is not None else []
        found.update(dict.fromkeys(given))
        return list(found)
