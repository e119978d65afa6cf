"""A loop, or a whole model, as pseudo-code that a person reads at once: one line a node.

What the ports of a loop do stands around the nodes as assignments: initial values before the loop, slices at the top of
its body, scan outputs and back edges at its end, last values after it. Every line knows its node or its ports, so that
a marker, values and breakpoints find their place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from ...runtime.graph import (
    BackEdge,
    Graph,
    If,
    Invariant,
    LastValueOutput,
    Loop,
    Node,
    ScanOutput,
    SlicedInput,
    Value,
    bodies,
    walk,
)
from ...runtime.graph.producers import ProducerMap
from ...runtime.plan.plan import Plan
from ...runtime.text import escape_lines
from .code_lines import CodeLines
from .loop_text import LoopText
from .node_text import NodeFormatter
from .subscripts import scan_line, slice_line
from .termination import LoopKind, TerminationRule, termination_rule
from .value_names import display_name, quote, scan_names

Port = SlicedInput | BackEdge | Invariant | LastValueOutput | ScanOutput
INDENT = "    "
#: Comments stand in one column, unless lines are longer than this.
_COMMENT_COLUMN = 44
#: Above nodes of which no line is known, where others stand before them.
_UNKNOWN_CODE_LINE = "no line is known"
_INDEX_NAMES = ("i", "j", "k", "l", "m", "n")


class LineKind(StrEnum):
    """What a line is."""

    INPUT = "input"
    INITIAL = "initial"
    INVARIANT = "invariant"
    LOOP = "loop"
    SLICE = "slice"
    NODE = "node"
    IF = "if"
    ELSE = "else"
    #: What a branch gives as an output of its If.
    RESULT = "result"
    CONDITION = "condition"
    SCAN = "scan"
    BACK_EDGE = "back edge"
    BREAK = "break"
    LAST_VALUE = "last value"
    RETURN = "return"
    EMPTY = "empty"


@dataclass(frozen=True, eq=False)
class PseudoCodeLine:
    """One line of pseudo-code.

    Every node has one line: of a loop its head, of an If its ``if``. ``loop``: the loop whose iterations run the line,
    None in the main graph. ``values``: what the line assigns, for values beside it.
    """

    number: int
    indent: int
    text: str
    kind: LineKind
    node: Node | None = None
    #: Several where back edges have to be read at once: they swap values.
    ports: tuple[Port, ...] = ()
    comment: str = ""
    loop: Loop | None = None
    values: tuple[Value, ...] = ()
    #: The conditions of the Ifs around the line, and whether it is in the branch where they are true.
    branches: tuple[tuple[Value, bool], ...] = ()

    @property
    def port(self) -> Port | None:
        """The port of a line that has one."""
        return self.ports[0] if self.ports else None

    def __str__(self) -> str:
        text = INDENT * self.indent + self.text
        return f"{text}  # {self.comment}" if self.comment else text


class PseudoCode:
    """The lines of a loop or of a whole model; ``subject`` is which."""

    def __init__(
        self,
        subject: Loop | Graph,
        lines: Sequence[PseudoCodeLine],
        spans: Mapping[Loop, tuple[int, int]],
        phrases: NodeFormatter,
        code: CodeLines,
    ) -> None:
        self.subject = subject
        self.lines = tuple(lines)
        #: What wrote the lines, for whoever says more of the same model.
        self.formatter = phrases
        self.code_lines = code
        self._spans = spans
        self._loops: dict[Loop, PseudoCode] = {}
        self._loop_texts: dict[Loop, LoopText] = {}
        self._by_number = {line.number: line for line in self.lines}
        self._by_node = {line.node: line for line in self.lines if line.node is not None}

    def __repr__(self) -> str:
        return f"<Source of {self.subject!r}: {len(self.lines)} lines>"

    def __str__(self) -> str:
        return escape_lines(self.text())

    def line_at(self, number: int) -> PseudoCodeLine | None:
        """The line of a number; None where there is none."""
        return self._by_number.get(number)

    def line_of(self, node: Node) -> PseudoCodeLine | None:
        """The line of a node; None where the node is elsewhere."""
        return self._by_node.get(node)

    def lines_of_loop(self, loop: Loop) -> PseudoCode:
        """One loop of these lines, its numbers as they are here, so that a number means one line of the model.

        Raises:
            KeyError: the loop is not in these lines.
        """
        if loop not in self._loops:
            self._loops[loop] = self._extract_loop(loop)
        return self._loops[loop]

    def _extract_loop(self, loop: Loop) -> PseudoCode:
        first, last = self._spans[loop]
        lines = [line for line in self.lines if first <= line.number <= last]
        less = min(line.indent for line in lines)
        spans = {inner: span for inner, span in self._spans.items() if first <= span[0] and span[1] <= last}
        return PseudoCode(
            loop, [replace(line, indent=line.indent - less) for line in lines], spans, self.formatter, self.code_lines
        )

    def loop_text(self, loop: Loop) -> LoopText:
        """What is said of a loop at every stop."""
        if loop not in self._loop_texts:
            self._loop_texts[loop] = LoopText.from_loop(loop, self.formatter)
        return self._loop_texts[loop]

    @cached_property
    def is_script(self) -> bool:
        """Whether the model is a script, of which the lines are its nodes once more."""
        first = next((line.node for line in self.lines if line.node is not None), None)
        return first is not None and first.origin.script

    def code_above(self, rows: Iterable[int], traced: bool = False) -> dict[int, str]:
        """What stands above some lines, by index: the code that a line and those below it come from.

        ``traced``: with what an exporter made of that.
        """
        words = self.code_lines.describe_node if traced else self.code_lines.line_of_node
        found: dict[int, str] = {}
        last = ""
        for k in rows:
            line = self.lines[k]
            told = last if line.node is None else words(line.node)
            if told != last:
                found[k] = f"{INDENT * line.indent}# {told or _UNKNOWN_CODE_LINE}"
            last = told
        return found

    def text(self) -> Sequence[str]:
        """The lines with their comments in one column."""
        return self._text

    @cached_property
    def _text(self) -> Sequence[str]:
        commented = [len(INDENT * line.indent + line.text) for line in self.lines if line.comment]
        column = max((width for width in commented if width <= _COMMENT_COLUMN), default=0)
        texts = []
        for line in self.lines:
            text = INDENT * line.indent + line.text
            texts.append(f"{text:<{column}}  # {line.comment}" if line.comment else text)
        return texts


def build_pseudo_code(subject: Loop | Graph, origins: ProducerMap | None = None) -> PseudoCode:
    """The pseudo-code of one loop, or with the main graph as subject that of the whole model.

    ``origins``: those of the whole model; without them a constant that a loop takes from a Constant node outside of it
    is known by its name alone.
    """
    if origins is None:
        origins = ProducerMap.for_graph(subject if isinstance(subject, Graph) else subject.body)
    writer = _PseudoCodeWriter(NodeFormatter(origins))
    if isinstance(subject, Loop):
        writer.write_loop(subject, 0, None, ())
    else:
        writer.write_main_graph(subject)
    main = subject if isinstance(subject, Graph) else subject.body
    return PseudoCode(subject, writer.lines, writer.spans, writer.formatter, CodeLines(main))


def node_positions(plan: Plan) -> dict[Node, int]:
    """Where each node begins in a plan: what ``BodyNode.position`` and breakpoints name."""
    found: dict[Node, int] = {}
    for pc, instruction in enumerate(plan.code):
        if instruction.node is not None:
            found.setdefault(instruction.node, pc)
    return found


class _PseudoCodeWriter:
    def __init__(self, phrases: NodeFormatter) -> None:
        self.formatter = phrases
        self.lines: list[PseudoCodeLine] = []
        self.spans: dict[Loop, tuple[int, int]] = {}
        #: The branches of Ifs that are being written.
        self.open_branches: tuple[tuple[Value, bool], ...] = ()

    def add_line(
        self,
        indent: int,
        text: str,
        kind: LineKind,
        loop: Loop | None,
        *,
        node: Node | None = None,
        ports: tuple[Port, ...] = (),
        comment: str = "",
        values: Sequence[Value | None] = (),
    ) -> None:
        written = tuple(value for value in values if value is not None)
        number = len(self.lines) + 1
        self.lines.append(
            PseudoCodeLine(number, indent, text, kind, node, ports, comment, loop, written, self.open_branches)
        )

    def write_main_graph(self, graph: Graph) -> None:
        if graph.inputs:
            self.add_line(
                0, f"{', '.join(map(display_name, graph.inputs))} = inputs", LineKind.INPUT, None, values=graph.inputs
            )
        self.write_nodes(graph.nodes, 0, None, ())
        names = graph.output_names or [value.name for value in graph.outputs]
        given = [
            self.formatter.operand(value) if name == value.name else f"{quote(name)}={self.formatter.operand(value)}"
            for name, value in zip(names, graph.outputs, strict=True)
        ]
        self.add_line(0, f"return {', '.join(given)}".rstrip(), LineKind.RETURN, None, values=graph.outputs)

    def write_nodes(self, nodes: Sequence[Node], indent: int, loop: Loop | None, indices: tuple[str, ...]) -> None:
        for node in nodes:
            if isinstance(node, Loop):
                self.write_loop(node, indent, loop, indices)
            elif isinstance(node, If):
                self.write_if(node, indent, loop, indices)
            else:
                text = self.formatter.assignment(node)
                self.add_line(indent, text, LineKind.NODE, loop, node=node, values=node.outputs)

    def write_if(self, node: If, indent: int, loop: Loop | None, indices: tuple[str, ...]) -> None:
        condition = self.formatter.operand(node.inputs[0], bare=True)
        self.add_line(indent, f"if {condition}:", LineKind.IF, loop, node=node, values=node.outputs)
        around = self.open_branches
        for word, branch in bodies(node):
            if node.inputs[0] is not None:
                self.open_branches = (*around, (node.inputs[0], word == "then"))
            if word == "else":
                self.add_line(indent, "else:", LineKind.ELSE, loop)
            before = len(self.lines)
            self.write_nodes(branch.nodes, indent + 1, loop, indices)
            for result, output in zip(branch.outputs, node.outputs, strict=True):
                if output is not None:
                    text = f"{display_name(output)} = {self.formatter.operand(result)}"
                    self.add_line(indent + 1, text, LineKind.RESULT, loop, values=(output,))
            if len(self.lines) == before:
                self.add_line(indent + 1, "pass", LineKind.EMPTY, loop)
        self.open_branches = around

    def write_loop(self, loop: Loop, indent: int, around: Loop | None, indices: tuple[str, ...]) -> None:
        first = len(self.lines) + 1
        _LoopLinesWriter(self, loop, indent, around, indices).write()
        self.spans[loop] = (first, len(self.lines))


class _LoopLinesWriter:
    """One loop: its lines in the order in which they take effect."""

    def __init__(
        self, writer: _PseudoCodeWriter, loop: Loop, indent: int, around: Loop | None, indices: tuple[str, ...]
    ) -> None:
        self.writer = writer
        self.formatter = writer.formatter
        self.loop = loop
        self.indent = indent
        self.enclosing_loop = around
        self.termination: TerminationRule = termination_rule(loop, self.formatter.origins)
        self.used_values = _used_values(loop)
        self.index = display_name(loop.iteration) if loop.iteration is not None else _free_index(loop, indices)
        self.indices = (*indices, self.index)
        made = {value for inner in loop.body.nodes for value in inner.outputs}
        #: The condition is read after the back edges are written, so it needs a name that none of them writes.
        self.names_condition = (
            loop.condition is not None and loop.condition not in made and loop.condition_node_count is None
        )
        self.condition = "condition" if self.names_condition else display_name(loop.condition)
        self.tested_first = self.termination.condition_decides and self.termination.initial_condition is not True

    def write(self) -> None:
        self.write_prologue()
        self.write_head()
        start = len(self.writer.lines)
        tested = self.loop.condition_node_count or 0
        self.write_nodes(self.loop.body.nodes[:tested])
        if self.termination.tests_first and self.termination.condition_decides:
            # Parts of sliced inputs are cut for iterations that run.
            self.add_body_line(f"if not {self.formatter.operand(self.loop.condition)}: break", LineKind.BREAK)
        self.write_slices()
        self.write_nodes(self.loop.body.nodes[tested:])
        self.write_boundary()
        if len(self.writer.lines) == start:
            self.add_body_line("pass", LineKind.EMPTY)
        self.write_epilogue()

    def write_nodes(self, nodes: Sequence[Node]) -> None:
        self.writer.write_nodes(nodes, self.indent + 1, self.loop, self.indices)

    def add_outer_line(
        self, text: str, kind: LineKind, comment: str = "", port: Port | None = None, value: Value | None = None
    ) -> None:
        ports = () if port is None else (port,)
        self.writer.add_line(
            self.indent, text, kind, self.enclosing_loop, ports=ports, comment=comment, values=(value,)
        )

    def add_body_line(
        self, text: str, kind: LineKind, comment: str = "", ports: tuple[Port, ...] = (), values: Sequence[Value] = ()
    ) -> None:
        self.writer.add_line(self.indent + 1, text, kind, self.loop, ports=ports, comment=comment, values=values)

    def write_prologue(self) -> None:
        """Initial values and what stays the same."""
        for edge in self.loop.back_edges:
            if isinstance(edge.initial, SlicedInput):
                text = slice_line(edge.initial, None)
                self.add_outer_line(text, LineKind.INITIAL, "part 0 of a sliced input", edge, edge.param)
            else:
                text = f"{display_name(edge.param)} = {self.formatter.operand(edge.initial)}"
                self.add_outer_line(text, LineKind.INITIAL, "initial value", edge, edge.param)
        for invariant in self.loop.invariants:
            text = f"{display_name(invariant.inner)} = {self.formatter.operand(invariant.outer)}"
            if display_name(invariant.inner) != display_name(invariant.outer):
                self.add_outer_line(text, LineKind.INVARIANT, "invariant input", invariant, invariant.inner)
        initial = self._initial_condition()
        if self.tested_first:
            self.add_outer_line(f"{self.condition} = {initial}", LineKind.CONDITION, "initial condition")
        received = self.loop.condition_input
        if received is not None and received in self.used_values:
            self.add_outer_line(
                f"{display_name(received)} = {initial}", LineKind.CONDITION, "initial condition", value=received
            )

    def _initial_condition(self) -> str:
        given = self.loop.initial_condition
        return "True" if given is None else self.formatter.operand(given, bare=True)

    def write_head(self) -> None:
        count = self._count_text()
        found = self.termination
        goes_on = ""
        if self.tested_first:
            goes_on = self.condition
        elif not found.condition_decides and found.initial_condition is not True:
            goes_on = self._initial_condition()
        if count:
            text = f"for {self.index} in range({count})" + (f" while {goes_on}" if goes_on else "") + ":"
        else:
            text = f"while {goes_on or 'True'}:"
        values = self.loop.outputs
        self.writer.add_line(
            self.indent,
            text,
            LineKind.LOOP,
            self.enclosing_loop,
            node=self.loop,
            comment=self._head_comment(count),
            values=values,
        )

    def _count_text(self) -> str:
        found = self.termination
        if found.trip_count is not None:
            return str(found.trip_count if found.declared_trip_count is None else found.declared_trip_count)
        if found.slices:
            return f"parts of {display_name(found.slices[0].outer)}"
        return "" if found.trip_count_value is None else self.formatter.operand(found.trip_count_value, bare=True)

    def _head_comment(self, count: str) -> str:
        found = self.termination
        told = {
            LoopKind.FOR: "for loop",
            LoopKind.WHILE: "while loop",
            LoopKind.DO_WHILE: "do-while loop",
            LoopKind.FOR_WHILE: "for loop with a condition",
            LoopKind.ENDLESS: "endless loop",
        }[found.kind]
        if found.slices:
            told = f"{count} = parts of {display_name(found.slices[0].outer)} along axis {found.slices[0].axis}"
            if found.unequal_parts:
                told = "the sliced inputs disagree on the number of parts"
            elif found.trip_count is None:
                told = f"cut along axis {found.slices[0].axis}"
        elif found.trip_count_value is not None and self.loop.minus_one_is_no_limit:
            told += f", -1 in {count} = no limit"
        elif not count and self._needs_index():
            told += f", {self.index} counts from 0"
        return told

    def _needs_index(self) -> bool:
        """The body needs the iteration number."""
        return self.loop.iteration in self.used_values or bool(self.loop.sliced_inputs)

    def write_slices(self) -> None:
        for sliced in self.loop.sliced_inputs:
            comment = f"sliced input, axis {sliced.axis}"
            self.add_body_line(slice_line(sliced, self.index), LineKind.SLICE, comment, (sliced,), (sliced.inner,))

    def write_boundary(self) -> None:
        """Scan outputs before back edges, which overwrite what they may collect."""
        loop = self.loop
        if self.names_condition and self.termination.condition_decides and loop.condition is not None:
            text = f"{self.condition} = {self.formatter.operand(loop.condition, bare=True)}"
            self.add_body_line(text, LineKind.CONDITION, "condition", values=(loop.condition,))
        for scan, name in zip(loop.scan_outputs, scan_names(loop), strict=True):
            text, comment = scan_line(scan, quote(name), self.index, self.termination)
            self.add_body_line(text, LineKind.SCAN, comment, (scan,), (scan.outer,))
        self._write_back_edges()
        received = loop.condition_input
        if self.termination.condition_decides and received is not None and received in self.used_values:
            self.add_body_line(
                f"{display_name(received)} = {self.condition}", LineKind.CONDITION, "condition", values=(received,)
            )
        if self.termination.condition_decides and not self.tested_first and not self.termination.tests_first:
            self.add_body_line(f"if not {self.condition}: break", LineKind.BREAK)

    def _write_back_edges(self) -> None:
        edges = self.loop.back_edges
        written: set[Value] = set()
        entangled = False
        for edge in edges:
            entangled = entangled or edge.result in written
            if edge.result is not edge.param:
                written.add(edge.param)
        if entangled:
            left = ", ".join(display_name(edge.param) for edge in edges)
            right = ", ".join(self.formatter.operand(edge.result) for edge in edges)
            params = [edge.param for edge in edges]
            self.add_body_line(f"{left} = {right}", LineKind.BACK_EDGE, "back edges, all at once", tuple(edges), params)
            return
        for edge in edges:
            text = f"{display_name(edge.param)} = {self.formatter.operand(edge.result)}"
            self.add_body_line(text, LineKind.BACK_EDGE, "back edge", (edge,), (edge.param,))

    def write_epilogue(self) -> None:
        for last in self.loop.last_values:
            edge = self.loop.back_edge_for(last)
            value = last.result if edge is None else edge.param
            text = f"{display_name(last.outer)} = {self.formatter.operand(value)}"
            self.add_outer_line(text, LineKind.LAST_VALUE, "last value", last, last.outer)


def _used_values(loop: Loop) -> set[Value | None]:
    """Every value that something in the body reads, or that the loop hands on."""
    used = {value for node in walk(loop.body) for value in node.inputs}
    for node in walk(loop.body):
        for _, inner in bodies(node):
            used.update(inner.outputs)
        if isinstance(node, Loop):
            used.update(invariant.outer for invariant in node.invariants)
    used.update(edge.result for edge in loop.back_edges)
    used.update(scan.result for scan in loop.scan_outputs)
    return used


def _free_index(loop: Loop, indices: tuple[str, ...]) -> str:
    """A name for the iteration number that nothing in the body has."""
    taken = {value.name for value in _used_values(loop) if value is not None} | set(indices)
    taken.update(value.name for value in loop.body.inputs)
    return next((name for name in _INDEX_NAMES if name not in taken), "iteration")
