"""Everything that a person can do on a screen, in one table.

Key bindings, the line of keys at the foot, the help, the palette, what a config file may remap, and docs/keys.md come
from it; what is not in it cannot be done.
"""

from .action import Action, ActionContext, HelpSection, InspectorContext, ScreenKind
from .key_names import key_name, parse_key
from .pane_actions import PANES
from .table import ACTIONS, actions_by_id, actions_on, configured_actions, interrupt_key, remap_keys, screen_bindings

__all__ = [
    "ACTIONS",
    "PANES",
    "Action",
    "ActionContext",
    "HelpSection",
    "InspectorContext",
    "ScreenKind",
    "actions_by_id",
    "actions_on",
    "configured_actions",
    "interrupt_key",
    "key_name",
    "parse_key",
    "remap_keys",
    "screen_bindings",
]
