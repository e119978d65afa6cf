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
from ...runtime.graph.origins import Origins
from ...runtime.plan.plan import Plan
from ...runtime.text import printable_lines
from .code import Code
from .endings import Ending, LoopKind, ending
from .loop_text import LoopText
from .names import named, quote, scan_names
from .node_text import Phrases
from .subscripts import scan_line, slice_line

Port = SlicedInput | BackEdge | Invariant | LastValueOutput | ScanOutput
INDENT = "    "
#: Comments stand in one column, unless lines are longer than this.
_COMMENT_COLUMN = 44
#: Above nodes of which no line is known, where others stand before them.
_NO_CODE = "no line is known"
_INDICES = ("i", "j", "k", "l", "m", "n")


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
class Line:
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


class Source:
    """The lines of a loop or of a whole model; ``subject`` is which."""

    def __init__(
        self,
        subject: Loop | Graph,
        lines: Sequence[Line],
        spans: Mapping[Loop, tuple[int, int]],
        phrases: Phrases,
        code: Code,
    ) -> None:
        self.subject = subject
        self.lines = tuple(lines)
        #: What wrote the lines, for whoever says more of the same model.
        self.phrases = phrases
        self.code = code
        self._spans = spans
        self._loops: dict[Loop, Source] = {}
        self._said: dict[Loop, LoopText] = {}
        self._by_number = {line.number: line for line in self.lines}
        self._by_node = {line.node: line for line in self.lines if line.node is not None}

    def __repr__(self) -> str:
        return f"<Source of {self.subject!r}: {len(self.lines)} lines>"

    def __str__(self) -> str:
        return printable_lines(self.text())

    def at(self, number: int) -> Line | None:
        """The line of a number; None where there is none."""
        return self._by_number.get(number)

    def line_of(self, node: Node) -> Line | None:
        """The line of a node; None where the node is elsewhere."""
        return self._by_node.get(node)

    def within(self, loop: Loop) -> Source:
        """One loop of these lines, its numbers as they are here, so that a number means one line of the model.

        Raises:
            KeyError: the loop is not in these lines.
        """
        if loop not in self._loops:
            self._loops[loop] = self._part(loop)
        return self._loops[loop]

    def _part(self, loop: Loop) -> Source:
        first, last = self._spans[loop]
        lines = [line for line in self.lines if first <= line.number <= last]
        less = min(line.indent for line in lines)
        spans = {inner: span for inner, span in self._spans.items() if first <= span[0] and span[1] <= last}
        return Source(
            loop, [replace(line, indent=line.indent - less) for line in lines], spans, self.phrases, self.code
        )

    def said(self, loop: Loop) -> LoopText:
        """What is said of a loop at every stop."""
        if loop not in self._said:
            self._said[loop] = LoopText.of(loop, self.phrases)
        return self._said[loop]

    @cached_property
    def is_script(self) -> bool:
        """Whether the model is a script, of which the lines are its nodes once more."""
        first = next((line.node for line in self.lines if line.node is not None), None)
        return first is not None and first.origin.script

    def code_above(self, rows: Iterable[int], traced: bool = False) -> dict[int, str]:
        """What stands above some lines, by index: the code that a line and those below it come from.

        ``traced``: with what an exporter made of that.
        """
        words = self.code.told if traced else self.code.line
        found: dict[int, str] = {}
        last = ""
        for k in rows:
            line = self.lines[k]
            told = last if line.node is None else words(line.node)
            if told != last:
                found[k] = f"{INDENT * line.indent}# {told or _NO_CODE}"
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


def source(subject: Loop | Graph, origins: Origins | None = None) -> Source:
    """The pseudo-code of one loop, or with the main graph as subject that of the whole model.

    ``origins``: those of the whole model; without them a constant that a loop takes from a Constant node outside of it
    is known by its name alone.
    """
    if origins is None:
        origins = Origins.of(subject if isinstance(subject, Graph) else subject.body)
    writer = _Writer(Phrases(origins))
    if isinstance(subject, Loop):
        writer.loop(subject, 0, None, ())
    else:
        writer.main(subject)
    main = subject if isinstance(subject, Graph) else subject.body
    return Source(subject, writer.lines, writer.spans, writer.phrases, Code(main))


def positions(plan: Plan) -> dict[Node, int]:
    """Where each node begins in a plan: what ``BodyNode.position`` and breakpoints name."""
    found: dict[Node, int] = {}
    for pc, instruction in enumerate(plan.code):
        if instruction.node is not None:
            found.setdefault(instruction.node, pc)
    return found


