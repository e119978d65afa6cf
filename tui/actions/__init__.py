"""Everything that a person can do on a screen, in one table.

Key bindings, the line of keys at the foot, the help, the palette, what a config file may remap, and docs/keys.md come
from it; what is not in it cannot be done.
"""

from .action import Action, Looking, Now, Place, Section
from .keys import key_name, key_of
from .panes import PANES
from .table import ACTIONS, at, bindings, by_id, chosen, interrupt_key, remapped

__all__ = [
    "ACTIONS",
    "PANES",
    "Action",
    "Looking",
    "Now",
    "Place",
    "Section",
    "at",
    "bindings",
    "by_id",
    "chosen",
    "interrupt_key",
    "key_name",
    "key_of",
    "remapped",
]
