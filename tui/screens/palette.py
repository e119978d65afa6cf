"""Command palette: actions by words, grouped by pane."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from ..actions import Action, ActionContext, ScreenKind, actions_of_screen, enabled_actions
from ..widgets.choice_list import ChoiceList
from ..widgets.line_input import LineInput
from .modal_base import ModalBase

#: The first cell and the width of the text column.
_TEXT_COLUMN, _TEXT_CELLS = 16, 58
#: The enabled actions by group title.
ActionGroups = Mapping[str, Sequence[Action]]


def matching_actions(actions: Sequence[Action], query: str) -> list[Action]:
    """The actions that contain all words of a query; matches at the start of an id or label first."""
    words = query.lower().split()
    texts = {a.id: f"{a.id} {a.label} {a.help} {a.keys_text}".lower() for a in actions}
    hits = [a for a in actions if all(word in texts[a.id] for word in words)]
    prefix = "-".join(words)
    return sorted(hits, key=lambda a: not (prefix and (a.id.startswith(prefix) or a.label.startswith(prefix))))


def screen_action_groups(kind: ScreenKind, actions: Iterable[Action], context: ActionContext) -> ActionGroups:
    """The enabled actions of a screen by section."""
    groups: dict[str, list[Action]] = {}
    for action in enabled_actions(actions_of_screen(kind, actions), context):
        if action.textual_action:
            groups.setdefault(str(action.section), []).append(action)
    return groups


def pane_action_groups(
    actions: Sequence[Action], context: ActionContext, panes: Mapping[str, tuple[str, ActionContext]]
) -> ActionGroups:
    """The enabled actions of the panes: pane-specific groups first, beginning with the pane in focus. ``panes``: by id
    the title of each pane, and the context if it had the focus."""
    own = {
        f"In the pane {name}": [
            action
            for action in enabled_actions(actions_of_screen(ScreenKind.PANES, actions), pane_context)
            if id in action.panes and action.textual_action
        ]
        for id, (name, pane_context) in sorted(panes.items(), key=lambda pane: pane[0] != context.pane)
    }
    others = screen_action_groups(ScreenKind.PANES, [action for action in actions if not action.panes], context)
    return {title: group for title, group in {**own, **others}.items() if group}


class PaletteScreen(ModalBase[Action]):
    """A filter line and the matching actions; the result is the chosen action, or None."""

    def __init__(self, actions: Sequence[Action], groups: ActionGroups) -> None:
        super().__init__(ScreenKind.CHOICE, actions)
        self._group_by_id = {action.id: title for title, group in groups.items() for action in group}
        self._all_actions = [action for group in groups.values() for action in group]
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
        self._filter_actions("")
        self._line.focus()

    @on(Input.Changed)
    def handle_filter_changed(self, event: Input.Changed) -> None:
        self._filter_actions(event.value)

    def _filter_actions(self, query: str) -> None:
        groups: dict[str, list[Action]] = {}
        for action in matching_actions(self._all_actions, query):
            groups.setdefault(self._group_by_id[action.id], []).append(action)
        self.visible_actions = [action for group in groups.values() for action in group]
        self._list.clear_options()
        for title, group in groups.items():
            self._list.add_option(Option(Content.assemble((title, "bold $muted")), disabled=True))
            self._list.add_options(Option(_action_row(action), action.id) for action in group)
        self._list.highlighted = 1 if self.visible_actions else None

    def action_choice(self, direction: str) -> None:
        self._list.move_highlight(direction)

    @on(Input.Submitted)
    def handle_submitted(self) -> None:
        self.action_choose()

    def action_choose(self) -> None:
        option = self._list.highlighted_option
        self.dismiss_once(self._action_by_id(option.id if option is not None else None))

    @on(OptionList.OptionSelected)
    def handle_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss_once(self._action_by_id(event.option_id))

    def _action_by_id(self, id: str | None) -> Action | None:
        return next((action for action in self.visible_actions if action.id == id), None)


def _action_row(action: Action) -> Content:
    """The row of an action: its keys, and its wrapped help in the text column."""
    text = f"\n{' ' * _TEXT_COLUMN}".join(textwrap.wrap(action.help, _TEXT_CELLS))
    return Content.assemble((f"  {action.keys_text} ".ljust(_TEXT_COLUMN), "$accent"), text)
