"""What rooms above do for the classes of rooms below: each under a name, imported when it is first asked for.

A class has a method, such as ``model.explain()``, whose work a room does that its own does not know. The package that
knows both says where that is; the class asks by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .errors import UsageError

_PLACES: dict[str, str] = {}


def register(**places: str) -> None:
    """Say where extensions are: name = ``package.module:function``."""
    _PLACES.update(places)


def extension(name: str) -> Callable[..., Any]:
    """The function of a name.

    Raises:
        UsageError: nobody has registered it.
    """
    if name not in _PLACES:
        raise UsageError(f"{name} needs the debugger: import loopdbg, and use what it gives")
    import importlib

    module, _, function = _PLACES[name].partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return found
