"""What rooms above do for the classes of rooms below: each under a name, imported when it is first asked for.

A class has a method, such as ``model.explain()``, whose work a room does that its own does not know. The package that
knows both says where that is; the class asks by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .errors import UsageError

_ENTRY_POINTS: dict[str, str] = {}


def register_plugins(**places: str) -> None:
    """Say where extensions are: name = ``package.module:function``."""
    _ENTRY_POINTS.update(places)


def load_plugin(name: str) -> Callable[..., Any]:
    """The function of a name.

    Raises:
        UsageError: nobody has registered it.
    """
    if name not in _ENTRY_POINTS:
        raise UsageError(f"{name} needs the debugger: import loopdbg, and use what it gives")
    import importlib

    module, _, function = _ENTRY_POINTS[name].partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return found
