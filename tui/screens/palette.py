"""The palette: any action by its words."""

from __future__ import annotations

from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from ..actions import Action, Now, Place, at
from ..widgets.choice import ChoiceList
from .above import Above


def matching(actions: Sequence[Action], typed: str) -> list[Action]:
    """The actions in which all words typed are found, those first whose id or label begins with them."""
    words = typed.lower().split()
    told = {one.id: f"{one.id} {one.label} {one.help} {one.keys_text}".lower() for one in actions}
    found = [one for one in actions if all(word in told[one.id] for word in words)]
    start = "-".join(words)
    return sorted(found, key=lambda one: not (start and (one.id.startswith(start) or one.label.startswith(start))))


class PaletteScreen(Above[Action]):
    """A line to filter by and what is left; Enter or a click does it, escape nothing. What would not do anything now is
    not offered."""

    def __init__(self, actions: Sequence[Action], now: Now, place: Place = Place.PANES) -> None:
        super().__init__(Place.CHOICE, actions)
        self._offered = [one for one in at(place, actions) if one.does and one.applies(now)]
        self.shown: list[Action] = []
        self._line = Input(placeholder="what to do", compact=True, id="palette-line")
        self._list = ChoiceList(id="palette-list")

    def compose(self) -> ComposeResult:
        with Vertical(id="palette") as box:
            box.border_title = "All actions"
            yield self._line
            yield self._list
        yield self.keys

    def on_mount(self) -> None:
        self._filter("")
        self._line.focus()

    @on(Input.Changed)
    def changed(self, event: Input.Changed) -> None:
        """The filter."""
        self._filter(event.value)

    def _filter(self, typed: str) -> None:
        self.shown = matching(self._offered, typed)
        self._list.clear_options()
        for one in self.shown:
            self._list.add_option(Option(Content.assemble((f"{one.keys_text:<14}", "$accent"), one.help), one.id))
        self._list.highlighted = 0 if self.shown else None

    def action_choice(self, where: str) -> None:
        self._list.move(where)

    @on(Input.Submitted)
    def submitted(self) -> None:
        """Enter: what is highlighted."""
        self.action_choose()

    def action_choose(self) -> None:
        at = self._list.highlighted
        self.leave(self.shown[at] if at is not None and at < len(self.shown) else None)

    @on(OptionList.OptionSelected)
    def selected(self, event: OptionList.OptionSelected) -> None:
        """A click."""
        self.leave(self.shown[event.option_index])
