"""Pseudo-code listings at a stop: the next line, and the values that this iteration computed.

The console and the screen show the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from ...runtime.frame import NodeState
from ...runtime.graph import Loop, Node, StoppedBy, Value
from ..value_text import value_text
from .frame_text import end_text
from .pseudo_code import INDENT, LineKind, PseudoCode, PseudoCodeLine
from .value_names import display_name

NEXT_MARKER, BREAKPOINT_MARKER, FAILED_MARKER = "▶", "●", "✗"
#: Value texts of a line that was not computed, and of a line in a branch that was not taken.
NOT_COMPUTED_TEXT, SKIPPED_TEXT = "·", "–"
#: Between a line and its value.
VALUE_SEPARATOR = " │ "
#: Maximum width of a value, and of the aligned part of a line; values follow longer lines directly.
VALUE_WIDTH, TEXT_WIDTH = 32, 64
#: Number of lines before and after the one that runs next.
CONTEXT_LINES = 5


class ValueStatus(Enum):
    """The status of a line's values."""

    #: The line assigns no value, or belongs to another frame.
    NOTHING = auto()
    NOT_COMPUTED = auto()
    SKIPPED = auto()
    #: Values of the running iteration.
    CURRENT = auto()
    #: At a boundary: values of the previous iteration.
    PREVIOUS = auto()


@dataclass(frozen=True, eq=False)
class ListingContext:
    """The data of a stop that a listing shows.

    ``states``: of the frame's own nodes; ``read``: returns whether a value is available, and the value (at a boundary
    that of the previous iteration); ``breakpoints``: nodes with a breakpoint.
    """

    loop: Loop | None = None
    iteration: int = 0
    at_boundary: bool = False
    stopped_by: StoppedBy | None = None
    #: False if the frame has ended: then no line runs next.
    running: bool = True
    failed: bool = False
    states: Mapping[Node, NodeState] = field(default_factory=dict)
    read: Callable[[Value], tuple[bool, Any]] = lambda value: (False, None)
    breakpoints: Collection[Node] = frozenset()
    #: Omit the notes below the lines.
    hide_notes: bool = False


@dataclass(frozen=True, eq=False)
class ListingRow:
    """A line with its marker, and its values with their status."""

    line: PseudoCodeLine
    sign: str
    value_status: ValueStatus
    values: tuple[Any, ...] = ()

    def value(self, width: int = VALUE_WIDTH) -> str:
        """The value text of the line, "" for none."""
        if self.value_status is ValueStatus.NOTHING:
            return ""
        if self.value_status is ValueStatus.SKIPPED:
            return SKIPPED_TEXT
        return ", ".join(value_text(value, width) for value in self.values) or NOT_COMPUTED_TEXT


