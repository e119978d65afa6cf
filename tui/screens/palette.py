"""The palette: any action by its words, pane by pane."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from ..actions import Action, Now, Place, at
from ..widgets.choice import ChoiceList
from ..widgets.line_input import LineInput
from .above import Above

#: What an action does begins at this cell, and has so many.
_COLUMN, _TEXT = 16, 58
#: Actions by what they are about: the title of a group, and those that would do something now.
Groups = Mapping[str, Sequence[Action]]


def matching(actions: Sequence[Action], typed: str) -> list[Action]:
    """The actions in which all words typed are found, those first whose id or label begins with them."""
    words = typed.lower().split()
    told = {one.id: f"{one.id} {one.label} {one.help} {one.keys_text}".lower() for one in actions}
    found = [one for one in actions if all(word in told[one.id] for word in words)]
    start = "-".join(words)
    return sorted(found, key=lambda one: not (start and (one.id.startswith(start) or one.label.startswith(start))))


def of_place(place: Place, actions: Iterable[Action], now: Now) -> Groups:
    """What can be done on a screen, chapter by chapter."""
    groups: dict[str, list[Action]] = {}
    for one in at(place, actions):
        if one.does and one.applies(now):
            groups.setdefault(str(one.section), []).append(one)
    return groups


def of_panes(actions: Sequence[Action], now: Now, panes: Mapping[str, tuple[str, Now]]) -> Groups:
    """What can be done on the panes: first what is about one of them, the one that has the focus before the others.
    ``panes``: by id, the name of each and what there would be if it had the focus."""
    own = {
        f"In the pane {name}": [
            one for one in at(Place.PANES, actions) if id in one.panes and one.does and one.applies(there)
        ]
        for id, (name, there) in sorted(panes.items(), key=lambda pane: pane[0] != now.pane)
    }
    others = of_place(Place.PANES, [one for one in actions if not one.panes], now)
    return {title: found for title, found in {**own, **others}.items() if found}


class PaletteScreen(Above[Action]):
    """A line to filter by and what is left; Enter or a click does it, escape nothing."""

    def __init__(self, actions: Sequence[Action], groups: Groups) -> None:
        super().__init__(Place.CHOICE, actions)
        self._group_of = {one.id: title for title, found in groups.items() for one in found}
        self._offered = [one for found in groups.values() for one in found]
        self.shown: list[Action] = []
        self._line = LineInput(placeholder="what to do", compact=True, id="palette-line")
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
        groups: dict[str, list[Action]] = {}
        for one in matching(self._offered, typed):
            groups.setdefault(self._group_of[one.id], []).append(one)
        self.shown = [one for found in groups.values() for one in found]
        self._list.clear_options()
        for title, found in groups.items():
            self._list.add_option(Option(Content.assemble((title, "bold $muted")), disabled=True))
            self._list.add_options(Option(_row(one), one.id) for one in found)
        self._list.highlighted = 1 if self.shown else None

    def action_choice(self, where: str) -> None:
        self._list.move(where)

    @on(Input.Submitted)
    def submitted(self) -> None:
        """Enter: what is highlighted."""
        self.action_choose()

    def action_choose(self) -> None:
        option = self._list.highlighted_option
        self.leave(self._called(option.id if option is not None else None))

    @on(OptionList.OptionSelected)
    def selected(self, event: OptionList.OptionSelected) -> None:
        """A click."""
        self.leave(self._called(event.option_id))

    def _called(self, id: str | None) -> Action | None:
        return next((one for one in self.shown if one.id == id), None)


def _row(one: Action) -> Content:
    """An action with its keys; what it does stays in its column."""
    told = f"\n{' ' * _COLUMN}".join(textwrap.wrap(one.help, _TEXT))
    return Content.assemble((f"  {one.keys_text} ".ljust(_COLUMN), "$accent"), told)
