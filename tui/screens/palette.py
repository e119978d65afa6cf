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

from ..actions import Action, ActionContext, ScreenKind, actions_on
from ..widgets.choice_list import ChoiceList
from ..widgets.line_input import LineInput
from .modal_base import ModalBase

#: What an action does begins at this cell, and has so many.
_TEXT_COLUMN, _TEXT_CELLS = 16, 58
#: Actions by what they are about: the title of a group, and those that would do something now.
ActionGroups = Mapping[str, Sequence[Action]]


def matching_actions(actions: Sequence[Action], typed: str) -> list[Action]:
    """The actions in which all words typed are found, those first whose id or label begins with them."""
    words = typed.lower().split()
    told = {one.id: f"{one.id} {one.label} {one.help} {one.keys_text}".lower() for one in actions}
    found = [one for one in actions if all(word in told[one.id] for word in words)]
    start = "-".join(words)
    return sorted(found, key=lambda one: not (start and (one.id.startswith(start) or one.label.startswith(start))))


def screen_action_groups(place: ScreenKind, actions: Iterable[Action], now: ActionContext) -> ActionGroups:
    """What can be done on a screen, chapter by chapter."""
    groups: dict[str, list[Action]] = {}
    for one in actions_on(place, actions):
        if one.textual_action and one.is_enabled(now):
            groups.setdefault(str(one.section), []).append(one)
    return groups


def pane_action_groups(
    actions: Sequence[Action], now: ActionContext, panes: Mapping[str, tuple[str, ActionContext]]
) -> ActionGroups:
    """What can be done on the panes: first what is about one of them, the one that has the focus before the others.
    ``panes``: by id, the name of each and what there would be if it had the focus."""
    own = {
        f"In the pane {name}": [
            one
            for one in actions_on(ScreenKind.PANES, actions)
            if id in one.panes and one.textual_action and one.is_enabled(there)
        ]
        for id, (name, there) in sorted(panes.items(), key=lambda pane: pane[0] != now.pane)
    }
    others = screen_action_groups(ScreenKind.PANES, [one for one in actions if not one.panes], now)
    return {title: found for title, found in {**own, **others}.items() if found}


class PaletteScreen(ModalBase[Action]):
    """A line to filter by and what is left; Enter or a click does it, escape nothing."""

    def __init__(self, actions: Sequence[Action], groups: ActionGroups) -> None:
        super().__init__(ScreenKind.CHOICE, actions)
        self._group_by_id = {one.id: title for title, found in groups.items() for one in found}
        self._all_actions = [one for found in groups.values() for one in found]
        self.visible_actions: list[Action] = []
        self._line = LineInput(placeholder="what to do", compact=True, id="palette-line")
        self._list = ChoiceList(id="palette-list")

    def compose(self) -> ComposeResult:
        with Vertical(id="palette") as box:
            box.border_title = "All actions"
            yield self._line
            yield self._list
        yield self.key_bar

    def on_mount(self) -> None:
        self._filter("")
        self._line.focus()

    @on(Input.Changed)
    def handle_filter_changed(self, event: Input.Changed) -> None:
        """The filter."""
        self._filter(event.value)

    def _filter(self, typed: str) -> None:
        groups: dict[str, list[Action]] = {}
        for one in matching_actions(self._all_actions, typed):
            groups.setdefault(self._group_by_id[one.id], []).append(one)
        self.visible_actions = [one for found in groups.values() for one in found]
        self._list.clear_options()
        for title, found in groups.items():
            self._list.add_option(Option(Content.assemble((title, "bold $muted")), disabled=True))
            self._list.add_options(Option(_action_row(one), one.id) for one in found)
        self._list.highlighted = 1 if self.visible_actions else None

    def action_choice(self, where: str) -> None:
        self._list.move(where)

    @on(Input.Submitted)
    def handle_submitted(self) -> None:
        """Enter: what is highlighted."""
        self.action_choose()

    def action_choose(self) -> None:
        option = self._list.highlighted_option
        self.dismiss_once(self._action_by_id(option.id if option is not None else None))

    @on(OptionList.OptionSelected)
    def handle_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click."""
        self.dismiss_once(self._action_by_id(event.option_id))

    def _action_by_id(self, id: str | None) -> Action | None:
        return next((one for one in self.visible_actions if one.id == id), None)


def _action_row(one: Action) -> Content:
    """An action with its keys; what it does stays in its column."""
    told = f"\n{' ' * _TEXT_COLUMN}".join(textwrap.wrap(one.help, _TEXT_CELLS))
    return Content.assemble((f"  {one.keys_text} ".ljust(_TEXT_COLUMN), "$accent"), told)
