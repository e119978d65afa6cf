"""LSTM, GRU and RNN of ONNX: whole sequences, in one or both directions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ModelError
from .cells import (
    Activation,
    CellStep,
    Direction,
    GruStep,
    LstmStep,
    RnnStep,
    at,
    backwards_of,
    columns,
    inputs_product,
    named_activations,
    of_shape,
    run,
    swap,
)
from .registry import Floats, onnx
from .support import full

P = Any  # Primitives[T]; T is an array or a buffer description, and stays anonymous here
T = Any
#: (direction, R [gates * H, H], bias of one direction or None, activations) -> that direction's step
StepOf = Callable[[int, T, T | None, list[Activation]], CellStep]


@dataclass(frozen=True)
class Common:
    """The attributes that ONNX's three operators share."""

    names: Sequence[str] | None
    alphas: Floats | None
    betas: Floats | None
    direction: str
    hidden_size: int | None
    layout: int
    n_outputs: int

    def functions(self, defaults: Sequence[str]) -> list[list[Activation]]:
        """For each direction its activations."""
        count, each = len(backwards_of(self.direction)), len(defaults)
        names = list(self.names or list(defaults) * count)
        if len(names) != each * count:
            raise ModelError(f"{len(names)} activations instead of {each * count}")
        found = named_activations(names, self.alphas or (), self.betas or ())
        return [found[d * each : (d + 1) * each] for d in range(count)]


def _onnx_sequence(
    p: P, gates: int, defaults: Sequence[str], step: StepOf, inputs: Sequence[Any], common: Common
) -> tuple[T, ...]:
    """``inputs``: X [T, B, I], W [D, gates * H, I], R, B [D, 2 * gates * H], sequence_lens, initial states."""
    x, w, r, bias, lengths, *initial = inputs
    backwards = backwards_of(common.direction)
    functions = common.functions(defaults)
    if common.layout:
        x = swap(p, x, 0, 1)
        initial = [None if state is None else swap(p, state, 0, 1) for state in initial]
    hidden, batch, count = common.hidden_size or r.shape[-1], x.shape[1], len(backwards)
    of_shape(w, "W", (count, gates * hidden, x.shape[2]))
    of_shape(r, "R", (count, gates * hidden, hidden))
    directions = []
    for d, reverse in enumerate(backwards):
        own = None if bias is None else at(p, of_shape(bias, "B", (count, 2 * gates * hidden)), 0, d)
        stepper = step(d, at(p, r, 0, d), own, functions[d])
        total = None if own is None else _joined_bias(p, own, stepper, hidden)
        state = tuple(
            full(p, (batch, hidden), 0, x.dtype)
            if one is None
            else at(p, of_shape(one, "an initial state", (count, batch, hidden)), 0, d)
            for one in initial
        )
        directions.append(Direction(inputs_product(p, x, at(p, w, 0, d), total), stepper, state, reverse))
    y, states = run(p, directions, lengths)
    if common.layout:
        y = p.transpose(y, (2, 0, 1, 3))
        states = tuple(swap(p, state, 0, 1) for state in states)
    return (y, *states)[: common.n_outputs]


def _joined_bias(p: P, bias: T, step: CellStep, hidden: int) -> T:
    """Wb + Rb, without the part of Rb that the step adds itself."""
    size = bias.shape[0] // 2
    own, recurrent = columns(p, bias, 0, size), columns(p, bias, size, 2 * size)
    if isinstance(step, GruStep) and step.linear_before_reset:
        gates = (columns(p, recurrent, 0, 2 * hidden), (0,))
        recurrent = p.assemble((size,), bias.dtype, [gates], fill=0)
    return p.map(np.add, own, recurrent)


@onnx("LSTM")
def lstm(
    p: P,
    x: T,
    w: T,
    r: T,
    b: T | None = None,
    sequence_lens: T | None = None,
    initial_h: T | None = None,
    initial_c: T | None = None,
    peepholes: T | None = None,
    *,
    activations: Sequence[str] | None = None,
    activation_alpha: Floats | None = None,
    activation_beta: Floats | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    input_forget: int = 0,
    layout: int = 0,
    output_sequence: int = 1,
    n_outputs: int = 1,
) -> tuple[T, ...]:
    """Gates i, o, f, c; peepholes i, o, f. ``output_sequence`` (opset 1) only said whether Y is wanted."""

    def step(d: int, recurrence: T, bias: T | None, functions: list[Activation]) -> CellStep:
        peep = None
        if peepholes is not None:
            size = recurrence.shape[-1]
            row = at(p, peepholes, 0, d)
            peep = tuple(columns(p, row, k * size, (k + 1) * size) for k in range(3))
        return LstmStep(recurrence, functions, "iofc", peep, "f" if input_forget else "", clip)

    common = Common(activations, activation_alpha, activation_beta, direction, hidden_size, layout, n_outputs)
    inputs = (x, w, r, b, sequence_lens, initial_h, initial_c)
    return _onnx_sequence(p, 4, ("Sigmoid", "Tanh", "Tanh"), step, inputs, common)


@onnx("GRU")
def gru(
    p: P,
    x: T,
    w: T,
    r: T,
    b: T | None = None,
    sequence_lens: T | None = None,
    initial_h: T | None = None,
    *,
    activations: Sequence[str] | None = None,
    activation_alpha: Floats | None = None,
    activation_beta: Floats | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
    linear_before_reset: int = 0,
    output_sequence: int = 1,
    n_outputs: int = 1,
) -> tuple[T, ...]:
    """Gates z, r, h."""

    def step(d: int, recurrence: T, bias: T | None, functions: list[Activation]) -> CellStep:
        kept = None
        if linear_before_reset and bias is not None:
            size = recurrence.shape[-1]
            kept = columns(p, bias, 5 * size, 6 * size)
        return GruStep(recurrence, functions, bool(linear_before_reset), kept, clip)

    common = Common(activations, activation_alpha, activation_beta, direction, hidden_size, layout, n_outputs)
    return _onnx_sequence(p, 3, ("Sigmoid", "Tanh"), step, (x, w, r, b, sequence_lens, initial_h), common)


@onnx("RNN")
def rnn(
    p: P,
    x: T,
    w: T,
    r: T,
    b: T | None = None,
    sequence_lens: T | None = None,
    initial_h: T | None = None,
    *,
    activations: Sequence[str] | None = None,
    activation_alpha: Floats | None = None,
    activation_beta: Floats | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
    output_sequence: int = 1,
    n_outputs: int = 1,
) -> tuple[T, ...]:
    """The attribute's own default names activations for two directions; one direction takes the first."""
    names = None if activations is None else activations[: len(backwards_of(direction))]

    def step(d: int, recurrence: T, bias: T | None, functions: list[Activation]) -> CellStep:
        return RnnStep(recurrence, functions, clip)

    common = Common(names, activation_alpha, activation_beta, direction, hidden_size, layout, n_outputs)
    return _onnx_sequence(p, 1, ("Tanh",), step, (x, w, r, b, sequence_lens, initial_h), common)
