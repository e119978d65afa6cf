"""Pseudo-code of a loop or a model: one line per node.

The ports of a loop are written as assignments: initial values before the loop, slices at the top of its body, scan
outputs and back edges at its end, last values after it. Every line has its node or ports, so that markers, values and
breakpoints can be attached to it.
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
from .loop_text import LoopText
from .node_source_lines import CodeLines
from .node_text import NodeFormatter
from .subscripts import scan_line, slice_line
from .termination import LoopKind, TerminationRule, termination_rule
from .value_names import display_name, quote, scan_names

Port = SlicedInput | BackEdge | Invariant | LastValueOutput | ScanOutput
INDENT = "    "
#: Comments are aligned in one column, except on lines longer than this.
_COMMENT_COLUMN = 44
#: Source line of nodes without a known line, if other nodes precede them.
_UNKNOWN_CODE_LINE = "no line is known"
_INDEX_NAMES = ("i", "j", "k", "l", "m", "n")


class LineKind(StrEnum):
    """The kind of a line."""

    INPUT = "input"
    INITIAL = "initial"
    INVARIANT = "invariant"
    LOOP = "loop"
    SLICE = "slice"
    NODE = "node"
    IF = "if"
    ELSE = "else"
    #: The assignment of a branch result to an output of its If.
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

    Every node has one line: a loop its head, an If its ``if``. ``loop``: the loop whose iterations run the line, None
    in the main graph. ``values``: the assigned values.
    """

    number: int
    indent: int
    text: str
    kind: LineKind
    node: Node | None = None
    #: Several if back edges swap values and must be assigned simultaneously.
    ports: tuple[Port, ...] = ()
    comment: str = ""
    loop: Loop | None = None
    values: tuple[Value, ...] = ()
    #: The conditions of the enclosing Ifs, and whether the line is in their then-branch.
    branches: tuple[tuple[Value, bool], ...] = ()

    @property
    def port(self) -> Port | None:
        """The first port of the line; None if it has none."""
        return self.ports[0] if self.ports else None

    def __str__(self) -> str:
        text = INDENT * self.indent + self.text
        return f"{text}  # {self.comment}" if self.comment else text


