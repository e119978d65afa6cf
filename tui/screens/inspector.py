"""The inspector: one value in full, in any iteration; reads only the visible part of large tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, Static

from ...debugger.describe.value_names import quote
from ...debugger.statistics.element_search import ElementPredicate, is_not_finite, parse_predicate
from ...debugger.statistics.tensor_export import numpy_text, save_npy
from ...debugger.statistics.tensor_slice import TensorSlice
from ...debugger.statistics.tensor_statistics import TensorChange
from ...runtime.errors import LoopdbgError
from ...runtime.text import group_digits
from ..actions import ACTIONS, Action, ActionContext, Condition, ScreenKind, interrupt_key
from ..command_worker import CommandWorker
from ..render.formatting import escape_unprintable, largest_change_text, number_text, scalar_text, value_text
from ..render.inspector_text import index_text, series_lines, statistics_lines
from ..render.stop_view import ScreenState
from ..render.styled_text import Role, StyledLine, styled_line, truncate
from ..render.targets import ValueKind, ValueTarget
from ..widgets.bordered_box import LineBox
from ..widgets.line_input import LineInput
from ..widgets.tensor_grid import TensorGrid
from .inspected_value import InspectedValue
from .inspector_jobs import TensorJobs
from .inspector_state import InspectorState
from .modal_base import ModalBase

#: The prompts, and those that need a tensor.
_PROMPTS = {
    "slice": "a slice, as NumPy writes it: 0, :, 3",
    "find": "a value: 0.5, nan, > 3, != 0",
    "save": "a file: name.npy",
    "compare": "an iteration; nothing: none",
    "iteration": "an iteration",
}
_TENSOR_PROMPTS = ("slice", "find", "save")
_COPY_MAX_ELEMENTS = 10_000


class InspectorScreen(ModalBase[str | None]):
    """A value at a stop. The result is a console line to complete, or None."""

    AUTO_FOCUS = ""

    def __init__(
        self,
        worker: CommandWorker,
        target: ValueTarget,
        state: ScreenState,
        plot: bool = False,
        actions: Sequence[Action] = ACTIONS,
    ) -> None:
        super().__init__(ScreenKind.INSPECTOR, actions)
        self.session_worker = worker
        self.target = target
        self.note = ""
        self._opened_as_plot = plot
        self._prompt_kind = ""
        self._jobs = TensorJobs(self, self.say)
        self.title_label = Static(id="inspector-head")
        self.statistics_box = LineBox("What it holds", "inspector-facts")
        self.series_box = LineBox("Over iterations", "inspector-course")
        self.grid = TensorGrid(self.say, "inspector-grid")
        self.action_targets = {"grid": self.grid}
        self.prompt = LineInput(compact=True, id="inspector-prompt")
        self.message_label = Static(id="inspector-message")
        self.inspector_state = InspectorState(InspectedValue(target, state), worker, self, self._jobs)
        self._show_value()

    # -- what is on the screen

    def compose(self) -> ComposeResult:
        yield self.title_label
        with Vertical(id="inspector-all"):
            with Horizontal(id="inspector-top"):
                yield self.statistics_box
                yield self.series_box
            yield self.grid
        yield self.prompt
        yield self.message_label
        yield self.key_bar

    def on_mount(self) -> None:
        self._owner_app = self.app
        self.set_class(self._opened_as_plot, "-plot")
        self.prompt.display = False
        if self._opened_as_plot:
            self.inspector_state.query_series()
        self.inspector_state.start_jobs()

    def on_unmount(self) -> None:
        self._jobs.cancel()

    @on(LineBox.BoxResized)
    def handle_box_resized(self) -> None:
        self.draw()

    @property
    def text(self) -> str:
        """The text of the screen, for tests and for copying."""
        return "\n".join(
            [str(self.title_label.content), self.statistics_box.text, self.series_box.text, self.grid.text, self.note]
        )

    @property
    def action_context(self) -> ActionContext:
        """The state that decides which actions apply."""
        state, last = self.inspector_state, self.inspector_state.inspected.last_iteration
        is_tensor, iteration = state.tensor is not None, state.iteration
        flags = {
            Condition.IS_TENSOR: is_tensor,
            Condition.HAS_ELEMENTS: self.grid.has_elements,
            Condition.HAS_ITEMS: bool(state.items),
            Condition.HAS_PREVIOUS: bool(iteration),
            Condition.HAS_NEXT: iteration is not None and iteration < last,
            Condition.HAS_ITERATIONS: last > 0,
            Condition.CAN_COMPARE: is_tensor and iteration is not None and last > 0,
            Condition.CAN_BREAK_IF: self._can_break,
        }
        return ActionContext(typing=self.prompt.has_focus, flags=flags)

    def draw(self) -> None:
        """Draw everything."""
        if not self.is_mounted:
            return
        width = self.size.width - 2
        code = truncate(self.inspector_state.inspected.code_line, width)
        self.title_label.update(
            Content("\n".join(filter(None, (escape_unprintable(self.inspector_state.title_line(width)), code))))
        )
        self.statistics_box.show_lines(self._statistics_lines())
        self._draw_series()
        self.grid.draw()
        self.key_bar.action_context = self.action_context

    def _statistics_lines(self) -> list[StyledLine]:
        state = self.inspector_state
        if state.tensor is None:
            return [styled_line(value_text(state.value, 60) if state.is_present else state.inspected.absence_text)]
        width = self.statistics_box.inner_size.width
        return statistics_lines(state.tensor, state.statistics, state.change, state.histogram, width, state.growth)

    def _draw_series(self) -> None:
        series, inspected = self.inspector_state.series, self.inspector_state.inspected
        self.series_box.set_title(
            "Over iterations" + (f"   {series.quantity}" if series is not None and series.quantity else "")
        )
        if series is None:
            text = "p asks the other iterations" if inspected.can_query_series else inspected.no_query_reason
            self.series_box.show_lines([styled_line((text, Role.DIM))])
        else:
            iteration = self.inspector_state.iteration
            self.series_box.show_lines(
                series_lines(series, -1 if iteration is None else iteration, *self.series_box.inner_size)
            )

    # -- callbacks of the inspector state

    def say(self, text: str) -> None:
        """Show a message."""
        self.note = text
        self.message_label.update(Content(escape_unprintable(text)))

    def report_busy(self) -> None:
        """See :class:`.inspector_state.InspectorObserver`."""
        self.say(f"something runs: {interrupt_key(self.actions, typing=False)} interrupts it")

    def handle_value_change(self) -> None:
        """Show another value."""
        self._show_value()
        self.draw()

    def _show_value(self) -> None:
        state = self.inspector_state
        self.grid.value_name = state.name_text
        self.grid.set_value(state.tensor, state.items, None if state.is_present else state.inspected.absence_text)

    def handle_details_change(self) -> None:
        """Show new statistics or a new series."""
        self.grid.value_range = self.inspector_state.value_range
        if self.is_mounted:
            self.statistics_box.show_lines(self._statistics_lines())
            self._draw_series()

    def call_in_screen(self, callback: Callable[..., None], *args: Any) -> None:
        """Call back in the screen's thread, if the screen is still open then."""

        def call() -> None:
            if self.is_attached:
                callback(*args)

        # A closed screen has no app: call the owner's.
        self._owner_app.call_later(call)

    # -- other iterations

    def action_iteration(self, step: int) -> None:
        iteration = self.inspector_state.iteration
        if iteration is None:
            self.say("this value is of no iteration")
        else:
            self.go_to_iteration(iteration + step)

    def go_to_iteration(self, iteration: int) -> None:
        """Show the value in another iteration, and update the difference."""
        differs = self.grid.viewport.baseline is not None

        def update_difference() -> None:
            if differs:
                self.inspector_state.load_baseline(self._show_difference)

        self.inspector_state.go_to_iteration(iteration, update_difference)

    def action_difference(self) -> None:
        if self.grid.viewport.baseline is not None:
            self.grid.show_difference(None, None)
        else:
            self.inspector_state.load_baseline(self._show_difference)

    def _show_difference(self) -> None:
        self.grid.show_difference(self.inspector_state.baseline, self.inspector_state.baseline_iteration)

    def action_largest(self) -> None:
        self.inspector_state.largest_change(self._show_largest_change)

    def _show_largest_change(self, change: TensorChange) -> None:
        tensor = self.inspector_state.tensor
        index = self.inspector_state.flat_position(change)
        if tensor is None or index < 0:
            subject = "nothing" if self.inspector_state.growth is None else "nothing that was there before"
            self.say(f"{subject} changed since iteration {self.inspector_state.baseline_iteration}")
            return
        self.grid.go_to_flat_index(index)
        baseline, same_shape = self.inspector_state.baseline, self.inspector_state.growth is None
        amount = (
            largest_change_text(change, baseline, tensor, 4)
            if baseline is not None and same_shape
            else number_text(change.largest, 4)
        )
        self.say(f"changed most: by {amount} at {index_text(tensor, index)}")

    def action_plot(self) -> None:
        self.toggle_class("-plot")
        self.inspector_state.query_series()
        self.call_after_refresh(self.draw)

    # -- in the value

    def action_open(self) -> None:
        if self.inspector_state.items:
            self.inspector_state.open_item(self.grid.viewport.cursor[0])
        elif self.inspector_state.tensor is not None:
            self.action_ask("slice")

    def action_not_finite(self) -> None:
        self._go_to_element(is_not_finite, "NaN or infinity")

    def _go_to_element(self, test: ElementPredicate, description: str) -> None:
        tensor = self.inspector_state.tensor
        if tensor is None or not tensor.size:
            self.say("there are no elements to look through")
            return
        self.say("looking …")

        def show_result(index: int | None) -> None:
            if index is None:
                self.say(f"there is no {description}")
            else:
                self.grid.go_to_flat_index(index)
                self.say(f"{description} at {index_text(tensor, index)}")

        self._jobs.search(tensor, test, self.grid.cursor_flat_index if self.grid.has_elements else 0, show_result)

    # -- typed

    def action_ask(self, kind: str) -> None:
        """Open the prompt."""
        if self.inspector_state.tensor is None and kind in _TENSOR_PROMPTS:
            self.say("open an item first: enter" if self.inspector_state.items else "there is no tensor here")
            return
        self._prompt_kind = kind
        self.prompt.placeholder = _PROMPTS[kind]
        name = "".join(c if c.isalnum() or c in "._-" else "_" for c in self.target.name).strip("_.") or "value"
        self.prompt.value = f"{name}.npy" if kind == "save" else ""
        self.prompt.display = True
        self.set_focus(self.prompt)
        self.call_after_refresh(self._refresh_context)

    def _refresh_context(self) -> None:
        self.key_bar.action_context = self.action_context

    @on(Input.Submitted)
    def handle_submitted(self, event: Input.Submitted) -> None:
        """Run the prompt; an error leaves it open."""
        event.stop()
        try:
            self._run_prompt(event.value.strip())
        except LoopdbgError as problem:
            self.say(self.session_worker.error_text(problem))
            return
        except ValueError as problem:
            self.say(str(problem))
            return
        self._close_prompt()

    def _run_prompt(self, text: str) -> None:
        tensor = self.inspector_state.tensor
        if self._prompt_kind in ("compare", "iteration"):
            self._run_iteration_prompt(text)
        elif tensor is None:
            return
        elif self._prompt_kind == "slice":
            self.grid.show_slice(TensorSlice.parse(text, tensor.shape))
            self.say("")
        elif self._prompt_kind == "find":
            self._go_to_element(parse_predicate(text, tensor.dtype), f"element '{text}'")
        elif self._prompt_kind == "save":
            path = self.session_worker.console.file_access.resolve_path(text, "save")
            save_npy(path, tensor)
            self.say(f"saved as {path}")

    def _run_iteration_prompt(self, text: str) -> None:
        if self._prompt_kind == "compare" and not text:
            self.grid.show_difference(None, None)
        elif not text.isdecimal():
            raise ValueError(f"'{text}' is no iteration; type a number from 0 on")
        elif self._prompt_kind == "iteration":
            self.go_to_iteration(int(text))
        else:
            self.inspector_state.compare_with(int(text), self._show_difference)

    def _close_prompt(self) -> None:
        self.prompt.display = False
        self.set_focus(None)
        self.call_after_refresh(self._refresh_context)

    # -- copying and breakpoints

    def action_copy_cell(self) -> None:
        source = self.inspector_state.tensor
        if source is None or not self.grid.has_elements:
            self.say("there is no element to copy")
            return
        text = scalar_text(source.with_array(lambda data: np.array(data[self.grid.cursor_index]))[()])
        self.app.copy_to_clipboard(text)
        self.say(f"copied {text}")

    def action_copy_part(self) -> None:
        tensor, part = self.inspector_state.tensor, self.grid.viewport.part
        if tensor is None:
            self.say("there is no tensor to copy")
            return
        if part.size > _COPY_MAX_ELEMENTS:
            self.say(f"{group_digits(part.size)} elements are too many for text; take a slice, or save it")
            return
        text = numpy_text(part.read(tensor))
        self.app.copy_to_clipboard(text)
        self.say(f"copied {len(text)} characters: {text[:40]}{'…' if len(text) > 40 else ''}")

    @property
    def _can_break(self) -> bool:
        return self.target.kind not in (ValueKind.SCAN, ValueKind.OUTPUT) and self.inspector_state.item_index is None

    def action_break_if(self) -> None:
        """Return to the console with the beginning of a breakpoint on this element."""
        if not self._can_break:
            self.say("a breakpoint asks for values of the body")
            return
        kind = self.grid.cursor_index if self.grid.has_elements else ()
        index = f"[{', '.join(map(str, kind))}]" if kind else ""
        self.dismiss_once(f"break if {quote(self.target.name)}{index} ")

    # -- help and leaving

    def action_leave(self) -> None:
        if self.prompt.display:
            self._close_prompt()
        elif self.inspector_state.item_index is not None:
            self.grid.show_item(self.inspector_state.close_item())
        elif self.has_class("-plot") and not self._opened_as_plot:
            self.action_plot()
        else:
            self.dismiss_once(None)
