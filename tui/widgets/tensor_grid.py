"""The elements of a tensor, a page at a time, or the items of a sequence, with a cursor on one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from textual import on

from ...debugger.statistics.axis_growth import AxisGrowth
from ...debugger.statistics.tensor_ref import StaleReferenceError, TensorRef
from ...debugger.statistics.tensor_slice import TensorSlice
from ...runtime.text import group_digits
from ..render.formatting import dtype_name, value_text
from ..render.inspector_text import ElementPage, TensorViewport, is_one_dimensional, render_page
from ..render.styled_text import Role, styled_line
from .line_box import LineBox


class TensorGrid(LineBox):
    """Only what is in sight is read. ``say`` gets what is wrong where a tensor cannot be read any more."""

    def __init__(self, say: Callable[[str], None], id: str) -> None:
        super().__init__("", id)
        self._show_message = say
        self.tensor: TensorRef | None = None
        self.items: Sequence[Any] = ()
        self.viewport = TensorViewport(TensorSlice(()))
        self.page = ElementPage((), 1, 0, range(0), range(0))
        #: What it is called, and the iteration that differences are to.
        self.value_name = ""
        self.baseline_iteration: int | None = None
        #: The least and the largest element, once they are known: what heat maps have as their ends.
        self.value_range: tuple[float, float] | None = None
        #: What is said of the value where it is not there.
        self.absence_text: str | None = None

    def set_value(self, tensor: TensorRef | None, items: Sequence[Any], absent: str | None) -> None:
        """Show another tensor, or a sequence; in one of the same shape the place stays."""
        before, self.tensor = self.tensor, tensor
        self.items, self.absence_text = items, absent
        self.value_range = None
        if tensor is not None and (before is None or before.shape != tensor.shape):
            self.viewport = TensorViewport(TensorSlice.initial(tensor.shape), number_format=self.viewport.number_format)
        self.viewport = replace(self.viewport, baseline=None, growth=None)

    # -- what it shows

    def draw(self) -> None:
        """Show it as it stands."""
        tensor, size = self.tensor, self.inner_size
        if size.width <= 0:
            return
        if tensor is None:
            self._draw_items(size.width, size.height)
            return
        try:
            self.page = render_page(tensor, self.viewport, size.width, size.height, self.value_range)
        except StaleReferenceError as problem:
            self._show_message(str(problem))
            return
        self.show_lines(self.page.lines)
        part = self.viewport.part
        of = f"{self.value_name}[{part.text(tensor.shape)}]" if tensor.ndim else self.value_name
        shown = "heat map" if self.viewport.heat_map else self.viewport.number_format
        if self.viewport.baseline is not None:
            shown += f", Δ to iteration {self.baseline_iteration}"
            shown += f": {self.viewport.growth.label}" if self.viewport.growth is not None else ""
        first = last = 0
        if self.page.line_count:
            each = self.page.elements_per_line if is_one_dimensional(part) else part.columns
            first = self.page.rows.start * each + 1
            last = min(part.size, self.page.rows.stop * each)
        where = (
            ""
            if self.viewport.heat_map
            else f"{group_digits(first)} to {group_digits(last)} of {group_digits(part.size)}"
        )
        self.set_title(f"{of}   {shown}", where)

    def _draw_items(self, width: int, height: int) -> None:
        """A sequence: an item a row."""
        items = self.items
        self.set_title("items" if items else "", f"{len(items)}" if items else "")
        at = self.viewport.cursor[0]
        top = max(0, min(at - height // 2, len(items) - height))
        lines = []
        for k in range(top, min(len(items), top + height)):
            item = items[k]
            kind = "" if getattr(item, "dtype", None) is None else f"{dtype_name(item.dtype)} {list(item.shape)}"
            mark = ("▌", Role.MARK) if k == at else (" ", Role.PLAIN)
            lines.append(styled_line(mark, (f"[{k}]  ", Role.DIM), f"{kind}  ", value_text(item, max(8, width - 40))))
        self.show_lines(lines or [styled_line((self.absence_text or "nothing", Role.DIM))])

    # -- moving in it

    def move(self, down: int, right: int) -> None:
        """Move the cursor by cells."""
        row, column = self.viewport.cursor
        if self.tensor is None:
            self.viewport = replace(self.viewport, cursor=(max(0, min(len(self.items) - 1, row + down)), 0))
            self.draw()
        elif is_one_dimensional(self.viewport.part):
            self.set_cursor((0, column + down * self.page.elements_per_line + right))
        else:
            self.set_cursor((row + down, column + right))

    def move_page(self, way: int) -> None:
        """Move the cursor by a page of rows."""
        self.move(way * max(1, self.inner_size.height - 2), 0)

    def jump(self, to_end: bool) -> None:
        """Move the cursor to the first element, or to the last one."""
        part = self.viewport.part
        if self.tensor is None:
            self.move(len(self.items) if to_end else -len(self.items), 0)
        elif to_end:
            self.set_cursor((0, part.size - 1) if is_one_dimensional(part) else (part.rows - 1, part.columns - 1))
        else:
            self.set_cursor((0, 0))

    def set_cursor(self, cursor: tuple[int, int]) -> None:
        """Put the cursor on an element of the slice, and show it."""
        part, height = self.viewport.part, max(1, self.inner_size.height - 1)
        if not part.size:
            return
        if is_one_dimensional(part):
            at = max(0, min(cursor[1], part.size - 1))
            row, column, left = at // self.page.elements_per_line, 0, 0
            cursor = (0, at)
        else:
            row = max(0, min(cursor[0], part.rows - 1))
            column = max(0, min(cursor[1], part.columns - 1))
            cursor = (row, column)
            seen = max(1, len(self.page.columns))
            left = self.viewport.left
            left = column if column < left else column - seen + 1 if column >= left + seen else left
        top = self.viewport.top
        top = row if row < top else row - height + 1 if row >= top + height else top
        self.viewport = replace(self.viewport, cursor=cursor, top=top, left=left, heat_map=False)
        self.draw()

    @property
    def has_elements(self) -> bool:
        """Whether there is an element for the cursor to be on."""
        return self.tensor is not None and bool(self.viewport.part.size)

    @property
    def cursor_index(self) -> tuple[int, ...]:
        """Where the element under the cursor stands in the tensor."""
        return self.viewport.part.tensor_index(*self.viewport.cursor)

    @property
    def cursor_flat_index(self) -> int:
        """The same as a flat position."""
        tensor = self.tensor
        return int(np.ravel_multi_index(self.cursor_index, tensor.shape)) if tensor is not None and tensor.ndim else 0

    def go_to_flat_index(self, at: int) -> None:
        """Put the cursor on an element by its flat position; the whole is shown where the slice leaves it out."""
        assert self.tensor is not None
        place = tuple(int(k) for k in np.unravel_index(at, self.tensor.shape)) if self.tensor.ndim else ()
        found = self.viewport.part.table_cell(place)
        if found is None:
            self.viewport = replace(self.viewport, part=TensorSlice.initial(self.tensor.shape), top=0, left=0)
            self.draw()
            found = self.viewport.part.table_cell(place)
        if found is not None:
            self.set_cursor(found)

    @on(LineBox.WheelScrolled)
    def handle_wheel_scrolled(self, message: LineBox.WheelScrolled) -> None:
        """The wheel moves the cursor."""
        message.stop()
        self.move(message.lines, 0)

    @on(LineBox.CellClicked)
    def handle_cell_clicked(self, message: LineBox.CellClicked) -> None:
        """A click puts the cursor on a cell, or on an item."""
        message.stop()
        if self.tensor is None:
            if message.line < len(self.lines) and self.items:
                top = max(
                    0,
                    min(
                        self.viewport.cursor[0] - self.inner_size.height // 2, len(self.items) - self.inner_size.height
                    ),
                )
                self.move(top + message.line - self.viewport.cursor[0], 0)
            return
        if self.viewport.heat_map or message.line < 1 or not self.page.line_count or message.line > len(self.page.rows):
            return
        head = self.page.lines[0].text
        # Heads are right-aligned with their cells: the first that ends at or after the mouse is meant.
        ends = [at for at in range(1, len(head) + 1) if head[at - 1] != " " and (at == len(head) or head[at] == " ")]
        column = next((n for n, end in enumerate(ends) if message.column <= end), len(ends) - 1)
        row = self.page.rows[message.line - 1]
        if is_one_dimensional(self.viewport.part):
            self.set_cursor((0, row * self.page.elements_per_line + column))
        else:
            self.set_cursor((row, self.page.columns.start + column))

    # -- how it is shown

    def next_format(self) -> None:
        """Write numbers in the next format."""
        self.viewport = replace(self.viewport, number_format=self.viewport.number_format.following, heat_map=False)
        self.draw()
        self.set_cursor(self.viewport.cursor)

    def toggle_heat_map(self) -> None:
        """All of it as a picture, or the numbers again."""
        self.viewport = replace(self.viewport, heat_map=not self.viewport.heat_map)
        self.draw()

    def show_part(self, part: TensorSlice) -> None:
        """Show another slice."""
        self.viewport = replace(self.viewport, part=part, top=0, left=0, cursor=(0, 0))
        self.draw()

    def show_difference(self, other: TensorRef | None, iteration: int | None) -> None:
        """Show the difference to another tensor; None: the numbers again."""
        growth = (
            None if other is None or self.tensor is None else AxisGrowth.from_shapes(other.shape, self.tensor.shape)
        )
        self.viewport, self.baseline_iteration = replace(self.viewport, baseline=other, growth=growth), iteration
        self.draw()

    def show_item(self, at: int) -> None:
        """Put the cursor on an item of a sequence."""
        self.viewport = replace(self.viewport, cursor=(at, 0))
        self.draw()
