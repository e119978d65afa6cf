"""Pane of the source: the pseudo-code of the loop in focus as printed by ``list``, with the next node and values."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from textual import events
from textual.message import Message

from ...debugger.describe.frame_text import values_label
from ...debugger.describe.listing import Listing, ListingContext
from ...debugger.describe.pseudo_code import PseudoCode
from ...debugger.describe.pseudo_code import PseudoCodeLine as SourceLine
from ...debugger.session.stop_state import BreakpointState
from ...runtime.errors import UsageError
from ...runtime.graph import Node
from ..render.formatting import escape_unprintable
from ..render.pane_layout import SpaceRequest
from ..render.pseudo_code import find_line, line_names, model_pseudo_code
from ..render.source_listing import ListingLines, initial_value_runs
from ..render.stop_view import ScreenState
from ..render.styled_text import Role, Span, StyledLine
from ..render.target_base import Target
from ..render.targets import LineTarget
from .pane import Pane

#: The maximum number of lines of the termination note below the code.
_FOOTER_MAX_LINES = 5
#: The minimum height at which lines of the model's code are shown by default.
_CODE_MIN_LINES = 16


class SourcePane(Pane):
    """The listing; ``▶`` the node that runs next, ``●`` a breakpoint, ``+ ~ -`` its coverage, ``·`` not computed yet,
    ``–`` in the branch not taken. The lines below a head (a loop, an If) can be folded."""

    class GutterClicked(Message):
        """The breakpoint gutter of the cursor's line was clicked."""

    def __init__(self, id: str) -> None:
        super().__init__("Source", id)
        #: The line numbers of folded heads.
        self.folded: set[int] = set()
        #: Folds to restore with the first listing: line number to expected text.
        self._restored_folds: Mapping[int, str] = {}
        #: Runs of initial values that were already folded automatically: unfolded ones stay unfolded.
        self._run_starts: set[int] = set()
        #: Whether to show the model's code lines; None: if the height suffices and the model is no script.
        self._code_requested: bool | None = None
        self._code_visible = False

    def space_request(self, state: ScreenState) -> SpaceRequest | None:
        return SpaceRequest(5, _max_rows(model_pseudo_code(state.main_graph)))

    def one_line_spans(self, state: ScreenState) -> Sequence[Span]:
        return [(self.heading[1], Role.DIM)]

    def build(self, state: ScreenState, width: int, height: int) -> Sequence[StyledLine]:
        frame = state.frame
        name = escape_unprintable(frame.name)
        listing = Listing(model_pseudo_code(state.main_graph), _listing_context(state))
        if self._restored_folds:
            # Line numbers may differ if the model has changed.
            texts = {line.number: line.text for line in listing.source.lines}
            self.folded |= {number for number, text in self._restored_folds.items() if texts.get(number) == text}
            self._restored_folds = {}
        runs = initial_value_runs(listing.source).keys() - self._run_starts
        self.folded |= runs
        self._run_starts |= runs
        marks, edited = _breakpoint_marks(state.view.stop_state.breakpoints), state.edited
        self._code_visible = (
            (height >= _CODE_MIN_LINES and not listing.source.is_script)
            if self._code_requested is None
            else self._code_requested
        )
        signs = state.view.stop_state.line_signs
        lines = ListingLines(listing, width, state.depth, marks, self.folded, edited, self._code_visible, signs)
        title = f"Source  {frame.loop.op_type} '{name}'" if frame.loop else "Source  main graph"
        if lines.prefix:
            title += f"   ‥ = {escape_unprintable(lines.prefix)}"
        self.set_title(title, values_label(frame) if frame.loop is not None else "")
        return lines

    def follow(self) -> None:
        if isinstance(self.lines, ListingLines) and self.lines.next_row is not None:
            self.cursor = self.lines.next_row
            top, height = self.scroll_offset.y, self._built_size.height
            if not top + 2 <= self.cursor < top + height - 2:
                # Centre the line when scrolling.
                self.show_line(self.cursor, max(0, (height - 1) // 2))
            self.lines.highlight_related(self.cursor)

    def _restore_cursor(self, old_target: Target | None) -> None:
        super()._restore_cursor(old_target)
        if isinstance(self.lines, ListingLines):
            self.lines.highlight_related(self.cursor)

    def move_cursor_to_line(self, index: int) -> None:
        """See :class:`.pane.Pane`; highlights the line's producers and consumers."""
        super().move_cursor_to_line(index)
        if isinstance(self.lines, ListingLines):
            for row in self.lines.highlight_related(self.cursor):
                self._strips.pop(row, None)
                self.refresh_line(row)

    def go_to_related(self, producer: bool) -> bool:
        """Go to the producer of a value that the cursor's line reads, or to a consumer of its value; False if none."""
        row = self.lines.related_row(self.cursor, producer) if isinstance(self.lines, ListingLines) else None
        if row is not None:
            self.move_cursor_to_line(row)
        return row is not None

    @property
    def cursor_node(self) -> Node | None:
        """The node of the cursor's line."""
        return self.lines.node_of(self.cursor) if isinstance(self.lines, ListingLines) else None

    def go_to_node(self, node: Node) -> None:
        """Put the cursor on the line of a node, if visible."""
        number = next((line.number for line in self.all_source_lines if line.node is node), None)
        if number is not None:
            self._move_to_number(number)

    @property
    def all_source_lines(self) -> Sequence[SourceLine]:
        """All lines of the program, including folded ones."""
        return self.lines.listing.source.lines if isinstance(self.lines, ListingLines) else ()

    @property
    def line_names(self) -> Sequence[str]:
        """The names that :meth:`go_to_line` accepts."""
        return line_names(self.lines.listing.source) if isinstance(self.lines, ListingLines) else ()

    def fold(self, hide: bool | None = None) -> bool:
        """Fold or unfold (None: toggle) the head at or around the cursor; False if there is no head."""
        if not isinstance(self.lines, ListingLines):
            return False
        head = self.lines.head_number(self.cursor, enclosing=hide is not None)
        if head is None:
            return False
        if hide is None:
            hide = head not in self.folded
        (self.folded.add if hide else self.folded.discard)(head)
        self.rebuild(follow=False)
        self._move_to_number(head)
        return True

    def toggle_code(self) -> bool:
        """Show or hide the model's code lines; False if none is known."""
        if not isinstance(self.lines, ListingLines):
            return False
        target, source = self.target, self.lines.listing.source
        self._code_requested = not self._code_visible
        self.rebuild(follow=False)
        if isinstance(target, LineTarget):
            self._move_to_number(target.number)
        return any(line.node is not None and line.node.origin.file for line in source.lines)

    def go_to_line(self, text: str) -> None:
        """Put the cursor on the line of a number or name (:func:`..render.pseudo_code.find_line`), unfolding its heads.

        Raises:
            UsageError: there is no such line.
        """
        if not isinstance(self.lines, ListingLines) or self.screen_state is None:
            raise UsageError("there are no lines yet")
        line = find_line(self.lines.listing.source, text, self.screen_state.frame.loop)
        heads = self.lines.enclosing_heads(line.number)
        if self.folded.intersection(heads):
            self.folded.difference_update(heads)
            self.rebuild(follow=False)
        self._move_to_number(line.number)

    def restore_folds(self, folded_lines: Mapping[int, str]) -> None:
        """Restore folds from a previous session: its :attr:`folded_lines`."""
        self._restored_folds = dict(folded_lines)

    @property
    def folded_lines(self) -> dict[int, str]:
        """The folded heads: text by line number."""
        return dict(self._restored_folds) or {
            line.number: line.text for line in self.all_source_lines if line.number in self.folded
        }

    def _move_to_number(self, number: int) -> None:
        row = self.lines.row_of(number) if isinstance(self.lines, ListingLines) else None
        if row is not None:
            self.move_cursor_to_line(row)

    def on_click(self, event: events.Click) -> None:
        super().on_click(event)
        offset = event.get_content_offset(self)
        on_line = self.line_index_at(event) is not None and isinstance(self.target, LineTarget)
        if on_line and offset is not None and offset.x < 1 + ListingLines.GUTTER_CELLS:
            self.post_message(self.GutterClicked())


@lru_cache(maxsize=4)
def _max_rows(source: PseudoCode) -> int:
    """The maximum rows of a program: lines, code and the note below."""
    return len(source.lines) + len(source.code_above(range(len(source.lines)))) + _FOOTER_MAX_LINES


def _breakpoint_marks(breakpoints: Sequence[BreakpointState]) -> dict[Node, bool]:
    """The nodes with breakpoints, and whether any of them is enabled."""
    marks: dict[Node, bool] = {}
    for breakpoint in breakpoints:
        nodes: Collection[Node] = (*breakpoint.nodes, *breakpoint.boundary_loops)
        for node in nodes:
            marks[node] = marks.get(node, False) or breakpoint.enabled
    return marks


def _listing_context(state: ScreenState) -> ListingContext:
    frame = state.frame
    at_boundary = frame.loop is not None and (frame.at_boundary or state.depth is None)

    return ListingContext(
        frame.loop,
        frame.iteration,
        at_boundary,
        frame.stopped_by,
        state.depth is not None,
        state.failed and state.frame is state.view.stop_state.frame,
        frame.states,
        frame.read,
        hide_notes=state.quiet,
    )
