"""All panes, each in the place that :mod:`..screen.layout` gives it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.app import ComposeResult
from textual.geometry import NULL_OFFSET, Region, Size, Spacing
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.message import Message
from textual.widget import Widget

from ..screen.layout import Box, Need, arrange, small, tab_of, tabs_with
from .kept import keep_rows
from .overview import Overview
from .pane import Pane
from .resized import SizeAware


class _Places(Layout):
    """Puts every child where its parent says."""

    name = "places"

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> ArrangeResult:
        assert isinstance(parent, Workbench)
        boxes = parent.boxes(size)
        placed = []
        for child in children:
            box = boxes.get(child.id or "")
            if box is not None:
                region = Region(box.x, box.y, box.width, box.height)
                placed.append(WidgetPlacement(region, NULL_OFFSET, Spacing(), child))
        return placed


class Workbench(SizeAware, Widget):
    """Where the panes stand; ``tab``: which are in front on a small screen; ``full``: the one alone, "" for all."""

    class Placed(Message):
        """The panes stand elsewhere, or others are visible."""

    def __init__(self, panes: Mapping[str, Pane | Overview], id: str) -> None:
        super().__init__(id=id)
        keep_rows(self)
        self.panes = panes
        self.tab = 0
        self.full = ""
        self._needs: dict[str, Need] = {name: Need(1, 1) for name in panes}
        self._places = _Places()
        self._last: tuple[Size, dict[str, Box]] | None = None

    @property
    def layout(self) -> Layout:
        """See :class:`~textual.widget.Widget`."""
        return self._places

    def compose(self) -> ComposeResult:
        yield from self.panes.values()

    @property
    def small(self) -> bool:
        """Whether the panes are on tabs."""
        # The whole screen's size: it stays one or the other while a console takes some of the room.
        return small(*self.app.size)

    @property
    def tabs(self) -> Sequence[int]:
        """The tabs that have something to show."""
        return tabs_with(self._needs)

    @property
    def front(self) -> int:
        """The tab that is seen: the chosen one, while it has something to show."""
        return self.tab if self.tab in self.tabs else 0

    def boxes(self, size: Size) -> dict[str, Box]:
        """The places of the panes in a size."""
        return arrange(size.width, size.height, self._needs, self.front if self.small else None, self.full)

    def has(self, name: str) -> bool:
        """Whether a pane has something to show."""
        return name in self._needs

    def need(self, needs: Mapping[str, Need]) -> None:
        """What the panes have to show now; those that are not among them have nothing."""
        if dict(needs) != self._needs:
            tabs = self.tabs
            self._needs = dict(needs)
            if self.full and self.full not in self._needs:
                self.full = ""
            if self.tabs != tabs:
                self._last = None
            self.place()

    def place(self) -> None:
        """Put the panes where they belong, and hide the others."""
        boxes = self.boxes(self.size)
        if self._last == (self.size, boxes):
            return
        self._last = self.size, boxes
        for name, pane in self.panes.items():
            there = name in boxes
            if isinstance(pane, Pane):
                pane.in_a_line(there and boxes[name].is_line)
            if pane.display != there:
                pane.display = there
                if there:
                    self.call_after_refresh(pane.catch_up)
        # Textual keeps what a layout said until children come or go.
        self._clear_arrangement_cache()
        self.refresh(layout=True)
        self.post_message(self.Placed())

    def size_changed(self) -> None:
        """See :class:`.resized.SizeAware`."""
        self.place()

    def to_front(self, name: str, again: bool = False) -> bool:
        """Bring a pane into sight, ``again``: onto the tab that is about it; False where it has nothing to show."""
        if name not in self._needs:
            return False
        boxes = self.boxes(self.size)
        if self.full or again or name not in boxes or boxes[name].is_line:
            self.full = ""
            if self.small:
                self.tab = tab_of(name)
            if name not in self.boxes(self.size):
                self.full = name
            self.place()
        return True

    def unfold(self, name: str) -> bool:
        """Make a box of a pane that is a line; False where it has nothing more to say."""
        if not self.small and not self._needs[name].least:
            return False
        if not self.small or not self.to_front(name, again=True):
            self.zoom(name)
        return True

    def show_tab(self, tab: int) -> None:
        """Bring a tab to the front."""
        self.tab, self.full = tab, ""
        self.place()

    def zoom(self, name: str) -> None:
        """Give a pane all the room, or all panes theirs again."""
        self.full = "" if self.full else name
        self.place()
