"""Operators of ``com.microsoft`` next to onnxruntime: many seeds each, over their attributes and optional inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import onnxruntime_peer
from cpu_features import require_exact_peer_sums
from loopdbg.runtime.frontends.onnx import microsoft_recurrent_functions
from loopdbg.runtime.frontends.onnx.reader import from_proto
from loopdbg.runtime.graph import Operation, System, walk
from loopdbg.runtime.model import Model
from loopdbg.runtime.ops.eager import EagerPrimitives
from loopdbg.runtime.ops.registry import definitions, resolve

from . import microsoft_decoder_cases, microsoft_movement_cases  # noqa: F401  they enter themselves
from .microsoft_cases import (
    CASES,
    Array,
    MicrosoftCase,
    Random,
    case,
    or_absent,
    pick_one,
    random_floats,
    random_integers,
)

SEEDS = range(8)


def model(op_type: str, it: MicrosoftCase) -> onnx.ModelProto:
    names = ["" if x is None else f"x{k}" for k, x in enumerate(it.inputs)]
    while names and not names[-1]:
        names.pop()
    outputs = [f"y{k}" for k in range(it.outputs)]
    node = helper.make_node(op_type, names, outputs, domain=it.domain, **it.attributes)
    inputs = [(k, x) for k, x in enumerate(it.inputs) if x is not None]
    graph = helper.make_graph(
        [node],
        "g",
        [
            helper.make_tensor_value_info(f"x{k}", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
            for k, x in inputs
            if k not in it.constant
        ],
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(it.declared[k])), None)
            if k in it.declared
            else helper.make_empty_tensor_value_info(name)
            for k, name in enumerate(outputs)
        ],
        [numpy_helper.from_array(x, f"x{k}") for k, x in inputs if k in it.constant],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def eagerly(graph: Any, inputs: list[Array | None], outputs: int) -> list[Array]:
    (node,) = (node for node in walk(graph) if isinstance(node, Operation))
    feeds = inputs[: len(node.inputs)]
    return list(resolve(node, System.ONNX).apply(EagerPrimitives(), feeds)[:outputs])


def test_each_operator_has_a_case() -> None:
    ours = {entry.op_type for system, domain, entry in definitions() if domain == "com.microsoft"}
    assert set(microsoft_recurrent_functions.RECURRENT_OPERATORS) == LOOPS
    ours |= LOOPS
    assert ours - {name.split("/")[0] for name in CASES} == NOT_ON_THIS_PROVIDER


#: They open as loops.
LOOPS = {"LinearAttention", "GatedDeltaNet"}
#: onnxruntime's CPU provider has none of these.
NOT_ON_THIS_PROVIDER = {"BiasAdd", "BiasSoftmax", "QLinearReduceMean"}


@pytest.mark.parametrize("count", [2, 3])
def test_keys_and_values_in_one(count: int) -> None:
    """onnxruntime's CPU provider takes each apart only; ``count``: how many are in one, queries too if three."""
    r = np.random.default_rng(0)
    together = random_floats(r, BATCH, 5, HEADS, count, WIDTH)
    apart = [together[:, :, :, which].reshape(BATCH, 5, HEADS * WIDTH) for which in range(count)]
    query = [random_floats(r, BATCH, ROWS, HEADS * WIDTH)][: 3 - count]
    results = [
        next(iter(Model(from_proto(model("MultiHeadAttention", it), "m.onnx")).run(named(it)).values()))
        for it in (MicrosoftCase([*query, *rest], {"num_heads": HEADS}) for rest in ([together], apart))
    ]
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("inner", [0, 1])
def test_bias_softmax(inner: int) -> None:
    r = np.random.default_rng(0)
    x, bias = random_floats(r, 2, 3, 4, 5), random_floats(r, 2, 1, 4, 5) if not inner else random_floats(r, 2, 5)
    it = MicrosoftCase([x, bias], {"axis": 3, "is_inner_broadcast": inner})
    (y,) = Model(from_proto(model("BiasSoftmax", it), "m.onnx")).run(named(it)).values()
    powers = np.exp(x + (bias.reshape(2, 1, 1, 5) if inner else bias))
    np.testing.assert_allclose(y, powers / powers.sum(-1, keepdims=True), 1e-5, 1e-6)


