"""Base class of the panes: a scrollable bordered box of lines with a cursor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.segment import Segment
from textual import events
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from ..render.formatting import escape_unprintable
from ..render.pane_layout import SpaceRequest
from ..render.stop_view import ScreenState
from ..render.styled_text import Role, Span, StyledLine, truncate_spans
from ..render.target_base import Target
from .row_cache import enable_row_cache
from .size_aware import SizeAware
from .strips import StyleResolver

#: Left of the line that the cursor is on, in the pane that has the focus.
_CURSOR_SIGN = "▌"
#: The class of a pane that is one line without a border.
_ONE_LINE_CLASS = "-line"


class Pane(SizeAware, ScrollView, can_focus=True, inherit_bindings=False):
    """Subclasses provide the lines in :meth:`build`, which is called again when the stop or the size changes.

    A line may have a target (:attr:`StyledLine.target`); the cursor can be on any line. Only lines that changed are
    redrawn.
    """

    screen_state: reactive[ScreenState | None] = reactive(None, repaint=False)

    class CursorMoved(Message):
        """The cursor moved to another line, or the target of its line changed."""

    class LineOpened(Message):
        """The line of the cursor was double-clicked."""

    def __init__(self, title: str, id: str) -> None:
        super().__init__(id=id)
        enable_row_cache(self)
        self.heading = ("", "")
        #: The titles drawn in the border.
        self._drawn_titles = ("", "")
        #: Its key, shown before the title.
        self._focus_key = ""
        #: The name in messages and in the palette.
        self.pane_title = title
        self.set_title(title)
        self.lines: Sequence[StyledLine] = ()
        #: The index of the line that the cursor is on.
        self.cursor = 0
        #: The search text, "" for none.
        self.search_text = ""
        #: The lines are outdated: something changed while the pane was hidden.
        self._stale = False
        #: The cursor after the pane last scrolled to its current line, and the stop.
        self._followed_cursor = self.cursor
        self._followed_stop: object = None
        self._strips: dict[int, Strip] = {}
        self._style_resolver = StyleResolver(self)
        #: The size and the form for which the lines were built.
        self._built_size, self._built_as_one_line = Size(-1, -1), False

    def build(self, state: ScreenState, width: int, height: int) -> Sequence[StyledLine]:
        """The lines for a pane of ``width`` cells; ``height``: the lines that fit without scrolling."""
        raise NotImplementedError

    def space_request(self, state: ScreenState) -> SpaceRequest | None:
        """The minimum and maximum number of lines; None where there is nothing to show."""
        return SpaceRequest(1, max(1, len(self.lines)))

    def one_line_spans(self, state: ScreenState) -> Sequence[Span]:
        """The content of the one-line form, after the name."""
        raise NotImplementedError

    @property
    def is_one_line(self) -> bool:
        """Whether it is one line without a border."""
        return self.has_class(_ONE_LINE_CLASS)

    def set_one_line(self, one_line: bool) -> None:
        """Switch between the one-line form and the box."""
        if one_line != self.is_one_line:
            self.set_class(one_line, _ONE_LINE_CLASS)
            # No resize event follows where both forms have the same size.
            self.call_after_refresh(self.update_if_outdated)

    @property
    def text(self) -> str:
        """The title, the subtitle and the lines, without styles."""
        heading = [] if self.is_one_line else ["  ".join(self.heading).rstrip()]
        return "\n".join([*heading, *(line.text for line in self.lines)])

    def set_title(self, title: str, subtitle: str = "") -> None:
        """Change the texts in the border."""
        if (title, subtitle) != self.heading:
            self.heading = (title, subtitle)
            self._show_title()

    def set_focus_key(self, key: str) -> None:
        """Set the key that focuses the pane, shown before the title."""
        self._focus_key = key
        self._show_title()

    def _show_title(self) -> None:
        title, subtitle = self.heading
        numbered = f"{self._focus_key} {title}" if self._focus_key else title
        # Content, not str: names may look like markup. Bypasses the descriptors, which redraw the whole pane.
        self._border_title = self.render_str(Content(escape_unprintable(numbered)))
        self._border_subtitle = self.render_str(Content(escape_unprintable(subtitle)))
        width, height = self.outer_size
        drawn_title, drawn_subtitle = self._drawn_titles
        # A pane without a border now is drawn as a whole later, with these titles.
        self._drawn_titles = (numbered, subtitle)
        if not self.is_mounted or not width or self.is_one_line:
            return
        # Redraw only the border row that changed.
        if numbered != drawn_title:
            self.refresh(Region(-1, -1, width, 1))
        if subtitle != drawn_subtitle:
            self.refresh(Region(-1, height - 2, width, 1))

    # -- lines

    def watch_screen_state(self) -> None:
        state = self.screen_state
        stop = None if state is None else (state.view.stop_state.position, state.frame.path, state.done)
        changed, self._followed_stop = stop != self._followed_stop, stop
        self.rebuild(follow=changed)

    def size_changed(self) -> None:
        """See :class:`.resized.SizeAware`."""
        if not self._is_built_for_size:
            # In a pane that grew, a cursor that was not moved from the current line has neighbours again.
            follow = self._inner_size().height > self._built_size.height and self.cursor == self._followed_cursor
            self.rebuild(follow=follow)
            if not follow:
                self.show_line(self.cursor, 0)

    def update_if_outdated(self) -> None:
        """Rebuild the lines if they are outdated, after the pane became visible or changed its form."""
        if self._stale or not self._is_built_for_size:
            self.rebuild()

    @property
    def _is_built_for_size(self) -> bool:
        """Whether the lines were built for the current size and form."""
        return (self._inner_size(), self.is_one_line) == (self._built_size, self._built_as_one_line)

    def _inner_size(self) -> Size:
        """The size of the area for lines, without border and cursor column."""
        width, height = self.scrollable_content_region.size
        return Size(max(0, width - 1), height)

    def rebuild(self, follow: bool = True) -> None:
        """Build the lines again, if the pane has a size; ``follow``: also scroll to the current line."""
        size = self._inner_size()
        self._stale = not self.display
        if self.screen_state is None or size.width <= 0 or self._stale:
            return
        resized = not self._is_built_for_size
        self._built_size, self._built_as_one_line = size, self.is_one_line
        old_target, old_cursor = self._target(), self.cursor
        old_lines, old_strips = self.lines, self._strips
        self.lines = (
            [self._one_line_form(self.screen_state, size.width)]
            if self.is_one_line
            else self.build(self.screen_state, *size)
        )
        self._strips = {}
        self._set_virtual_size(Size(size.width + 1, len(self.lines)))
        self._restore_cursor(old_target)
        if follow and not self.is_one_line:
            self.follow()
            self._followed_cursor = self.cursor
        if resized:
            self.refresh()
        else:
            self._refresh_changed_lines(old_lines, old_strips)
            if self.cursor != old_cursor:
                # The cursor's mark is not part of a line.
                self.refresh_line(old_cursor)
                self.refresh_line(self.cursor)
        if self._target() != old_target:
            self.post_message(self.CursorMoved())

    def _one_line_form(self, state: ScreenState, width: int) -> StyledLine:
        """The one-line form: number, name, content."""
        name = f"  {self._focus_key} {self.pane_title}  "
        return StyledLine(truncate_spans([(name, Role.DIM), *self.one_line_spans(state)], width))

    def _set_virtual_size(self, size: Size) -> None:
        old = self.virtual_size
        if size == old:
            return
        always_shown = self.styles.overflow_y == "scroll"
        had_bar, has_bar = [always_shown or candidate.height > self._built_size.height for candidate in (old, size)]
        if size.width != old.width or had_bar != has_bar:
            self.virtual_size = size
            return
        # The scroll bar stays as it is: no new layout is needed.
        self.set_reactive(Widget.virtual_size, size)
        if has_bar:
            self._scroll_update(size)

    def _refresh_changed_lines(self, old_lines: Sequence[StyledLine], old_strips: Mapping[int, Strip]) -> None:
        """Redraw the visible lines that changed; ``old_strips``: the previous strips by line."""
        top, count = self.scroll_offset.y, len(self.lines)
        changed: list[Region] = []
        for index in range(top, min(top + self._built_size.height, max(count, len(old_lines)))):
            if index >= count or index not in old_strips:
                changed.append(Region(0, index - top, self.size.width, 1))
            elif self.lines[index].draws_same_as(old_lines[index]):
                self._strips[index] = old_strips[index]
            elif (strip := self._line_strip(index)) != old_strips[index]:
                begin, end = _changed_cells(old_strips[index], strip)
                changed.append(Region(1 + begin, index - top, end - begin, 1))
        if changed:
            self.refresh(*changed)

    def watch_show_vertical_scrollbar(self, show: bool) -> None:
        """Initialize the position of a scroll bar that appears."""
        if show:
            self.vertical_scrollbar.position = self.scroll_y

    def follow(self) -> None:
        """Move the cursor to the current line and scroll to it; panes without one do nothing."""

    def show_line(self, index: int, context: int = 2) -> None:
        """Scroll a line into view, with ``context`` lines of context."""
        self.scroll_to_region(
            Region(0, max(0, index - context), 1, 2 * context + 1), animate=False, force=True, immediate=True
        )

    # -- the cursor

    @property
    def target(self) -> Target | None:
        """The target of the cursor's line."""
        return self._target()

    def _target(self) -> Target | None:
        return self.lines[self.cursor].target if 0 <= self.cursor < len(self.lines) else None

    def _restore_cursor(self, old_target: Target | None) -> None:
        """Restore the cursor after the lines changed: to its old target if it still exists, else to any target."""
        if not len(self.lines):
            self.cursor = 0
            return
        self.cursor = min(self.cursor, len(self.lines) - 1)
        if self._target() is not None and self._target() == old_target:
            return
        # Panes can be long: search near the old position only.
        candidates = sorted(
            range(max(0, self.cursor - 50), min(len(self.lines), self.cursor + 51)), key=self._distance_to_cursor
        )
        index = next((k for k in candidates if old_target is not None and self.lines[k].target == old_target), None)
        if index is None and old_target is None and self._target() is None:
            index = next((k for k in candidates if self.lines[k].target is not None), None)
        if index is not None:
            self.cursor = index

    def _distance_to_cursor(self, index: int) -> int:
        return abs(index - self.cursor)

    def move_cursor_to_line(self, index: int) -> None:
        """Put the cursor on a line and scroll it into view."""
        index = max(0, min(index, len(self.lines) - 1))
        if index != self.cursor:
            old_cursor, self.cursor = self.cursor, index
            self.refresh_line(old_cursor)
            self.refresh_line(index)
            self.post_message(self.CursorMoved())
        self.show_line(index, 0)

    def move(self, direction: str) -> None:
        """Move the cursor: ``up``, ``down``, ``pageup``, ``pagedown``, ``home``, ``end``."""
        page = max(1, self._built_size.height - 1)
        steps = {"up": -1, "down": 1, "pageup": -page, "pagedown": page}
        if direction in steps:
            self.move_cursor_to_line(self.cursor + steps[direction])
        else:
            self.move_cursor_to_line(0 if direction == "home" else len(self.lines) - 1)

    def find_text(self, text: str, direction: int = 1) -> bool:
        """Move the cursor to the next line (-1: the previous one) with a text; False if there is none."""
        self.search_text = text
        count = len(self.lines)
        needle = text.lower()
        for k in range(count):
            index = (self.cursor + direction * (k + 1)) % count
            if needle in self.lines[index].text.lower():
                self.move_cursor_to_line(index)
                return True
        return False

    def line_index_at(self, event: events.MouseEvent) -> int | None:
        """The index of the line under the mouse."""
        offset = event.get_content_offset(self)
        if offset is None:
            return None
        index = offset.y + self.scroll_offset.y
        return index if index < len(self.lines) else None

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor, a double click opens the line."""
        index = self.line_index_at(event)
        if index is None:
            return
        self.move_cursor_to_line(index)
        if event.chain == 2:
            self.post_message(self.LineOpened())

    def on_focus(self) -> None:
        self.refresh_line(self.cursor)
        self.post_message(self.CursorMoved())

    def on_blur(self) -> None:
        self.refresh_line(self.cursor)

    # -- drawing

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._strips.clear()
        self._style_resolver.clear()

    def _line_strip(self, index: int) -> Strip:
        if index not in self._strips:
            self._strips[index] = self._style_resolver.to_strip(self.lines[index], self._built_size.width)
        return self._strips[index]

    def render_line(self, y: int) -> Strip:
        """See :class:`~textual.scroll_view.ScrollView`."""
        index = y + self.scroll_offset.y
        if index >= len(self.lines):
            return Strip.blank(self._built_size.width + 1, self._style_resolver.style_for())
        marked = self.has_focus and index == self.cursor
        return Strip.join([self._cursor_strip(marked), self._line_strip(index)])

    def _cursor_strip(self, marked: bool) -> Strip:
        style = self._style_resolver.style_for("mark" if marked else "")
        return Strip([Segment(_CURSOR_SIGN if marked else " ", style)], 1)


def _changed_cells(before: Strip, after: Strip) -> tuple[int, int]:
    """The range of cells in which two strips of equal width differ, by segments."""
    old, new = list(before), list(after)
    begin = end = 0
    while begin < min(len(old), len(new)) and old[begin] == new[begin]:
        begin += 1
    while end < min(len(old), len(new)) - begin and old[-1 - end] == new[-1 - end]:
        end += 1
    cells = [segment.cell_length for segment in new]
    return sum(cells[:begin]), after.cell_length - sum(cells[len(cells) - end :])
