"""The layer families: each module registers the network's ``add_...`` methods for its layers."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType


def import_layer_modules() -> None:
    """Import the modules of all families."""
    layer_modules()


def layer_modules() -> list[ModuleType]:
    """The modules of all families."""
    return [importlib.import_module(f".{module.name}", __package__) for module in pkgutil.iter_modules(__path__)]
