"""The layer families: each module registers the network's ``add_...`` methods for its layers."""

from __future__ import annotations

import importlib
from types import ModuleType

_FAMILY_MODULES = (
    "constant",
    "elementwise",
    "pointwise",
    "shape",
    "slice",
    "concatenation",
    "fill",
    "reduce",
    "indexing",
    "matmul",
    "scale",
    "convolution",
    "resize",
    "nms",
    "quantize",
    "attention",
    "unsupported",
)


def load_families() -> None:
    """Import the modules of all families."""
    family_modules()


def family_modules() -> list[ModuleType]:
    """The modules of all families."""
    return [importlib.import_module(f".{family}", __package__) for family in _FAMILY_MODULES]
