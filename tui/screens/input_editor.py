"""Screen to generate, type or load the inputs of a model that was opened without any."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, Static

from ...debugger.frontends.console.arguments import parse_path
from ...runtime.errors import LoopdbgError
from ..actions import ACTIONS, Action, ActionContext, ScreenKind
from ..render.formatting import escape_unprintable
from ..render.styled_text import Role, TableColumn, styled_line, table_lines
from ..widgets.bordered_box import LineBox
from ..widgets.line_input import LineInput
from .main_screen_base import MainScreen


class EditableInputs(Protocol):
    """The interface of the edited inputs; implemented in ``tui/cli/model_inputs/editable_inputs.py``."""

    def __len__(self) -> int: ...
    def rows(self, width: int = 60) -> list[tuple[str, str, str, str]]: ...
    def fill_with_kind(self, k: int, kind: str) -> None: ...
    def edit(self, k: int, text: str) -> None: ...
    def load(self, k: int, path: Path) -> str: ...
    def set_dim(self, text: str) -> None: ...
    def build_inputs(self) -> object: ...


_PROMPTS = {
    "edit": "a number, [a, list], a file.npy, or an expression of other inputs",
    "load": "a file: x.npy for this input, x.npz for all",
    "dim": "the size of an unknown dimension: N=16, or x:0=16",
}
_COLUMNS = (
    TableColumn("", 1),
    TableColumn("input", 6),
    TableColumn("type", 8, rank=1),
    TableColumn("value", 10),
    TableColumn("from", 6, rank=2),
)


class InputsScreen(MainScreen):
    """A row for each input; the app's result is whether to open the model with them."""

    def __init__(self, draft: EditableInputs, model: str, actions: Sequence[Action] = ACTIONS) -> None:
        super().__init__(ScreenKind.INPUTS, actions)
        self.draft = draft
        self.selected_row = 0
        self._model = model
        self._prompt_kind = ""
        self.rows_box = LineBox("Inputs", "input-rows")
        self.prompt = LineInput(compact=True, id="input-line")
        self.message_label = Static(id="input-message")
        self.note = ""

    def compose(self) -> ComposeResult:
        head = f"{escape_unprintable(self._model)} needs inputs, and none were given: these are random"
        yield Static(Content.assemble(("loopdbg", "bold"), f"  {head}"), id="start-head")
        yield self.rows_box
        yield self.prompt
        yield self.message_label
        yield self.key_bar

    def on_mount(self) -> None:
        self.prompt.display = False

    @on(LineBox.BoxResized)
    def handle_box_resized(self) -> None:
        self.draw()

    def draw(self) -> None:
        """Draw the rows of the inputs."""
        size = self.rows_box.inner_size
        if size.width <= 0:
            return
        rows = [
            [
                ("▌" if k == self.selected_row else " ", Role.MARK),
                (name, Role.NAME),
                (kind, Role.DIM),
                (value, Role.VALUE),
                (source, Role.DIM),
            ]
            for k, (name, kind, value, source) in enumerate(self.draft.rows(max(20, size.width // 2)))
        ]
        lines = table_lines(_COLUMNS, rows, size.width)
        top = max(0, min(self.selected_row + 1 - size.height // 2, len(lines) - size.height))
        self.rows_box.show_lines([lines[0], *lines[1 + top : size.height + top]] if top else lines)
        if not rows:
            self.rows_box.show_lines([styled_line(("this model has no inputs", Role.DIM))])

    def say(self, text: str, error: bool = False) -> None:
        self.note = text
        self.message_label.update(Content(escape_unprintable(text)))

    @on(LineBox.CellClicked)
    def handle_row_clicked(self, message: LineBox.CellClicked) -> None:
        """Select the clicked input."""
        self.selected_row = max(0, min(len(self.draft) - 1, message.line - 1))
        self.draw()

    def action_move(self, step: int) -> None:
        self.selected_row = max(0, min(len(self.draft) - 1, self.selected_row + step))
        self.draw()

    def action_make(self, kind: str) -> None:
        self._apply_change(lambda: self.draft.fill_with_kind(self.selected_row, kind))

    def _apply_change(self, change: object) -> bool:
        """Apply a change, and show its result or error; False on error."""
        try:
            result = change() if callable(change) else None
        except LoopdbgError as problem:
            self.say(str(problem))
            return False
        self.say(result if isinstance(result, str) else "")
        self.draw()
        return True

    def action_ask(self, kind: str) -> None:
        self._prompt_kind = kind
        self.prompt.placeholder = _PROMPTS[kind]
        self.prompt.value = ""
        self.prompt.display = True
        self.set_focus(self.prompt)
        self.key_bar.action_context = ActionContext(typing=True)

    @on(Input.Submitted)
    def handle_submitted(self, event: Input.Submitted) -> None:
        """Apply the typed text; an error leaves the line open."""
        text = event.value.strip()
        changes = {
            "edit": lambda: self.draft.edit(self.selected_row, text),
            "load": lambda: self.draft.load(self.selected_row, parse_path(text)),
            "dim": lambda: self.draft.set_dim(text),
        }
        if self._apply_change(changes[self._prompt_kind]):
            self._close_prompt()

    def _close_prompt(self) -> None:
        self.prompt.display = False
        self.set_focus(None)
        self.key_bar.action_context = ActionContext()

    def action_start(self) -> None:
        if self._apply_change(self.draft.build_inputs):
            self.app.exit(True)

    def action_leave(self) -> None:
        if self.prompt.display:
            self._close_prompt()
        else:
            self.app.exit(False)

    def action_quit_now(self) -> None:
        self.app.exit(False)
