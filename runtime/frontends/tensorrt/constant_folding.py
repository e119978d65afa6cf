"""Constants that a network computes: lengths, counts, sizes."""

from __future__ import annotations

from collections.abc import Sequence

from ...graph import Array
from .layer import ILayer, ITensor
from .layer_lowering import fold_layer


def constant_value(tensor: ITensor | None) -> Array | None:
    """The value of a tensor that follows from constants and known shapes alone, if it is small; else None."""
    if tensor is None or tensor._layer is None:
        return None
    known: dict[ILayer, Sequence[Array | None]] = {}
    stack, entered = [tensor._layer], set()
    while stack:
        top = stack[-1]
        if top in known:
            stack.pop()
            continue
        found = top.constant_outputs()
        if found is None and top.FOLDABLE:
            waits = [t._layer for t in top._inputs if t and t._layer and t._layer not in known]
            if waits and top not in entered:
                entered.add(top)
                stack += waits
                continue
            # What still waits now is computed from its own output.
            given = [known.get(t._layer, {t._index: None})[t._index] if t and t._layer else None for t in top._inputs]
            if not any(t is not None and x is None for t, x in zip(top._inputs, given, strict=True)):
                found = fold_layer(top, given)
        known[top] = found or [None] * top.num_outputs
        stack.pop()
    return known[tensor._layer][tensor._index]


def constant_int(tensor: ITensor | None) -> int | None:
    """The same of a tensor that is one integer."""
    found = constant_value(tensor)
    return int(found.reshape(())) if found is not None and found.size == 1 and found.dtype.kind in "iu" else None
