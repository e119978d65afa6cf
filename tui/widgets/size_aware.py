"""Widgets that learn of every change of their size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.geometry import Size
from textual.widget import Widget

# The styles of a widget are those of its first base that is one: for Textual this is none.
if TYPE_CHECKING:
    _Base = Widget
else:
    _Base = object


class SizeAware(_Base):
    """A mixin that calls :meth:`size_changed` after each change of its size. Textual's ``Resize`` event does not come
    where a scroll was drawn between two layouts: its compositor then compares the new layout with a wrong one."""

    def size_changed(self) -> None:
        """It has another size; may be called more than once for one."""
        raise NotImplementedError

    def on_resize(self) -> None:
        """As a rule Textual tells."""
        self.size_changed()

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        """See :class:`~textual.widget.Widget`."""
        changed = super()._size_updated(size, virtual_size, container_size, layout)
        if changed:
            self.call_later(self.size_changed)
        return changed
