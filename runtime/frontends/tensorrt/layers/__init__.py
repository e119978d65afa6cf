"""The layer families, one a file: each registers the network's ``add_...`` for its layers."""

from __future__ import annotations

import importlib
from types import ModuleType

_FAMILIES = (
    "constant",
    "elementwise",
    "pointwise",
    "shape",
    "slice",
    "join",
    "fill",
    "reduce",
    "indexing",
    "products",
    "scale",
    "convolution",
    "resize",
    "boxes",
    "quantize",
    "attention",
    "refused",
)


def load() -> None:
    """Import all families."""
    modules()


def modules() -> list[ModuleType]:
    """All families."""
    return [importlib.import_module(f".{family}", __package__) for family in _FAMILIES]
