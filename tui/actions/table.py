"""The action table, its look-ups, and its remapping by the user's keymap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from textual.binding import Binding, BindingsMap

from ...runtime.errors import UsageError
from ...runtime.text import did_you_mean
from .. import config, user_state
from .action import Action, ScreenKind
from .key_names import key_name, parse_key
from .pane_actions import PANE_ACTIONS
from .screen_actions import SCREEN_ACTIONS

ACTIONS: tuple[Action, ...] = (*PANE_ACTIONS, *SCREEN_ACTIONS)


def actions_by_id(actions: Iterable[Action] = ACTIONS) -> dict[str, Action]:
    """The actions by id."""
    return {action.id: action for action in actions}


def interrupt_key(actions: Iterable[Action], typing: bool) -> str:
    """The displayed name of the key that interrupts the running command; ``typing``: an input line has the focus."""
    by_id = actions_by_id(actions)
    keys = [key for name in ("stop", "stop-always", "interrupt")[typing:] for key in by_id[name].keys[:1]]
    return key_name(keys[0] if keys else "ctrl+c")


def actions_of_screen(kind: ScreenKind, actions: Iterable[Action] = ACTIONS) -> tuple[Action, ...]:
    """The actions of one screen."""
    return tuple(action for action in actions if action.section.screen is kind)


def screen_bindings(kind: ScreenKind, actions: Iterable[Action]) -> BindingsMap:
    """Textual's bindings of a screen."""
    return BindingsMap(
        Binding(",".join(a.keys), a.textual_action, a.label or a.id, show=False, priority=a.priority)
        for a in actions_of_screen(kind, actions)
        if a.keys and a.textual_action
    )


def remap_keys(keymap: Mapping[str, Sequence[str]]) -> tuple[Action, ...]:
    """The action table with remapped keys, given by action id.

    Raises:
        UsageError: an action or a key does not exist, or two actions bound at the same time share a key.
    """
    by_id = actions_by_id()
    for name in keymap:
        if name not in by_id or not by_id[name].textual_action:
            hint = did_you_mean(name, list(by_id), "'{}'", 3)
            raise UsageError(
                f"there is no action '{name}'{hint or '; docs/keys.md lists them'}", name=name, expected="an action"
            )
    new_keys = {name: _parse_keys(name, keys) for name, keys in keymap.items()}
    table = tuple(replace(action, keys=new_keys[action.id]) if action.id in new_keys else action for action in ACTIONS)
    for name in new_keys:
        _reject_key_clash(actions_by_id(table)[name], table)
    return table


def configured_actions() -> tuple[Action, ...]:
    """The action table with the user's keys.

    Raises:
        UsageError: the keymap of the config file is invalid.
    """
    keymap = user_state.keymap()
    try:
        return remap_keys(keymap)
    except UsageError as error:
        raise UsageError.with_location(str(config.config_path()), error) from error


def _parse_keys(name: str, texts: Sequence[str]) -> tuple[str, ...]:
    try:
        return tuple(map(parse_key, texts))
    except UsageError as error:
        raise UsageError.with_location(name, error) from None


def _reject_key_clash(changed: Action, table: Iterable[Action]) -> None:
    # Actions that release their key may share it.
    if changed.releases_key:
        return
    for other in actions_of_screen(changed.section.screen, table):
        if (
            other.id == changed.id
            or other.releases_key
            or not other.textual_action
            or (other.panes and other.panes != changed.panes)
        ):
            continue
        common = set(other.keys) & set(changed.keys)
        if common:
            key = key_name(min(common))
            raise UsageError(
                f"'{changed.id}' and '{other.id}' both have the key {key}; give one of them another",
                name=changed.id,
                expected="a key of its own",
                got=key,
            )
