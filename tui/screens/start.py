"""What ``loopdbg`` alone opens: models to choose from."""

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

from ...debugger.console.arguments import typed_path
from ...runtime.errors import UsageError
from ..actions import ACTIONS, Action, Place
from ..screen.lines import Role, fit_middle, line, pad
from ..screen.text import printable
from ..widgets.choice import ChoiceList
from ..widgets.line_input import LineInput
from .small import SmallApp


class Choice(NamedTuple):
    """A model that can be opened. ``told``: what is said of it, None for where it lies."""

    path: Path
    group: str
    told: str | None = None


#: Names have a column of so many cells.
_NAME = 28


def _folder(path: Path) -> str:
    """Where a file lies, from the home folder on where that is around it."""
    with contextlib.suppress(ValueError, RuntimeError):
        return str(Path("~") / path.parent.relative_to(Path.home()))
    return str(path.parent)


def _fitted(text: str, width: int) -> str:
    return line(*fit_middle([(printable(text), Role.PLAIN)], width)).text


class StartApp(SmallApp[Path]):
    """A list of models, a line to filter it by or to type a path into; the end is a path, or None."""

    def __init__(self, choices: Sequence[Choice], actions: Sequence[Action] = ACTIONS) -> None:
        super().__init__(Place.CHOICE, actions)
        self._choices = choices
        self.shown: list[Choice] = []
        self.line = LineInput(placeholder="a model, or a few letters of one of these", compact=True, id="start-line")
        self.list = ChoiceList(id="start-list")
        self.said = Static(id="start-said")

    def compose(self) -> ComposeResult:
        yield Static(Content.assemble(("loopdbg", "bold"), "  open a model"), id="start-head")
        yield self.line
        yield self.list
        yield self.said
        yield self.keys

    def on_mount(self) -> None:
        self._filter("")
        self.line.focus()
        self.look_around(typing=True)

    @on(Input.Changed)
    def changed(self, event: Input.Changed) -> None:
        """The filter."""
        self._filter(event.value)

    def _filter(self, typed: str) -> None:
        words = typed.lower().split()
        self.shown = [one for one in self._choices if all(word in str(one.path).lower() for word in words)]
        self.list.clear_options()
        group = ""
        for k, one in enumerate(self.shown):
            if one.group != group:
                group = one.group
                self.list.add_option(Option(Content.assemble((group, "bold")), disabled=True))
            self.list.add_option(Option(self._row(one), str(k)))
        self.list.highlighted = 1 if self.shown else None
        self.said.update("" if self.shown or not typed else Content(f"enter opens {printable(typed)}"))

    def _row(self, one: Choice) -> Content:
        width = max(20, self.size.width - 4)
        name = _fitted(one.path.name, width - 2)
        told = _folder(one.path) if one.told is None else one.told
        room = width - 2 - max(_NAME, cell_len(name) + 2)
        beside = _fitted(told, room) if room > 8 else ""
        return Content.assemble(f"  {pad(name, _NAME) if beside else name}", (beside, "$muted"))

    def on_resize(self) -> None:
        """Rows are as long as there is room for."""
        at = self.list.highlighted
        self._filter(self.line.value)
        self.list.highlighted = at if at is not None and at < self.list.option_count else self.list.highlighted

    def action_choice(self, where: str) -> None:
        self.list.move(where)

    @on(Input.Submitted)
    def submitted(self) -> None:
        """Enter."""
        self.action_choose()

    def action_choose(self) -> None:
        """Open the path that was typed, else what is highlighted."""
        try:
            typed = typed_path(self.line.value.strip())
        except UsageError as problem:
            self.said.update(Content(printable(str(problem))))
            return
        at = self.list.highlighted
        chosen = None if at is None else self.list.get_option_at_index(at).id
        if self.line.value.strip() and typed.is_file():
            self.exit(typed)
        elif chosen is not None:
            self.exit(self.shown[int(chosen)].path)
        else:
            self.said.update(Content(f"there is no file '{printable(str(typed))}'"))

    @on(OptionList.OptionSelected)
    def selected(self, event: OptionList.OptionSelected) -> None:
        """A click."""
        if event.option_id is not None:
            self.exit(self.shown[int(event.option_id)].path)

    def action_leave(self) -> None:
        self.exit(None)
