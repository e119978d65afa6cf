"""The layer families: each module registers the network's ``add_...`` methods for its layers."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType


def load_families() -> None:
    """Import the modules of all families."""
    family_modules()


def family_modules() -> list[ModuleType]:
    """The modules of all families."""
    return [importlib.import_module(f".{module.name}", __package__) for module in pkgutil.iter_modules(__path__)]