class PseudoCode:
    """The lines of ``subject``: a loop or a main graph."""

    def __init__(
        self,
        subject: Loop | Graph,
        lines: Sequence[PseudoCodeLine],
        spans: Mapping[Loop, tuple[int, int]],
        formatter: NodeFormatter,
        code: CodeLines,
    ) -> None:
        self.subject = subject
        self.lines: tuple[PseudoCodeLine, ...] = tuple(lines)
        #: The formatter of the lines, for further texts about the model.
        self.formatter = formatter
        self.code_lines = code
        self._spans = spans
        self._loops: dict[Loop, PseudoCode] = {}
        self._loop_texts: dict[Loop, LoopText] = {}
        self._by_node = {line.node: line for line in self.lines if line.node is not None}

    def __repr__(self) -> str:
        return f"<Source of {self.subject!r}: {len(self.lines)} lines>"

    def __str__(self) -> str:
        return escape_lines(self.text())

    def line_of(self, node: Node) -> PseudoCodeLine | None:
        """The line of a node; None if the node is elsewhere."""
        return self._by_node.get(node)

    def lines_of_loop(self, loop: Loop) -> PseudoCode:
        """The lines of one loop, with the same numbers, so that a number identifies a line of the model.

        Raises:
            KeyError: the loop is not in these lines.
        """
        if loop not in self._loops:
            self._loops[loop] = self._extract_loop(loop)
        return self._loops[loop]

    def _extract_loop(self, loop: Loop) -> PseudoCode:
        first, last = self._spans[loop]
        lines = [line for line in self.lines if first <= line.number <= last]
        indent = min(line.indent for line in lines)
        spans = {inner: span for inner, span in self._spans.items() if first <= span[0] and span[1] <= last}
        return PseudoCode(
            loop, [replace(line, indent=line.indent - indent) for line in lines], spans, self.formatter, self.code_lines
        )

    def loop_text(self, loop: Loop) -> LoopText:
        """The cached descriptions of a loop."""
        if loop not in self._loop_texts:
            self._loop_texts[loop] = LoopText.from_loop(loop, self.formatter)
        return self._loop_texts[loop]

    @cached_property
    def is_script(self) -> bool:
        """Whether the model is a script, whose source lines duplicate its nodes."""
        first = next((line.node for line in self.lines if line.node is not None), None)
        return first is not None and first.origin.script

    def code_above(self, rows: Iterable[int], traced: bool = False) -> dict[int, str]:
        """Source lines to display above some lines, by index: the source of a line and those below it.

        ``traced``: with the code that an exporter generated from it.
        """
        describe = self.code_lines.describe_node if traced else self.code_lines.source_line_text
        comments: dict[int, str] = {}
        previous = ""
        for k in rows:
            line = self.lines[k]
            text = previous if line.node is None else describe(line.node)
            if text != previous:
                comments[k] = f"{INDENT * line.indent}# {text or _UNKNOWN_CODE_LINE}"
            previous = text
        return comments

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
    """The pseudo-code of one loop, or of the entire model if the subject is its main graph.

    ``origins``: producers of the entire model; without them a constant from a Constant node outside of a loop is shown
    only by its name.
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
    """The position of each node in a plan, as in ``BodyNode.position`` and breakpoints."""
    positions: dict[Node, int] = {}
    for pc, instruction in enumerate(plan.code):
        if instruction.node is not None:
            positions.setdefault(instruction.node, pc)
    return positions


class _PseudoCodeWriter:
    def __init__(self, formatter: NodeFormatter) -> None:
        self.formatter = formatter
        self.lines: list[PseudoCodeLine] = []
        self.spans: dict[Loop, tuple[int, int]] = {}
        #: The enclosing branches of the current line.
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
        assigned = tuple(value for value in values if value is not None)
        number = len(self.lines) + 1
        self.lines.append(
            PseudoCodeLine(number, indent, text, kind, node, ports, comment, loop, assigned, self.open_branches)
        )

    def write_main_graph(self, graph: Graph) -> None:
        if graph.inputs:
            self.add_line(
                0, f"{', '.join(map(display_name, graph.inputs))} = inputs", LineKind.INPUT, None, values=graph.inputs
            )
        self.write_nodes(graph.nodes, 0, None, ())
        names = graph.output_names or [value.name for value in graph.outputs]
        results = [
            self.formatter.operand(value) if name == value.name else f"{quote(name)}={self.formatter.operand(value)}"
            for name, value in zip(names, graph.outputs, strict=True)
        ]
        self.add_line(0, f"return {', '.join(results)}".rstrip(), LineKind.RETURN, None, values=graph.outputs)

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
        enclosing = self.open_branches
        for word, branch in bodies(node):
            if node.inputs[0] is not None:
                self.open_branches = (*enclosing, (node.inputs[0], word == "then"))
            if word == "else":
                self.add_line(indent, "else:", LineKind.ELSE, loop)
            count = len(self.lines)
            self.write_nodes(branch.nodes, indent + 1, loop, indices)
            for result, output in zip(branch.outputs, node.outputs, strict=True):
                if output is not None:
                    text = f"{display_name(output)} = {self.formatter.operand(result)}"
                    self.add_line(indent + 1, text, LineKind.RESULT, loop, values=(output,))
            if len(self.lines) == count:
                self.add_line(indent + 1, "pass", LineKind.EMPTY, loop)
        self.open_branches = enclosing

    def write_loop(self, loop: Loop, indent: int, outer: Loop | None, indices: tuple[str, ...]) -> None:
        first = len(self.lines) + 1
        _LoopLinesWriter(self, loop, indent, outer, indices).write()
        self.spans[loop] = (first, len(self.lines))


class _LoopLinesWriter:
    """Writes the lines of one loop in execution order."""

    def __init__(
        self, writer: _PseudoCodeWriter, loop: Loop, indent: int, outer: Loop | None, indices: tuple[str, ...]
    ) -> None:
        self.writer = writer
        self.formatter = writer.formatter
        self.loop = loop
        self.indent = indent
        self.enclosing_loop = outer
        self.termination: TerminationRule = termination_rule(loop, self.formatter.origins)
        self.used_values = _used_values(loop)
        self.index = display_name(loop.iteration) if loop.iteration is not None else _unused_index_name(loop, indices)
        self.indices = (*indices, self.index)
        results = {value for inner in loop.body.nodes for value in inner.outputs}
        #: The condition is read after the back edges are written, so it needs a name that they do not overwrite.
        self.names_condition = (
            loop.condition is not None and loop.condition not in results and loop.condition_node_count is None
        )
        self.condition = "condition" if self.names_condition else display_name(loop.condition)
        self.tested_first = self.termination.condition_decides and self.termination.initial_condition is not True

    def write(self) -> None:
        self.write_prologue()
        self.write_head()
        start = len(self.writer.lines)
        test_count = self.loop.condition_node_count or 0
        self.write_nodes(self.loop.body.nodes[:test_count])
        if self.termination.tests_first and self.termination.condition_decides:
            # Only iterations that run get slices.
            self.add_body_line(f"if not {self.formatter.operand(self.loop.condition)}: break", LineKind.BREAK)
        self.write_slices()
        self.write_nodes(self.loop.body.nodes[test_count:])
        self.write_scans_and_back_edges()
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
        """Write initial values and invariant inputs."""
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
        initial = self._initial_condition_text()
        if self.tested_first:
            self.add_outer_line(f"{self.condition} = {initial}", LineKind.CONDITION, "initial condition")
        received = self.loop.condition_input
        if received is not None and received in self.used_values:
            self.add_outer_line(
                f"{display_name(received)} = {initial}", LineKind.CONDITION, "initial condition", value=received
            )

    def _initial_condition_text(self) -> str:
        initial = self.loop.initial_condition
        return "True" if initial is None else self.formatter.operand(initial, bare=True)

    def write_head(self) -> None:
        count = self._count_text()
        rule = self.termination
        condition = ""
        if self.tested_first:
            condition = self.condition
        elif not rule.condition_decides and rule.initial_condition is not True:
            condition = self._initial_condition_text()
        if count:
            text = f"for {self.index} in range({count})" + (f" while {condition}" if condition else "") + ":"
        else:
            text = f"while {condition or 'True'}:"
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
        rule = self.termination
        if rule.trip_count is not None:
            return str(rule.trip_count if rule.declared_trip_count is None else rule.declared_trip_count)
        if rule.slices:
            return f"parts of {display_name(rule.slices[0].outer)}"
        return "" if rule.trip_count_value is None else self.formatter.operand(rule.trip_count_value, bare=True)

    def _head_comment(self, count: str) -> str:
        rule = self.termination
        comment = {
            LoopKind.FOR: "for loop",
            LoopKind.WHILE: "while loop",
            LoopKind.DO_WHILE: "do-while loop",
            LoopKind.FOR_WHILE: "for loop with a condition",
            LoopKind.ENDLESS: "endless loop",
        }[rule.kind]
        if rule.slices:
            comment = f"{count} = parts of {display_name(rule.slices[0].outer)} along axis {rule.slices[0].axis}"
            if rule.unequal_parts:
                comment = "the sliced inputs disagree on the number of parts"
            elif rule.trip_count is None:
                comment = f"cut along axis {rule.slices[0].axis}"
        elif rule.trip_count_value is not None and self.loop.minus_one_is_no_limit:
            comment += f", -1 in {count} = no limit"
        elif not count and self._needs_iteration_number():
            comment += f", {self.index} counts from 0"
        return comment

    def _needs_iteration_number(self) -> bool:
        """True if the body needs the iteration number."""
        return self.loop.iteration in self.used_values or bool(self.loop.sliced_inputs)

    def write_slices(self) -> None:
        for sliced in self.loop.sliced_inputs:
            comment = f"sliced input, axis {sliced.axis}"
            self.add_body_line(slice_line(sliced, self.index), LineKind.SLICE, comment, (sliced,), (sliced.inner,))

    def write_scans_and_back_edges(self) -> None:
        """Write scan outputs before back edges, which may overwrite the collected values."""
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
        has_conflict = False
        for edge in edges:
            has_conflict = has_conflict or edge.result in written
            if edge.result is not edge.param:
                written.add(edge.param)
        if has_conflict:
            left = ", ".join(display_name(edge.param) for edge in edges)
            right = ", ".join(self.formatter.operand(edge.result) for edge in edges)
            params = [edge.param for edge in edges]
            self.add_body_line(f"{left} = {right}", LineKind.BACK_EDGE, "back edges, all at once", tuple(edges), params)
            return
        for edge in edges:
            text = f"{display_name(edge.param)} = {self.formatter.operand(edge.result)}"
            self.add_body_line(text, LineKind.BACK_EDGE, "back edge", (edge,), (edge.param,))

    def write_epilogue(self) -> None:
        for port in self.loop.last_values:
            edge = self.loop.back_edge_for(port)
            value = port.result if edge is None else edge.param
            text = f"{display_name(port.outer)} = {self.formatter.operand(value)}"
            self.add_outer_line(text, LineKind.LAST_VALUE, "last value", port, port.outer)


def _used_values(loop: Loop) -> set[Value | None]:
    """Every value that a node of the body reads, or that the loop carries or collects."""
    used = {value for node in walk(loop.body) for value in node.inputs}
    for node in walk(loop.body):
        for _, inner in bodies(node):
            used.update(inner.outputs)
        if isinstance(node, Loop):
            used.update(invariant.outer for invariant in node.invariants)
    used.update(edge.result for edge in loop.back_edges)
    used.update(scan.result for scan in loop.scan_outputs)
    return used


def _unused_index_name(loop: Loop, indices: tuple[str, ...]) -> str:
    """A name for the iteration number that is unused in the body."""
    used = {value.name for value in _used_values(loop) if value is not None} | set(indices)
    used.update(value.name for value in loop.body.inputs)
    return next((name for name in _INDEX_NAMES if name not in used), "iteration")
