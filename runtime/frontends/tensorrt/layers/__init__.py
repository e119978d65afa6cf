"""The layer families, one a file: each registers the network's ``add_...`` for its layers."""

from __future__ import annotations

import importlib

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
)


def load() -> None:
    """Import all families."""
    for family in _FAMILIES:
        importlib.import_module(f".{family}", __package__)
