"""What stands before and behind the loops that a recurrent operator is read as (``frontends/recurrent``): initial
states, weights and outputs by direction, written over the primitives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ModelError
from ..record import record
from ..text import count_text
from .openvino_recurrent_cells import split_bias, split_peepholes
from .operator_helpers import full_constant
from .recurrent_cells import GATE_COUNTS, STATE_NAMES, CellStep, gate_weights, require_shape, slice_columns
from .where_clip import where as choose

#: What comes with weights that are whole numbers.
QUANTIZED_INPUTS = ("W_scale", "W_zero", "R_scale", "R_zero")
P = Any  # Primitives[T]; T is an array or a buffer description, and stays anonymous here
T = Any


@record(frozen=True)
class RecurrentLayout:
    """How the tensors of one recurrent operator lie, by its attributes.

    ``batch_first``: X [B, T, I] and states [B, D, H], otherwise X [T, B, I] and states [D, B, H].
    """

    kind: str
    directions: int
    batch_first: bool
    hidden_size: int | None
    #: W [D, I, gates * H] and R [D, H, gates * H], as com.microsoft has them; otherwise W [D, gates * H, I] and so on.
    reversed_direction: bool = False


def take_direction(p: P, x: T, axis: int, index: int) -> T:
    """``x`` at one index of an axis, which goes away."""
    starts = tuple(index if k == axis else 0 for k in range(x.ndim))
    extents = tuple(1 if k == axis else n for k, n in enumerate(x.shape))
    part = p.slice(x, starts, (1,) * x.ndim, extents)
    return p.reshape(part, (*x.shape[:axis], *x.shape[axis + 1 :]))


def initial_states(
    shape: RecurrentLayout, p: P, x: T, w: T, r: T, lengths: T | None, *others: T | None
) -> tuple[T, ...]:
    """Of every direction its initial states [B, H], zeros where none is given; behind them, if there are sequence
    lengths, which sequences reach each step [T, B, 1]. ``others``: the states as given, and what else the operator has.

    Raises:
        ModelError: shapes or lengths that do not fit.
    """
    count, gates = shape.directions, GATE_COUNTS[shape.kind]
    if x.ndim != 3:
        raise ModelError(f"X has shape {x.shape}; it needs three axes")
    batch, steps = (x.shape[0], x.shape[1]) if shape.batch_first else (x.shape[1], x.shape[0])
    if r.ndim != 3:
        raise ModelError(f"R has shape {r.shape}; it needs three axes")
    hidden = shape.hidden_size or r.shape[1 if shape.reversed_direction else 2]
    where = count_text(count, "direction") + f" of hidden size {hidden}"
    why = f", as {where} and {count_text(x.shape[2], 'feature')} of X need; correct it, hidden_size or X"
    for weights, name, size in ((w, "W", x.shape[2]), (r, "R", hidden)):
        require_shape(
            weights,
            name,
            (count, *((size, gates * hidden) if shape.reversed_direction else (gates * hidden, size))),
            why,
        )
    given = others[: len(STATE_NAMES[shape.kind])]
    why = f", as {where} and a batch of {batch} need; correct it, or X"
    expected = (batch, count, hidden) if shape.batch_first else (count, batch, hidden)
    found = [
        full_constant(p, (batch, hidden), 0, x.dtype)
        if state is None
        else take_direction(p, require_shape(state, "an initial state", expected, why), int(shape.batch_first), d)
        for d in range(count)
        for state in given
    ]
    if lengths is not None:
        own = p.value(lengths).reshape(-1)
        if own.shape != (batch,) or np.any(own < 0) or np.any(own > steps):
            raise ModelError(f"sequence lengths {own.tolist()} for a batch of {batch} and {steps} steps")
        if not own.all():
            # The texts are silent on sequences of no steps; both runtimes give them states of zeros.
            reached = p.constant((own > 0)[:, None])
            found = [choose(p, reached, state, full_constant(p, (batch, hidden), 0, x.dtype)) for state in found]
        found.append(p.constant((own[None, :] > np.arange(steps)[:, None])[..., None]))
    return tuple(found)


def onnx_weights(p: P, step: CellStep, w: T, r: T, bias: T | None, peepholes: T | None) -> dict[str, T]:
    """One direction's weights. B [2 * gates * H] is Wb and Rb, which are added where the step adds them both; peepholes
    are those of i, o, f."""
    hidden, size = r.shape[-1], r.shape[0]
    joined = kept = None
    if bias is not None:
        require_shape(bias, "B", (2 * size,))
        own, recurrent = slice_columns(p, bias, 0, size), slice_columns(p, bias, size, 2 * size)
        if step.linear_before_reset:
            kept = slice_columns(p, recurrent, 2 * hidden, size)
            gates = (slice_columns(p, recurrent, 0, 2 * hidden), (0,))
            recurrent = p.assemble((size,), bias.dtype, [gates], fill=0)
        joined = p.map(np.add, own, recurrent)
    return gate_weights(p, step, w, r, joined, kept, split_peepholes(p, peepholes, "iof", hidden))


def openvino_weights(p: P, step: CellStep, w: T, r: T, bias: T | None, peepholes: T | None) -> dict[str, T]:
    """One direction's weights. Biases are sums already; peepholes are those of f, i, o."""
    hidden = r.shape[-1]
    joined, kept = split_bias(p, step, bias, hidden)
    if joined is not None:
        require_shape(joined, "B", (r.shape[0],))
    return gate_weights(p, step, w, r, joined, kept, split_peepholes(p, peepholes, "fio", hidden))


def quantized_weights(
    p: P, step: CellStep, w: T, r: T, bias: T | None, peepholes: T | None, *numbers: T | None
) -> dict[str, T]:
    """One direction's weights, whole numbers [I, gates * H] and [H, gates * H]; behind them scales and zero points."""
    found = onnx_weights(p, step, p.transpose(w, (1, 0)), p.transpose(r, (1, 0)), bias, peepholes)
    named = zip(QUANTIZED_INPUTS, numbers, strict=False)
    return {**found, "W": w, "R": r, **{name: one for name, one in named if one is not None}}


def direction_weights(weights: Any, steps: Sequence[CellStep], p: P, *given: T | None) -> list[dict[str, T]]:
    """Of each direction its weights by name; ``weights``: the function above that the system has, ``given``: W, R, B,
    peepholes, and what else it takes."""
    for name, one, rank in zip("WRBP", given, (3, 3, 2, 2), strict=False):
        if one is not None and (one.ndim != rank or one.shape[0] != len(steps)):
            raise ModelError(
                f"{name} has shape {one.shape}; it needs {rank} axes, and {len(steps)} directions on the first"
            )
    return [
        weights(p, step, *(None if one is None else take_direction(p, one, 0, d) for one in given))
        for d, step in enumerate(steps)
    ]


def stack_directions(axis: int, p: P, *parts: T) -> T:
    """One tensor of what the directions gave, on a new axis."""
    first = parts[0].shape
    if len(parts) == 1:
        return p.reshape(parts[0], (*first[:axis], 1, *first[axis:]))
    pieces = [
        (
            p.reshape(part, (*first[:axis], 1, *first[axis:])),
            tuple(d if k == axis else 0 for k in range(len(first) + 1)),
        )
        for d, part in enumerate(parts)
    ]
    return p.assemble((*first[:axis], len(parts), *first[axis:]), parts[0].dtype, pieces)
