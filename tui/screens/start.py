"""What ``loopdbg`` alone opens: models to choose from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from ..actions import ACTIONS, Action, Place
from ..screen.text import printable
from ..widgets.choice import ChoiceList
from .small import SmallApp


class Choice(NamedTuple):
    """A model that can be opened. ``told``: what is said of it."""

    path: Path
    group: str
    told: str = ""


class StartApp(SmallApp[Path]):
    """A list of models, a line to filter it by or to type a path into; the end is a path, or None."""

    def __init__(self, choices: Sequence[Choice], actions: Sequence[Action] = ACTIONS) -> None:
        super().__init__(Place.CHOICE, actions)
        self._choices = choices
        self.shown: list[Choice] = []
        self.line = Input(placeholder="a model, or a few letters of one of these", compact=True, id="start-line")
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
        for one in self.shown:
            if one.group != group:
                group = one.group
                self.list.add_option(Option(Content.assemble((group, "bold")), disabled=True))
            name, folder = printable(one.path.name), printable(one.told or str(one.path.parent))
            self.list.add_option(Option(Content.assemble(f"  {name:<28}", (folder, "$muted")), str(one.path)))
        self.list.highlighted = 1 if self.shown else None
        self.said.update("" if self.shown or not typed else Content(f"enter opens {printable(typed)}"))

    def action_choice(self, where: str) -> None:
        self.list.move(where)

    @on(Input.Submitted)
    def submitted(self) -> None:
        """Enter."""
        self.action_choose()

    def action_choose(self) -> None:
        """Open the path that was typed, else what is highlighted."""
        typed = Path(self.line.value.strip()).expanduser()
        at = self.list.highlighted
        chosen = None if at is None else self.list.get_option_at_index(at).id
        if self.line.value.strip() and typed.is_file():
            self.exit(typed)
        elif chosen is not None:
            self.exit(Path(chosen))
        else:
            self.said.update(Content(f"there is no file '{printable(str(typed))}'"))

    @on(OptionList.OptionSelected)
    def selected(self, event: OptionList.OptionSelected) -> None:
        """A click."""
        if event.option_id is not None:
            self.exit(Path(event.option_id))

    def action_leave(self) -> None:
        self.exit(None)
