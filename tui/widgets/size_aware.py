"""A mixin for widgets that must see every change of their size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.geometry import Size
from textual.widget import Widget

# Textual takes a widget's styles from its first widget base: the mixin must not be one at run time.
if TYPE_CHECKING:
    _Base = Widget
else:
    _Base = object


class SizeAware(_Base):
    """Calls :meth:`size_changed` after each change of size. Textual sends no ``Resize`` event if a scroll was drawn
    between two layouts: its compositor then compares the new layout with a wrong one."""

    def size_changed(self) -> None:
        """Handle a new size; may be called several times for one change."""
        raise NotImplementedError

    def on_resize(self) -> None:
        """Handle the regular resize event."""
        self.size_changed()

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        """See :class:`~textual.widget.Widget`."""
        changed = super()._size_updated(size, virtual_size, container_size, layout)
        if changed:
            self.call_later(self.size_changed)
        return changed
