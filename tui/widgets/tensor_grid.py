"""The elements of a tensor, one page at a time, or the items of a sequence, with a cursor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from textual import on

from ...debugger.statistics.axis_growth import AxisGrowth
from ...debugger.statistics.tensor_slice import TensorSlice
from ...debugger.statistics.tensor_statistics import StaleReferenceError, TensorRef
from ...runtime.text import group_digits
from ..render.formatting import dtype_name, value_text
from ..render.inspector_text import ElementPage, TensorViewport, is_one_dimensional, render_page
from ..render.styled_text import Role, styled_line
from .bordered_box import LineBox


class TensorGrid(LineBox):
    """Reads only visible elements. ``show_message`` receives the error when a tensor reference is stale."""

    def __init__(self, show_message: Callable[[str], None], id: str) -> None:
        super().__init__("", id)
        self._show_message = show_message
        self.tensor: TensorRef | None = None
        self.items: Sequence[Any] = ()
        self.viewport = TensorViewport(TensorSlice(()))
        self.page = ElementPage((), 1, 0, range(0), range(0))
        #: The name, and the iteration that differences refer to.
        self.value_name = ""
        self.baseline_iteration: int | None = None
        #: The smallest and the largest element, once known: the range of heat maps.
        self.value_range: tuple[float, float] | None = None
        #: The text shown when the value is absent.
        self.absence_text: str | None = None

    def set_value(self, tensor: TensorRef | None, items: Sequence[Any], absence_text: str | None) -> None:
        """Show another tensor, or a sequence; the viewport stays if the shape does."""
        old_tensor, self.tensor = self.tensor, tensor
        self.items, self.absence_text = items, absence_text
        self.value_range = None
        if tensor is not None and (old_tensor is None or old_tensor.shape != tensor.shape):
            self.viewport = TensorViewport(TensorSlice.initial(tensor.shape), number_format=self.viewport.number_format)
        self.viewport = replace(self.viewport, baseline=None, growth=None)

    # -- what it shows

    def draw(self) -> None:
        """Draw the current page."""
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
        title = f"{self.value_name}[{part.text(tensor.shape)}]" if tensor.ndim else self.value_name
        mode = "heat map" if self.viewport.heat_map else self.viewport.number_format
        if self.viewport.baseline is not None:
            mode += f", Δ to iteration {self.baseline_iteration}"
            mode += f": {self.viewport.growth.label}" if self.viewport.growth is not None else ""
        first = last = 0
        if self.page.line_count:
            per_line = self.page.elements_per_line if is_one_dimensional(part) else part.columns
            first = self.page.rows.start * per_line + 1
            last = min(part.size, self.page.rows.stop * per_line)
        position = (
            ""
            if self.viewport.heat_map
            else f"{group_digits(first)} to {group_digits(last)} of {group_digits(part.size)}"
        )
        self.set_title(f"{title}   {mode}", position)

    def _draw_items(self, width: int, height: int) -> None:
        """Draw a sequence, one item per row."""
        items = self.items
        self.set_title("items" if items else "", f"{len(items)}" if items else "")
        cursor = self.viewport.cursor[0]
        top = max(0, min(cursor - height // 2, len(items) - height))
        lines = []
        for k in range(top, min(len(items), top + height)):
            item = items[k]
            kind = "" if getattr(item, "dtype", None) is None else f"{dtype_name(item.dtype)} {list(item.shape)}"
            mark = ("▌", Role.MARK) if k == cursor else (" ", Role.PLAIN)
            lines.append(styled_line(mark, (f"[{k}]  ", Role.DIM), f"{kind}  ", value_text(item, max(8, width - 40))))
        self.show_lines(lines or [styled_line((self.absence_text or "nothing", Role.DIM))])

    # -- moving in it

    def action_move(self, down: int, right: int) -> None:
        """Move the cursor by cells."""
        row, column = self.viewport.cursor
        if self.tensor is None:
            self.viewport = replace(self.viewport, cursor=(max(0, min(len(self.items) - 1, row + down)), 0))
            self.draw()
        elif is_one_dimensional(self.viewport.part):
            self.set_cursor((0, column + down * self.page.elements_per_line + right))
        else:
            self.set_cursor((row + down, column + right))

    def action_page(self, direction: int) -> None:
        """Move the cursor by a page of rows."""
        self.action_move(direction * max(1, self.inner_size.height - 2), 0)

    def action_jump(self, to_end: bool) -> None:
        """Move the cursor to the first or the last element."""
        part = self.viewport.part
        if self.tensor is None:
            self.action_move(len(self.items) if to_end else -len(self.items), 0)
        elif to_end:
            self.set_cursor((0, part.size - 1) if is_one_dimensional(part) else (part.rows - 1, part.columns - 1))
        else:
            self.set_cursor((0, 0))

    def set_cursor(self, cursor: tuple[int, int]) -> None:
        """Put the cursor on an element of the slice, and scroll to it."""
        part, height = self.viewport.part, max(1, self.inner_size.height - 1)
        if not part.size:
            return
        if is_one_dimensional(part):
            index = max(0, min(cursor[1], part.size - 1))
            row, column, left = index // self.page.elements_per_line, 0, 0
            cursor = (0, index)
        else:
            row = max(0, min(cursor[0], part.rows - 1))
            column = max(0, min(cursor[1], part.columns - 1))
            cursor = (row, column)
            visible_count = max(1, len(self.page.columns))
            left = self.viewport.left
            left = column if column < left else column - visible_count + 1 if column >= left + visible_count else left
        top = self.viewport.top
        top = row if row < top else row - height + 1 if row >= top + height else top
        self.viewport = replace(self.viewport, cursor=cursor, top=top, left=left, heat_map=False)
        self.draw()

    @property
    def has_elements(self) -> bool:
        """Whether the slice has elements."""
        return self.tensor is not None and bool(self.viewport.part.size)

    @property
    def cursor_index(self) -> tuple[int, ...]:
        """The tensor index of the element under the cursor."""
        return self.viewport.part.tensor_index(*self.viewport.cursor)

    @property
    def cursor_flat_index(self) -> int:
        """The flat index of the element under the cursor."""
        tensor = self.tensor
        return int(np.ravel_multi_index(self.cursor_index, tensor.shape)) if tensor is not None and tensor.ndim else 0

    def go_to_flat_index(self, index: int) -> None:
        """Put the cursor on an element by its flat index; the slice is reset if it excludes the element."""
        assert self.tensor is not None
        position = tuple(int(k) for k in np.unravel_index(index, self.tensor.shape)) if self.tensor.ndim else ()
        cell = self.viewport.part.table_cell(position)
        if cell is None:
            self.viewport = replace(self.viewport, part=TensorSlice.initial(self.tensor.shape), top=0, left=0)
            self.draw()
            cell = self.viewport.part.table_cell(position)
        if cell is not None:
            self.set_cursor(cell)

    @on(LineBox.WheelScrolled)
    def handle_wheel_scrolled(self, message: LineBox.WheelScrolled) -> None:
        """Move the cursor by the wheel."""
        message.stop()
        self.action_move(message.lines, 0)

    @on(LineBox.CellClicked)
    def handle_cell_clicked(self, message: LineBox.CellClicked) -> None:
        """Put the cursor on the clicked cell or item."""
        message.stop()
        if self.tensor is None:
            if message.line < len(self.lines) and self.items:
                top = max(
                    0,
                    min(
                        self.viewport.cursor[0] - self.inner_size.height // 2, len(self.items) - self.inner_size.height
                    ),
                )
                self.action_move(top + message.line - self.viewport.cursor[0], 0)
            return
        if self.viewport.heat_map or message.line < 1 or not self.page.line_count or message.line > len(self.page.rows):
            return
        text = self.page.lines[0].text
        # Headers are right-aligned with their cells: take the first that ends at or after the mouse.
        ends = [i for i in range(1, len(text) + 1) if text[i - 1] != " " and (i == len(text) or text[i] == " ")]
        column = next((k for k, i in enumerate(ends) if message.column <= i), len(ends) - 1)
        row = self.page.rows[message.line - 1]
        if is_one_dimensional(self.viewport.part):
            self.set_cursor((0, row * self.page.elements_per_line + column))
        else:
            self.set_cursor((row, self.page.columns.start + column))

    # -- how it is shown

    def action_format(self) -> None:
        """Write numbers in the next format."""
        self.viewport = replace(self.viewport, number_format=self.viewport.number_format.next_format, heat_map=False)
        self.draw()
        self.set_cursor(self.viewport.cursor)

    def action_heat_map(self) -> None:
        """Toggle between the heat map and the numbers."""
        self.viewport = replace(self.viewport, heat_map=not self.viewport.heat_map)
        self.draw()

    def show_slice(self, part: TensorSlice) -> None:
        """Show another slice."""
        self.viewport = replace(self.viewport, part=part, top=0, left=0, cursor=(0, 0))
        self.draw()

    def show_difference(self, base: TensorRef | None, iteration: int | None) -> None:
        """Show the difference to a baseline; None: the plain numbers."""
        growth = None if base is None or self.tensor is None else AxisGrowth.from_shapes(base.shape, self.tensor.shape)
        self.viewport, self.baseline_iteration = replace(self.viewport, baseline=base, growth=growth), iteration
        self.draw()

    def show_item(self, index: int) -> None:
        """Put the cursor on an item of a sequence."""
        self.viewport = replace(self.viewport, cursor=(index, 0))
        self.draw()
