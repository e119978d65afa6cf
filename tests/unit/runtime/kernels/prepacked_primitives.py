"""Evaluates primitives at once, as :class:`Eager` does, with constants laid out ahead, as they are bound."""

from __future__ import annotations

from typing import Any

from loopdbg.runtime.graph import Array
from loopdbg.runtime.ops.eager import EagerPrimitives


class PrepackedEager(EagerPrimitives):
    """See the module."""

    def constant_in_layout(self, x: Array, layout: Any) -> Array | None:
        prepared: Array = layout(x)
        return prepared