def named(it: MicrosoftCase) -> dict[str, Array]:
    return {f"x{k}": x for k, x in enumerate(it.inputs) if x is not None and k not in it.constant}


# --- Elementwise.


@case("Gelu")
def _(r: Random) -> MicrosoftCase:
    return MicrosoftCase([random_floats(r, 3, 5)])


@case("BiasGelu")
def _(r: Random) -> MicrosoftCase:
    return MicrosoftCase([random_floats(r, 2, 3, 5), random_floats(r, 5)])


@case("FastGelu")
def _(r: Random) -> MicrosoftCase:
    return MicrosoftCase([random_floats(r, 2, 3, 5), or_absent(r, random_floats(r, 5))])


@case("QuickGelu")
def _(r: Random) -> MicrosoftCase:
    return MicrosoftCase([random_floats(r, 4, 5)], {"alpha": pick_one(r, 1.702, 1.0, -0.5)})


@case("Trilu")
def _(r: Random) -> MicrosoftCase:
    return MicrosoftCase(
        [random_floats(r, 2, 4, 5), or_absent(r, np.array(r.integers(-3, 4)))], {"upper": pick_one(r, 0, 1)}
    )


# --- Products.


@case("FusedMatMul")
def _(r: Random) -> MicrosoftCase:
    m, k, n = r.integers(1, 5, 3)
    trans_a, trans_b, batch_a, batch_b = r.integers(0, 2, 4)

    def laid(rows: int, columns: int, trans: int, batch: int) -> Array:
        shape = (columns, rows) if trans else (rows, columns)
        return random_floats(r, shape[0], 3, shape[1]) if batch else random_floats(r, 3, *shape)

    attributes = {"alpha": pick_one(r, 1.0, 0.5), "transA": trans_a, "transB": trans_b}
    attributes |= {"transBatchA": batch_a, "transBatchB": batch_b}
    return MicrosoftCase([laid(m, k, trans_a, batch_a), laid(k, n, trans_b, batch_b)], attributes)


@case("TransposeMatMul")
def _(r: Random) -> MicrosoftCase:
    trans = int(r.integers(2))
    return MicrosoftCase(
        [random_floats(r, 3, 4), random_floats(r, 5, 4) if trans else random_floats(r, 4, 5)],
        {"transB": trans, "alpha": 0.5},
    )


@case("FusedGemm")
def _(r: Random) -> MicrosoftCase:
    activation, parameters = pick_one(
        r, ("Relu", {}), ("LeakyRelu", {"activation_alpha": 0.2}), ("Sigmoid", {}), ("Tanh", {})
    )
    attributes = {"alpha": 0.5, "beta": 2.0, "activation": activation, **parameters}
    return MicrosoftCase(
        [random_floats(r, 3, 4), random_floats(r, 4, 5), or_absent(r, random_floats(r, 5))], attributes
    )


