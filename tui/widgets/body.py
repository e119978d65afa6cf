"""The body of the loop in focus, as the pseudo-code that ``list`` prints: what runs next, and the values beside it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

from textual import events
from textual.message import Message

from ...debugger.session.snapshot import BreakpointSnapshot
from ...debugger.words.listing import Listing, ShownStop
from ...debugger.words.moments import seen
from ...debugger.words.source import Line as SourceLine
from ...debugger.words.source import Source
from ...runtime.errors import UsageError
from ...runtime.graph import Node, Value
from ..screen.graph import states_in
from ..screen.layout import Need
from ..screen.lines import Line, Role, Span
from ..screen.listing import BodyLines, initial_runs
from ..screen.program import line_called, line_names, program
from ..screen.target import Target
from ..screen.targets import LineTarget
from ..screen.text import printable
from ..screen.view import Shown
from .pane import Pane

#: What ends the loop stands below the lines, in so many at most.
_BELOW = 5
#: In fewer lines than this the lines of code would leave too little room for others.
_LEAST = 16


class Body(Pane):
    """The listing; ``▶`` the node that runs next, ``●`` a breakpoint, ``·`` not computed yet, ``–`` in the branch not
    taken. What is inside of a head (a loop, an If) can be hidden."""

    class Gutter(Message):
        """The place for a line's breakpoint was clicked; the cursor is on the line."""

    def __init__(self, id: str) -> None:
        super().__init__("Source", id)
        #: The numbers of the heads whose lines are hidden.
        self.folded: set[int] = set()
        #: Those that are to be hidden as soon as there are lines, with what they said.
        self._kept: Mapping[int, str] = {}
        #: The lines whose long runs of initial values were folded already: what is shown again stays shown.
        self._run_starts: set[int] = set()
        #: Whether the lines of code are seen that the listing comes from; None: where there is room, and of no script.
        self._code: bool | None = None
        self._seen = False

    def need(self, shown: Shown) -> Need | None:
        return Need(5, _most(program(shown.main)))

    def brief(self, shown: Shown) -> Sequence[Span]:
        return [(self.heading[1], Role.DIM)]

    def build(self, shown: Shown, width: int, height: int) -> Sequence[Line]:
        frame = shown.frame.frame
        name = printable(frame.name)
        listing = Listing(program(shown.main), _stop_of(shown))
        if self._kept:
            # In a model that was changed meanwhile other lines have the numbers.
            said = {one.number: one.text for one in listing.source.lines}
            self.folded |= {number for number, text in self._kept.items() if said.get(number) == text}
            self._kept = {}
        runs = initial_runs(listing.source).keys() - self._run_starts
        self.folded |= runs
        self._run_starts |= runs
        marks, edited = _marks(shown.view.snapshot.breakpoints), shown.frame.edited
        self._seen = (height >= _LEAST and not listing.source.is_script) if self._code is None else self._code
        lines = BodyLines(listing, width, shown.depth, marks, self.folded, edited, self._seen)
        where = f"Source  {frame.loop.op_type} '{name}'" if frame.loop else "Source  main graph"
        if lines.prefix:
            where += f"   ‥ = {printable(lines.prefix)}"
        self.set_title(where, seen(frame) if frame.loop is not None else "")
        return lines

    def follow(self) -> None:
        if isinstance(self.lines, BodyLines) and self.lines.next is not None:
            self.cursor = self.lines.next
            top, height = self.scroll_offset.y, self._built.height
            if not top + 2 <= self.cursor < top + height - 2:
                # Where it has to scroll, there are as many lines before it as after it.
                self.show_line(self.cursor, max(0, (height - 1) // 2))
            self.lines.light(self.cursor)

    def _keep_cursor(self, before: Target | None) -> None:
        super()._keep_cursor(before)
        if isinstance(self.lines, BodyLines):
            self.lines.light(self.cursor)

    def move_to(self, index: int) -> None:
        """See :class:`.pane.Pane`; what the line reads and who reads it is lit."""
        super().move_to(index)
        if isinstance(self.lines, BodyLines):
            for row in self.lines.light(self.cursor):
                self._strips.pop(row, None)
                self.refresh_line(row)

    def walk(self, made: bool) -> bool:
        """Go to the line that makes what the one at the cursor reads, or that reads what it makes; False where there is
        none."""
        row = self.lines.related(self.cursor, made) if isinstance(self.lines, BodyLines) else None
        if row is not None:
            self.move_to(row)
        return row is not None

    @property
    def node(self) -> Node | None:
        """The node of the line that the cursor is on."""
        return self.lines.node_of(self.cursor) if isinstance(self.lines, BodyLines) else None

    def to_node(self, node: Node) -> None:
        """Put the cursor on the line of a node, where it is seen."""
        number = next((one.number for one in self.listing_lines if one.node is node), None)
        if number is not None:
            self._to_line(number)

    @property
    def listing_lines(self) -> Sequence[SourceLine]:
        """The lines of the program that it shows, those that are hidden as well."""
        return self.lines.listing.source.lines if isinstance(self.lines, BodyLines) else ()

    @property
    def line_names(self) -> Sequence[str]:
        """The names that :meth:`go_to` takes."""
        return line_names(self.lines.listing.source) if isinstance(self.lines, BodyLines) else ()

    def fold(self, hide: bool | None = None) -> bool:
        """Hide what the head at the cursor or around it is about, or show it (None: the other of the two); False where
        there is no head."""
        if not isinstance(self.lines, BodyLines):
            return False
        head = self.lines.head(self.cursor, around=hide is not None)
        if head is None:
            return False
        if hide is None:
            hide = head not in self.folded
        (self.folded.add if hide else self.folded.discard)(head)
        self.rebuild(follow=False)
        self._to_line(head)
        return True

    def switch_code(self) -> bool:
        """Show the lines of code that the listing comes from, or no more; False where none is known."""
        if not isinstance(self.lines, BodyLines):
            return False
        here, source = self.target, self.lines.listing.source
        self._code = not self._seen
        self.rebuild(follow=False)
        if isinstance(here, LineTarget):
            self._to_line(here.number)
        return any(line.node is not None and line.node.origin.file for line in source.lines)

    def go_to(self, text: str) -> None:
        """Put the cursor on the line of a number or name (:func:`..screen.program.line_called`), and show it where it
        is hidden.

        Raises:
            UsageError: there is no such line.
        """
        if not isinstance(self.lines, BodyLines) or self.shown is None:
            raise UsageError("there are no lines yet")
        line = line_called(self.lines.listing.source, text, self.shown.frame.frame.loop)
        heads = self.lines.heads_of(line.number)
        if self.folded.intersection(heads):
            self.folded.difference_update(heads)
            self.rebuild(follow=False)
        self._to_line(line.number)

    def keep_folded(self, kept: Mapping[int, str]) -> None:
        """Hide what was hidden another time: :attr:`folded_lines` as they were then."""
        self._kept = dict(kept)

    @property
    def folded_lines(self) -> dict[int, str]:
        """The heads whose lines are hidden: what each says, by its number."""
        return dict(self._kept) or {one.number: one.text for one in self.listing_lines if one.number in self.folded}

    def _to_line(self, number: int) -> None:
        at = self.lines.row_of(number) if isinstance(self.lines, BodyLines) else None
        if at is not None:
            self.move_to(at)

    def on_click(self, event: events.Click) -> None:
        super().on_click(event)
        offset = event.get_content_offset(self)
        on_line = self.line_at(event) is not None and isinstance(self.target, LineTarget)
        if on_line and offset is not None and offset.x < 1 + BodyLines.GUTTER:
            self.post_message(self.Gutter())


@lru_cache(maxsize=4)
def _most(source: Source) -> int:
    """The rows of a whole program, with its code and what is said below."""
    return len(source.lines) + len(source.code_above(range(len(source.lines)))) + _BELOW


def _marks(breakpoints: Sequence[BreakpointSnapshot]) -> dict[Node, bool]:
    """The nodes that are stopped before, and whether any breakpoint that does is switched on."""
    marks: dict[Node, bool] = {}
    for one in breakpoints:
        nodes: Collection[Node] = (*one.nodes, *one.heads)
        for node in nodes:
            marks[node] = marks.get(node, False) or one.enabled
    return marks


def _stop_of(shown: Shown) -> ShownStop:
    frame, values = shown.frame.frame, shown.frame.frame.values
    between = frame.loop is not None and (frame.at_boundary or shown.depth is None)

    def read(value: Value) -> tuple[bool, Any]:
        return value.name in values, values.get(value.name)

    return ShownStop(
        frame.loop,
        frame.iteration,
        between,
        frame.stopped_by,
        shown.depth is not None,
        shown.failed and shown.frame is shown.view.top,
        states_in(frame, shown.main),
        read,
        quiet=shown.quiet,
    )
