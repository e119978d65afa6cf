"""Registry of plugins: functions of upper packages by name, imported on first use, for classes of lower packages.

A method such as ``model.explain()`` is implemented by a package that its own must not import. A package that knows both
registers the entry point; the class loads it by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .errors import UsageError

_ENTRY_POINTS: dict[str, str] = {}


def register_plugins(**entry_points: str) -> None:
    """Register entry points: name = ``package.module:function``."""
    _ENTRY_POINTS.update(entry_points)


def load_plugin(name: str) -> Callable[..., Any]:
    """The function registered under a name.

    Raises:
        UsageError: the name is not registered.
    """
    if name not in _ENTRY_POINTS:
        raise UsageError(f"{name} needs the debugger: import loopdbg, and use what it gives")
    import importlib

    module, _, function = _ENTRY_POINTS[name].partition(":")
    plugin: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return plugin
