"""The pseudo-code of where a debuggee stands: which line runs next, and what this iteration has made of each line.

The console and the screen show these rows; neither knows more of a line than the other.
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
#: What stands beside a line that was not computed, and beside one of the branch that was not taken.
NOT_COMPUTED_TEXT, SKIPPED_TEXT = "·", "–"
#: Between a line and its value.
VALUE_SEPARATOR = " │ "
#: A value takes at most so many columns; lines longer than this let their values follow at once.
VALUE_WIDTH, TEXT_WIDTH = 32, 64
#: So many lines are shown before and after the one that runs next.
CONTEXT_LINES = 5


class ValueStatus(Enum):
    """What can be said beside a line."""

    #: Nothing: the line makes no value of its own, or belongs to another frame.
    NOTHING = auto()
    NOT_COMPUTED = auto()
    SKIPPED = auto()
    #: Values of the iteration that runs.
    CURRENT = auto()
    #: At a boundary: values of the iteration before.
    PREVIOUS = auto()


@dataclass(frozen=True, eq=False)
class ListingContext:
    """What of a stop the lines show.

    ``states``: of the frame's own nodes; ``read``: whether a value is there now, and what it is, at a boundary what the
    iteration before made; ``between``: between two iterations, or over; ``breakpoints``: nodes that would be stopped
    before.
    """

    loop: Loop | None = None
    iteration: int = 0
    at_boundary: bool = False
    stopped_by: StoppedBy | None = None
    #: False where the frame is not running any more: then no line runs next.
    running: bool = True
    failed: bool = False
    states: Mapping[Node, NodeState] = field(default_factory=dict)
    read: Callable[[Value], tuple[bool, Any]] = lambda value: (False, None)
    breakpoints: Collection[Node] = frozenset()
    #: Nothing but the lines.
    hide_notes: bool = False


@dataclass(frozen=True, eq=False)
class ListingRow:
    """A line with its sign, what can be said beside it, and the values where there are some."""

    line: PseudoCodeLine
    sign: str
    value_status: ValueStatus
    values: tuple[Any, ...] = ()

    def value(self, width: int = VALUE_WIDTH) -> str:
        """What stands beside the line, "" for nothing."""
        if self.value_status is ValueStatus.NOTHING:
            return ""
        if self.value_status is ValueStatus.SKIPPED:
            return SKIPPED_TEXT
        return ", ".join(value_text(value, width) for value in self.values) or NOT_COMPUTED_TEXT


class Listing:
    """The lines of one frame at a stop; a row is made when it is read, since bodies can be long.

    ``next``: the index of the line that runs next, None where none does.
    """

    def __init__(self, whole: PseudoCode, stop: ListingContext) -> None:
        self.source = whole if stop.loop is None else whole.lines_of_loop(stop.loop)
        self.stop = stop
        self.next_index = self._find_next_index()
        self._producer_states = {value: state for node, state in stop.states.items() for value in node.outputs}

    def __len__(self) -> int:
        return len(self.source.lines)

    def _find_next_index(self) -> int | None:
        here = self.stop
        lines = self.source.lines
        if not here.running:
            return None
        node = next((node for node, state in here.states.items() if state is NodeState.NEXT), None)
        line = None if node is None else self.source.line_of(node)
        if line is not None:
            return line.number - lines[0].number
        if here.loop is None:
            return None
        # Behind the last node of an iteration; where the loop ends, what is done once it has.
        ended = here.stopped_by is not None
        head = self.source.line_of(here.loop)
        assert head is not None
        wanted = (LineKind.LAST_VALUE,) if ended else (LineKind.SCAN, LineKind.BACK_EDGE, LineKind.BREAK)
        loop = head.loop if ended else here.loop
        found = (line.number for line in lines if line.kind in wanted and line.loop is loop)
        return next((n for n in found if n > head.number), head.number) - lines[0].number

    def row(self, index: int) -> ListingRow:
        """One line."""
        line = self.source.lines[index]
        here = self.stop
        sign = " "
        if index == self.next_index:
            sign = FAILED_MARKER if here.failed else NEXT_MARKER
        elif line.node in here.breakpoints:
            sign = BREAKPOINT_MARKER
        beside, values = self._value_status(line)
        return ListingRow(line, sign, beside, values)

    def _value_status(self, line: PseudoCodeLine) -> tuple[ValueStatus, tuple[Any, ...]]:
        here = self.stop
        state = here.states.get(line.node) if line.node is not None else None
        sliced = line.kind is LineKind.SLICE and line.loop is here.loop
        if state is None and not sliced:
            return ValueStatus.NOTHING, ()
        if state is NodeState.SKIPPED or (state is not NodeState.NEXT and self._is_branch_not_taken(line)):
            return ValueStatus.SKIPPED, ()
        if not line.values:
            return ValueStatus.NOTHING, ()
        ahead = here.at_boundary and state is NodeState.DONE
        if here.at_boundary:
            computed = ahead or here.iteration > 0
        else:
            computed = sliced or state is NodeState.DONE
        # Not by name: the branches of an If may use the same.
        found = [here.read(value) for value in line.values] if computed else []
        values = tuple(value for there, value in found if there)
        if not values:
            return ValueStatus.NOT_COMPUTED, ()
        return (ValueStatus.PREVIOUS if here.at_boundary and not ahead else ValueStatus.CURRENT), values

    def _is_branch_not_taken(self, line: PseudoCodeLine) -> bool:
        """In a branch that was not taken; at a boundary the conditions still tell which one was."""
        for condition, taken in line.branches:
            if not self.stop.at_boundary and self._producer_states.get(condition, NodeState.DONE) is not NodeState.DONE:
                # What can be read is what the iteration before decided.
                continue
            there, value = self.stop.read(condition)
            if there and value.size == 1 and bool(value.reshape(-1)[0]) != taken:
                return True
        return False

    def window(self) -> range:
        """The lines around the one that runs next; all of them where none does."""
        return self.lines_around(self.next_index) if self.next_index is not None else range(len(self))

    def lines_around(self, index: int) -> range:
        """The lines around one."""
        # Where there is no room on one side, the other has more.
        first = max(0, min(index - CONTEXT_LINES, len(self) - 2 * CONTEXT_LINES - 1))
        return range(first, min(len(self), first + 2 * CONTEXT_LINES + 1))

    def notes(self) -> Iterator[str]:
        """What is to be said below the lines of a loop: what ends or ended it, and where real runtimes differ."""
        here = self.stop
        if here.loop is None or here.hide_notes:
            return
        if here.stopped_by is not None:
            yield end_text(here.stopped_by, here.iteration)
            yield from self._condition_only_note(here.loop)
        else:
            yield f"ends: {' '.join(self.source.loop_text(here.loop).termination_sentences)}"
        yield from (f"note: {note}" for note in here.loop.notes)

    def _condition_only_note(self, loop: Loop) -> Iterator[str]:
        """What was computed at the index at which a condition, tested before its iteration, ended the loop."""
        if loop.condition_node_count is None or self.stop.stopped_by is not StoppedBy.CONDITION:
            return
        made = loop.body.nodes[: loop.condition_node_count]
        names = ", ".join(display_name(value) for node in made for value in node.outputs if value is not None)
        only = f"only {names} was computed, which the condition needs" if names else "nothing was computed"
        yield f"at index {self.stop.iteration} {only}"

    def text(self, rows: range, above: Mapping[int, str]) -> Iterator[str]:
        """Rows as numbered lines, the values in a column of their own; ``above``: what stands above lines, by index."""
        texts = self.source.text()
        made = [self.row(k) for k in rows]
        beside = [
            len(texts[k]) for k, row in zip(rows, made, strict=True) if row.value_status is not ValueStatus.NOTHING
        ]
        column = min(max(beside, default=0), TEXT_WIDTH)
        for k, row in zip(rows, made, strict=True):
            value = row.value()
            if k in above:
                yield f"{'':7}{above[k]}"
            text = f"{texts[k]:<{column}}{VALUE_SEPARATOR}{value}" if value else texts[k]
            yield f"{row.sign} {row.line.number:>3}  {text}"


def code_text(line: PseudoCodeLine) -> str:
    """A line with its indentation, without its comment."""
    return INDENT * line.indent + line.text
