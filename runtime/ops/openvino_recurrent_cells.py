"""OpenVINO's recurrent cells, one time step each. Sequences are read as loops (``frontends/recurrent``).

Biases are already summed. The gate order in the weights is f, i, c, o for LSTM and z, r, h for GRU.
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

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any


@record(frozen=True)
class CellAttributes:
    """Common attributes of OpenVINO's recurrent cells and sequences."""

    hidden_size: int | None = None
    activations_alpha: Floats = ()
    activations_beta: Floats = ()
    clip: float = 0.0

    def functions(self, names: str, count: int) -> list[CellActivation]:
        """Parse the attribute ``activations``, which must name ``count`` functions."""
        function_names = names.replace(" ", "").split(",")
        if len(function_names) != count:
            raise ModelError(
                f'activations="{names}" names {len(function_names)} functions instead of {count}',
                name="activations",
                expected=f"{count} functions",
                got=names,
            )
        return parse_activations(function_names, self.activations_alpha, self.activations_beta)

    def hidden_size_of(self, state: T) -> int:
        """The size of a state, checked against the attribute."""
        if self.hidden_size is not None and self.hidden_size != state.shape[-1]:
            raise ModelError(
                f"hidden_size is {self.hidden_size}, and the state has shape {state.shape}",
                name="hidden_size",
                expected=str(state.shape),
                got=str(self.hidden_size),
            )
        return int(state.shape[-1])


def split_bias(p: P, step: CellStep, bias: T | None, hidden: int) -> tuple[T | None, T | None]:
    """Split a GRU's bias into z, r, h and the recurrent part of h."""
    if bias is None or not step.linear_before_reset:
        return bias, None
    require_shape(bias, "B", (4 * hidden,))
    return slice_columns(p, bias, 0, 3 * hidden), slice_columns(p, bias, 3 * hidden, 4 * hidden)


def split_peepholes(p: P, peepholes: T | None, order: str, hidden: int) -> dict[str, T]:
    """Split an LSTM's peepholes by gate."""
    if peepholes is None:
        return {}
    require_shape(peepholes, "P", (len(order) * hidden,))
    return {name: slice_columns(p, peepholes, k * hidden, (k + 1) * hidden) for k, name in enumerate(order)}


def _run_cell_step(
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
    """Run one step of a cell on X [B, I]."""
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


# --- A cell in two parts: the input projection can be hoisted and batched over steps (plan/iteration_batching.py).

#: Number of states of a cell; they are inputs between X and the weights.
STATE_COUNTS = {"lstmcell": 2, "grucell": 1, "rnncell": 1}


@record(frozen=True)
class InputOnly:
    """Marks X of a cell that should return only its input projection X @ W + B."""

    x: T

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.x.shape)


@record(frozen=True)
class InputProducts:
    """The precomputed input projection in place of X; ``shape`` is X's."""

    products: T
    shape: tuple[int, ...]


@record(frozen=True)
class StateShape:
    """A placeholder state with a shape only."""

    shape: tuple[int, ...]


def _hidden_size(r: T, keywords: Mapping[str, Any]) -> int:
    """The hidden size: R's width, or the attribute where R is joined to W."""
    size = r.shape[-1] if r.ndim > 1 else keywords.get("hidden_size")
    if size is None:
        raise ModelError("a cell whose W and R are joined needs its attribute hidden_size", name="hidden_size")
    return int(size)


def project_cell_input(function: Callable[..., Any], states: int, p: P, x: T, *weights: T, **keywords: Any) -> T:
    """The input projection of a cell."""
    placeholder = StateShape((1, _hidden_size(weights[1], keywords)))
    return function(p, InputOnly(x), *[placeholder] * states, *weights, **keywords)[0]


def cell_from_products(
    function: Callable[..., Any], states: int, p: P, products: T, *others: T, **keywords: Any
) -> Any:
    """The cell from its input projection, states and weights."""
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
    """The sixth input is optional. The specification's TensorIterator example has a form with five inputs: W and R
    joined [4H, I + H], and B. Opset 1 allows peepholes f, i, o and ``input_forget`` (i = 1 - f). ``weights_format``
    has no effect: OpenVINO writes ifco, but reads the weights as f, i, c, o.
    """
    cell_attributes = CellAttributes(**attributes)
    hidden = cell_attributes.hidden_size_of(initial_h)
    if b is None and r.ndim == 1:
        b = r
        require_shape(w, "joined W and R", (4 * hidden, x.shape[-1] + hidden))
        w, r = slice_columns(p, w, 0, x.shape[-1]), slice_columns(p, w, x.shape[-1], x.shape[-1] + hidden)
    functions = cell_attributes.functions(activations, 3)
    step = CellStep("LSTM", functions, "fico", "i" if input_forget else "", cell_attributes.clip)
    return _run_cell_step(p, step, x, w, r, b, (initial_h, initial_c), hidden, peepholes)


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
    cell_attributes = CellAttributes(**attributes)
    hidden = cell_attributes.hidden_size_of(initial_h)
    functions = cell_attributes.functions(activations, 2)
    step = CellStep("GRU", functions, clip=cell_attributes.clip, linear_before_reset=linear_before_reset)
    return _run_cell_step(p, step, x, w, r, b, (initial_h,), hidden)


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
    cell_attributes = CellAttributes(**attributes)
    hidden = cell_attributes.hidden_size_of(initial_h)
    functions = cell_attributes.functions(activations, 1)
    return _run_cell_step(p, CellStep("RNN", functions, clip=cell_attributes.clip), x, w, r, b, (initial_h,), hidden)
