"""The grid of all panes, placed by :mod:`..render.pane_layout`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.app import ComposeResult
from textual.geometry import NULL_OFFSET, Region, Size, Spacing
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.message import Message
from textual.widget import Widget

from ..render.pane_layout import PaneBox, SpaceRequest, arrange_panes, is_small_screen, non_empty_tabs, tab_for_pane
from .graph_overview import GraphOverview
from .pane import Pane
from .row_cache import enable_row_cache
from .size_aware import SizeAware


class _PaneGridLayout(Layout):
    """Places every child in the box that the parent computes."""

    name = "places"

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> ArrangeResult:
        assert isinstance(parent, PaneGrid)
        boxes = parent.pane_boxes(size)
        placements = []
        for child in children:
            box = boxes.get(child.id or "")
            if box is not None:
                region = Region(box.x, box.y, box.width, box.height)
                placements.append(WidgetPlacement(region, NULL_OFFSET, Spacing(), child))
        return placements


class PaneGrid(SizeAware, Widget):
    """Container of the panes; ``tab``: the front tab of a small screen; ``maximized_pane``: "" for none."""

    class PanesPlaced(Message):
        """The positions or the visibility of panes changed."""

    def __init__(self, panes: Mapping[str, Pane | GraphOverview], id: str) -> None:
        super().__init__(id=id)
        enable_row_cache(self)
        self.panes = panes
        self.tab = 0
        self.maximized_pane = ""
        self._requests: dict[str, SpaceRequest] = {name: SpaceRequest(1, 1) for name in panes}
        self._grid_layout = _PaneGridLayout()
        self._last_placement: tuple[Size, dict[str, PaneBox]] | None = None

    @property
    def layout(self) -> Layout:
        """See :class:`~textual.widget.Widget`."""
        return self._grid_layout

    def compose(self) -> ComposeResult:
        yield from self.panes.values()

    @property
    def is_small(self) -> bool:
        """Whether the panes are on tabs."""
        # By the size of the whole screen: opening the console must not change the form.
        return is_small_screen(*self.app.size)

    @property
    def non_empty_tabs(self) -> Sequence[int]:
        """The tabs that have something to show."""
        return non_empty_tabs(self._requests)

    @property
    def front_tab(self) -> int:
        """The visible tab: the chosen one, unless it is empty."""
        return self.tab if self.tab in self.non_empty_tabs else 0

    def pane_boxes(self, size: Size) -> dict[str, PaneBox]:
        """The boxes of the panes for a size."""
        return arrange_panes(
            size.width, size.height, self._requests, self.front_tab if self.is_small else None, self.maximized_pane
        )

    def has_content(self, name: str) -> bool:
        """Whether a pane has something to show."""
        return name in self._requests

    def set_space_requests(self, requests: Mapping[str, SpaceRequest]) -> None:
        """Set the space requests of the panes; panes without one are empty."""
        if dict(requests) != self._requests:
            tabs = self.non_empty_tabs
            self._requests = dict(requests)
            if self.maximized_pane and self.maximized_pane not in self._requests:
                self.maximized_pane = ""
            if self.non_empty_tabs != tabs:
                self._last_placement = None
            self.place_panes()

    def place_panes(self) -> None:
        """Place the panes, and hide those without a box."""
        boxes = self.pane_boxes(self.size)
        if self._last_placement == (self.size, boxes):
            return
        self._last_placement = self.size, boxes
        for name, pane in self.panes.items():
            visible = name in boxes
            if isinstance(pane, Pane):
                pane.set_one_line(visible and boxes[name].is_one_line)
            if pane.display != visible:
                pane.display = visible
                if visible:
                    self.call_after_refresh(pane.update_if_outdated)
        # Textual caches an arrangement until children are added or removed.
        self._clear_arrangement_cache()
        self.refresh(layout=True)
        self.post_message(self.PanesPlaced())

    def size_changed(self) -> None:
        """See :class:`.resized.SizeAware`."""
        self.place_panes()

    def bring_to_front(self, name: str, switch_tab: bool = False) -> bool:
        """Make a pane visible, with ``switch_tab`` on its own tab; False if it is empty."""
        if name not in self._requests:
            return False
        boxes = self.pane_boxes(self.size)
        if self.maximized_pane or switch_tab or name not in boxes or boxes[name].is_one_line:
            self.maximized_pane = ""
            if self.is_small:
                self.tab = tab_for_pane(name)
            if name not in self.pane_boxes(self.size):
                self.maximized_pane = name
            self.place_panes()
        return True

    def expand_pane(self, name: str) -> bool:
        """Show a one-line pane as a box; False if it has no further content."""
        if not self.is_small and not self._requests[name].min_lines:
            return False
        if not self.is_small or not self.bring_to_front(name, switch_tab=True):
            self.toggle_maximized(name)
        return True

    def show_tab(self, tab: int) -> None:
        """Bring a tab to the front."""
        self.tab, self.maximized_pane = tab, ""
        self.place_panes()

    def toggle_maximized(self, name: str) -> None:
        """Maximize a pane, or restore all panes."""
        self.maximized_pane = "" if self.maximized_pane else name
        self.place_panes()
