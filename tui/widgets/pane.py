"""The pane that all others are: a bordered box of lines with a cursor, cut to its width, that scrolls."""

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
from .cached_styles import cache_rows
from .size_aware import SizeAware
from .strips import StyleResolver

#: Left of the line that the cursor is on, in the pane that has the focus.
_CURSOR_SIGN = "▌"
#: The class of a pane that is one line without a border.
_ONE_LINE_CLASS = "-line"


class Pane(SizeAware, ScrollView, can_focus=True, inherit_bindings=False):
    """Subclasses say in :meth:`build` what they show; it is called again when the stop or the size changes.

    A line may stand for something (:attr:`Line.target`); the cursor is on one line, whatever it stands for. Only lines
    that changed are drawn again.
    """

    screen_state: reactive[ScreenState | None] = reactive(None, repaint=False)

    class CursorMoved(Message):
        """The cursor came to another line, or what its line stands for changed."""

    class LineOpened(Message):
        """What the cursor is on was clicked twice."""

    def __init__(self, title: str, id: str) -> None:
        super().__init__(id=id)
        cache_rows(self)
        self.heading = ("", "")
        #: What stands in the border.
        self._drawn_titles = ("", "")
        #: Its key, shown before the title.
        self._number = ""
        #: What it is called where others speak of it.
        self.pane_title = title
        self.set_title(title)
        self.lines: Sequence[StyledLine] = ()
        #: The index of the line that the cursor is on.
        self.cursor = 0
        #: The text that is looked for, "" for none.
        self.search_text = ""
        #: Something changed while it was hidden.
        self._stale = False
        #: Which stop it went to what matters at.
        self._followed_stop: object = None
        self._strips: dict[int, Strip] = {}
        self._style_resolver = StyleResolver(self)
        #: The size that the lines are for, and whether they are the one line of a pane without a border.
        self._built_size, self._built_as_one_line = Size(-1, -1), False

    def build(self, shown: ScreenState, width: int, height: int) -> Sequence[StyledLine]:
        """The lines for a pane of ``width`` cells; ``height`` is what a pane that fills its place has."""
        raise NotImplementedError

    def space_request(self, shown: ScreenState) -> SpaceRequest | None:
        """The lines that it needs, and those that it can use; None where it has nothing to show."""
        return SpaceRequest(1, max(1, len(self.lines)))

    def one_line_spans(self, shown: ScreenState) -> Sequence[Span]:
        """What it says where it has one line, behind its name."""
        raise NotImplementedError

    @property
    def is_one_line(self) -> bool:
        """Whether it is one line without a border."""
        return self.has_class(_ONE_LINE_CLASS)

    def set_one_line(self, one: bool) -> None:
        """Be one line, or a box again."""
        if one != self.is_one_line:
            self.set_class(one, _ONE_LINE_CLASS)
            # Where it has the same size in both forms, no change of its size follows.
            self.call_after_refresh(self.catch_up)

    @property
    def text(self) -> str:
        """What the pane says, without its colours: its title, its subtitle, its lines."""
        heading = [] if self.is_one_line else ["  ".join(self.heading).rstrip()]
        return "\n".join([*heading, *(line.text for line in self.lines)])

    def set_title(self, title: str, subtitle: str = "") -> None:
        """Change the words in the border."""
        if (title, subtitle) != self.heading:
            self.heading = (title, subtitle)
            self._show_title()

    def set_number(self, number: int) -> None:
        """The key that leads here stands before the title."""
        self._number = str(number % 10)
        self._show_title()

    def _show_title(self) -> None:
        title, subtitle = self.heading
        numbered = f"{self._number} {title}" if self._number else title
        # Content, not text: names out of a model may look like markup. Set below the descriptors, which would draw the
        # whole pane again.
        self._border_title = self.render_str(Content(escape_unprintable(numbered)))
        self._border_subtitle = self.render_str(Content(escape_unprintable(subtitle)))
        width, height = self.outer_size
        if not self.is_mounted or not width or self.is_one_line:
            return
        # The rows of the border alone, and of those the one that changed.
        if numbered != self._drawn_titles[0]:
            self.refresh(Region(-1, -1, width, 1))
        if subtitle != self._drawn_titles[1]:
            self.refresh(Region(-1, height - 2, width, 1))
        self._drawn_titles = (numbered, subtitle)

    # -- lines

    def watch_screen_state(self) -> None:
        shown = self.screen_state
        moment = None if shown is None else (shown.view.snapshot.position, shown.frame.frame.path, shown.done)
        moved, self._followed_stop = moment != self._followed_stop, moment
        self.rebuild(follow=moved)

    def size_changed(self) -> None:
        """See :class:`.resized.SizeAware`."""
        if not self._is_built_for_size:
            first = self._built_size.width < 0
            self.rebuild(follow=first)
            if not first:
                self.show_line(self.cursor, 0)

    def catch_up(self) -> None:
        """It is seen again, or in another form."""
        if self._stale or not self._is_built_for_size:
            self.rebuild()

    @property
    def _is_built_for_size(self) -> bool:
        """Whether the lines are for the size and the form that it has."""
        return (self._inner_size(), self.is_one_line) == (self._built_size, self._built_as_one_line)

    def _inner_size(self) -> Size:
        """The room for lines: what the border leaves, without the column of the cursor."""
        width, height = self.scrollable_content_region.size
        return Size(max(0, width - 1), height)

    def rebuild(self, follow: bool = True) -> None:
        """Build the lines anew, if the pane has a size yet; ``follow``: and go to what matters most."""
        inner = self._inner_size()
        self._stale = not self.display
        if self.screen_state is None or inner.width <= 0 or self._stale:
            return
        resized = not self._is_built_for_size
        self._built_size, self._built_as_one_line = inner, self.is_one_line
        before = self._target()
        old, old_strips = self.lines, self._strips
        self.lines = (
            [self._one_line(self.screen_state, inner.width)]
            if self.is_one_line
            else self.build(self.screen_state, *inner)
        )
        self._strips = {}
        self._set_size(Size(inner.width + 1, len(self.lines)))
        self._keep_cursor(before)
        if follow and not self.is_one_line:
            self.follow()
        if resized:
            self.refresh()
        else:
            self._refresh_changed(old, old_strips)
        if self._target() != before:
            self.post_message(self.CursorMoved())

    def _one_line(self, shown: ScreenState, width: int) -> StyledLine:
        """Its number and its name stand where a title does."""
        name = f"  {self._number} {self.pane_title}  "
        return StyledLine(truncate_spans([(name, Role.DIM), *self.one_line_spans(shown)], width))

    def _set_size(self, size: Size) -> None:
        before = self.virtual_size
        if size == before:
            return
        always = self.styles.overflow_y == "scroll"
        barred, bars = [always or one.height > self._built_size.height for one in (before, size)]
        if size.width != before.width or barred != bars:
            self.virtual_size = size
            return
        # A bar neither comes nor goes: nothing has to be arranged anew.
        self.set_reactive(Widget.virtual_size, size)
        if bars:
            self._scroll_update(size)

    def _refresh_changed(self, old: Sequence[StyledLine], strips: Mapping[int, Strip]) -> None:
        """Draw the visible lines that have changed; ``strips``: how those of before looked."""
        top, count = self.scroll_offset.y, len(self.lines)
        changed: list[Region] = []
        for index in range(top, min(top + self._built_size.height, max(count, len(old)))):
            if index >= count or index not in strips:
                changed.append(Region(0, index - top, self.size.width, 1))
            elif self.lines[index].draws_same_as(old[index]):
                self._strips[index] = strips[index]
            elif (strip := self._line_strip(index)) != strips[index]:
                begin, end = _changed_cells(strips[index], strip)
                changed.append(Region(1 + begin, index - top, end - begin, 1))
        if changed:
            self.refresh(*changed)

    def watch_show_vertical_scrollbar(self, shown: bool) -> None:
        """A bar that appears does not know how far was scrolled before."""
        if shown:
            self.vertical_scrollbar.position = self.scroll_y

    def follow(self) -> None:
        """Move the cursor and scroll to what matters most; only panes with a current line do."""

    def show_line(self, index: int, around: int = 2) -> None:
        """Scroll a line into sight, with a few lines around it."""
        self.scroll_to_region(
            Region(0, max(0, index - around), 1, 2 * around + 1), animate=False, force=True, immediate=True
        )

    # -- the cursor

    @property
    def target(self) -> Target | None:
        """What the cursor is on."""
        return self._target()

    def _target(self) -> Target | None:
        return self.lines[self.cursor].target if 0 <= self.cursor < len(self.lines) else None

    def _keep_cursor(self, before: Target | None) -> None:
        """After the lines changed: on what it was on where that is still there, else on something."""
        if not len(self.lines):
            self.cursor = 0
            return
        self.cursor = min(self.cursor, len(self.lines) - 1)
        if self._target() is not None and self._target() == before:
            return
        # Panes can be long; what was there lately is close by.
        near = sorted(
            range(max(0, self.cursor - 50), min(len(self.lines), self.cursor + 51)), key=self._distance_to_cursor
        )
        found = next((k for k in near if before is not None and self.lines[k].target == before), None)
        if found is None and before is None and self._target() is None:
            found = next((k for k in near if self.lines[k].target is not None), None)
        if found is not None:
            self.cursor = found

    def _distance_to_cursor(self, index: int) -> int:
        return abs(index - self.cursor)

    def move_to(self, index: int) -> None:
        """Put the cursor on a line and bring it into sight."""
        index = max(0, min(index, len(self.lines) - 1))
        if index != self.cursor:
            before, self.cursor = self.cursor, index
            self.refresh_line(before)
            self.refresh_line(index)
            self.post_message(self.CursorMoved())
        self.show_line(index, 0)

    def move(self, where: str) -> None:
        """Move the cursor: ``up``, ``down``, ``pageup``, ``pagedown``, ``home``, ``end``."""
        page = max(1, self._built_size.height - 1)
        steps = {"up": -1, "down": 1, "pageup": -page, "pagedown": page}
        if where in steps:
            self.move_to(self.cursor + steps[where])
        else:
            self.move_to(0 if where == "home" else len(self.lines) - 1)

    def find_text(self, text: str, way: int = 1, *, here: bool = False) -> bool:
        """Move the cursor to the next line (-1: the one before) with a text; False where there is none."""
        self.search_text = text
        count = len(self.lines)
        wanted = text.lower()
        for k in range(count):
            index = (self.cursor + way * (k + (0 if here else 1))) % count
            if wanted in self.lines[index].text.lower():
                self.move_to(index)
                return True
        return False

    def line_index_at(self, event: events.MouseEvent) -> int | None:
        """The line that the mouse points at."""
        offset = event.get_content_offset(self)
        if offset is None:
            return None
        index = offset.y + self.scroll_offset.y
        return index if index < len(self.lines) else None

    def on_click(self, event: events.Click) -> None:
        """Once puts the cursor there, twice opens what is there."""
        index = self.line_index_at(event)
        if index is None:
            return
        self.move_to(index)
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
    """The cells in which two strips of one width differ, by their segments."""
    old, new = list(before), list(after)
    begin = end = 0
    while begin < min(len(old), len(new)) and old[begin] == new[begin]:
        begin += 1
    while end < min(len(old), len(new)) - begin and old[-1 - end] == new[-1 - end]:
        end += 1
    cells = [segment.cell_length for segment in new]
    return sum(cells[:begin]), after.cell_length - sum(cells[len(cells) - end :])
