"""The inspector: one value in full, in any iteration; of large tensors only what is seen is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, Static

from ...debugger.statistics.change import Change
from ...debugger.statistics.export import numpy_text, save_npy
from ...debugger.statistics.histogram import Histogram
from ...debugger.statistics.onepass import Statistics
from ...debugger.statistics.search import Test, not_finite, test_for
from ...debugger.statistics.slices import Part
from ...debugger.statistics.tensor import OverError, TensorRef
from ...debugger.words.names import quote
from ...runtime.errors import LoopdbgError
from ...runtime.text import grouped
from ..driver import Driver, Question
from ..screen.inspected import Course, Look, Page, course_lines, fact_lines, flat_part, page, place_text
from ..screen.lines import Role, line
from ..screen.targets import Of, ValueTarget
from ..screen.text import dtype_name, printable, scalar_text, value_text
from ..screen.view import Shown
from ..widgets.inspector_lines import LineBox
from .above import Above
from .inspected_value import Inspected, as_tensor
from .inspector_keys import KEYS, KeysScreen, foot
from .inspector_work import Background

_PROMPTS = {
    "slice": "a slice, as NumPy writes it: 0, :, 3",
    "find": "a value: 0.5, nan, > 3, != 0",
    "save": "a file: name.npy",
    "compare": "an iteration; nothing: none",
    "iteration": "an iteration",
}


class InspectorScreen(Above[str | None]):
    """A value at a stop. It ends with a line for the console, where one is to be typed on, or with nothing."""

    BINDINGS = [Binding(key.keys, key.does, key.help, show=False) for key in KEYS]
    AUTO_FOCUS = ""

    def __init__(self, driver: Driver, target: ValueTarget, shown: Shown, plot: bool = False) -> None:
        super().__init__()
        self.driver = driver
        self.target = target
        self.inspected = Inspected(target, shown)
        self.note = ""
        #: The iteration looked at, and the one that differences are to.
        self.iteration = self.inspected.iteration
        self.other_iteration = None if not self.iteration else self.iteration - 1
        #: What the value is there, and in the other one.
        self._value: Any = self.inspected.value
        self._there = self.inspected.there
        self._item: int | None = None
        self.other: TensorRef | None = None
        self.tensor: TensorRef | None = None
        self.look = Look(Part(()))
        self.page = Page((), 1, 0, range(0), range(0))
        self.found = Statistics()
        self.changed: Change | None = None
        self._bars: Histogram | None = None
        self.course: Course | None = self.inspected.course()
        self._large_plot = plot
        self._asked = ""
        self._work = Background(self, self.say)
        self.header = Static(id="inspector-head")
        self.facts = LineBox("What it holds", "inspector-facts")
        self.over = LineBox("Over iterations", "inspector-course")
        self.grid = LineBox("", "inspector-grid")
        self.prompt = Input(compact=True, id="inspector-prompt")
        self.said = Static(id="inspector-said")
        self._keys = Static(id="inspector-keys")
        self._take(self._value, self._there)

    # -- what is on the screen

    def compose(self) -> ComposeResult:
        yield self.header
        with Vertical(id="inspector-all"):
            with Horizontal(id="inspector-top"):
                yield self.facts
                yield self.over
            yield self.grid
        yield self.prompt
        yield self.said
        yield self._keys

    def on_mount(self) -> None:
        self.set_class(self._large_plot, "-plot")
        self.prompt.display = False
        if self._large_plot:
            self._ask_course()
        self._begin()

    def on_unmount(self) -> None:
        self._work.forget()

    @on(LineBox.Resized)
    def resized(self) -> None:
        self._keys.update(Content.assemble(*foot(self.size.width - 2)))
        self.draw()

    @property
    def text(self) -> str:
        """All that it says, for tests and for who copies it."""
        return "\n".join([str(self.header.content), self.facts.text, self.over.text, self.grid.text, self.note])

    def draw(self) -> None:
        """Show everything as it stands."""
        if not self.is_mounted:
            return
        self.header.update(Content(printable(self._head())))
        self.facts.show(self._fact_lines())
        size = self.over.inner
        course = self.course
        self.over.set_title("Over iterations" + (f"   {course.what}" if course is not None and course.what else ""))
        if course is None:
            text = "p asks the other iterations" if self.inspected.asks else self.inspected.not_asked
            self.over.show([line((text, Role.DIM))])
        else:
            self.over.show(course_lines(course, -1 if self.iteration is None else self.iteration, *size))
        self._draw_grid()

    def _fact_lines(self) -> list[Any]:
        if self.tensor is None:
            return [line(value_text(self._value, 60) if self._there else "not computed yet")]
        return fact_lines(self.tensor, self.found, self.changed, self._bars, self.facts.inner.width)

    def _draw_grid(self) -> None:
        tensor, size = self.tensor, self.grid.inner
        if size.width <= 0:
            return
        if tensor is None:
            self._draw_items(size.width, size.height)
            return
        low, high = self.found.min, self.found.max
        done = self.found.size == tensor.size and low is not None and high is not None
        try:
            self.page = page(
                tensor, self.look, size.width, size.height, (float(low or 0), float(high or 0)) if done else None
            )
        except OverError as problem:
            self.say(str(problem))
            return
        self.grid.show(self.page.lines)
        part = self.look.part
        of = f"{self._called()}[{part.text(tensor.shape)}]" if tensor.ndim else self._called()
        shown = "heat map" if self.look.heat else self.look.how
        if self.look.other is not None:
            shown += f", Δ to iteration {self.other_iteration}"
        first = last = 0
        if self.page.count:
            each = self.page.per if flat_part(part) else part.columns
            first = self.page.rows.start * each + 1
            last = min(part.size, self.page.rows.stop * each)
        where = "" if self.look.heat else f"{grouped(first)} to {grouped(last)} of {grouped(part.size)}"
        self.grid.set_title(f"{of}   {shown}", where)

    def _draw_items(self, width: int, height: int) -> None:
        """A sequence: an item a row."""
        items = self._value if isinstance(self._value, list | tuple) else ()
        self.grid.set_title("items" if items else "", f"{len(items)}" if items else "")
        at = self.look.cursor[0]
        top = max(0, min(at - height // 2, len(items) - height))
        lines = []
        for k in range(top, min(len(items), top + height)):
            item = items[k]
            kind = "" if getattr(item, "dtype", None) is None else f"{dtype_name(item.dtype)} {list(item.shape)}"
            mark = ("▌", Role.MARK) if k == at else (" ", Role.PLAIN)
            lines.append(line(mark, (f"[{k}]  ", Role.DIM), f"{kind}  ", value_text(item, max(8, width - 40))))
        self.grid.show(lines or [line(("nothing" if self._there else "not computed yet", Role.DIM))])

    def _called(self) -> str:
        return quote(self.target.name) if self._item is None else f"{quote(self.target.name)}[{self._item}]"

    def _head(self) -> str:
        return self.inspected.head(self._called(), self._value, self.tensor, self.iteration)

    def say(self, text: str) -> None:
        """A word about what was just asked for."""
        self.note = text
        self.said.update(Content(printable(text)))

    # -- the value

    def _take(self, value: Any, there: bool) -> None:
        """Look at a value; what was computed of the one before is forgotten."""
        self._value, self._there = value, there
        self._work.forget()
        before = self.tensor
        self.tensor = as_tensor(value) if there else None
        self.found, self.changed, self._bars = Statistics(), None, None
        same = before is not None and self.tensor is not None and before.shape == self.tensor.shape
        if self.tensor is not None and not same:
            self.look = Look(Part.outset(self.tensor.shape), how=self.look.how)
        self.look = replace(self.look, other=None)
        self.other = None

    def _begin(self) -> None:
        """Compute what the value holds, in a thread of its own."""
        self.draw()
        tensor = self.tensor
        if tensor is not None and tensor.size and tensor.dtype.kind not in "OUST":
            self._work.statistics(tensor, self._statistics_came)
        if self.inspected.previous is not None and self.iteration == self.inspected.iteration:
            self._bring_other()

    def _statistics_came(self, found: Statistics, bars: Histogram | None) -> None:
        self.found, self._bars = found, bars
        self.facts.show(self._fact_lines())

    def _change_came(self, found: Change) -> None:
        self.changed = found
        self.facts.show(self._fact_lines())

    # -- other iterations

    def _question(self, find: Callable[[Any], Any], came: Callable[[Any], None]) -> None:
        """Ask the session; the answer comes back here."""

        def answer(found: Any, error: str | None) -> None:
            if error is not None:
                self.app.call_from_thread(self.say, error)
            else:
                self.app.call_from_thread(came, found)

        if not self.driver.find_out(Question(find, answer)):
            self.say("something runs: space interrupts it")

    def _ask_course(self) -> None:
        """Compute the course, where the stop does not know it."""
        if self.course is None and self.inspected.asks:
            self.say("looking at other iterations …")
            self._question(self.inspected.course_question(), self._course_came)

    def _course_came(self, course: Course) -> None:
        self.course = course
        self.say("")
        self.draw()

    def action_iteration(self, step: int) -> None:
        if self.iteration is None:
            self.say("this value is of no iteration")
        else:
            self.go_to(self.iteration + step)

    def go_to(self, iteration: int) -> None:
        """Look at the value in another iteration."""
        inspected = self.inspected
        if inspected.iteration is None:
            self.say("this value is of no iteration")
        elif iteration < 0:
            self.say("iteration 0 is the first")
        elif iteration == inspected.iteration:
            self._moved(iteration, inspected.value, inspected.there)
        elif iteration > inspected.last:
            self.say(f"iteration {iteration} has not run yet: esc, then s")
        else:
            self._question(inspected.question(iteration), lambda value: self._moved(iteration, value, True))

    def _moved(self, iteration: int, value: Any, there: bool) -> None:
        self.iteration = iteration
        self.other_iteration = iteration - 1 if iteration else None
        difference = self.look.other is not None
        self._take(value, there)
        self.say("")
        self._begin()
        if difference:
            self._bring_other(self._show_difference)

    def _bring_other(self, then: Callable[[], None] | None = None) -> None:
        """Have the value of the other iteration, compare with it, and go on."""
        iteration, tensor = self.other_iteration, self.tensor
        if iteration is None or tensor is None:
            self.say("there is no iteration before to compare with; d names one")
            return
        if self.other is not None:
            if then is not None:
                then()
            return

        def came(value: Any) -> None:
            other = as_tensor(value)
            if self.tensor is not tensor:
                return
            if other is None or other.shape != tensor.shape:
                self.say(f"in iteration {iteration} it has another shape")
                return
            self.other = other
            self._work.compare(other, tensor, self._change_came)
            if then is not None:
                then()

        inspected = self.inspected
        if iteration == inspected.iteration:
            came(inspected.value)
        elif inspected.previous is not None and iteration + 1 == inspected.iteration:
            # It lies there already.
            came(inspected.previous)
        else:
            self._question(self.inspected.question(iteration), came)

    # -- moving in it

    def action_cursor(self, down: int, right: int) -> None:
        if self.tensor is None:
            count = len(self._value) if isinstance(self._value, list | tuple) else 0
            row = max(0, min(count - 1, self.look.cursor[0] + down))
            self.look = replace(self.look, cursor=(row, 0))
            self._draw_grid()
            return
        row, column = self.look.cursor
        if flat_part(self.look.part):
            self.put((0, column + down * self.page.per + right))
        else:
            self.put((row + down, column + right))

    def action_page(self, way: int) -> None:
        self.action_cursor(way * max(1, self.grid.inner.height - 2), 0)

    def action_jump(self, to: int) -> None:
        part = self.look.part
        if self.tensor is None:
            count = len(self._value) if isinstance(self._value, list | tuple) else 0
            self.action_cursor(count if to else -count, 0)
        elif to:
            self.put((0, part.size - 1) if flat_part(part) else (part.rows - 1, part.columns - 1))
        else:
            self.put((0, 0))

    def put(self, cursor: tuple[int, int]) -> None:
        """Put the cursor on an element of the slice, and show it."""
        part, height = self.look.part, max(1, self.grid.inner.height - 1)
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
        self._draw_grid()

    def place(self) -> tuple[int, ...]:
        """Where the element under the cursor stands in the tensor."""
        return self.look.part.place(*self.look.cursor)

    def show_place(self, at: int) -> bool:
        """Put the cursor on an element by its flat position; the whole is shown where the slice leaves it out."""
        assert self.tensor is not None
        place = tuple(int(k) for k in np.unravel_index(at, self.tensor.shape)) if self.tensor.ndim else ()
        found = self.look.part.find(place)
        if found is None:
            self.look = replace(self.look, part=Part.outset(self.tensor.shape), top=0, left=0)
            self._draw_grid()
            found = self.look.part.find(place)
        if found is not None:
            self.put(found)
        return found is not None

    @on(LineBox.Scrolled)
    def scrolled(self, message: LineBox.Scrolled) -> None:
        self.action_cursor(message.lines, 0)

    @on(LineBox.Pointed)
    def pointed(self, message: LineBox.Pointed) -> None:
        """A click puts the cursor on a cell."""
        if self.tensor is None or self.look.heat or message.line < 1 or not self.page.count:
            return
        k = message.line - 1
        if k >= len(self.page.rows):
            return
        head = self.page.lines[0].text
        # Heads are right-aligned with their cells: the first that ends at or after the mouse is meant.
        ends = [at for at in range(1, len(head) + 1) if head[at - 1] != " " and (at == len(head) or head[at] == " ")]
        column = next((n for n, end in enumerate(ends) if message.column <= end), len(ends) - 1)
        row = self.page.rows[k]
        if flat_part(self.look.part):
            self.put((0, row * self.page.per + column))
        else:
            self.put((row, self.page.columns.start + column))

    # -- how it is shown

    def action_format(self) -> None:
        self.look = replace(self.look, how=self.look.how.next, heat=False)
        self.draw()
        self.put(self.look.cursor)

    def action_heat(self) -> None:
        self.look = replace(self.look, heat=not self.look.heat)
        self._draw_grid()

    def action_plot(self) -> None:
        self.toggle_class("-plot")
        self._ask_course()
        self.call_after_refresh(self.draw)

    def action_difference(self) -> None:
        if self.look.other is not None:
            self.look = replace(self.look, other=None)
            self.draw()
        else:
            self._bring_other(self._show_difference)

    def _show_difference(self) -> None:
        self.look = replace(self.look, other=self.other)
        self.draw()

    def action_open(self) -> None:
        if isinstance(self._value, list | tuple) and self._value:
            self._item = self.look.cursor[0]
            self._items = self._value
            self._take(self._value[self._item], True)
            self._begin()
        elif self.tensor is not None:
            self.action_ask("slice")

    # -- finding

    def action_not_finite(self) -> None:
        self._search(not_finite, "NaN or infinity")

    def action_largest(self) -> None:
        self._bring_other(self._to_largest)

    def _to_largest(self) -> None:
        if self.tensor is not None and self.other is not None:
            self._work.compare(self.other, self.tensor, self._largest_came)

    def _largest_came(self, found: Change) -> None:
        if self.tensor is None or found.at < 0:
            self.say(f"nothing changed since iteration {self.other_iteration}")
            return
        self.show_place(found.at)
        self.say(f"changed most: by {found.largest:.4g} at {place_text(self.tensor, found.at)}")

    def _search(self, test: Test, what: str) -> None:
        tensor = self.tensor
        if tensor is None or not tensor.size:
            self.say("there are no elements to look through")
            return
        after = int(np.ravel_multi_index(self.place(), tensor.shape)) if tensor.ndim and self.look.part.size else 0
        self.say("looking …")

        def came(at: int | None) -> None:
            if at is None:
                self.say(f"there is no {what}")
            else:
                self.show_place(at)
                self.say(f"{what} at {place_text(tensor, at)}")

        self._work.search(tensor, test, after, came)

    # -- typed

    def action_ask(self, what: str) -> None:
        """Open a line for something to be typed."""
        if self.tensor is None and what in ("slice", "find", "save"):
            self.say("open an item first: enter")
            return
        self._asked = what
        self.prompt.placeholder = _PROMPTS[what]
        self.prompt.border_title = what
        name = "".join(c if c.isalnum() or c in "._-" else "_" for c in self.target.name).strip("_.") or "value"
        self.prompt.value = f"{name}.npy" if what == "save" else ""
        self.prompt.display = True
        self.prompt.focus()

    @on(Input.Submitted)
    def typed(self, event: Input.Submitted) -> None:
        """What was typed; an error leaves the line open."""
        event.stop()
        try:
            self._do_typed(event.value.strip())
        except LoopdbgError as problem:
            self.say(self.driver.told(problem))
            return
        except ValueError as problem:
            self.say(str(problem))
            return
        self._close_prompt()

    def _do_typed(self, text: str) -> None:
        tensor = self.tensor
        if self._asked in ("compare", "iteration"):
            self._to_iteration(text)
        elif tensor is None:
            return
        elif self._asked == "slice":
            part = Part.parse(text, tensor.shape)
            self.look = replace(self.look, part=part, top=0, left=0, cursor=(0, 0))
            self.say("")
            self.draw()
        elif self._asked == "find":
            self._search(test_for(text, tensor.dtype), f"element '{text}'")
        elif self._asked == "save":
            path = Path(text).expanduser()
            save_npy(path, tensor)
            self.say(f"saved as {path}")

    def _to_iteration(self, text: str) -> None:
        if self._asked == "compare" and not text:
            self.look = replace(self.look, other=None)
            self.draw()
            return
        if not text.isdecimal():
            raise ValueError(f"'{text}' is no iteration; type a number from 0 on")
        number = int(text)
        if self._asked == "iteration":
            self.go_to(number)
            return
        if number > max(self.inspected.last, self.inspected.iteration or 0):
            raise ValueError(f"iteration {number} has not run yet")
        self.other_iteration, self.other = number, None
        self._bring_other(self._show_difference)

    def _close_prompt(self) -> None:
        self.prompt.display = False
        self.set_focus(None)

    # -- taking it elsewhere

    def _element(self) -> Any:
        assert self.tensor is not None
        return self.tensor.use(lambda whole: np.array(whole[self.place()]))[()]

    def action_copy_cell(self) -> None:
        if self.tensor is None or not self.look.part.size:
            self.say("there is no element to copy")
            return
        text = scalar_text(self._element())
        self.app.copy_to_clipboard(text)
        self.say(f"copied {text}")

    def action_copy_part(self) -> None:
        if self.tensor is None:
            self.say("there is no tensor to copy")
            return
        if self.look.part.size > _MOST_COPIED:
            self.say(f"{grouped(self.look.part.size)} elements are too many for text; take a slice, or save it")
            return
        text = numpy_text(self.look.part.read(self.tensor))
        self.app.copy_to_clipboard(text)
        self.say(f"copied {len(text)} characters: {text[:40]}{'…' if len(text) > 40 else ''}")

    def action_break_if(self) -> None:
        """Back to the console, with a breakpoint on this element begun."""
        if self.target.of in (Of.SCAN, Of.OUTPUT) or self._item is not None:
            self.say("a breakpoint asks for values of the body")
            return
        at = self.place() if self.tensor is not None and self.look.part.size else ()
        index = f"[{', '.join(map(str, at))}]" if at else ""
        self.leave(f"break if {quote(self.target.name)}{index} ")

    def action_help(self) -> None:
        self.app.push_screen(KeysScreen())

    def action_leave(self) -> None:
        if self.prompt.display:
            self._close_prompt()
        elif self._item is not None:
            self.look = replace(self.look, cursor=(self._item, 0))
            self._item = None
            self._take(self._items, True)
            self._begin()
        else:
            self.leave(None)


_MOST_COPIED = 10_000
