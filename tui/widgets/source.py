"""The body of the loop in focus, as the pseudo-code that ``list`` prints: what runs next, and the values beside it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

from textual import events
from textual.message import Message

from ...debugger.describe.frame_text import values_label
from ...debugger.describe.listing import Listing, ListingContext
from ...debugger.describe.pseudo_code import PseudoCode
from ...debugger.describe.pseudo_code import PseudoCodeLine as SourceLine
from ...debugger.session.snapshot import BreakpointSnapshot
from ...runtime.errors import UsageError
from ...runtime.graph import Node, Value
from ..render.formatting import escape_unprintable
from ..render.graphview.state import node_states
from ..render.pane_layout import SpaceRequest
from ..render.pseudo_code import find_line, line_names, program_source
from ..render.source_listing import ListingLines, initial_value_runs
from ..render.stop_view import ScreenState
from ..render.styled_text import Role, Span, StyledLine
from ..render.target_base import Target
from ..render.targets import LineTarget
from .pane import Pane

#: What ends the loop stands below the lines, in so many at most.
_FOOTER_MAX_LINES = 5
#: In fewer lines than this the lines of code would leave too little room for others.
_CODE_MIN_LINES = 16


class SourcePane(Pane):
    """The listing; ``▶`` the node that runs next, ``●`` a breakpoint, ``·`` not computed yet, ``–`` in the branch not
    taken. What is inside of a head (a loop, an If) can be hidden."""

    class GutterClicked(Message):
        """The place for a line's breakpoint was clicked; the cursor is on the line."""

    def __init__(self, id: str) -> None:
        super().__init__("Source", id)
        #: The numbers of the heads whose lines are hidden.
        self.folded: set[int] = set()
        #: Those that are to be hidden as soon as there are lines, with what they said.
        self._restored_folds: Mapping[int, str] = {}
        #: The lines whose long runs of initial values were folded already: what is shown again stays shown.
        self._run_starts: set[int] = set()
        #: Whether the lines of code are seen that the listing comes from; None: where there is room, and of no script.
        self._code_requested: bool | None = None
        self._code_visible = False

    def space_request(self, shown: ScreenState) -> SpaceRequest | None:
        return SpaceRequest(5, _max_rows(program_source(shown.main_graph)))

    def one_line_spans(self, shown: ScreenState) -> Sequence[Span]:
        return [(self.heading[1], Role.DIM)]

    def build(self, shown: ScreenState, width: int, height: int) -> Sequence[StyledLine]:
        frame = shown.frame.frame
        name = escape_unprintable(frame.name)
        listing = Listing(program_source(shown.main_graph), _listing_stop(shown))
        if self._restored_folds:
            # In a model that was changed meanwhile other lines have the numbers.
            said = {one.number: one.text for one in listing.source.lines}
            self.folded |= {number for number, text in self._restored_folds.items() if said.get(number) == text}
            self._restored_folds = {}
        runs = initial_value_runs(listing.source).keys() - self._run_starts
        self.folded |= runs
        self._run_starts |= runs
        marks, edited = _breakpoint_marks(shown.view.snapshot.breakpoints), shown.frame.edited
        self._code_visible = (
            (height >= _CODE_MIN_LINES and not listing.source.is_script)
            if self._code_requested is None
            else self._code_requested
        )
        lines = ListingLines(listing, width, shown.depth, marks, self.folded, edited, self._code_visible)
        where = f"Source  {frame.loop.op_type} '{name}'" if frame.loop else "Source  main graph"
        if lines.prefix:
            where += f"   ‥ = {escape_unprintable(lines.prefix)}"
        self.set_title(where, values_label(frame) if frame.loop is not None else "")
        return lines

    def follow(self) -> None:
        if isinstance(self.lines, ListingLines) and self.lines.next_row is not None:
            self.cursor = self.lines.next_row
            top, height = self.scroll_offset.y, self._built_size.height
            if not top + 2 <= self.cursor < top + height - 2:
                # Where it has to scroll, there are as many lines before it as after it.
                self.show_line(self.cursor, max(0, (height - 1) // 2))
            self.lines.highlight_related(self.cursor)

    def _keep_cursor(self, before: Target | None) -> None:
        super()._keep_cursor(before)
        if isinstance(self.lines, ListingLines):
            self.lines.highlight_related(self.cursor)

    def move_to(self, index: int) -> None:
        """See :class:`.pane.Pane`; what the line reads and who reads it is lit."""
        super().move_to(index)
        if isinstance(self.lines, ListingLines):
            for row in self.lines.highlight_related(self.cursor):
                self._strips.pop(row, None)
                self.refresh_line(row)

    def go_to_related(self, made: bool) -> bool:
        """Go to the line that makes what the one at the cursor reads, or that reads what it makes; False where there is
        none."""
        row = self.lines.related_row(self.cursor, made) if isinstance(self.lines, ListingLines) else None
        if row is not None:
            self.move_to(row)
        return row is not None

    @property
    def cursor_node(self) -> Node | None:
        """The node of the line that the cursor is on."""
        return self.lines.node_of(self.cursor) if isinstance(self.lines, ListingLines) else None

    def go_to_node(self, node: Node) -> None:
        """Put the cursor on the line of a node, where it is seen."""
        number = next((one.number for one in self.listing_lines if one.node is node), None)
        if number is not None:
            self._move_to_number(number)

    @property
    def listing_lines(self) -> Sequence[SourceLine]:
        """The lines of the program that it shows, those that are hidden as well."""
        return self.lines.listing.source.lines if isinstance(self.lines, ListingLines) else ()

    @property
    def line_names(self) -> Sequence[str]:
        """The names that :meth:`go_to` takes."""
        return line_names(self.lines.listing.source) if isinstance(self.lines, ListingLines) else ()

    def fold(self, hide: bool | None = None) -> bool:
        """Hide what the head at the cursor or around it is about, or show it (None: the other of the two); False where
        there is no head."""
        if not isinstance(self.lines, ListingLines):
            return False
        head = self.lines.head_number(self.cursor, around=hide is not None)
        if head is None:
            return False
        if hide is None:
            hide = head not in self.folded
        (self.folded.add if hide else self.folded.discard)(head)
        self.rebuild(follow=False)
        self._move_to_number(head)
        return True

    def toggle_code(self) -> bool:
        """Show the lines of code that the listing comes from, or no more; False where none is known."""
        if not isinstance(self.lines, ListingLines):
            return False
        here, source = self.target, self.lines.listing.source
        self._code_requested = not self._code_visible
        self.rebuild(follow=False)
        if isinstance(here, LineTarget):
            self._move_to_number(here.number)
        return any(line.node is not None and line.node.origin.file for line in source.lines)

    def go_to_line(self, text: str) -> None:
        """Put the cursor on the line of a number or name (:func:`..render.pseudo_code.find_line`), and show it where it
        is hidden.

        Raises:
            UsageError: there is no such line.
        """
        if not isinstance(self.lines, ListingLines) or self.screen_state is None:
            raise UsageError("there are no lines yet")
        line = find_line(self.lines.listing.source, text, self.screen_state.frame.frame.loop)
        heads = self.lines.enclosing_heads(line.number)
        if self.folded.intersection(heads):
            self.folded.difference_update(heads)
            self.rebuild(follow=False)
        self._move_to_number(line.number)

    def restore_folds(self, kept: Mapping[int, str]) -> None:
        """Hide what was hidden another time: :attr:`folded_lines` as they were then."""
        self._restored_folds = dict(kept)

    @property
    def folded_lines(self) -> dict[int, str]:
        """The heads whose lines are hidden: what each says, by its number."""
        return dict(self._restored_folds) or {
            one.number: one.text for one in self.listing_lines if one.number in self.folded
        }

    def _move_to_number(self, number: int) -> None:
        at = self.lines.row_of(number) if isinstance(self.lines, ListingLines) else None
        if at is not None:
            self.move_to(at)

    def on_click(self, event: events.Click) -> None:
        super().on_click(event)
        offset = event.get_content_offset(self)
        on_line = self.line_index_at(event) is not None and isinstance(self.target, LineTarget)
        if on_line and offset is not None and offset.x < 1 + ListingLines.GUTTER_CELLS:
            self.post_message(self.GutterClicked())


@lru_cache(maxsize=4)
def _max_rows(source: PseudoCode) -> int:
    """The rows of a whole program, with its code and what is said below."""
    return len(source.lines) + len(source.code_above(range(len(source.lines)))) + _FOOTER_MAX_LINES


def _breakpoint_marks(breakpoints: Sequence[BreakpointSnapshot]) -> dict[Node, bool]:
    """The nodes that are stopped before, and whether any breakpoint that does is switched on."""
    marks: dict[Node, bool] = {}
    for one in breakpoints:
        nodes: Collection[Node] = (*one.nodes, *one.boundary_loops)
        for node in nodes:
            marks[node] = marks.get(node, False) or one.enabled
    return marks


def _listing_stop(shown: ScreenState) -> ListingContext:
    frame, values = shown.frame.frame, shown.frame.frame.values
    between = frame.loop is not None and (frame.at_boundary or shown.depth is None)

    def read(value: Value) -> tuple[bool, Any]:
        return value.name in values, values.get(value.name)

    return ListingContext(
        frame.loop,
        frame.iteration,
        between,
        frame.stopped_by,
        shown.depth is not None,
        shown.failed and shown.frame is shown.view.innermost,
        node_states(frame, shown.main_graph),
        read,
        hide_notes=shown.quiet,
    )
