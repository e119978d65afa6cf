"""LinearAttention and GatedDeltaNet of ``com.microsoft`` as ONNX functions with a Scan over rows.

ONNX defines its LinearAttention in the same way. Each head has a state matrix; in each step it decays, and the value,
or its difference from the value retrieved by the key, is added under the key.
"""

from __future__ import annotations

from ...errors import ModelError
from ...graph import TensorType, Value
from ...ops.axis_arguments import unknown_value_error
from .attention_function_builder import (
    FunctionTextBuilder,
    as_float32,
    emit_query_scale,
    emit_scan,
    parse_update_rule,
    repeat_heads,
)
from .proto import FunctionProto

V = Value | None
_GATES = ("none", "softplus", "qwen", "sigmoid", "kda")
#: Added under the root of a norm, so that it is not 0.
_NORM_EPSILON = 1e-12


def linear_attention(
    _: None,
    query: Value,
    key: Value,
    value: Value,
    past_state: V = None,
    decay: V = None,
    beta: V = None,
    *,
    kv_num_heads: int,
    q_num_heads: int,
    chunk_size: int = 64,
    scale: float = 0.0,
    state_window: int = 0,
    update_rule: str = "gated_delta",
) -> FunctionProto | None:
    """``[batch, rows, heads * width]``; states ``[batch, heads, key's width, value's width]``."""
    gated, delta = parse_update_rule(update_rule, decay, beta)
    if state_window:  # onnxruntime's CPU provider does not support it either
        return None
    smaller, larger = sorted((q_num_heads, kv_num_heads))
    if smaller < 1 or larger % smaller:
        raise ModelError(
            f"{q_num_heads} heads of queries and {kv_num_heads} of keys do not divide one another",
            name="q_num_heads",
            got=str(q_num_heads),
        )
    text = FunctionTextBuilder()
    rows = text.assign("rows", "Shape", "query", start=0, end=2)
    batch = text.dim_as_list("batch", "query", 0)
    key_width = text.assign(
        "key_width", "Div", text.dim_as_list("query_row", "query", 2), text.int_list_constant(q_num_heads)
    )
    value_width = text.assign(
        "value_width", "Div", text.dim_as_list("value_row", "value", 2), text.int_list_constant(kv_num_heads)
    )
    shared = text.int_list_constant(kv_num_heads)
    queries = as_float32(text, query, "query")
    if q_num_heads < kv_num_heads:
        heads = text.int_list_constant(q_num_heads)
        queries = repeat_heads(
            text, "query", queries, rows, heads, text.int_list_constant(kv_num_heads // q_num_heads), key_width
        )
    # Group the query heads by the key head that they share.
    queries = text.reshape(
        "query_rows",
        queries,
        rows,
        text.int_list_constant(kv_num_heads, max(q_num_heads // kv_num_heads, 1)),
        key_width,
    )
    keys = as_float32(text, key, "key")
    key_row, query_row = _last_dim(key), _last_dim(query)
    if key_row is None or query_row is None or key_row * q_num_heads != query_row * kv_num_heads:
        # There may be fewer key heads than value heads.
        heads = text.assign("key_heads", "Div", text.dim_as_list("key_row", "key", 2), key_width)
        keys = repeat_heads(text, "key", keys, rows, heads, text.assign("key_sharing", "Div", shared, heads), key_width)
    values = as_float32(text, value, "value")
    sequences = {
        "query_t": text.assign("queries", "Mul", queries, emit_query_scale(text, scale, key_width)),
        "key_t": text.reshape("keys", keys, rows, shared, key_width, text.int_list_constant(1)),
        "value_t": text.reshape("values", values, rows, text.int_list_constant(kv_num_heads, 1), value_width),
    }
    if gated:
        decay_factor = text.assign("share", "Exp", as_float32(text, decay, "decay"))
        per_head = text.assign("decay_width", "Div", text.dim_as_list("decay_row", "decay", 2), shared)
        sequences["decay_t"] = text.reshape("decays", decay_factor, rows, shared, per_head, text.int_list_constant(1))
    if delta:
        sequences["beta_t"] = text.reshape(
            "betas",
            as_float32(text, beta, "beta"),
            text.assign("beta_dims", "Shape", "beta"),
            text.int_list_constant(1, 1),
        )
    if past_state is None:
        shape = text.assign("state_shape", "Concat", batch, shared, key_width, value_width, axis=0)
        state = text.assign("first", "ConstantOfShape", shape)
    else:
        state = as_float32(text, past_state, "past_state")
    emit_scan(text, update_rule, state, sequences, turned=False, kept=False, deltas=False)
    total = text.assign("output_width", "Mul", text.int_list_constant(max(q_num_heads, kv_num_heads)), value_width)
    # The scan output of a loop without steps has no known shape.
    rows_output = text.reshape("output_rows", "output_steps", rows, total, allowzero=1)
    text.assign("output", "CastLike", rows_output, "query")
    text.assign("present_state", "CastLike", "final", "query" if past_state is None else "past_state")
    inputs = ("query", "key", "value", "past_state", "decay", "beta")
    return text.build_function("LinearAttention", inputs, ("output", "present_state"))


def _last_dim(value: Value) -> int | None:
    """The last dimension, where it is known."""
    shape = value.type.shape if isinstance(value.type, TensorType) else None
    return shape[-1] if shape and isinstance(shape[-1], int) else None


def _rank(value: Value) -> int | None:
    shape = value.type.shape if isinstance(value.type, TensorType) else None
    return None if shape is None else len(shape)


# --- GatedDeltaNet.


def gated_delta_net(
    _: None,
    query: Value,
    key: V = None,
    value: V = None,
    cu_seqlens: V = None,
    decay: V = None,
    beta: V = None,
    initial_state: V = None,
    a_log: V = None,
    dt_bias: V = None,
    capture_count: V = None,
    state_update_active: V = None,
    *,
    beta_activation: str = "none",
    chunk_size: int = 64,
    gate_activation: str = "none",
    gate_lower_bound: float = -5.0,
    qk_l2_norm: int = 0,
    scale: float = 0.0,
    state_update_capacity: int = 0,
    update_rule: str = "gated_delta",
) -> FunctionProto | None:
    """``[rows of all requests, heads, width]``, or with a batch before it; states ``[batch, heads, value's width, key's
    width]``. ``cu_seqlens``: the boundaries of requests among the rows."""
    gated, delta = parse_update_rule(update_rule, decay, beta)
    if gate_activation not in _GATES:
        raise unknown_value_error("gate_activation", gate_activation, _GATES)
    if beta_activation not in ("none", "sigmoid"):
        raise unknown_value_error("beta_activation", beta_activation, ("none", "sigmoid"))
    if not 0 <= state_update_capacity <= 8:
        raise ModelError(
            f"state_update_capacity={state_update_capacity} is outside of 0 to 8",
            name="state_update_capacity",
            expected="0 to 8",
            got=str(state_update_capacity),
        )
    gates = gated and gate_activation != "none"
    for value_or_none, needed, input_name, option in (
        (a_log, gates, "a_log", f"gate_activation='{gate_activation}'"),
        (dt_bias, gates, "dt_bias", f"gate_activation='{gate_activation}'"),
        (capture_count, state_update_capacity > 0, "capture_count", "state_update_capacity"),
    ):
        if needed and value_or_none is None:
            raise ModelError(f"{option} needs the input {input_name}", name=input_name)
    if (key is None) != (value is None):
        raise ModelError("it has one of key and value and lacks the other")
    if initial_state is None and (key is None or (cu_seqlens is None and _rank(query) == 3)):
        raise ModelError("it needs the input initial_state, by whose shape it divides the others", name="initial_state")
    if state_update_capacity and not gated:
        return None
    text = FunctionTextBuilder()
    layout = _RequestRows(text, query, key, cu_seqlens, initial_state)
    queries, keys = (layout.input_rows(name, x, "heads", "key_width") for name, x in (("query", query), ("key", key)))
    values = layout.input_rows("value", value, "value_heads", "value_width")
    if qk_l2_norm:
        queries, keys = (_normalize(text, name, x) for name, x in (("query", queries), ("key", keys)))
    unit = text.int_list_constant(1)
    sequences = {
        "query_t": text.assign(
            "queries",
            "Mul",
            layout.repeat_heads("query", queries, "key_width", unit),
            emit_query_scale(text, scale, "key_width"),
        ),
        "key_t": layout.repeat_heads("key", keys, unit, "key_width"),
        "value_t": text.reshape("values", values, layout.leading_shape, "value_heads", "value_width", unit),
    }
    if gated:
        sequences["decay_t"] = _decay_factors(text, layout, decay, gate_activation, gate_lower_bound)
    if delta:
        betas = layout.input_rows("beta", beta, "value_heads", unit, unit)
        sequences["beta_t"] = text.assign("betas", "Sigmoid", betas) if beta_activation == "sigmoid" else betas
    if cu_seqlens is not None:
        sequences["there_t"] = text.reshape(
            "there_rows", "there", layout.leading_shape, text.int_list_constant(1, 1, 1)
        )
    state = "initial_state"
    if initial_state is None:
        shape = text.assign("state_shape", "Concat", "batch", "value_heads", "value_width", "key_width", axis=0)
        state = text.assign("first", "ConstantOfShape", shape)
    capture = state_update_capacity
    emit_scan(text, update_rule, state, sequences, turned=True, kept=cu_seqlens is not None, deltas=capture > 0)
    text.assign("output", "CastLike", layout.restore_outer_layout("output_steps"), "query")
    text.assign("final_state", "Identity", "final")
    if capture:
        parts = [("decays", sequences["decay_t"]), ("keys", keys), ("entered", "entered_steps")]
        _emit_state_update(text, layout, parts, capture, state_update_active)
    inputs = ("query", "key", "value", "cu_seqlens", "decay", "beta", "initial_state", "a_log", "dt_bias")
    outputs = ("output", "final_state", *(("state_update",) if capture else ()))
    return text.build_function("GatedDeltaNet", (*inputs, "capture_count", "state_update_active"), outputs)


class _RequestRows:
    """The rows of requests as ``[batch, rows, ...]``: divided evenly, or by ``cu_seqlens``, with ``there`` as the mask
    of valid rows."""

    def __init__(self, text: FunctionTextBuilder, query: Value, key: V, cu_seqlens: V, initial_state: V) -> None:
        self.text = text
        self.ragged = cu_seqlens is not None
        if key is None:
            for axis, name in enumerate(("batch", "value_heads", "value_width", "key_width")):
                text.dim_as_list(name, "initial_state", axis)
            value_row = text.assign("value_row", "Mul", "value_heads", "value_width")
            key_rows = text.assign("others_row", "Sub", text.dim_as_list("row", "query", -1), value_row)
            key_row = text.assign("key_row", "Div", key_rows, text.int_list_constant(2))
            text.assign("heads", "Div", key_row, "key_width")
            sizes = text.assign("sizes", "Concat", key_row, key_row, value_row, axis=0)
            self.packed_inputs = {"query": "query_part", "key": "key_part", "value": "value_part"}
            text.assign(", ".join(self.packed_inputs.values()), "Split", "query", sizes, axis=-1)
            text.assign("outside", "Shape", "query", start=0, end=-1)
        else:
            self.packed_inputs = {}
            text.assign("heads", "Shape", "query", start=-2, end=-1)
            text.dim_as_list("key_width", "query", -1)
            text.assign("value_heads", "Shape", "value", start=-2, end=-1)
            text.dim_as_list("value_width", "value", -1)
            text.assign("outside", "Shape", "query", start=0, end=-2)
            if initial_state is not None:
                text.dim_as_list("batch", "initial_state", 0)
            elif self.ragged:
                text.assign("batch", "Sub", text.dim_as_list("bounds", "cu_seqlens", 0), text.int_list_constant(1))
            else:
                text.dim_as_list("batch", "query", 0)
        text.assign("total", "ReduceProd", "outside", keepdims=1)
        text.assign("sharing", "Div", "value_heads", "heads")
        if self.ragged:
            self._build_ragged_index()
        else:
            text.assign("rows", "Div", "total", "batch")
        self.leading_shape = text.assign("lead", "Concat", "batch", "rows", axis=0)

    def _build_ragged_index(self) -> None:
        """Emit ``index``, the row numbers of each request, and ``there``, the mask of valid rows."""
        text = self.text
        begins = text.assign("begins", "Slice", "cu_seqlens", text.int_list_constant(0), text.int_list_constant(-1))
        ends = text.assign(
            "ends", "Slice", "cu_seqlens", text.int_list_constant(1), text.int_list_constant(_END_OF_AXIS)
        )
        lengths = text.assign("lengths", "Cast", text.assign("spans", "Sub", ends, begins), to=7)
        longest = text.assign("longest", "ReduceMax", lengths, keepdims=0)
        zero = text.assign("zero", "Constant", value_int=0)
        positions = text.assign("places", "Range", zero, longest, text.assign("one", "Constant", value_int=1))
        first = text.assign(
            "first_row", "Unsqueeze", text.assign("begins_wide", "Cast", begins, to=7), text.int_list_constant(1)
        )
        text.assign(
            "there", "Less", positions, text.assign("length_column", "Unsqueeze", lengths, text.int_list_constant(1))
        )
        text.assign("index", "Where", "there", text.assign("index_beyond", "Add", first, positions), zero)
        text.assign("rows", "Reshape", longest, text.int_list_constant(1))

    def input_rows(self, name: str, value: V, *dims: str) -> str:
        """An input as ``[batch, rows, *dims]`` of float32."""
        text = self.text
        x = as_float32(text, None if name in self.packed_inputs else value, self.packed_inputs.get(name, name))
        if not self.ragged:
            return text.reshape(f"{name}_rows", x, self.leading_shape, *dims)
        return text.assign(f"{name}_rows", "Gather", text.reshape(f"{name}_tokens", x, "total", *dims), "index")

    def repeat_heads(self, name: str, x: str, *dims: str) -> str:
        """Key heads, each repeated for its value heads: ``[batch, rows, value_heads, *dims]``."""
        repeated = repeat_heads(self.text, name, x, self.leading_shape, "heads", "sharing", "key_width")
        return self.text.reshape(f"{name}s_served", repeated, self.leading_shape, "value_heads", *dims)

    def restore_outer_layout(self, x: str) -> str:
        """``[batch, rows, heads, width, 1]`` in the outer layout of rows."""
        text = self.text
        if not self.ragged:
            return text.reshape("output_tokens", x, "outside", "value_heads", "value_width", allowzero=1)
        flat = text.reshape("output_flat", x, text.int_list_constant(-1), "value_heads", "value_width")
        return text.assign(
            "output_tokens",
            "Compress",
            flat,
            text.assign("there_flat", "Reshape", "there", text.int_list_constant(-1)),
            axis=0,
        )


#: Beyond the end of any axis.
_END_OF_AXIS = 2**31


def _normalize(text: FunctionTextBuilder, name: str, x: str) -> str:
    """Normalize vectors to length 1."""
    squares = text.assign(f"{name}_squares", "ReduceSumSquare", x, text.int_list_constant(-1), keepdims=1)
    epsilon = text.assign(f"{name}_least", "Constant", value_float=_NORM_EPSILON)
    length = text.assign(f"{name}_length", "Sqrt", text.assign(f"{name}_sum", "Add", squares, epsilon))
    return text.assign(f"{name}_unit", "Div", x, length)


def _decay_factors(text: FunctionTextBuilder, layout: _RequestRows, decay: V, activation: str, low: float) -> str:
    """The decay factor of a state in each step: ``[batch, rows, heads, 1, width or 1]``."""
    x = layout.input_rows("decay", decay, "value_heads", text.int_list_constant(-1))
    if activation != "none":
        biased = text.assign(
            "decay_moved", "Add", x, text.reshape("decay_bias", "dt_bias", "value_heads", text.int_list_constant(-1))
        )
        speed = text.assign(
            "speed", "Exp", text.reshape("speed_log", "a_log", "value_heads", text.int_list_constant(1))
        )
        if activation in ("softplus", "qwen"):
            slope = text.assign("slope", "Mul", speed, text.assign("softplus", "Softplus", biased))
            x = text.assign("decay_log", "Neg", slope)
        else:
            part = text.assign("part", "Sigmoid", text.assign("fast", "Mul", speed, biased))
            x = text.assign("decay_log", "Mul", text.assign("lowest", "Constant", value_float=float(low)), part)
    return text.assign("decays", "Unsqueeze", text.assign("share", "Exp", x), text.int_list_constant(3))


def _emit_state_update(
    text: FunctionTextBuilder, layout: _RequestRows, parts: list[tuple[str, str]], capacity: int, active: V
) -> None:
    """Emit ``state_update``: the first ``capacity`` rows of decays, keys and deltas, zero-padded."""
    flat = []
    for name, x in parts:
        row = text.reshape(f"{name}_flat", x, layout.leading_shape, text.int_list_constant(-1))
        width = text.dim_as_list(f"{name}_last_dim", row, 2)
        padding = text.assign(
            f"{name}_room",
            "ConstantOfShape",
            text.assign(f"{name}_room_shape", "Concat", "batch", text.int_list_constant(capacity), width, axis=0),
        )
        padded = text.assign(f"{name}_longer", "Concat", row, padding, axis=1)
        first = text.assign(
            f"{name}_first",
            "Slice",
            padded,
            text.int_list_constant(0),
            text.int_list_constant(capacity),
            text.int_list_constant(1),
        )
        flat.append(text.reshape(f"{name}_captured", first, "batch", text.int_list_constant(-1)))
    if active is None:
        text.assign("state_update", "Concat", *flat, axis=1)
        return
    update = text.assign("update", "Concat", *flat, axis=1)
    zero = text.assign("nothing", "Constant", value_float=0.0)
    text.assign("state_update", "Where", text.assign("capturing", "Cast", "state_update_active", to=9), update, zero)
