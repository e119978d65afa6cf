"""The one table of actions, the same with other keys, and what is made of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from textual.binding import Binding, BindingsMap

from ...runtime.errors import UsageError
from ...runtime.text import did_you_mean
from .. import config, settings
from .action import Action, Now, Place
from .keys import key_name, key_of
from .others import ELSEWHERE
from .panes import ON_PANES

ACTIONS: tuple[Action, ...] = (*ON_PANES, *ELSEWHERE)


def by_id(actions: Iterable[Action] = ACTIONS) -> dict[str, Action]:
    """The table by id."""
    return {action.id: action for action in actions}


def interrupt_key(actions: Iterable[Action], now: Now) -> str:
    """What a person calls the key that interrupts what runs."""
    known = by_id(actions)
    those = [one for name in ("stop", "stop-always", "interrupt") if (one := known[name]).keys and one.when(now)]
    return key_name(those[0].keys[0]) if those else key_name("ctrl+c")


def at(place: Place, actions: Iterable[Action] = ACTIONS) -> tuple[Action, ...]:
    """Those of one screen."""
    return tuple(one for one in actions if one.section.place is place)


def bindings(place: Place, actions: Iterable[Action]) -> BindingsMap:
    """The keys of a screen, for Textual."""
    return BindingsMap(
        Binding(",".join(one.keys), one.does, one.label or one.id, show=False, priority=one.first)
        for one in at(place, actions)
        if one.keys and one.does
    )


def remapped(keymap: Mapping[str, Sequence[str]]) -> tuple[Action, ...]:
    """The table with other keys, by id.

    Raises:
        UsageError: there is no such action or key, or two that can be meant at the same time have one key.
    """
    known = by_id()
    for name in keymap:
        if name not in known or not known[name].does:
            hint = did_you_mean(name, list(known), "'{}'", 3)
            raise UsageError(f"there is no action '{name}'{hint or '; docs/keys.md lists them'}")
    given = {name: _keys(name, keys) for name, keys in keymap.items()}
    table = tuple(replace(one, keys=given[one.id]) if one.id in given else one for one in ACTIONS)
    for name in given:
        _refuse_clash(by_id(table)[name], table)
    return table


def chosen() -> tuple[Action, ...]:
    """The table with the keys of this person.

    Raises:
        UsageError: the keys that the config file sets make no sense.
    """
    keymap = settings.keymap()
    try:
        return remapped(keymap)
    except UsageError as error:
        raise UsageError.at(str(config.file()), error) from error


def _keys(name: str, written: Sequence[str]) -> tuple[str, ...]:
    try:
        return tuple(map(key_of, written))
    except UsageError as error:
        raise UsageError.at(name, error) from None


def _refuse_clash(changed: Action, table: Iterable[Action]) -> None:
    # Keys that mean something only now and then are shared on purpose.
    if changed.only:
        return
    for other in at(changed.section.place, table):
        if other.id == changed.id or other.only or not other.does or (other.panes and other.panes != changed.panes):
            continue
        both = set(other.keys) & set(changed.keys)
        if both:
            key = key_name(min(both))
            raise UsageError(f"'{changed.id}' and '{other.id}' both have the key {key}; give one of them another")
