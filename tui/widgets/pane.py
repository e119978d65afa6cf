"""The pane that all others are: a bordered box of lines that are cut to its width and scroll."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.content import Content
from textual.geometry import Region, Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ..screen.lines import Line
from ..screen.text import printable
from ..screen.view import Shown
from .strips import COMPONENTS, strip


class Pane(ScrollView, can_focus=True):
    """Subclasses say in :meth:`build` what they show; it is called again when the stop or the size changes."""

    COMPONENT_CLASSES = COMPONENTS

    shown: reactive[Shown | None] = reactive(None, repaint=False)

    def __init__(self, title: str, id: str) -> None:
        super().__init__(id=id)
        self.heading = ("", "")
        self.set_title(title)
        self.lines: Sequence[Line] = ()
        self._strips: dict[int, Strip] = {}
        self._built = Size(-1, -1)

    def build(self, shown: Shown, width: int, height: int) -> Sequence[Line]:
        """The lines for a pane of ``width`` cells; ``height`` is what a pane that fills its place has."""
        raise NotImplementedError

    @property
    def text(self) -> str:
        """What the pane says, without its colours: its title, its subtitle, its lines."""
        return "\n".join(["  ".join(self.heading).rstrip(), *(line.text for line in self.lines)])

    def set_title(self, title: str, subtitle: str = "") -> None:
        """Change the words in the border."""
        if (title, subtitle) != self.heading:
            self.heading = (title, subtitle)
            # Content, not text: names out of a model may look like markup.
            self.border_title, self.border_subtitle = Content(printable(title)), Content(printable(subtitle))

    def watch_shown(self) -> None:
        self.rebuild()

    def on_resize(self, event: events.Resize) -> None:
        if self._inner() != self._built:
            self.rebuild()

    def _inner(self) -> Size:
        return self.scrollable_content_region.size

    def rebuild(self) -> None:
        """Build the lines anew, if the pane has a size yet."""
        inner = self._inner()
        if self.shown is None or inner.width <= 0:
            return
        self._built = inner
        self.lines = self.build(self.shown, inner.width, inner.height)
        self._strips.clear()
        self.virtual_size = Size(inner.width, len(self.lines))
        self.refresh()
        self.follow()

    def follow(self) -> None:
        """Scroll to what matters most; only panes with a current line do."""

    def show_line(self, index: int, around: int = 2) -> None:
        """Scroll a line into sight, with a few lines around it."""
        self.scroll_to_region(
            Region(0, max(0, index - around), 1, 2 * around + 1), animate=False, force=True, immediate=True
        )

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._strips.clear()

    def render_line(self, y: int) -> Strip:
        """See :class:`~textual.scroll_view.ScrollView`."""
        width = self._inner().width
        index = y + self.scroll_offset.y
        if index >= len(self.lines):
            return Strip.blank(width, self.rich_style)
        if index not in self._strips:
            self._strips[index] = strip(self, self.lines[index], width)
        return self._strips[index]
