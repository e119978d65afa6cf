"""The recurrent cells of OpenVINO: one time step each. Sequences are read as loops (``frontends/recurrent``).

Biases are sums already. The gates' order in the weights is f, i, c, o for LSTM and z, r, h for GRU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..errors import ModelError
from ..record import record
from .recurrent_cells import (
    GATE_COUNTS,
    CellActivation,
    CellStep,
    PrimitiveCellOps,
    gate_weights,
    parse_activations,
    require_shape,
    slice_columns,
)
from .registry import Floats, inherit_attributes, openvino

P = Any  # Primitives[T]; T is an array or a buffer description, and stays anonymous here
T = Any


@record(frozen=True)
class CellAttributes:
    """The attributes of every recurrent cell and sequence of OpenVINO."""

    hidden_size: int | None = None
    activations_alpha: Floats = ()
    activations_beta: Floats = ()
    clip: float = 0.0

    def functions(self, names: str, count: int) -> list[CellActivation]:
        """The functions that an attribute ``activations`` names; there have to be ``count``."""
        listed = names.replace(" ", "").split(",")
        if len(listed) != count:
            raise ModelError(f'activations="{names}" names {len(listed)} functions instead of {count}')
        return parse_activations(listed, self.activations_alpha, self.activations_beta)

    def hidden_size_of(self, state: T) -> int:
        """The size of a state, which the attribute may say as well."""
        if self.hidden_size is not None and self.hidden_size != state.shape[-1]:
            raise ModelError(f"hidden_size is {self.hidden_size}, and the state has shape {state.shape}")
        return int(state.shape[-1])


def split_bias(p: P, step: CellStep, bias: T | None, hidden: int) -> tuple[T | None, T | None]:
    """A GRU's bias: z, r, h together, and h's recurrent part."""
    if bias is None or not step.linear_before_reset:
        return bias, None
    require_shape(bias, "B", (4 * hidden,))
    return slice_columns(p, bias, 0, 3 * hidden), slice_columns(p, bias, 3 * hidden, 4 * hidden)


def split_peepholes(p: P, peepholes: T | None, order: str, hidden: int) -> dict[str, T]:
    """An LSTM's peepholes by gate."""
    if peepholes is None:
        return {}
    require_shape(peepholes, "P", (len(order) * hidden,))
    return {name: slice_columns(p, peepholes, k * hidden, (k + 1) * hidden) for k, name in enumerate(order)}


def _cell(
    p: P,
    step: CellStep,
    x: T,
    w: T,
    r: T,
    bias: T | None,
    state: tuple[T, ...],
    hidden: int,
    peepholes: T | None = None,
) -> tuple[T, ...]:
    """One step of a cell on X [B, I]."""
    gates = GATE_COUNTS[step.kind]
    bias, recurrent_bias = split_bias(p, step, bias, hidden)
    require_shape(w, "W", (gates * hidden, x.shape[-1]))
    require_shape(r, "R", (gates * hidden, hidden))
    if bias is not None:
        require_shape(bias, "B", (gates * hidden,))
    m = PrimitiveCellOps(p)
    if isinstance(x, InputOnly):
        return (m.affine(x.x, w, bias, ""),)
    products = x.products if isinstance(x, InputProducts) else m.affine(x, w, bias, "")
    weights = gate_weights(p, step, w, r, None, recurrent_bias, split_peepholes(p, peepholes, "fio", hidden))
    return step.next_states(m, products, state, weights)


# --- A cell in two halves: what depends on the input only can be computed for many steps at once (plan/hoisting.py).

#: How many states a cell has; they stand between X and the weights.
STATE_COUNTS = {"lstmcell": 2, "grucell": 1, "rnncell": 1}


@record(frozen=True)
class InputOnly:
    """X where a cell is to give no more than its products with W, biases added."""

    x: T

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.x.shape)


@record(frozen=True)
class InputProducts:
    """X where these products are known. ``shape`` is X's."""

    products: T
    shape: tuple[int, ...]


@record(frozen=True)
class StateShape:
    """A state of which only the shape is known."""

    shape: tuple[int, ...]


def _hidden_size(r: T, keywords: Mapping[str, Any]) -> int:
    """The hidden size: R's width, or as the cell says where R is joined to W."""
    size = r.shape[-1] if r.ndim > 1 else keywords.get("hidden_size")
    if size is None:
        raise ModelError("a cell whose W and R are joined needs its attribute hidden_size")
    return int(size)


def project_cell_input(function: Callable[..., Any], states: int, p: P, x: T, *weights: T, **keywords: Any) -> T:
    """Of a cell: X's products, from X and the weights."""
    like = StateShape((1, _hidden_size(weights[1], keywords)))
    return function(p, InputOnly(x), *[like] * states, *weights, **keywords)[0]


def cell_from_products(
    function: Callable[..., Any], states: int, p: P, products: T, *others: T, **keywords: Any
) -> Any:
    """The rest of the cell, from X's products, the states and the weights."""
    w, r = others[states : states + 2]
    width = w.shape[-1] if r.ndim > 1 else w.shape[-1] - _hidden_size(r, keywords)
    return function(p, InputProducts(products, (*products.shape[:-1], width)), *others, **keywords)


@openvino("LSTMCell")
@inherit_attributes(CellAttributes)
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
    activations: str = "sigmoid,tanh,tanh",
    input_forget: bool = False,
    **attributes: Any,
) -> tuple[T, ...]:
    """The sixth input is optional. The written specification's TensorIterator example has another form with five: W
    and R joined [4H, I + H], and B. Opset 1 could have peepholes f, i, o and ``input_forget`` (i = 1 - f). What its
    ``weights_format`` says is without effect: OpenVINO writes ifco there, and reads the weights as f, i, c, o.
    """
    how = CellAttributes(**attributes)
    hidden = how.hidden_size_of(initial_h)
    if b is None and r.ndim == 1:
        b = r
        require_shape(w, "joined W and R", (4 * hidden, x.shape[-1] + hidden))
        w, r = slice_columns(p, w, 0, x.shape[-1]), slice_columns(p, w, x.shape[-1], x.shape[-1] + hidden)
    functions = how.functions(activations, 3)
    step = CellStep("LSTM", functions, "fico", "i" if input_forget else "", how.clip)
    return _cell(p, step, x, w, r, b, (initial_h, initial_c), hidden, peepholes)


@openvino("GRUCell", since=3)
@inherit_attributes(CellAttributes)
def gru_cell(
    p: P,
    x: T,
    initial_h: T,
    w: T,
    r: T,
    b: T | None = None,
    *,
    activations: str = "sigmoid,tanh",
    linear_before_reset: bool = False,
    **attributes: Any,
) -> tuple[T, ...]:
    how = CellAttributes(**attributes)
    hidden = how.hidden_size_of(initial_h)
    functions = how.functions(activations, 2)
    step = CellStep("GRU", functions, clip=how.clip, linear_before_reset=linear_before_reset)
    return _cell(p, step, x, w, r, b, (initial_h,), hidden)


@openvino("RNNCell")
@inherit_attributes(CellAttributes)
def rnn_cell(
    p: P,
    x: T,
    initial_h: T,
    w: T,
    r: T,
    b: T | None = None,
    *,
    activations: str = "tanh",
    **attributes: Any,
) -> tuple[T, ...]:
    how = CellAttributes(**attributes)
    hidden = how.hidden_size_of(initial_h)
    functions = how.functions(activations, 1)
    return _cell(p, CellStep("RNN", functions, clip=how.clip), x, w, r, b, (initial_h,), hidden)
