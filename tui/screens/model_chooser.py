"""App to choose a model, opened by ``loopdbg`` without arguments."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from ...debugger.frontends.console.arguments import parse_path
from ...runtime.errors import UsageError
from ..actions import ACTIONS, Action, ActionContext, ScreenKind
from ..render.formatting import escape_unprintable
from ..render.styled_text import Role, pad_to_width, styled_line, truncate_middle
from ..widgets.choice_list import ChoiceList
from ..widgets.line_input import LineInput
from .main_screen_base import MainScreen


class ModelChoice(NamedTuple):
    """A model that can be opened. ``note``: its description; None: its folder."""

    path: Path
    group: str
    note: str | None = None


#: The width of the name column.
_NAME_COLUMN_CELLS = 28


def _folder_text(path: Path) -> str:
    """The folder of a file, abbreviated with ``~``."""
    with contextlib.suppress(ValueError, RuntimeError):
        return str(Path("~") / path.parent.relative_to(Path.home()))
    return str(path.parent)


def _fit_printable(text: str, width: int) -> str:
    return styled_line(*truncate_middle([(escape_unprintable(text), Role.PLAIN)], width)).text


class ModelChooserScreen(MainScreen):
    """A list of models with a line for a filter or a path; the app's result is a path, or None."""

    def __init__(self, choices: Sequence[ModelChoice], actions: Sequence[Action] = ACTIONS) -> None:
        super().__init__(ScreenKind.CHOICE, actions)
        self._choices = choices
        self.visible_choices: list[ModelChoice] = []
        self.path_input = LineInput(
            placeholder="a model, or a few letters of one of these", compact=True, id="start-line"
        )
        self.choice_list = ChoiceList(id="start-list")
        self.message_label = Static(id="start-message")

    def compose(self) -> ComposeResult:
        yield Static(Content.assemble(("loopdbg", "bold"), "  open a model"), id="start-head")
        yield self.path_input
        yield self.choice_list
        yield self.message_label
        yield self.key_bar

    def on_mount(self) -> None:
        self._filter_choices("")
        self.path_input.focus()
        self.key_bar.action_context = ActionContext(typing=True)

    @on(Input.Changed)
    def handle_filter_changed(self, event: Input.Changed) -> None:
        self._filter_choices(event.value)

    def _filter_choices(self, query: str) -> None:
        words = query.lower().split()
        self.visible_choices = [item for item in self._choices if all(word in str(item.path).lower() for word in words)]
        self.choice_list.clear_options()
        group = ""
        for k, item in enumerate(self.visible_choices):
            if item.group != group:
                group = item.group
                self.choice_list.add_option(Option(Content.assemble((group, "bold")), disabled=True))
            self.choice_list.add_option(Option(self._choice_row(item), str(k)))
        self.choice_list.highlighted = 1 if self.visible_choices else None
        self.say("" if self.visible_choices or not query else f"enter opens {query}")

    def say(self, text: str, error: bool = False) -> None:
        self.message_label.update(Content(escape_unprintable(text)))

    def _choice_row(self, choice: ModelChoice) -> Content:
        width = max(20, self.size.width - 4)
        name = _fit_printable(choice.path.name, width - 2)
        note = _folder_text(choice.path) if choice.note is None else choice.note
        note_cells = width - 2 - max(_NAME_COLUMN_CELLS, cell_len(name) + 2)
        suffix = _fit_printable(note, note_cells) if note_cells > 8 else ""
        return Content.assemble(f"  {pad_to_width(name, _NAME_COLUMN_CELLS) if suffix else name}", (suffix, "$muted"))

    def on_resize(self) -> None:
        """Refit the rows to the width."""
        row = self.choice_list.highlighted
        self._filter_choices(self.path_input.value)
        self.choice_list.highlighted = (
            row if row is not None and row < self.choice_list.option_count else self.choice_list.highlighted
        )

    def action_choice(self, direction: str) -> None:
        self.choice_list.move_highlight(direction)

    @on(Input.Submitted)
    def handle_submitted(self) -> None:
        self.action_choose()

    def action_choose(self) -> None:
        """Open the typed path, else the highlighted model."""
        try:
            path = parse_path(self.path_input.value.strip())
        except UsageError as problem:
            self.say(str(problem))
            return
        row = self.choice_list.highlighted
        choice_id = None if row is None else self.choice_list.get_option_at_index(row).id
        if self.path_input.value.strip() and path.is_file():
            self.app.exit(path)
        elif choice_id is not None:
            self.app.exit(self.visible_choices[int(choice_id)].path)
        else:
            self.say(f"there is no file '{path}'")

    @on(OptionList.OptionSelected)
    def handle_option_selected(self, event: OptionList.OptionSelected) -> None:
        if event.option_id is not None:
            self.app.exit(self.visible_choices[int(event.option_id)].path)

    def action_leave(self) -> None:
        self.app.exit(None)
