"""The elements of a tensor, a page at a time, or the items of a sequence, with a cursor on one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from textual import on

from ...debugger.statistics.growth import Growth
from ...debugger.statistics.slices import Part
from ...debugger.statistics.tensor import OverError, TensorRef
from ...runtime.text import grouped
from ..screen.inspected import Look, Page, flat_part, page
from ..screen.lines import Role, line
from ..screen.text import dtype_name, value_text
from .inspector_lines import LineBox


class TensorGrid(LineBox):
    """Only what is in sight is read. ``say`` gets what is wrong where a tensor cannot be read any more."""

    def __init__(self, say: Callable[[str], None], id: str) -> None:
        super().__init__("", id)
        self._say = say
        self.tensor: TensorRef | None = None
        self.items: Sequence[Any] = ()
        self.look = Look(Part(()))
        self.page = Page((), 1, 0, range(0), range(0))
        #: What it is called, and the iteration that differences are to.
        self.called = ""
        self.other_iteration: int | None = None
        #: The least and the largest element, once they are known: what heat maps have as their ends.
        self.span: tuple[float, float] | None = None
        #: What is said of the value where it is not there.
        self.absent: str | None = None

    def take(self, tensor: TensorRef | None, items: Sequence[Any], absent: str | None) -> None:
        """Show another tensor, or a sequence; in one of the same shape the place stays."""
        before, self.tensor = self.tensor, tensor
        self.items, self.absent = items, absent
        self.span = None
        if tensor is not None and (before is None or before.shape != tensor.shape):
            self.look = Look(Part.outset(tensor.shape), how=self.look.how)
        self.look = replace(self.look, other=None, growth=None)

    # -- what it shows

    def draw(self) -> None:
        """Show it as it stands."""
        tensor, size = self.tensor, self.inner
        if size.width <= 0:
            return
        if tensor is None:
            self._draw_items(size.width, size.height)
            return
        try:
            self.page = page(tensor, self.look, size.width, size.height, self.span)
        except OverError as problem:
            self._say(str(problem))
            return
        self.show(self.page.lines)
        part = self.look.part
        of = f"{self.called}[{part.text(tensor.shape)}]" if tensor.ndim else self.called
        shown = "heat map" if self.look.heat else self.look.how
        if self.look.other is not None:
            shown += f", Δ to iteration {self.other_iteration}"
            shown += f": {self.look.growth.told}" if self.look.growth is not None else ""
        first = last = 0
        if self.page.count:
            each = self.page.per if flat_part(part) else part.columns
            first = self.page.rows.start * each + 1
            last = min(part.size, self.page.rows.stop * each)
        where = "" if self.look.heat else f"{grouped(first)} to {grouped(last)} of {grouped(part.size)}"
        self.set_title(f"{of}   {shown}", where)

    def _draw_items(self, width: int, height: int) -> None:
        """A sequence: an item a row."""
        items = self.items
        self.set_title("items" if items else "", f"{len(items)}" if items else "")
        at = self.look.cursor[0]
        top = max(0, min(at - height // 2, len(items) - height))
        lines = []
        for k in range(top, min(len(items), top + height)):
            item = items[k]
            kind = "" if getattr(item, "dtype", None) is None else f"{dtype_name(item.dtype)} {list(item.shape)}"
            mark = ("▌", Role.MARK) if k == at else (" ", Role.PLAIN)
            lines.append(line(mark, (f"[{k}]  ", Role.DIM), f"{kind}  ", value_text(item, max(8, width - 40))))
        self.show(lines or [line((self.absent or "nothing", Role.DIM))])

    # -- moving in it

    def move(self, down: int, right: int) -> None:
        """Move the cursor by cells."""
        row, column = self.look.cursor
        if self.tensor is None:
            self.look = replace(self.look, cursor=(max(0, min(len(self.items) - 1, row + down)), 0))
            self.draw()
        elif flat_part(self.look.part):
            self.put((0, column + down * self.page.per + right))
        else:
            self.put((row + down, column + right))

    def move_page(self, way: int) -> None:
        """Move the cursor by a page of rows."""
        self.move(way * max(1, self.inner.height - 2), 0)

    def jump(self, to_end: bool) -> None:
        """Move the cursor to the first element, or to the last one."""
        part = self.look.part
        if self.tensor is None:
            self.move(len(self.items) if to_end else -len(self.items), 0)
        elif to_end:
            self.put((0, part.size - 1) if flat_part(part) else (part.rows - 1, part.columns - 1))
        else:
            self.put((0, 0))

    def put(self, cursor: tuple[int, int]) -> None:
        """Put the cursor on an element of the slice, and show it."""
        part, height = self.look.part, max(1, self.inner.height - 1)
        if not part.size:
            return
        if flat_part(part):
            at = max(0, min(cursor[1], part.size - 1))
            row, column, left = at // self.page.per, 0, 0
            cursor = (0, at)
        else:
            row = max(0, min(cursor[0], part.rows - 1))
            column = max(0, min(cursor[1], part.columns - 1))
            cursor = (row, column)
            seen = max(1, len(self.page.columns))
            left = self.look.left
            left = column if column < left else column - seen + 1 if column >= left + seen else left
        top = self.look.top
        top = row if row < top else row - height + 1 if row >= top + height else top
        self.look = replace(self.look, cursor=cursor, top=top, left=left, heat=False)
        self.draw()

    @property
    def elements(self) -> bool:
        """Whether there is an element for the cursor to be on."""
        return self.tensor is not None and bool(self.look.part.size)

    @property
    def place(self) -> tuple[int, ...]:
        """Where the element under the cursor stands in the tensor."""
        return self.look.part.place(*self.look.cursor)

    @property
    def flat_place(self) -> int:
        """The same as a flat position."""
        tensor = self.tensor
        return int(np.ravel_multi_index(self.place, tensor.shape)) if tensor is not None and tensor.ndim else 0

    def show_place(self, at: int) -> None:
        """Put the cursor on an element by its flat position; the whole is shown where the slice leaves it out."""
        assert self.tensor is not None
        place = tuple(int(k) for k in np.unravel_index(at, self.tensor.shape)) if self.tensor.ndim else ()
        found = self.look.part.find(place)
        if found is None:
            self.look = replace(self.look, part=Part.outset(self.tensor.shape), top=0, left=0)
            self.draw()
            found = self.look.part.find(place)
        if found is not None:
            self.put(found)

    @on(LineBox.Scrolled)
    def scrolled(self, message: LineBox.Scrolled) -> None:
        """The wheel moves the cursor."""
        message.stop()
        self.move(message.lines, 0)

    @on(LineBox.Pointed)
    def pointed(self, message: LineBox.Pointed) -> None:
        """A click puts the cursor on a cell, or on an item."""
        message.stop()
        if self.tensor is None:
            if message.line < len(self.lines) and self.items:
                top = max(0, min(self.look.cursor[0] - self.inner.height // 2, len(self.items) - self.inner.height))
                self.move(top + message.line - self.look.cursor[0], 0)
            return
        if self.look.heat or message.line < 1 or not self.page.count or message.line > len(self.page.rows):
            return
        head = self.page.lines[0].text
        # Heads are right-aligned with their cells: the first that ends at or after the mouse is meant.
        ends = [at for at in range(1, len(head) + 1) if head[at - 1] != " " and (at == len(head) or head[at] == " ")]
        column = next((n for n, end in enumerate(ends) if message.column <= end), len(ends) - 1)
        row = self.page.rows[message.line - 1]
        if flat_part(self.look.part):
            self.put((0, row * self.page.per + column))
        else:
            self.put((row, self.page.columns.start + column))

    # -- how it is shown

    def next_format(self) -> None:
        """Write numbers in the next format."""
        self.look = replace(self.look, how=self.look.how.next, heat=False)
        self.draw()
        self.put(self.look.cursor)

    def toggle_heat(self) -> None:
        """All of it as a picture, or the numbers again."""
        self.look = replace(self.look, heat=not self.look.heat)
        self.draw()

    def show_part(self, part: Part) -> None:
        """Show another slice."""
        self.look = replace(self.look, part=part, top=0, left=0, cursor=(0, 0))
        self.draw()

    def show_difference(self, other: TensorRef | None, iteration: int | None) -> None:
        """Show the difference to another tensor; None: the numbers again."""
        growth = None if other is None or self.tensor is None else Growth.between(other.shape, self.tensor.shape)
        self.look, self.other_iteration = replace(self.look, other=other, growth=growth), iteration
        self.draw()

    def show_item(self, at: int) -> None:
        """Put the cursor on an item of a sequence."""
        self.look = replace(self.look, cursor=(at, 0))
        self.draw()
