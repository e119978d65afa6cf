"""The tabs of a small screen."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.message import Message
from textual.strip import Strip

from ..screen.layout import TABS
from ..screen.lines import Role, Span, line
from .strips import Lined


class Tabs(Lined):
    """One line with the names of the tabs; the one in front stands in brackets."""

    class Chosen(Message):
        """A tab was clicked."""

        def __init__(self, tab: int) -> None:
            super().__init__()
            self.tab = tab

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self.front = 0
        #: Those that have something to show.
        self.there: Sequence[int] = range(len(TABS))

    @property
    def text(self) -> str:
        """What it says."""
        return "".join(text for text, _ in self._spans())

    def show(self, front: int, there: Sequence[int]) -> None:
        """Another tab is in front, or others have something to show."""
        if (front, there) != (self.front, self.there):
            self.front, self.there = front, there
            self.refresh()

    def _spans(self) -> list[Span]:
        spans: list[Span] = []
        for k in self.there:
            title, here = TABS[k].title, k == self.front
            spans.append((f"[{title}]" if here else f" {title} ", Role.MARK if here else Role.DIM))
        return spans

    def render_line(self, y: int) -> Strip:
        """See :class:`~textual.widget.Widget`."""
        return self.looks.strip(line((" ", Role.PLAIN), *self._spans()), self.size.width)

    def on_click(self, event: events.Click) -> None:
        """To the tab that was clicked."""
        at = 1
        for k, (text, _) in zip(self.there, self._spans(), strict=True):
            if at <= event.x < at + len(text):
                self.post_message(self.Chosen(k))
            at += len(text)
