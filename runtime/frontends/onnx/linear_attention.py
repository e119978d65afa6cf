"""LinearAttention and GatedDeltaNet of ``com.microsoft`` as functions of ONNX's own, around a Scan over rows.

ONNX defines its LinearAttention that way too. A state is a matrix of each head; in each step it decays, what it holds
for the key is compared with the value, and the difference, or the value itself, is entered under the key.
"""

from __future__ import annotations

from ...errors import ModelError
from ...graph import TensorType, Value
from ...ops.axes import unknown_word
from .proto import FunctionProto
from .step_text import Text, factor, parts_of, repeated, scan, wide

V = Value | None
_GATES = ("none", "softplus", "qwen", "sigmoid", "kda")
#: Under the root of a norm, so that it is not 0.
_LEAST = 1e-12


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
    gated, delta = parts_of(update_rule, decay, beta)
    if state_window:  # onnxruntime's CPU provider has none either
        return None
    fewer, more = sorted((q_num_heads, kv_num_heads))
    if fewer < 1 or more % fewer:
        raise ModelError(f"{q_num_heads} heads of queries and {kv_num_heads} of keys do not divide one another")
    text = Text()
    rows = text.let("rows", "Shape", "query", start=0, end=2)
    batch = text.dim("batch", "query", 0)
    key_width = text.let("key_width", "Div", text.dim("query_row", "query", 2), text.ints(q_num_heads))
    value_width = text.let("value_width", "Div", text.dim("value_row", "value", 2), text.ints(kv_num_heads))
    served = text.ints(kv_num_heads)
    queries = wide(text, query, "query")
    if q_num_heads < kv_num_heads:
        heads = text.ints(q_num_heads)
        queries = repeated(text, "query", queries, rows, heads, text.ints(kv_num_heads // q_num_heads), key_width)
    # Each head of keys with the queries that it serves.
    queries = text.shaped(
        "query_rows", queries, rows, text.ints(kv_num_heads, max(q_num_heads // kv_num_heads, 1)), key_width
    )
    keys = wide(text, key, "key")
    key_row, query_row = _width(key), _width(query)
    if key_row is None or query_row is None or key_row * q_num_heads != query_row * kv_num_heads:
        # There may be fewer heads of keys than of values.
        heads = text.let("key_heads", "Div", text.dim("key_row", "key", 2), key_width)
        keys = repeated(text, "key", keys, rows, heads, text.let("key_sharing", "Div", served, heads), key_width)
    values = wide(text, value, "value")
    sequences = {
        "query_t": text.let("queries", "Mul", queries, factor(text, scale, key_width)),
        "key_t": text.shaped("keys", keys, rows, served, key_width, text.ints(1)),
        "value_t": text.shaped("values", values, rows, text.ints(kv_num_heads, 1), value_width),
    }
    if gated:
        share = text.let("share", "Exp", wide(text, decay, "decay"))
        per_head = text.let("decay_width", "Div", text.dim("decay_row", "decay", 2), served)
        sequences["decay_t"] = text.shaped("decays", share, rows, served, per_head, text.ints(1))
    if delta:
        sequences["beta_t"] = text.shaped(
            "betas", wide(text, beta, "beta"), text.let("beta_dims", "Shape", "beta"), text.ints(1, 1)
        )
    if past_state is None:
        shape = text.let("state_shape", "Concat", batch, served, key_width, value_width, axis=0)
        state = text.let("first", "ConstantOfShape", shape)
    else:
        state = wide(text, past_state, "past_state")
    scan(text, update_rule, state, sequences, turned=False, kept=False, deltas=False)
    total = text.let("output_width", "Mul", text.ints(max(q_num_heads, kv_num_heads)), value_width)
    # A loop without steps collects nothing, of no shape.
    y = text.shaped("output_rows", "output_steps", rows, total, allowzero=1)
    text.let("output", "CastLike", y, "query")
    text.let("present_state", "CastLike", "final", "query" if past_state is None else "past_state")
    inputs = ("query", "key", "value", "past_state", "decay", "beta")
    return text.function("LinearAttention", inputs, ("output", "present_state"))


def _width(value: Value) -> int | None:
    """The last number of a shape, where it is known."""
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
    width]``. ``cu_seqlens``: where requests begin and end among the rows."""
    gated, delta = parts_of(update_rule, decay, beta)
    if gate_activation not in _GATES:
        raise unknown_word("gate_activation", gate_activation, _GATES)
    if beta_activation not in ("none", "sigmoid"):
        raise unknown_word("beta_activation", beta_activation, ("none", "sigmoid"))
    if not 0 <= state_update_capacity <= 8:
        raise ModelError(f"state_update_capacity={state_update_capacity} is outside of 0 to 8")
    gates = gated and gate_activation != "none"
    for there, needed, what, why in (
        (a_log, gates, "a_log", f"gate_activation='{gate_activation}'"),
        (dt_bias, gates, "dt_bias", f"gate_activation='{gate_activation}'"),
        (capture_count, state_update_capacity > 0, "capture_count", "state_update_capacity"),
    ):
        if needed and there is None:
            raise ModelError(f"{why} needs the input {what}")
    if (key is None) != (value is None):
        raise ModelError("it has one of key and value and lacks the other")
    if initial_state is None and (key is None or (cu_seqlens is None and _rank(query) == 3)):
        raise ModelError("it needs the input initial_state, by whose shape it divides the others")
    if state_update_capacity and not gated:
        return None
    text = Text()
    net = _Rows(text, query, key, cu_seqlens, initial_state)
    queries, keys = (net.rows(name, one, "heads", "key_width") for name, one in (("query", query), ("key", key)))
    values = net.rows("value", value, "value_heads", "value_width")
    if qk_l2_norm:
        queries, keys = (_unit(text, name, x) for name, x in (("query", queries), ("key", keys)))
    one = text.ints(1)
    sequences = {
        "query_t": text.let(
            "queries", "Mul", net.served("query", queries, "key_width", one), factor(text, scale, "key_width")
        ),
        "key_t": net.served("key", keys, one, "key_width"),
        "value_t": text.shaped("values", values, net.lead, "value_heads", "value_width", one),
    }
    if gated:
        sequences["decay_t"] = _decays(text, net, decay, gate_activation, gate_lower_bound)
    if delta:
        betas = net.rows("beta", beta, "value_heads", one, one)
        sequences["beta_t"] = text.let("betas", "Sigmoid", betas) if beta_activation == "sigmoid" else betas
    if cu_seqlens is not None:
        sequences["there_t"] = text.shaped("there_rows", "there", net.lead, text.ints(1, 1, 1))
    state = "initial_state"
    if initial_state is None:
        shape = text.let("state_shape", "Concat", "batch", "value_heads", "value_width", "key_width", axis=0)
        state = text.let("first", "ConstantOfShape", shape)
    capture = state_update_capacity
    scan(text, update_rule, state, sequences, turned=True, kept=cu_seqlens is not None, deltas=capture > 0)
    text.let("output", "CastLike", net.tokens("output_steps"), "query")
    text.let("final_state", "Identity", "final")
    if capture:
        parts = [("decays", sequences["decay_t"]), ("keys", keys), ("entered", "entered_steps")]
        _captured(text, net, parts, capture, state_update_active)
    inputs = ("query", "key", "value", "cu_seqlens", "decay", "beta", "initial_state", "a_log", "dt_bias")
    outputs = ("output", "final_state", *(("state_update",) if capture else ()))
    return text.function("GatedDeltaNet", (*inputs, "capture_count", "state_update_active"), outputs)


class _Rows:
    """The rows of requests as ``[batch, rows, ...]``: divided evenly, or by ``cu_seqlens``, where ``there`` says which
    rows a request has."""

    def __init__(self, text: Text, query: Value, key: V, cu_seqlens: V, initial_state: V) -> None:
        self.text = text
        self.ragged = cu_seqlens is not None
        if key is None:
            for axis, name in enumerate(("batch", "value_heads", "value_width", "key_width")):
                text.dim(name, "initial_state", axis)
            value_row = text.let("value_row", "Mul", "value_heads", "value_width")
            rest = text.let("others_row", "Sub", text.dim("row", "query", -1), value_row)
            key_row = text.let("key_row", "Div", rest, text.ints(2))
            text.let("heads", "Div", key_row, "key_width")
            sizes = text.let("sizes", "Concat", key_row, key_row, value_row, axis=0)
            self.parts = {"query": "query_part", "key": "key_part", "value": "value_part"}
            text.let(", ".join(self.parts.values()), "Split", "query", sizes, axis=-1)
            text.let("outside", "Shape", "query", start=0, end=-1)
        else:
            self.parts = {}
            text.let("heads", "Shape", "query", start=-2, end=-1)
            text.dim("key_width", "query", -1)
            text.let("value_heads", "Shape", "value", start=-2, end=-1)
            text.dim("value_width", "value", -1)
            text.let("outside", "Shape", "query", start=0, end=-2)
            if initial_state is not None:
                text.dim("batch", "initial_state", 0)
            elif self.ragged:
                text.let("batch", "Sub", text.dim("bounds", "cu_seqlens", 0), text.ints(1))
            else:
                text.dim("batch", "query", 0)
        text.let("total", "ReduceProd", "outside", keepdims=1)
        text.let("sharing", "Div", "value_heads", "heads")
        if self.ragged:
            self._divided()
        else:
            text.let("rows", "Div", "total", "batch")
        self.lead = text.let("lead", "Concat", "batch", "rows", axis=0)

    def _divided(self) -> None:
        """``index``: where the rows of each request are; ``there``: which of them it has."""
        text = self.text
        begins = text.let("begins", "Slice", "cu_seqlens", text.ints(0), text.ints(-1))
        ends = text.let("ends", "Slice", "cu_seqlens", text.ints(1), text.ints(_FAR))
        lengths = text.let("lengths", "Cast", text.let("spans", "Sub", ends, begins), to=7)
        longest = text.let("longest", "ReduceMax", lengths, keepdims=0)
        zero = text.let("zero", "Constant", value_int=0)
        places = text.let("places", "Range", zero, longest, text.let("one", "Constant", value_int=1))
        first = text.let("first_row", "Unsqueeze", text.let("begins_wide", "Cast", begins, to=7), text.ints(1))
        text.let("there", "Less", places, text.let("length_column", "Unsqueeze", lengths, text.ints(1)))
        text.let("index", "Where", "there", text.let("index_beyond", "Add", first, places), zero)
        text.let("rows", "Reshape", longest, text.ints(1))

    def rows(self, name: str, value: V, *dims: str) -> str:
        """An input as ``[batch, rows, *dims]`` of float32."""
        text = self.text
        x = wide(text, None if name in self.parts else value, self.parts.get(name, name))
        if not self.ragged:
            return text.shaped(f"{name}_rows", x, self.lead, *dims)
        return text.let(f"{name}_rows", "Gather", text.shaped(f"{name}_tokens", x, "total", *dims), "index")

    def served(self, name: str, x: str, *dims: str) -> str:
        """Heads of keys, each as often as it has heads of values: ``[batch, rows, value_heads, *dims]``."""
        shared = repeated(self.text, name, x, self.lead, "heads", "sharing", "key_width")
        return self.text.shaped(f"{name}s_served", shared, self.lead, "value_heads", *dims)

    def tokens(self, x: str) -> str:
        """``[batch, rows, heads, width, 1]`` as the rows stand outside."""
        text = self.text
        if not self.ragged:
            return text.shaped("output_tokens", x, "outside", "value_heads", "value_width", allowzero=1)
        flat = text.shaped("output_flat", x, text.ints(-1), "value_heads", "value_width")
        return text.let(
            "output_tokens", "Compress", flat, text.let("there_flat", "Reshape", "there", text.ints(-1)), axis=0
        )


#: Behind the end of any axis.
_FAR = 2**31


def _unit(text: Text, name: str, x: str) -> str:
    """Vectors of length 1."""
    squares = text.let(f"{name}_squares", "ReduceSumSquare", x, text.ints(-1), keepdims=1)
    least = text.let(f"{name}_least", "Constant", value_float=_LEAST)
    length = text.let(f"{name}_length", "Sqrt", text.let(f"{name}_sum", "Add", squares, least))
    return text.let(f"{name}_unit", "Div", x, length)


def _decays(text: Text, net: _Rows, decay: V, activation: str, bound: float) -> str:
    """What a state keeps in each step: ``[batch, rows, heads, 1, width or 1]``."""
    x = net.rows("decay", decay, "value_heads", text.ints(-1))
    if activation != "none":
        moved = text.let("decay_moved", "Add", x, text.shaped("decay_bias", "dt_bias", "value_heads", text.ints(-1)))
        speed = text.let("speed", "Exp", text.shaped("speed_log", "a_log", "value_heads", text.ints(1)))
        if activation in ("softplus", "qwen"):
            slope = text.let("slope", "Mul", speed, text.let("softplus", "Softplus", moved))
            x = text.let("decay_log", "Neg", slope)
        else:
            part = text.let("part", "Sigmoid", text.let("fast", "Mul", speed, moved))
            x = text.let("decay_log", "Mul", text.let("lowest", "Constant", value_float=float(bound)), part)
    return text.let("decays", "Unsqueeze", text.let("share", "Exp", x), text.ints(3))


def _captured(text: Text, net: _Rows, parts: list[tuple[str, str]], capacity: int, active: V) -> None:
    """``state_update``: the first rows of decays, keys and deltas, as many as the capacity, the rest 0."""
    flat = []
    for name, x in parts:
        row = text.shaped(f"{name}_flat", x, net.lead, text.ints(-1))
        width = text.dim(f"{name}_width", row, 2)
        room = text.let(
            f"{name}_room",
            "ConstantOfShape",
            text.let(f"{name}_room_shape", "Concat", "batch", text.ints(capacity), width, axis=0),
        )
        longer = text.let(f"{name}_longer", "Concat", row, room, axis=1)
        first = text.let(f"{name}_first", "Slice", longer, text.ints(0), text.ints(capacity), text.ints(1))
        flat.append(text.shaped(f"{name}_captured", first, "batch", text.ints(-1)))
    if active is None:
        text.let("state_update", "Concat", *flat, axis=1)
        return
    update = text.let("update", "Concat", *flat, axis=1)
    nothing = text.let("nothing", "Constant", value_float=0.0)
    text.let("state_update", "Where", text.let("capturing", "Cast", "state_update_active", to=9), update, nothing)
