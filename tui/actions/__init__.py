"""The table of all user actions.

Key bindings, the key bar, the help, the palette, the keymap of the config file, and docs/keys.md derive from it.
"""

from .action import Action, ActionContext, ActionTarget, Condition, HelpSection, ScreenKind, enabled_actions
from .key_names import key_name, parse_key
from .pane_actions import PANE_KEYS
from .table import (
    ACTIONS,
    actions_by_id,
    actions_of_screen,
    configured_actions,
    interrupt_key,
    remap_keys,
    screen_bindings,
)

__all__ = [
    "ACTIONS",
    "PANE_KEYS",
    "Action",
    "ActionContext",
    "ActionTarget",
    "Condition",
    "HelpSection",
    "ScreenKind",
    "actions_by_id",
    "actions_of_screen",
    "configured_actions",
    "enabled_actions",
    "interrupt_key",
    "key_name",
    "parse_key",
    "remap_keys",
    "screen_bindings",
]
