"""The one table of actions, the same with other keys, and what is made of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from textual.binding import Binding, BindingsMap

from ...runtime.errors import UsageError
from ...runtime.text import did_you_mean
from .. import config, user_state
from .action import Action, ActionContext, ScreenKind
from .key_names import key_name, parse_key
from .pane_actions import PANE_ACTIONS
from .screen_actions import SCREEN_ACTIONS

ACTIONS: tuple[Action, ...] = (*PANE_ACTIONS, *SCREEN_ACTIONS)


def actions_by_id(actions: Iterable[Action] = ACTIONS) -> dict[str, Action]:
    """The table by id."""
    return {action.id: action for action in actions}


def interrupt_key(actions: Iterable[Action], now: ActionContext) -> str:
    """What a person calls the key that interrupts what runs."""
    known = actions_by_id(actions)
    those = [
        one for name in ("stop", "stop-always", "interrupt") if (one := known[name]).keys and one.enabled_when(now)
    ]
    return key_name(those[0].keys[0]) if those else key_name("ctrl+c")


def actions_on(place: ScreenKind, actions: Iterable[Action] = ACTIONS) -> tuple[Action, ...]:
    """Those of one screen."""
    return tuple(one for one in actions if one.section.screen is place)


def screen_bindings(place: ScreenKind, actions: Iterable[Action]) -> BindingsMap:
    """The keys of a screen, for Textual."""
    return BindingsMap(
        Binding(",".join(one.keys), one.textual_action, one.label or one.id, show=False, priority=one.priority)
        for one in actions_on(place, actions)
        if one.keys and one.textual_action
    )


def remap_keys(keymap: Mapping[str, Sequence[str]]) -> tuple[Action, ...]:
    """The table with other keys, by id.

    Raises:
        UsageError: there is no such action or key, or two that can be meant at the same time have one key.
    """
    known = actions_by_id()
    for name in keymap:
        if name not in known or not known[name].textual_action:
            hint = did_you_mean(name, list(known), "'{}'", 3)
            raise UsageError(f"there is no action '{name}'{hint or '; docs/keys.md lists them'}")
    given = {name: _parse_keys(name, keys) for name, keys in keymap.items()}
    table = tuple(replace(one, keys=given[one.id]) if one.id in given else one for one in ACTIONS)
    for name in given:
        _reject_key_clash(actions_by_id(table)[name], table)
    return table


def configured_actions() -> tuple[Action, ...]:
    """The table with the keys of this person.

    Raises:
        UsageError: the keys that the config file sets make no sense.
    """
    keymap = user_state.keymap()
    try:
        return remap_keys(keymap)
    except UsageError as error:
        raise UsageError.with_location(str(config.config_path()), error) from error


def _parse_keys(name: str, written: Sequence[str]) -> tuple[str, ...]:
    try:
        return tuple(map(parse_key, written))
    except UsageError as error:
        raise UsageError.with_location(name, error) from None


def _reject_key_clash(changed: Action, table: Iterable[Action]) -> None:
    # Keys that mean something only now and then are shared on purpose.
    if changed.releases_key:
        return
    for other in actions_on(changed.section.screen, table):
        if (
            other.id == changed.id
            or other.releases_key
            or not other.textual_action
            or (other.panes and other.panes != changed.panes)
        ):
            continue
        both = set(other.keys) & set(changed.keys)
        if both:
            key = key_name(min(both))
            raise UsageError(f"'{changed.id}' and '{other.id}' both have the key {key}; give one of them another")
