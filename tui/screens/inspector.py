"""The inspector: one value in full, in any iteration; of large tensors only what is visible is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, Static

from ...debugger.statistics.export import numpy_text, save_npy
from ...debugger.statistics.onepass import Change
from ...debugger.statistics.search import Test, not_finite, test_for
from ...debugger.statistics.slices import Part
from ...debugger.words.names import quote
from ...runtime.errors import LoopdbgError
from ...runtime.text import grouped
from ..actions import ACTIONS, Action, Looking, Now, Place, interrupt_key
from ..driver import Driver
from ..screen.inspected import course_lines, fact_lines, place_text
from ..screen.lines import Line, Role, fit, line
from ..screen.targets import Of, ValueTarget
from ..screen.text import largest_text, number_text, printable, scalar_text, value_text
from ..screen.view import Shown
from ..widgets.inspector_lines import LineBox
from ..widgets.line_input import LineInput
from ..widgets.tensor_grid import TensorGrid
from .above import Above
from .help import HelpScreen
from .inspected_value import Inspected
from .inspector_subject import Subject
from .inspector_work import Background

#: What is asked for, and of which value it can be.
_PROMPTS = {
    "slice": "a slice, as NumPy writes it: 0, :, 3",
    "find": "a value: 0.5, nan, > 3, != 0",
    "save": "a file: name.npy",
    "compare": "an iteration; nothing: none",
    "iteration": "an iteration",
}
_OF_TENSORS = ("slice", "find", "save")
_MOST_COPIED = 10_000


class InspectorScreen(Above[str | None]):
    """A value at a stop. It ends with a line for the console, where one is to be typed on, or with nothing."""

    AUTO_FOCUS = ""

    def __init__(
        self,
        driver: Driver,
        target: ValueTarget,
        shown: Shown,
        plot: bool = False,
        actions: Sequence[Action] = ACTIONS,
    ) -> None:
        super().__init__(Place.INSPECTOR, actions)
        self.driver = driver
        self.target = target
        self.note = ""
        self._large_plot = plot
        self._asked = ""
        self._work = Background(self, self.say)
        self.header = Static(id="inspector-head")
        self.facts = LineBox("What it holds", "inspector-facts")
        self.over = LineBox("Over iterations", "inspector-course")
        self.grid = TensorGrid(self.say, "inspector-grid")
        self.prompt = LineInput(compact=True, id="inspector-prompt")
        self.said = Static(id="inspector-said")
        self.subject = Subject(Inspected(target, shown), driver, self, self._work)
        self._show_subject()

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
        yield self.keys

    def on_mount(self) -> None:
        self._home = self.app
        self.set_class(self._large_plot, "-plot")
        self.prompt.display = False
        if self._large_plot:
            self.subject.ask_course()
        self.subject.begin()

    def on_unmount(self) -> None:
        self._work.forget()

    @on(LineBox.Resized)
    def resized(self) -> None:
        self.draw()

    @property
    def text(self) -> str:
        """All that it says, for tests and for who copies it."""
        return "\n".join([str(self.header.content), self.facts.text, self.over.text, self.grid.text, self.note])

    @property
    def now(self) -> Now:
        """What it stands at, as far as actions depend on it."""
        subject, inspected = self.subject, self.subject.inspected
        looking = Looking(
            subject.tensor is not None,
            self.grid.elements,
            bool(subject.items),
            subject.iteration,
            inspected.last,
            self._breaks,
        )
        return Now(typing=self.prompt.has_focus, looking=looking)

    def draw(self) -> None:
        """Show everything as it stands."""
        if not self.is_mounted:
            return
        width = self.size.width - 2
        code = fit(self.subject.inspected.code, width)
        self.header.update(Content("\n".join(filter(None, (printable(self.subject.head(width)), code)))))
        self.facts.show(self._fact_lines())
        self._draw_course()
        self.grid.draw()
        self.keys.now = self.now

    def _fact_lines(self) -> list[Line]:
        subject = self.subject
        if subject.tensor is None:
            return [line(value_text(subject.value, 60) if subject.there else subject.inspected.absent)]
        width = self.facts.inner.width
        return fact_lines(subject.tensor, subject.found, subject.changed, subject.bars, width, subject.growth)

    def _draw_course(self) -> None:
        course, inspected = self.subject.course, self.subject.inspected
        self.over.set_title("Over iterations" + (f"   {course.what}" if course is not None and course.what else ""))
        if course is None:
            text = "p asks the other iterations" if inspected.asks else inspected.not_asked
            self.over.show([line((text, Role.DIM))])
        else:
            here = self.subject.iteration
            self.over.show(course_lines(course, -1 if here is None else here, *self.over.inner))

    # -- what the subject tells

    def say(self, text: str) -> None:
        """A word about what was just asked for."""
        self.note = text
        self.said.update(Content(printable(text)))

    def say_busy(self) -> None:
        """See :class:`.inspector_subject.Onlooker`."""
        self.say(f"something runs: {interrupt_key(self.actions, Now(busy=True))} interrupts it")

    def took(self) -> None:
        """Another value is shown."""
        self._show_subject()
        self.draw()

    def _show_subject(self) -> None:
        subject = self.subject
        self.grid.called = subject.called
        self.grid.take(subject.tensor, subject.items, None if subject.there else subject.inspected.absent)

    def learned(self) -> None:
        """More is known of the value."""
        self.grid.span = self.subject.span
        if self.is_mounted:
            self.facts.show(self._fact_lines())
            self._draw_course()

    def hand(self, come: Callable[..., None], *found: Any) -> None:
        """Call something in the screen's thread, from any other, if this is still open then."""

        def take() -> None:
            if self.is_attached:
                come(*found)

        # Not by way of this screen: it knows its app no more once it is closed.
        self._home.call_later(take)

    # -- other iterations

    def action_iteration(self, step: int) -> None:
        here = self.subject.iteration
        if here is None:
            self.say("this value is of no iteration")
        else:
            self.go_to(here + step)

    def go_to(self, iteration: int) -> None:
        """Show the value in another iteration; a difference goes along."""
        differs = self.grid.look.other is not None

        def follow() -> None:
            if differs:
                self.subject.bring_other(self._show_difference)

        self.subject.go_to(iteration, follow)

    def action_difference(self) -> None:
        if self.grid.look.other is not None:
            self.grid.show_difference(None, None)
        else:
            self.subject.bring_other(self._show_difference)

    def _show_difference(self) -> None:
        self.grid.show_difference(self.subject.other, self.subject.other_iteration)

    def action_largest(self) -> None:
        self.subject.largest_change(self._largest_came)

    def _largest_came(self, found: Change) -> None:
        tensor = self.subject.tensor
        at = self.subject.place_of(found)
        if tensor is None or at < 0:
            what = "nothing" if self.subject.growth is None else "nothing that was there before"
            self.say(f"{what} changed since iteration {self.subject.other_iteration}")
            return
        self.grid.show_place(at)
        other, alike = self.subject.other, self.subject.growth is None
        told = largest_text(found, other, tensor, 4) if other is not None and alike else number_text(found.largest, 4)
        self.say(f"changed most: by {told} at {place_text(tensor, at)}")

    def action_plot(self) -> None:
        self.toggle_class("-plot")
        self.subject.ask_course()
        self.call_after_refresh(self.draw)

    # -- in the value

    def action_cursor(self, down: int, right: int) -> None:
        self.grid.move(down, right)

    def action_page(self, way: int) -> None:
        self.grid.move_page(way)

    def action_jump(self, to: int) -> None:
        self.grid.jump(bool(to))

    def action_format(self) -> None:
        self.grid.next_format()

    def action_heat(self) -> None:
        self.grid.toggle_heat()

    def action_open(self) -> None:
        if self.subject.items:
            self.subject.open_item(self.grid.look.cursor[0])
        elif self.subject.tensor is not None:
            self.action_ask("slice")

    def action_not_finite(self) -> None:
        self._search(not_finite, "NaN or infinity")

    def _search(self, test: Test, what: str) -> None:
        tensor = self.subject.tensor
        if tensor is None or not tensor.size:
            self.say("there are no elements to look through")
            return
        self.say("looking …")

        def came(at: int | None) -> None:
            if at is None:
                self.say(f"there is no {what}")
            else:
                self.grid.show_place(at)
                self.say(f"{what} at {place_text(tensor, at)}")

        self._work.search(tensor, test, self.grid.flat_place if self.grid.elements else 0, came)

    # -- typed

    def action_ask(self, what: str) -> None:
        """Open a line for something to be typed."""
        if self.subject.tensor is None and what in _OF_TENSORS:
            self.say("open an item first: enter" if self.subject.items else "there is no tensor here")
            return
        self._asked = what
        self.prompt.placeholder = _PROMPTS[what]
        name = "".join(c if c.isalnum() or c in "._-" else "_" for c in self.target.name).strip("_.") or "value"
        self.prompt.value = f"{name}.npy" if what == "save" else ""
        self.prompt.display = True
        self.set_focus(self.prompt)
        self.call_after_refresh(self._look_around)

    def _look_around(self) -> None:
        self.keys.now = self.now

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
        tensor = self.subject.tensor
        if self._asked in ("compare", "iteration"):
            self._to_iteration(text)
        elif tensor is None:
            return
        elif self._asked == "slice":
            self.grid.show_part(Part.parse(text, tensor.shape))
            self.say("")
        elif self._asked == "find":
            self._search(test_for(text, tensor.dtype), f"element '{text}'")
        elif self._asked == "save":
            path = self.driver.console.files.check(text, "save")
            save_npy(path, tensor)
            self.say(f"saved as {path}")

    def _to_iteration(self, text: str) -> None:
        if self._asked == "compare" and not text:
            self.grid.show_difference(None, None)
        elif not text.isdecimal():
            raise ValueError(f"'{text}' is no iteration; type a number from 0 on")
        elif self._asked == "iteration":
            self.go_to(int(text))
        else:
            self.subject.compare_with(int(text), self._show_difference)

    def _close_prompt(self) -> None:
        self.prompt.display = False
        self.set_focus(None)
        self.call_after_refresh(self._look_around)

    # -- taking it elsewhere

    def action_copy_cell(self) -> None:
        tensor = self.subject.tensor
        if tensor is None or not self.grid.elements:
            self.say("there is no element to copy")
            return
        text = scalar_text(tensor.use(lambda whole: np.array(whole[self.grid.place]))[()])
        self.app.copy_to_clipboard(text)
        self.say(f"copied {text}")

    def action_copy_part(self) -> None:
        tensor, part = self.subject.tensor, self.grid.look.part
        if tensor is None:
            self.say("there is no tensor to copy")
            return
        if part.size > _MOST_COPIED:
            self.say(f"{grouped(part.size)} elements are too many for text; take a slice, or save it")
            return
        text = numpy_text(part.read(tensor))
        self.app.copy_to_clipboard(text)
        self.say(f"copied {len(text)} characters: {text[:40]}{'…' if len(text) > 40 else ''}")

    @property
    def _breaks(self) -> bool:
        return self.target.of not in (Of.SCAN, Of.OUTPUT) and self.subject.item is None

    def action_break_if(self) -> None:
        """Back to the console, with a breakpoint on this element begun."""
        if not self._breaks:
            self.say("a breakpoint asks for values of the body")
            return
        place = self.grid.place if self.grid.elements else ()
        index = f"[{', '.join(map(str, place))}]" if place else ""
        self.leave(f"break if {quote(self.target.name)}{index} ")

    # -- above it, and back

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(self.actions, Place.INSPECTOR, opened="inspect-help"))

    def action_leave(self) -> None:
        if self.prompt.display:
            self._close_prompt()
        elif self.subject.item is not None:
            self.grid.show_item(self.subject.close_item())
        elif self.has_class("-plot") and not self._large_plot:
            self.action_plot()
        else:
            self.leave(None)
