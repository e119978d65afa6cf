"""The modules with models, in the order of the table."""

from __future__ import annotations

import importlib

FAMILIES = ("recurrent", "transformers", "sequence", "vision", "detection", "numerical", "small")


def load() -> None:
    """Import them, which registers their models."""
    for name in FAMILIES:
        importlib.import_module(f"real.{name}")