@case("FusedConv")
def _(r: Random) -> MicrosoftCase:
    group = pick_one(r, 1, 2)
    activation, parameters = pick_one(
        r,
        ("Relu", []),
        ("LeakyRelu", [0.2]),
        ("Sigmoid", []),
        ("Tanh", []),
        ("Clip", [-0.5, 0.5]),
        ("HardSigmoid", [0.3, 0.4]),
    )
    attributes = {"group": group, "pads": [1, 1, 0, 0], "strides": [2, 1], "kernel_shape": [3, 3]}
    attributes |= {"activation": activation} | ({"activation_params": parameters} if parameters else {})
    z = or_absent(r, random_floats(r, 1, 4, 3, 5))
    return MicrosoftCase(
        [random_floats(r, 1, 4, 7, 6), random_floats(r, 4, 4 // group, 3, 3), random_floats(r, 4), z],
        attributes,
        atol=1e-5,
    )


@case("NhwcMaxPool")
def _(r: Random) -> MicrosoftCase:
    attributes = {"kernel_shape": [2, 3], "strides": [1, 2], "pads": [1, 0, 0, 1]}
    return MicrosoftCase([random_integers(r, pick_one(r, np.uint8, np.int8), 2, 5, 6, 3)], attributes)


# --- Normalization.


@case("SimplifiedLayerNormalization")
def _(r: Random) -> MicrosoftCase:
    return MicrosoftCase(
        [random_floats(r, 2, 3, 8), random_floats(r, 8)], {"axis": -1, "epsilon": 1e-3, "stash_type": 1}, domain=""
    )


def _skips(r: Random) -> list[Array]:
    return [
        random_floats(r, 2, 3, 8),
        pick_one(r, random_floats(r, 2, 3, 8), random_floats(r, 1, 3, 8), random_floats(r, 3, 8)),
        random_floats(r, 8),
    ]


def _no_statistics(k: int, x: Array) -> Array:
    """onnxruntime's CPU provider does not fill the mean and the inverse deviation."""
    return x[:0] if k in (1, 2) else x


@case("SkipLayerNormalization")
def _(r: Random) -> MicrosoftCase:
    inputs = [*_skips(r), or_absent(r, random_floats(r, 8)), or_absent(r, random_floats(r, 8))]
    return MicrosoftCase(inputs, {"epsilon": 1e-3}, rtol=1e-4, atol=1e-5)


@case("SkipSimplifiedLayerNormalization")
def _(r: Random) -> MicrosoftCase:
    return MicrosoftCase([*_skips(r), or_absent(r, random_floats(r, 8))], {"epsilon": 1e-3}, rtol=1e-4, atol=1e-5)


@case("EmbedLayerNormalization")
def _(r: Random) -> MicrosoftCase:
    ids, segments = r.integers(0, 20, (2, 5), np.int32), r.integers(0, 3, (2, 5), np.int32)
    segment = r.random() < 0.5
    positions = or_absent(r, r.integers(0, 9, (2, 5), np.int32))
    inputs = [
        ids,
        segments if segment else None,
        random_floats(r, 20, 8),
        random_floats(r, 9, 8),
        random_floats(r, 3, 8) if segment else None,
    ]
    inputs += [
        random_floats(r, 8),
        random_floats(r, 8),
        or_absent(r, (np.arange(5) < r.integers(1, 6, (2, 1))).astype(np.int32)),
        positions,
    ]
    return MicrosoftCase(inputs, {"epsilon": 1e-3}, outputs=pick_one(r, 2, 3), rtol=1e-4, atol=1e-5)


# --- Attention.

BATCH, ROWS, HEADS, WIDTH = 2, 3, 2, 4


def _mask(r: Random, total: int, rows: int = ROWS) -> Array | None:
    ends = r.integers(1, total + 1, BATCH, np.int32)
    starts = np.minimum(r.integers(0, 2, BATCH, np.int32), ends - 1)
    seen = (np.arange(total) < ends[:, None]).astype(np.int32)
    return pick_one(
        r,
        None,
        ends,
        np.concatenate([ends, starts]).astype(np.int32),
        seen,
        np.repeat(seen[:, None], rows, 1),
    )


@case("Attention")
def _(r: Random) -> MicrosoftCase:
    past = or_absent(r, random_floats(r, 2, BATCH, HEADS, 2, WIDTH))
    total = ROWS + (0 if past is None else 2)
    width = HEADS * WIDTH
    unidirectional = int(r.integers(2))
    bias = or_absent(r, random_floats(r, pick_one(r, 1, BATCH), HEADS, ROWS, total)) if past is None else None
    inputs = [
        random_floats(r, BATCH, ROWS, 6),
        random_floats(r, 6, 3 * width),
        random_floats(r, 3 * width),
        _mask(r, total),
        past,
        bias,
    ]
    attributes = {"num_heads": HEADS, "unidirectional": unidirectional, "scale": pick_one(r, 0.3, 0.0)}
    return MicrosoftCase(inputs, attributes, outputs=2 if past is not None else 1, rtol=1e-4, atol=1e-5)


@case("Attention/sizes")
def _(r: Random) -> MicrosoftCase:
    sizes = [8, 8, pick_one(r, 4, 8, 12)]
    inputs = [random_floats(r, BATCH, ROWS, 6), random_floats(r, 6, sum(sizes)), random_floats(r, sum(sizes))]
    return MicrosoftCase(inputs, {"num_heads": HEADS, "qkv_hidden_sizes": sizes}, rtol=1e-4, atol=1e-5)


@case("QAttention")
def _(r: Random) -> MicrosoftCase:
    width = HEADS * WIDTH
    x, w = (
        random_integers(r, np.uint8, BATCH, ROWS, 6),
        random_integers(r, pick_one(r, np.int8, np.uint8), 6, 3 * width),
    )
    # Signed weights of 7 bits: without VNNI onnxruntime's sums of larger ones saturate.
    w = w // 2 if w.dtype == np.int8 else w
    inputs = [x, w, random_floats(r, 3 * width), np.float32(0.01), np.float32(0.02), _mask(r, ROWS)]
    inputs += [np.uint8(120), np.array(3, w.dtype)]
    attributes = {"num_heads": HEADS, "unidirectional": int(r.integers(2))}
    return MicrosoftCase([None if x is None else np.asarray(x) for x in inputs], attributes, rtol=1e-4, atol=1e-5)


@case("MultiHeadAttention")
def _(r: Random) -> MicrosoftCase:
    width = HEADS * WIDTH
    form = pick_one(r, "plain", "cross", "past")
    keys = pick_one(r, ROWS, 5) if form in ("plain", "cross") else ROWS
    unidirectional = int(form != "cross" and keys == ROWS and r.random() < 0.4)
    inputs: list[Array | None] = [
        random_floats(r, BATCH, ROWS, width),
        random_floats(r, BATCH, keys, width),
        random_floats(r, BATCH, keys, width),
    ]
    past = [None, None]
    total = keys
    if form == "cross":
        inputs = [
            random_floats(r, BATCH, ROWS, width),
            *(random_floats(r, BATCH, HEADS, keys, WIDTH) for _ in range(2)),
        ]
    elif form == "past":
        past = [random_floats(r, BATCH, HEADS, 2, WIDTH), random_floats(r, BATCH, HEADS, 2, WIDTH)]
        total += 2
    bias = random_floats(r, 3 * width) if form in ("plain", "past") and r.random() < 0.5 else None
    added = or_absent(r, random_floats(r, pick_one(r, 1, BATCH), pick_one(r, 1, HEADS), ROWS, total))
    mask = _mask(r, total) if form in ("plain", "past") else None
    if mask is not None and mask.shape == (2 * BATCH,):
        mask = None
    attributes = {"num_heads": HEADS, "unidirectional": unidirectional}
    outputs = 3 if form == "past" else 1
    return MicrosoftCase([*inputs, bias, mask, added, *past], attributes, outputs, rtol=1e-4, atol=1e-5)


@case("RotaryEmbedding")
def _(r: Random) -> MicrosoftCase:
    flat, width = bool(r.integers(2)), 8
    x = random_floats(r, BATCH, ROWS, HEADS * width) if flat else random_floats(r, BATCH, HEADS, ROWS, width)
    half = pick_one(r, 4, 2)
    positions = pick_one(r, np.array([2]), r.integers(0, 9, (BATCH, ROWS)))
    attributes = {"interleaved": int(r.integers(2))}
    if half < 4:
        attributes |= {"rotary_embedding_dim": 2 * half, "num_heads": HEADS}
    return MicrosoftCase([x, positions, random_floats(r, 9, half), random_floats(r, 9, half)], attributes)


@case("GroupQueryAttention")
def _(r: Random) -> MicrosoftCase:
    groups, width, most = 2, 16, 7
    first = bool(r.integers(2))
    packed, rotary = bool(r.integers(2)), int(r.integers(2))
    rows = ROWS if first else 1
    lengths = np.full(BATCH, rows) if first else r.integers(2, most, BATCH)
    total = int(lengths.max())
    kept = None if first and r.random() < 0.5 else pick_one(r, most, total)
    heads = [groups * HEADS, HEADS, HEADS]
    parts = [random_floats(r, BATCH, rows, count * width) for count in heads]
    inputs = [np.concatenate(parts, 2), None, None] if packed else parts
    inputs += [None, None] if kept is None else [random_floats(r, BATCH, HEADS, kept, width) for _ in range(2)]
    inputs += [(lengths - 1).astype(np.int32), np.array(total, np.int32)]
    inputs += [random_floats(r, 9, width // 2), random_floats(r, 9, width // 2)] if rotary else [None, None]
    added = or_absent(r, random_floats(r, pick_one(r, 1, BATCH), pick_one(r, 1, heads[0]), rows, total))
    inputs += [None, added]
    attributes = {"num_heads": heads[0], "kv_num_heads": HEADS, "do_rotary": rotary}
    attributes |= {"rotary_interleaved": int(r.integers(2))} if rotary else {}
    attributes |= pick_one(r, {}, {"local_window_size": 2}, {"softcap": 2.0}, {"smooth_softmax": 1}, {"scale": 0.3})

    def looked_at(k: int, x: Array) -> Array:
        if not k:
            return x
        return np.concatenate([x[b, :, : int(length)].ravel() for b, length in enumerate(lengths)])

    return MicrosoftCase(inputs, attributes, 3, rtol=1e-4, atol=1e-5, comparable_part=looked_at)


# --- Quantized.


def _scale(r: Random) -> Array:
    return np.array(r.uniform(0.01, 0.05), np.float32)


def _zero(r: Random, dtype: Any) -> Array:
    return random_integers(r, dtype)


def _quantized(r: Random, dtype: Any, *shape: int) -> list[Array]:
    return [random_integers(r, dtype, *shape), _scale(r), _zero(r, dtype)]


for _name in ("QLinearAdd", "QLinearMul"):

    @case(_name)
    def _(r: Random) -> MicrosoftCase:
        dtype = pick_one(r, np.uint8, np.int8)
        other = pick_one(r, (2, 3, 4), (4,), (3, 1))
        return MicrosoftCase(
            [*_quantized(r, dtype, 2, 3, 4), *_quantized(r, dtype, *other), _scale(r), _zero(r, dtype)],
            max_ulp_difference=1,
        )


@case("QLinearSigmoid")
def _(r: Random) -> MicrosoftCase:
    dtype = pick_one(r, np.uint8, np.int8)
    return MicrosoftCase(
        [*_quantized(r, dtype, 3, 4), np.array(1 / 256, np.float32), _zero(r, dtype)], max_ulp_difference=1
    )


@case("QLinearLeakyRelu")
def _(r: Random) -> MicrosoftCase:
    dtype = pick_one(r, np.uint8, np.int8)
    return MicrosoftCase(
        [*_quantized(r, dtype, 3, 4), _scale(r), _zero(r, dtype)],
        {"alpha": pick_one(r, 0.1, 0.5)},
        max_ulp_difference=1,
    )


@case("QLinearSoftmax")
def _(r: Random) -> MicrosoftCase:
    dtype = pick_one(r, np.uint8, np.int8)
    zero = np.array(0 if dtype is np.uint8 else -128, dtype)
    attributes = {"axis": pick_one(r, -1, 1), "opset": pick_one(r, 11, 13)}
    inputs = [*_quantized(r, dtype, 2, 3, 4), np.array(1 / 256, np.float32), zero]
    return MicrosoftCase(inputs, attributes, constant=(1, 2, 3, 4), max_ulp_difference=1)


@case("QLinearConcat")
def _(r: Random) -> MicrosoftCase:
    dtype = pick_one(r, np.uint8, np.int8)
    inputs = [_scale(r), _zero(r, dtype), *_quantized(r, dtype, 2, 3), *_quantized(r, dtype, 2, 4)]
    return MicrosoftCase(inputs, {"axis": 1}, constant=(0, 1, 3, 4, 6, 7), max_ulp_difference=1)


@case("QLinearWhere")
def _(r: Random) -> MicrosoftCase:
    dtype = pick_one(r, np.uint8, np.int8)
    inputs = [r.integers(0, 2, (3, 4)).astype(bool), *_quantized(r, dtype, 3, 4), *_quantized(r, dtype, 4)]
    return MicrosoftCase([*inputs, _scale(r), _zero(r, dtype)], constant=(2, 3, 5, 6, 7, 8), max_ulp_difference=1)


@case("QLinearAveragePool")
def _(r: Random) -> MicrosoftCase:
    dtype, last = pick_one(r, np.uint8, np.int8), int(r.integers(2))
    shape = (2, 5, 6, 3) if last else (2, 3, 5, 6)
    attributes = {"kernel_shape": [2, 3], "strides": [1, 2], "pads": [1, 0, 0, 1], "channels_last": last}
    attributes |= {"count_include_pad": int(r.integers(2))}
    return MicrosoftCase([*_quantized(r, dtype, *shape), _scale(r), _zero(r, dtype)], attributes, max_ulp_difference=1)


@case("QLinearGlobalAveragePool")
def _(r: Random) -> MicrosoftCase:
    last = int(r.integers(2))
    shape = (2, 5, 6, 3) if last else (2, 3, 5, 6)
    inputs = [*_quantized(r, np.uint8, *shape), _scale(r), _zero(r, np.uint8)]
    return MicrosoftCase(inputs, {"channels_last": last}, max_ulp_difference=1)


@case("QLinearConv")
def _(r: Random) -> MicrosoftCase:
    last = int(r.integers(2))
    shape = (1, 5, 6, 4) if last else (1, 4, 5, 6)
    weights = [random_integers(r, np.int8, 4, 4, 3, 3), _scale(r), np.array(0, np.int8)]
    inputs = [*_quantized(r, np.uint8, *shape), *weights, np.array(0.5, np.float32), _zero(r, np.uint8)]
    inputs.append(r.integers(-100, 100, 4).astype(np.int32))
    return MicrosoftCase(
        inputs, {"channels_last": last, "pads": [1, 1, 0, 0]}, constant=(3, 4, 5), max_ulp_difference=1
    )


@case("QGemm")
def _(r: Random) -> MicrosoftCase:
    a, b = pick_one(r, (np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8))
    trans = int(r.integers(2))
    inputs = [*_quantized(r, a, 3, 4), *_quantized(r, b, *((5, 4) if trans else (4, 5)))]
    inputs.append(or_absent(r, r.integers(-100, 100, 5).astype(np.int32)))
    inputs += [np.array(0.5, np.float32), _zero(r, a)] if r.random() < 0.5 else []
    return MicrosoftCase(inputs, {"transB": trans, "alpha": pick_one(r, 1.0, 0.5)}, max_ulp_difference=1, rtol=1e-4)


@case("MatMulIntegerToFloat")
def _(r: Random) -> MicrosoftCase:
    b = pick_one(r, np.uint8, np.int8)
    columns = bool(r.integers(2))
    b_scale = r.uniform(0.01, 0.05, 5).astype(np.float32) if columns else _scale(r)
    b_zero = random_integers(r, b, 5) if columns else _zero(r, b)
    inputs = [random_integers(r, np.uint8, 2, 3, 4), random_integers(r, b, 4, 5), _scale(r), b_scale]
    inputs += [or_absent(r, _zero(r, np.uint8)), or_absent(r, b_zero), or_absent(r, random_floats(r, 5))]
    return MicrosoftCase(inputs, rtol=1e-4, atol=1e-5)


@case("DynamicQuantizeMatMul")
def _(r: Random) -> MicrosoftCase:
    b = pick_one(r, np.uint8, np.int8)
    inputs = [
        random_floats(r, 2, 3, 4),
        random_integers(r, b, 4, 5),
        _scale(r),
        or_absent(r, _zero(r, b)),
        or_absent(r, random_floats(r, 5)),
    ]
    return MicrosoftCase(inputs, rtol=1e-4, atol=1e-5)


@case("QuantizeLinear")
def _(r: Random) -> MicrosoftCase:
    return MicrosoftCase(
        [random_floats(r, 3, 4), _scale(r), or_absent(r, _zero(r, pick_one(r, np.uint8, np.int8, np.int16, np.uint16)))]
    )


@case("DequantizeLinear")
def _(r: Random) -> MicrosoftCase:
    return MicrosoftCase(_quantized(r, pick_one(r, np.uint8, np.int8, np.int16, np.uint16), 3, 4))


@case("MatMulNBits")
def _(r: Random) -> MicrosoftCase:
    bits, block, k, n = pick_one(r, 4, 8), pick_one(r, 16, 32), pick_one(r, 32, 40, 64), 5
    blocks = -(-k // block)
    b = random_integers(r, np.uint8, n, blocks, block * bits // 8)
    zeros = or_absent(r, random_integers(r, np.uint8, n * -(-blocks * bits // 8)))
    scales = r.uniform(0.01, 0.1, n * blocks).astype(np.float32)
    inputs = [random_floats(r, 2, 3, k), b, scales, zeros, None, or_absent(r, random_floats(r, n))]
    attributes = {"K": k, "N": n, "bits": bits, "block_size": block}
    return MicrosoftCase(inputs, attributes, constant=(1, 2, 3) if r.random() < 0.7 else (), rtol=1e-4, atol=1e-4)


@case("GatherBlockQuantized")
def _(r: Random) -> MicrosoftCase:
    import ml_dtypes

    dtype = pick_one(r, ml_dtypes.int4, ml_dtypes.uint4)
    low = -8 if dtype is ml_dtypes.int4 else 0
    data = r.integers(low, low + 16, (6, 32)).astype(dtype)
    scales = r.uniform(0.01, 0.1, (6, 2)).astype(np.float32)
    zeros = or_absent(r, r.integers(low, low + 16, (6, 2)).astype(dtype))
    inputs = [data, r.integers(0, 6, (2, 3)), scales, zeros]
    attributes = {"block_size": 16, "gather_axis": 0, "quantize_axis": 1}
    return MicrosoftCase(inputs, attributes, constant=(0, 2, 3))


#: Operators that sum products of uint8 and int8.
BYTE_SUMS = {"DynamicQuantizeMatMul", "MatMulIntegerToFloat", "QGemm", "QLinearConv"}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("op_type", sorted(CASES))
def test_matches_onnxruntime(op_type: str, seed: int) -> None:
    it = CASES[op_type](np.random.default_rng(seed))
    proto = model(op_type.split("/")[0], it)
    inputs = named(it)
    expected = onnxruntime_peer.run(proto, inputs, optimise=False).values()
    graph = from_proto(proto, "m.onnx")
    got = list(Model(graph).run(inputs).values())
    if op_type.split("/")[0] not in LOOPS:
        for bound, python in zip(got, eagerly(graph, it.inputs, it.outputs), strict=True):
            np.testing.assert_array_equal(bound, python)
    if op_type.split("/")[0] in BYTE_SUMS:
        require_exact_peer_sums()
    for k, (mine, other) in enumerate(zip(got, expected, strict=True)):
        assert (mine.dtype, mine.shape) == (other.dtype, other.shape)
        a, b = it.comparable_part(k, mine), it.comparable_part(k, other)
        if mine.dtype.kind in "iu":
            assert np.abs(a.astype(np.int64) - b.astype(np.int64)).max(initial=0) <= it.max_ulp_difference
        else:
            np.testing.assert_allclose(a, b, it.rtol, it.atol)