class _Writer:
    def __init__(self, phrases: Phrases) -> None:
        self.phrases = phrases
        self.lines: list[Line] = []
        self.spans: dict[Loop, tuple[int, int]] = {}
        #: The branches of Ifs that are being written.
        self.inside: tuple[tuple[Value, bool], ...] = ()

    def add(
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
        self.lines.append(Line(number, indent, text, kind, node, ports, comment, loop, written, self.inside))

    def main(self, graph: Graph) -> None:
        if graph.inputs:
            self.add(0, f"{', '.join(map(named, graph.inputs))} = inputs", LineKind.INPUT, None, values=graph.inputs)
        self.nodes(graph.nodes, 0, None, ())
        names = graph.output_names or [value.name for value in graph.outputs]
        given = [
            self.phrases.operand(value) if name == value.name else f"{quote(name)}={self.phrases.operand(value)}"
            for name, value in zip(names, graph.outputs, strict=True)
        ]
        self.add(0, f"return {', '.join(given)}".rstrip(), LineKind.RETURN, None, values=graph.outputs)

    def nodes(self, nodes: Sequence[Node], indent: int, loop: Loop | None, indices: tuple[str, ...]) -> None:
        for node in nodes:
            if isinstance(node, Loop):
                self.loop(node, indent, loop, indices)
            elif isinstance(node, If):
                self.branches(node, indent, loop, indices)
            else:
                text = self.phrases.assignment(node)
                self.add(indent, text, LineKind.NODE, loop, node=node, values=node.outputs)

    def branches(self, node: If, indent: int, loop: Loop | None, indices: tuple[str, ...]) -> None:
        condition = self.phrases.operand(node.inputs[0], bare=True)
        self.add(indent, f"if {condition}:", LineKind.IF, loop, node=node, values=node.outputs)
        around = self.inside
        for word, branch in bodies(node):
            if node.inputs[0] is not None:
                self.inside = (*around, (node.inputs[0], word == "then"))
            if word == "else":
                self.add(indent, "else:", LineKind.ELSE, loop)
            before = len(self.lines)
            self.nodes(branch.nodes, indent + 1, loop, indices)
            for result, output in zip(branch.outputs, node.outputs, strict=True):
                if output is not None:
                    text = f"{named(output)} = {self.phrases.operand(result)}"
                    self.add(indent + 1, text, LineKind.RESULT, loop, values=(output,))
            if len(self.lines) == before:
                self.add(indent + 1, "pass", LineKind.EMPTY, loop)
        self.inside = around

    def loop(self, loop: Loop, indent: int, around: Loop | None, indices: tuple[str, ...]) -> None:
        first = len(self.lines) + 1
        _LoopWriter(self, loop, indent, around, indices).write()
        self.spans[loop] = (first, len(self.lines))


class _LoopWriter:
    """One loop: its lines in the order in which they take effect."""

    def __init__(self, writer: _Writer, loop: Loop, indent: int, around: Loop | None, indices: tuple[str, ...]) -> None:
        self.writer = writer
        self.phrases = writer.phrases
        self.node = loop
        self.indent = indent
        self.around = around
        self.ending: Ending = ending(loop, self.phrases.origins)
        self.used = _used(loop)
        self.index = named(loop.iteration) if loop.iteration is not None else _free_index(loop, indices)
        self.indices = (*indices, self.index)
        made = {value for inner in loop.body.nodes for value in inner.outputs}
        #: The condition is read after the back edges are written, so it needs a name that none of them writes.
        self.own_condition = loop.condition is not None and loop.condition not in made and loop.tested is None
        self.condition = "condition" if self.own_condition else named(loop.condition)
        self.tested_first = self.ending.decides and self.ending.initial is not True

    def write(self) -> None:
        self.before()
        self.head()
        start = len(self.writer.lines)
        tested = self.node.tested or 0
        self.nodes(self.node.body.nodes[:tested])
        if self.ending.tested and self.ending.decides:
            # Parts of sliced inputs are cut for iterations that run.
            self.inside(f"if not {self.phrases.operand(self.node.condition)}: break", LineKind.BREAK)
        self.slices()
        self.nodes(self.node.body.nodes[tested:])
        self.boundary()
        if len(self.writer.lines) == start:
            self.inside("pass", LineKind.EMPTY)
        self.after()

    def nodes(self, nodes: Sequence[Node]) -> None:
        self.writer.nodes(nodes, self.indent + 1, self.node, self.indices)

    def outside(
        self, text: str, kind: LineKind, comment: str = "", port: Port | None = None, value: Value | None = None
    ) -> None:
        ports = () if port is None else (port,)
        self.writer.add(self.indent, text, kind, self.around, ports=ports, comment=comment, values=(value,))

    def inside(
        self, text: str, kind: LineKind, comment: str = "", ports: tuple[Port, ...] = (), values: Sequence[Value] = ()
    ) -> None:
        self.writer.add(self.indent + 1, text, kind, self.node, ports=ports, comment=comment, values=values)

    def before(self) -> None:
        """Initial values and what stays the same."""
        for edge in self.node.back_edges:
            if isinstance(edge.initial, SlicedInput):
                text = slice_line(edge.initial, None)
                self.outside(text, LineKind.INITIAL, "part 0 of a sliced input", edge, edge.param)
            else:
                text = f"{named(edge.param)} = {self.phrases.operand(edge.initial)}"
                self.outside(text, LineKind.INITIAL, "initial value", edge, edge.param)
        for invariant in self.node.invariants:
            text = f"{named(invariant.inner)} = {self.phrases.operand(invariant.outer)}"
            if named(invariant.inner) != named(invariant.outer):
                self.outside(text, LineKind.INVARIANT, "invariant input", invariant, invariant.inner)
        initial = self._initial_condition()
        if self.tested_first:
            self.outside(f"{self.condition} = {initial}", LineKind.CONDITION, "initial condition")
        received = self.node.condition_input
        if received is not None and received in self.used:
            self.outside(f"{named(received)} = {initial}", LineKind.CONDITION, "initial condition", value=received)

    def _initial_condition(self) -> str:
        given = self.node.initial_condition
        return "True" if given is None else self.phrases.operand(given, bare=True)

    def head(self) -> None:
        count = self._count()
        found = self.ending
        goes_on = ""
        if self.tested_first:
            goes_on = self.condition
        elif not found.decides and found.initial is not True:
            goes_on = self._initial_condition()
        if count:
            text = f"for {self.index} in range({count})" + (f" while {goes_on}" if goes_on else "") + ":"
        else:
            text = f"while {goes_on or 'True'}:"
        values = self.node.outputs
        self.writer.add(
            self.indent, text, LineKind.LOOP, self.around, node=self.node, comment=self._comment(count), values=values
        )

    def _count(self) -> str:
        found = self.ending
        if found.trips is not None:
            return str(found.trips if found.given is None else found.given)
        if found.slices:
            return f"parts of {named(found.slices[0].outer)}"
        return "" if found.count is None else self.phrases.operand(found.count, bare=True)

    def _comment(self, count: str) -> str:
        found = self.ending
        told = {
            LoopKind.FOR: "for loop",
            LoopKind.WHILE: "while loop",
            LoopKind.DO_WHILE: "do-while loop",
            LoopKind.FOR_WHILE: "for loop with a condition",
            LoopKind.ENDLESS: "endless loop",
        }[found.kind]
        if found.slices:
            told = f"{count} = parts of {named(found.slices[0].outer)} along axis {found.slices[0].axis}"
            if found.uneven:
                told = "the sliced inputs disagree on the number of parts"
            elif found.trips is None:
                told = f"cut along axis {found.slices[0].axis}"
        elif found.count is not None and self.node.minus_one_is_no_limit:
            told += f", -1 in {count} = no limit"
        elif not count and self._counts():
            told += f", {self.index} counts from 0"
        return told

    def _counts(self) -> bool:
        """The body needs the iteration number."""
        return self.node.iteration in self.used or bool(self.node.sliced_inputs)

    def slices(self) -> None:
        for sliced in self.node.sliced_inputs:
            comment = f"sliced input, axis {sliced.axis}"
            self.inside(slice_line(sliced, self.index), LineKind.SLICE, comment, (sliced,), (sliced.inner,))

    def boundary(self) -> None:
        """Scan outputs before back edges, which overwrite what they may collect."""
        loop = self.node
        if self.own_condition and self.ending.decides and loop.condition is not None:
            text = f"{self.condition} = {self.phrases.operand(loop.condition, bare=True)}"
            self.inside(text, LineKind.CONDITION, "condition", values=(loop.condition,))
        for scan, name in zip(loop.scan_outputs, scan_names(loop), strict=True):
            text, comment = scan_line(scan, quote(name), self.index, self.ending)
            self.inside(text, LineKind.SCAN, comment, (scan,), (scan.outer,))
        self._back_edges()
        received = loop.condition_input
        if self.ending.decides and received is not None and received in self.used:
            self.inside(f"{named(received)} = {self.condition}", LineKind.CONDITION, "condition", values=(received,))
        if self.ending.decides and not self.tested_first and not self.ending.tested:
            self.inside(f"if not {self.condition}: break", LineKind.BREAK)

    def _back_edges(self) -> None:
        edges = self.node.back_edges
        written: set[Value] = set()
        entangled = False
        for edge in edges:
            entangled = entangled or edge.result in written
            if edge.result is not edge.param:
                written.add(edge.param)
        if entangled:
            left = ", ".join(named(edge.param) for edge in edges)
            right = ", ".join(self.phrases.operand(edge.result) for edge in edges)
            params = [edge.param for edge in edges]
            self.inside(f"{left} = {right}", LineKind.BACK_EDGE, "back edges, all at once", tuple(edges), params)
            return
        for edge in edges:
            text = f"{named(edge.param)} = {self.phrases.operand(edge.result)}"
            self.inside(text, LineKind.BACK_EDGE, "back edge", (edge,), (edge.param,))

    def after(self) -> None:
        for last in self.node.last_values:
            edge = self.node.edge_of(last)
            value = last.result if edge is None else edge.param
            text = f"{named(last.outer)} = {self.phrases.operand(value)}"
            self.outside(text, LineKind.LAST_VALUE, "last value", last, last.outer)


def _used(loop: Loop) -> set[Value | None]:
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
    taken = {value.name for value in _used(loop) if value is not None} | set(indices)
    taken.update(value.name for value in loop.body.inputs)
    return next((name for name in _INDICES if name not in taken), "iteration")