class Listing:
    """The lines of one frame at a stop; rows are created lazily, since bodies can be long.

    ``next_index``: the index of the line that runs next; None if there is none.
    """

    def __init__(self, source: PseudoCode, stop: ListingContext) -> None:
        self.source = source if stop.loop is None else source.lines_of_loop(stop.loop)
        self.stop = stop
        node = next((node for node, state in stop.states.items() if state is NodeState.NEXT), None)
        line = find_next_line(self.source, node, stop.loop, stop.stopped_by) if stop.running else None
        self.next_index = None if line is None else line.number - self.source.lines[0].number
        self._producer_states = {value: state for node, state in stop.states.items() for value in node.outputs}

    def __len__(self) -> int:
        return len(self.source.lines)

    def row(self, index: int) -> ListingRow:
        """The row of a line."""
        line = self.source.lines[index]
        stop = self.stop
        sign = " "
        if index == self.next_index:
            sign = FAILED_MARKER if stop.failed else NEXT_MARKER
        elif line.node in stop.breakpoints:
            sign = BREAKPOINT_MARKER
        status, values = self._value_status(line)
        return ListingRow(line, sign, status, values)

    def _value_status(self, line: PseudoCodeLine) -> tuple[ValueStatus, tuple[Any, ...]]:
        stop = self.stop
        state = stop.states.get(line.node) if line.node is not None else None
        is_slice = line.kind is LineKind.SLICE and line.loop is stop.loop
        if state is None and not is_slice:
            return ValueStatus.NOTHING, ()
        if state is NodeState.SKIPPED or (state is not NodeState.NEXT and self._is_branch_not_taken(line)):
            return ValueStatus.SKIPPED, ()
        if not line.values:
            return ValueStatus.NOTHING, ()
        is_computed_ahead = stop.at_boundary and state is NodeState.DONE
        if stop.at_boundary:
            computed = is_computed_ahead or stop.iteration > 0
        else:
            computed = is_slice or state is NodeState.DONE
        # Not by name, since branches of an If may use the same name.
        reads = [stop.read(value) for value in line.values] if computed else []
        values = tuple(value for is_present, value in reads if is_present)
        if not values:
            return ValueStatus.NOT_COMPUTED, ()
        return (ValueStatus.PREVIOUS if stop.at_boundary and not is_computed_ahead else ValueStatus.CURRENT), values

    def _is_branch_not_taken(self, line: PseudoCodeLine) -> bool:
        """Whether a line is in a branch that was not taken; at a boundary the conditions are still available."""
        for condition, required in line.branches:
            if not self.stop.at_boundary and self._producer_states.get(condition, NodeState.DONE) is not NodeState.DONE:
                # The readable condition is of the previous iteration.
                continue
            is_present, value = self.stop.read(condition)
            if is_present and value.size == 1 and bool(value.reshape(-1)[0]) != required:
                return True
        return False

    def window(self) -> range:
        """The lines around the one that runs next; all lines if there is none."""
        return self.lines_around(self.next_index) if self.next_index is not None else range(len(self))

    def lines_around(self, index: int) -> range:
        """The lines around a line."""
        # At either end the window is shifted.
        first = max(0, min(index - CONTEXT_LINES, len(self) - 2 * CONTEXT_LINES - 1))
        return range(first, min(len(self), first + 2 * CONTEXT_LINES + 1))

    def notes(self) -> Iterator[str]:
        """Notes below the lines of a loop: its termination, and differences between runtimes."""
        stop = self.stop
        if stop.loop is None or stop.hide_notes:
            return
        if stop.stopped_by is not None:
            yield end_text(stop.stopped_by, stop.iteration)
            yield from self._condition_only_note(stop.loop)
        else:
            yield f"ends: {' '.join(self.source.loop_text(stop.loop).termination_sentences)}"
        yield from (f"note: {note}" for note in stop.loop.notes)

    def _condition_only_note(self, loop: Loop) -> Iterator[str]:
        """The values that were computed at the index where a condition, tested before its iteration, ended the loop."""
        if loop.condition_node_count is None or self.stop.stopped_by is not StoppedBy.CONDITION:
            return
        test_nodes = loop.body.nodes[: loop.condition_node_count]
        names = ", ".join(display_name(value) for node in test_nodes for value in node.outputs if value is not None)
        text = f"only {names} was computed, which the condition needs" if names else "nothing was computed"
        yield f"at index {self.stop.iteration} {text}"

    def text(self, rows: range, above: Mapping[int, str]) -> Iterator[str]:
        """Rows as numbered lines with a column of values; ``above``: text above lines, by index."""
        texts = self.source.text()
        row_list = [self.row(k) for k in rows]
        widths = [
            len(texts[k]) for k, row in zip(rows, row_list, strict=True) if row.value_status is not ValueStatus.NOTHING
        ]
        column = min(max(widths, default=0), TEXT_WIDTH)
        for k, row in zip(rows, row_list, strict=True):
            value = row.value()
            if k in above:
                yield f"{'':7}{above[k]}"
            text = f"{texts[k]:<{column}}{VALUE_SEPARATOR}{value}" if value else texts[k]
            yield f"{row.sign} {row.line.number:>3}  {text}"


def find_next_line(
    source: PseudoCode, node: Node | None, loop: Loop | None, stopped_by: StoppedBy | None
) -> PseudoCodeLine | None:
    """The line that runs next in a frame of a loop, whose lines ``source`` has; None if there is none. ``node``: the
    next node, None after the last one of an iteration."""
    line = None if node is None else source.line_of(node)
    if line is not None or loop is None:
        return line
    # After the last node of an iteration; at the loop's end, the lines after the loop.
    has_ended = stopped_by is not None
    head = source.line_of(loop)
    assert head is not None
    kinds = (LineKind.LAST_VALUE,) if has_ended else (LineKind.SCAN, LineKind.BACK_EDGE, LineKind.BREAK)
    lines = [line for line in source.lines if line.kind in kinds and line.loop is (head.loop if has_ended else loop)]
    return next((line for line in lines if line.number > head.number), head)


def code_text(line: PseudoCodeLine) -> str:
    """A line with its indentation, without its comment."""
    return INDENT * line.indent + line.text
