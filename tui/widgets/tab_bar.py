"""The tabs of a small screen."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.message import Message
from textual.strip import Strip

from ..render.pane_layout import TABS
from ..render.styled_text import Role, Span, styled_line
from .strips import LineWidget


class TabBar(LineWidget):
    """One line with the names of the tabs; the front tab is in brackets."""

    class TabSelected(Message):
        """A tab was clicked."""

        def __init__(self, tab: int) -> None:
            super().__init__()
            self.tab = tab

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self.front_tab = 0
        #: The tabs that have content.
        self.non_empty_tabs: Sequence[int] = range(len(TABS))

    @property
    def text(self) -> str:
        """The text of the line."""
        return "".join(text for text, _ in self._tab_spans())

    def show_tabs(self, front: int, non_empty: Sequence[int]) -> None:
        """Set the front tab and the tabs that have content."""
        if (front, non_empty) != (self.front_tab, self.non_empty_tabs):
            self.front_tab, self.non_empty_tabs = front, non_empty
            self.refresh()

    def _tab_spans(self) -> list[Span]:
        spans: list[Span] = []
        for k in self.non_empty_tabs:
            title, in_front = TABS[k].title, k == self.front_tab
            spans.append((f"[{title}]" if in_front else f" {title} ", Role.MARK if in_front else Role.DIM))
        return spans

    def render_line(self, y: int) -> Strip:
        """See :class:`~textual.widget.Widget`."""
        return self.style_resolver.to_strip(styled_line((" ", Role.PLAIN), *self._tab_spans()), self.size.width)

    def on_click(self, event: events.Click) -> None:
        """Select the clicked tab."""
        column = 1
        for k, (text, _) in zip(self.non_empty_tabs, self._tab_spans(), strict=True):
            if column <= event.x < column + len(text):
                self.post_message(self.TabSelected(k))
            column += len(text)
