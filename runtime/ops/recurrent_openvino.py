"""The recurrent cells and sequences of OpenVINO.

Biases are sums already. The gates' order in the weights is f, i, c, o for LSTM and z, r, h for GRU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

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
from .registry import Floats, openvino

P = Any  # Primitives[T]; T is an array or a buffer description, and stays anonymous here
T = Any


def _functions(names: str, alphas: Floats, betas: Floats, count: int) -> list[Activation]:
    listed = names.replace(" ", "").split(",")
    if len(listed) != count:
        raise ModelError(f'activations="{names}" names {len(listed)} functions instead of {count}')
    return named_activations(listed, alphas, betas)


def _hidden_size(state: T, hidden_size: int | None) -> int:
    if hidden_size is not None and hidden_size != state.shape[-1]:
        raise ModelError(f"hidden_size is {hidden_size}, and the state has shape {state.shape}")
    return int(state.shape[-1])


def _split_bias(p: P, bias: T | None, hidden: int, linear_before_reset: bool) -> tuple[T | None, T | None]:
    """A GRU's bias: z, r, h together, and h's recurrent part."""
    if bias is None or not linear_before_reset:
        return bias, None
    of_shape(bias, "B", (4 * hidden,))
    return columns(p, bias, 0, 3 * hidden), columns(p, bias, 3 * hidden, 4 * hidden)


def _cell(p: P, gates: int, x: T, w: T, bias: T | None, step: CellStep, state: tuple[T, ...], r: T) -> tuple[T, ...]:
    """One step of a cell on X [B, I]."""
    hidden = state[0].shape[-1]
    of_shape(w, "W", (gates * hidden, x.shape[-1]))
    of_shape(r, "R", (gates * hidden, hidden))
    if bias is not None:
        of_shape(bias, "B", (gates * hidden,))
    if isinstance(x, _Multiplied):
        return step(p, x.products, state)
    if isinstance(x, _Input):
        return (inputs_product(p, x.x, w, bias),)
    return step(p, inputs_product(p, x, w, bias), state)


# --- A cell in two halves: what the input alone decides can be computed for many steps at once (plan/rows_ahead.py).

#: How many states a cell has; they stand between X and the weights.
STATES = {"lstmcell": 2, "grucell": 1, "rnncell": 1}


@dataclass(frozen=True)
class _Input:
    """X where a cell is to give no more than its products with W, biases added."""

    x: T

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.x.shape)


@dataclass(frozen=True)
class _Multiplied:
    """X where these products are known. ``shape`` is X's."""

    products: T
    shape: tuple[int, ...]


@dataclass(frozen=True)
class _Like:
    """A state of which only the shape is known."""

    shape: tuple[int, ...]


def _hidden_of(r: T, keywords: Mapping[str, Any]) -> int:
    """The hidden size: R's width, or as the cell says where R is joined to W."""
    size = r.shape[-1] if r.ndim > 1 else keywords.get("hidden_size")
    if size is None:
        raise ModelError("a cell whose W and R are joined needs its attribute hidden_size")
    return int(size)


def input_half(function: Callable[..., Any], states: int, p: P, x: T, *weights: T, **keywords: Any) -> T:
    """Of a cell: X's products, from X and the weights."""
    like = _Like((1, _hidden_of(weights[1], keywords)))
    return function(p, _Input(x), *[like] * states, *weights, **keywords)[0]


def state_half(function: Callable[..., Any], states: int, p: P, products: T, *others: T, **keywords: Any) -> Any:
    """The rest of the cell, from X's products, the states and the weights."""
    w, r = others[states : states + 2]
    width = w.shape[-1] if r.ndim > 1 else w.shape[-1] - _hidden_of(r, keywords)
    return function(p, _Multiplied(products, (*products.shape[:-1], width)), *others, **keywords)


@openvino("LSTMCell")
def lstm_cell(
    p: P,
    x: T,
    initial_h: T,
    initial_c: T,
    w: T,
    r: T,
    b: T | None = None,
    peepholes: T | None = None,
    *,
    hidden_size: int | None = None,
    activations: str = "sigmoid,tanh,tanh",
    activations_alpha: Floats = (),
    activations_beta: Floats = (),
    clip: float = 0.0,
    input_forget: bool = False,
) -> tuple[T, ...]:
    """The sixth input is optional. The written specification's TensorIterator example has another form with five: W
    and R joined [4H, I + H], and B. Opset 1 could have peepholes f, i, o and ``input_forget`` (i = 1 - f). What its
    ``weights_format`` says is without effect: OpenVINO writes ifco there, and reads the weights as f, i, c, o.
    """
    hidden = _hidden_size(initial_h, hidden_size)
    if b is None and r.ndim == 1:
        b = r
        of_shape(w, "joined W and R", (4 * hidden, x.shape[-1] + hidden))
        w, r = columns(p, w, 0, x.shape[-1]), columns(p, w, x.shape[-1], x.shape[-1] + hidden)
    peep = None
    if peepholes is not None:
        forget, enter, leave = (columns(p, peepholes, k * hidden, (k + 1) * hidden) for k in range(3))
        peep = (enter, leave, forget)
    functions = _functions(activations, activations_alpha, activations_beta, 3)
    step = LstmStep(r, functions, "fico", peep, "i" if input_forget else "", clip)
    return _cell(p, 4, x, w, b, step, (initial_h, initial_c), r)


