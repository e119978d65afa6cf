"""Prologue and epilogue of loops that recurrent operators are lowered to (``frontends/recurrent``): initial states,
weights and outputs per direction, composed of primitives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ModelError
from ..record import record
from ..text import count_text
from .axis_arguments import shape_error
from .elementwise import where as choose
from .openvino_recurrent_cells import split_bias, split_peepholes
from .operator_helpers import full_constant
from .recurrent_cells import GATE_COUNTS, STATE_NAMES, CellStep, gate_weights, require_shape, slice_columns

#: Additional inputs of quantized weights.
QUANTIZED_INPUTS = ("W_scale", "W_zero", "R_scale", "R_zero")
P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any


@record(frozen=True)
class RecurrentLayout:
    """The tensor layout of a recurrent operator.

    ``batch_first``: X [B, T, I] and states [B, D, H], else X [T, B, I] and states [D, B, H].
    """

    kind: str
    directions: int
    batch_first: bool
    hidden_size: int | None
    #: W [D, I, gates * H] and R [D, H, gates * H], as in com.microsoft; else W [D, gates * H, I] and R [D, gates * H,
    #: H].
    reversed_direction: bool = False


def take_direction(p: P, x: T, axis: int, index: int) -> T:
    """``x`` at one index of an axis, which is removed."""
    starts = tuple(index if k == axis else 0 for k in range(x.ndim))
    extents = tuple(1 if k == axis else n for k, n in enumerate(x.shape))
    part = p.slice(x, starts, (1,) * x.ndim, extents)
    return p.reshape(part, (*x.shape[:axis], *x.shape[axis + 1 :]))


def initial_states(
    shape: RecurrentLayout, p: P, x: T, w: T, r: T, lengths: T | None, *others: T | None
) -> tuple[T, ...]:
    """The initial states [B, H] of every direction, by default zeros; with sequence lengths, followed by the mask of
    active sequences per step [T, B, 1]. ``others``: the given states, and other inputs of the operator.

    Raises:
        ModelError: shapes or lengths do not match.
    """
    count, gates = shape.directions, GATE_COUNTS[shape.kind]
    if x.ndim != 3:
        raise shape_error("X", x.shape, "needs three axes")
    batch, steps = (x.shape[0], x.shape[1]) if shape.batch_first else (x.shape[1], x.shape[0])
    if r.ndim != 3:
        raise shape_error("R", r.shape, "needs three axes")
    hidden = shape.hidden_size or r.shape[1 if shape.reversed_direction else 2]
    context = count_text(count, "direction") + f" of hidden size {hidden}"
    reason = f", as {context} and {count_text(x.shape[2], 'feature')} of X need; correct it, hidden_size or X"
    for weights, name, size in ((w, "W", x.shape[2]), (r, "R", hidden)):
        require_shape(
            weights,
            name,
            (count, *((size, gates * hidden) if shape.reversed_direction else (gates * hidden, size))),
            reason,
        )
    states = others[: len(STATE_NAMES[shape.kind])]
    reason = f", as {context} and a batch of {batch} need; correct it, or X"
    expected = (batch, count, hidden) if shape.batch_first else (count, batch, hidden)
    results = [
        full_constant(p, (batch, hidden), 0, x.dtype)
        if state is None
        else take_direction(p, require_shape(state, "an initial state", expected, reason), int(shape.batch_first), d)
        for d in range(count)
        for state in states
    ]
    if lengths is not None:
        length_values = p.value(lengths).reshape(-1)
        if length_values.shape != (batch,) or np.any(length_values < 0) or np.any(length_values > steps):
            raise ModelError(
                f"sequence lengths {length_values.tolist()} for a batch of {batch} and {steps} steps",
                name="sequence_lens",
                got=str(length_values.tolist()),
            )
        if not length_values.all():
            # Sequences of length 0 are unspecified; both runtimes give them zero states.
            nonempty = p.constant((length_values > 0)[:, None])
            results = [choose(p, nonempty, state, full_constant(p, (batch, hidden), 0, x.dtype)) for state in results]
        results.append(p.constant((length_values[None, :] > np.arange(steps)[:, None])[..., None]))
    return tuple(results)


def onnx_weights(p: P, step: CellStep, w: T, r: T, bias: T | None, peepholes: T | None) -> dict[str, T]:
    """The weights of a direction. B [2 * gates * H] is Wb and Rb, which are summed where the step adds both; peephole
    order is i, o, f."""
    hidden, size = r.shape[-1], r.shape[0]
    summed_bias = recurrent_bias = None
    if bias is not None:
        require_shape(bias, "B", (2 * size,))
        input_bias, recurrent = slice_columns(p, bias, 0, size), slice_columns(p, bias, size, 2 * size)
        if step.linear_before_reset:
            recurrent_bias = slice_columns(p, recurrent, 2 * hidden, size)
            gates = (slice_columns(p, recurrent, 0, 2 * hidden), (0,))
            recurrent = p.assemble((size,), bias.dtype, [gates], fill=0)
        summed_bias = p.map(np.add, input_bias, recurrent)
    return gate_weights(p, step, w, r, summed_bias, recurrent_bias, split_peepholes(p, peepholes, "iof", hidden))


def openvino_weights(p: P, step: CellStep, w: T, r: T, bias: T | None, peepholes: T | None) -> dict[str, T]:
    """The weights of a direction. Biases are already summed; peephole order is f, i, o."""
    hidden = r.shape[-1]
    summed_bias, recurrent_bias = split_bias(p, step, bias, hidden)
    if summed_bias is not None:
        require_shape(summed_bias, "B", (r.shape[0],))
    return gate_weights(p, step, w, r, summed_bias, recurrent_bias, split_peepholes(p, peepholes, "fio", hidden))


def quantized_weights(
    p: P, step: CellStep, w: T, r: T, bias: T | None, peepholes: T | None, *numbers: T | None
) -> dict[str, T]:
    """The integer weights [I, gates * H] and [H, gates * H] of a direction, with scales and zero points."""
    weights = onnx_weights(p, step, p.transpose(w, (1, 0)), p.transpose(r, (1, 0)), bias, peepholes)
    quantized = zip(QUANTIZED_INPUTS, numbers, strict=False)
    return {**weights, "W": w, "R": r, **{name: value for name, value in quantized if value is not None}}


def direction_weights(weights: Any, steps: Sequence[CellStep], p: P, *inputs: T | None) -> list[dict[str, T]]:
    """The weights of each direction by name; ``weights``: the system's function above; ``inputs``: its W, R, B,
    peepholes and further arguments."""
    for name, array, rank in zip("WRBP", inputs, (3, 3, 2, 2), strict=False):
        if array is not None and (array.ndim != rank or array.shape[0] != len(steps)):
            raise shape_error(name, array.shape, f"needs {rank} axes, and {len(steps)} directions on the first")
    return [
        weights(p, step, *(None if array is None else take_direction(p, array, 0, d) for array in inputs))
        for d, step in enumerate(steps)
    ]


def stack_directions(axis: int, p: P, *parts: T) -> T:
    """Stack the results of the directions along a new axis."""
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
