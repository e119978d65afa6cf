"""Constant folding: lengths, counts, sizes."""

from __future__ import annotations

from collections.abc import Sequence

from ...graph import Array
from .layer import ILayer, ITensor
from .layer_lowering import fold_layer


def constant_value(tensor: ITensor | None) -> Array | None:
    """The value of a small tensor that follows from constants and known shapes alone; else None."""
    if tensor is None or tensor._layer is None:
        return None
    known: dict[ILayer, Sequence[Array | None]] = {}
    stack, entered = [tensor._layer], set()
    while stack:
        top = stack[-1]
        if top in known:
            stack.pop()
            continue
        folded = top.constant_outputs()
        if folded is None and top.FOLDABLE:
            pending = [t._layer for t in top._inputs if t and t._layer and t._layer not in known]
            if pending and top not in entered:
                entered.add(top)
                stack += pending
                continue
            # A layer that is still pending depends on its own output.
            arrays = [known.get(t._layer, {t._index: None})[t._index] if t and t._layer else None for t in top._inputs]
            if not any(t is not None and x is None for t, x in zip(top._inputs, arrays, strict=True)):
                folded = fold_layer(top, arrays)
        known[top] = folded or [None] * top.num_outputs
        stack.pop()
    return known[tensor._layer][tensor._index]


def constant_int(tensor: ITensor | None) -> int | None:
    """The value of a tensor that is one constant integer; else None."""
    array = constant_value(tensor)
    return int(array.reshape(())) if array is not None and array.size == 1 and array.dtype.kind in "iu" else None