@openvino("GRUCell", since=3)
def gru_cell(
    p: P,
    x: T,
    initial_h: T,
    w: T,
    r: T,
    b: T | None = None,
    *,
    hidden_size: int | None = None,
    activations: str = "sigmoid,tanh",
    activations_alpha: Floats = (),
    activations_beta: Floats = (),
    clip: float = 0.0,
    linear_before_reset: bool = False,
) -> tuple[T, ...]:
    hidden = _hidden_size(initial_h, hidden_size)
    bias, kept = _split_bias(p, b, hidden, linear_before_reset)
    functions = _functions(activations, activations_alpha, activations_beta, 2)
    return _cell(p, 3, x, w, bias, GruStep(r, functions, linear_before_reset, kept, clip), (initial_h,), r)


@openvino("RNNCell")
def rnn_cell(
    p: P,
    x: T,
    initial_h: T,
    w: T,
    r: T,
    b: T | None = None,
    *,
    hidden_size: int | None = None,
    activations: str = "tanh",
    activations_alpha: Floats = (),
    activations_beta: Floats = (),
    clip: float = 0.0,
) -> tuple[T, ...]:
    _hidden_size(initial_h, hidden_size)
    functions = _functions(activations, activations_alpha, activations_beta, 1)
    return _cell(p, 1, x, w, b, RnnStep(r, functions, clip), (initial_h,), r)


def _openvino_sequence(
    p: P,
    x: T,
    states: tuple[T, ...],
    lengths: T,
    weights: tuple[T, T, T],
    direction: str,
    step: Callable[[T, T], tuple[CellStep, T]],
) -> tuple[T, ...]:
    """X [B, T, I], states [B, D, H], W [D, gates * H, I], R, B. ``step(R, B)``: the step, and the bias of its input."""
    x = swap(p, x, 0, 1)
    directions = []
    for d, reverse in enumerate(backwards_of(direction)):
        w, r, b = (at(p, weight, 0, d) for weight in weights)
        stepper, bias = step(r, b)
        state = tuple(at(p, one, 1, d) for one in states)
        directions.append(Direction(inputs_product(p, x, w, bias), stepper, state, reverse))
    y, last = run(p, directions, lengths)
    return (p.transpose(y, (2, 1, 0, 3)), *(swap(p, state, 0, 1) for state in last))


@openvino("LSTMSequence", since=5)
def lstm_sequence(
    p: P,
    x: T,
    initial_h: T,
    initial_c: T,
    sequence_lengths: T,
    w: T,
    r: T,
    b: T,
    *,
    direction: str,
    hidden_size: int | None = None,
    activations: str = "sigmoid,tanh,tanh",
    activations_alpha: Floats = (),
    activations_beta: Floats = (),
    clip: float = 0.0,
) -> tuple[T, ...]:
    _hidden_size(initial_h, hidden_size)
    functions = _functions(activations, activations_alpha, activations_beta, 3)

    def step(recurrence: T, bias: T) -> tuple[CellStep, T]:
        return LstmStep(recurrence, functions, "fico", clip=clip), bias

    return _openvino_sequence(p, x, (initial_h, initial_c), sequence_lengths, (w, r, b), direction, step)


@openvino("GRUSequence", since=5)
def gru_sequence(
    p: P,
    x: T,
    initial_h: T,
    sequence_lengths: T,
    w: T,
    r: T,
    b: T,
    *,
    direction: str,
    hidden_size: int | None = None,
    activations: str = "sigmoid,tanh",
    activations_alpha: Floats = (),
    activations_beta: Floats = (),
    clip: float = 0.0,
    linear_before_reset: bool = False,
) -> tuple[T, ...]:
    hidden = _hidden_size(initial_h, hidden_size)
    functions = _functions(activations, activations_alpha, activations_beta, 2)

    def step(recurrence: T, bias: T) -> tuple[CellStep, T]:
        joined, kept = _split_bias(p, bias, hidden, linear_before_reset)
        return GruStep(recurrence, functions, linear_before_reset, kept, clip), joined

    return _openvino_sequence(p, x, (initial_h,), sequence_lengths, (w, r, b), direction, step)


@openvino("RNNSequence", since=5)
def rnn_sequence(
    p: P,
    x: T,
    initial_h: T,
    sequence_lengths: T,
    w: T,
    r: T,
    b: T,
    *,
    direction: str,
    hidden_size: int | None = None,
    activations: str = "tanh",
    activations_alpha: Floats = (),
    activations_beta: Floats = (),
    clip: float = 0.0,
) -> tuple[T, ...]:
    _hidden_size(initial_h, hidden_size)
    functions = _functions(activations, activations_alpha, activations_beta, 1)

    def step(recurrence: T, bias: T) -> tuple[CellStep, T]:
        return RnnStep(recurrence, functions, clip), bias

    return _openvino_sequence(p, x, (initial_h,), sequence_lengths, (w, r, b), direction, step)
