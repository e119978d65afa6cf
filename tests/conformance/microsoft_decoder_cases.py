"""Cases of operators of ``com.microsoft`` that newer decoders are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from .microsoft_cases import Array, MicrosoftCase, Random, case, or_absent, pick_one, random_floats, random_integers

BATCH, ROWS = 2, 3


def _random_float_type(
    r: Random, inputs: list[Array | None], attributes: dict[str, Any], kept: tuple[int, ...] = ()
) -> MicrosoftCase:
    """In float32 or float16; ``kept``: inputs that are float32 all the same."""
    if r.random() < 0.5:
        return MicrosoftCase(inputs, attributes, rtol=1e-5, atol=2e-6)
    narrow = [
        x.astype(np.float16) if x is not None and x.dtype == np.float32 and k not in kept else x
        for k, x in enumerate(inputs)
    ]
    return MicrosoftCase(narrow, attributes, rtol=2e-3, atol=1e-3)


@case("ScaledSiLU")
def _(r: Random) -> MicrosoftCase:
    scale = or_absent(r, np.array(r.uniform(-2, 2), np.float32))
    return _random_float_type(
        r, [random_floats(r, 3, 5), scale], {"alpha": pick_one(r, 1.0, 1.7, -0.5)}, kept=pick_one(r, (), (1,))
    )


@case("GatedAdd")
def _(r: Random) -> MicrosoftCase:
    return _random_float_type(r, [random_floats(r, 2, 3, 5), random_floats(r, 2, 3, 5), random_floats(r, 2, 3, 1)], {})


@case("LinearAttentionGate")
def _(r: Random) -> MicrosoftCase:
    b = or_absent(r, random_floats(r, BATCH, ROWS, 4))
    it = _random_float_type(
        r, [5 * random_floats(r, BATCH, ROWS, 4), random_floats(r, 4), random_floats(r, 4), b], {}, kept=(1, 2)
    )
    it.outputs = 1 if b is None else 2
    return it


@case("GatedRMSNorm")
def _(r: Random) -> MicrosoftCase:
    attributes = {"activation": pick_one(r, "silu", "swish", "sigmoid"), "epsilon": pick_one(r, 1e-5, 1e-2)}
    return _random_float_type(
        r, [random_floats(r, 2, 3, 8), random_floats(r, pick_one(r, 4, 8)), random_floats(r, 2, 3, 8)], attributes
    )


@case("BranchwiseRMSNorm")
def _(r: Random) -> MicrosoftCase:
    flat = bool(r.integers(2))
    scale = pick_one(r, None, random_floats(r, 12), random_floats(r, 3, 4), random_floats(r, 4))
    attributes = {"epsilon": pick_one(r, 1e-5, 1e-2)} | ({"num_branches": 3} if flat else {})
    return _random_float_type(
        r,
        [random_floats(r, 2, 12) if flat else random_floats(r, 2, 3, 4), scale],
        attributes,
        kept=pick_one(r, (), (1,)),
    )


@case("MRotaryEmbedding")
def _(r: Random) -> MicrosoftCase:
    flat, width, half = bool(r.integers(2)), 16, pick_one(r, 8, 6)
    x = random_floats(r, BATCH, ROWS, 2 * width) if flat else random_floats(r, BATCH, 2, ROWS, width)
    layout = int(r.integers(2))
    sections = pick_one(r, [half, 0, 0], [2, 2, half - 4], [half - 4, 2, 2])
    if layout and max(sections[1:]) * 3 > half + 2:
        sections = [half - 4, 2, 2]
    attributes = {"mrope_section": sections, "mrope_layout": layout, "interleaved": int(r.integers(2))}
    attributes |= {"num_heads": 2} if flat or half < 8 else {}
    attributes |= {"rotary_embedding_dim": 2 * half} if half < 8 else {}
    positions = r.integers(0, 9, (3, BATCH, ROWS))
    return _random_float_type(r, [x, positions, random_floats(r, 9, half), random_floats(r, 9, half)], attributes)


# --- Mixtures of experts.


@case("MoE")
def _(r: Random) -> MicrosoftCase:
    experts, hidden, inner = 4, 8, 6
    name = pick_one(r, "relu", "gelu", "silu", "identity", "swiglu")
    parts = 2 if name == "swiglu" else 1
    x = pick_one(r, random_floats(r, 5, hidden), random_floats(r, 1, 5, hidden))
    router = pick_one(r, random_floats(r, 5, experts), r.integers(0, 2, (5, experts)).astype(np.float32))
    inputs = [
        x,
        router,
        random_floats(r, experts, parts * inner, hidden),
        or_absent(r, random_floats(r, experts, parts * inner)),
    ]
    inputs += [random_floats(r, experts, hidden, inner), or_absent(r, random_floats(r, experts, hidden))]
    attributes = {"k": int(r.integers(1, 5)), "normalize_routing_weights": int(r.integers(2)), "activation_type": name}
    if name == "swiglu":
        attributes |= {"swiglu_fusion": 1} | pick_one(r, {}, {"activation_alpha": 1.7, "activation_beta": 1.0})
        attributes |= pick_one(r, {}, {"swiglu_limit": 0.8})
    return MicrosoftCase(inputs, attributes, rtol=1e-4, atol=1e-4)


def packed(codes: Array, bits: int) -> Array:
    """Numbers as one string of bits along the last axis, the lowest first, in whole bytes."""
    single = (codes[..., None] >> np.arange(bits)) & 1
    return np.packbits(single.reshape(*codes.shape[:-1], -1).astype(np.uint8), axis=-1, bitorder="little")


def quantize_experts(r: Random, bits: int, block: int, zeros: bool, *shape: int) -> tuple[list[Array | None], Array]:
    """Quantized weights, scales and zero points, and what they stand for."""
    count, rows, columns = shape
    blocks = columns // block if block else 1
    codes = r.integers(0, 1 << bits, shape).astype(np.uint8)
    scales = (r.uniform(0.2, 0.8, (count, rows, blocks)) / (1 << bits)).astype(np.float32)
    points = np.full((count, rows, blocks), 1 << (bits - 1))
    if zeros:
        points = r.integers(0, 1 << bits, points.shape)
    real = (codes.reshape(count, rows, blocks, -1) - points[..., None]) * scales[..., None]
    held = packed(points if block else points[..., 0], bits) if zeros else None
    return [packed(codes, bits), scales if block else scales[..., 0], held], real.reshape(shape).astype(np.float32)


@case("QMoE")
def _(r: Random) -> MicrosoftCase:
    experts, hidden, inner = 4, 32, 32
    bits, block, zeros = pick_one(r, 2, 4, 8), pick_one(r, 0, 16, 32), bool(r.integers(2))
    name = pick_one(r, "relu", "gelu", "silu", "identity", "swiglu")
    half = bool(r.integers(2))
    if half and r.random() < 0.4:
        bits, block, zeros, name = 3, 32, False, "swiglu"
    parts = 2 if name == "swiglu" else 1
    item, _ = quantize_experts(r, bits, block, zeros, experts, parts * inner, hidden)
    two, _ = quantize_experts(r, bits, block, zeros, experts, hidden, inner)
    # Positive: onnxruntime leaves out experts whose share is not. For 3 bits it does not normalize them.
    shares = or_absent(r, r.uniform(0.1, 1, (5, experts)).astype(np.float32)) if bits != 3 else None
    inputs = [
        random_floats(r, 5, hidden),
        random_floats(r, 5, experts),
        *item[:2],
        or_absent(r, random_floats(r, experts, parts * inner)),
        *two[:2],
    ]
    inputs += [or_absent(r, random_floats(r, experts, hidden)), None, None, None, item[2], two[2], None, shares]
    attributes = {"k": int(r.integers(1, 5)), "normalize_routing_weights": 1, "activation_type": name}
    attributes |= {"expert_weight_bits": bits, "weights_prepacked": 0} | ({"block_size": block} if block else {})
    attributes |= {"swiglu_fusion": 1} if name == "swiglu" else {}
    it = MicrosoftCase(inputs, attributes, constant=(2, 3, 5, 6, 11, 12), rtol=1e-4, atol=1e-4)
    if half:
        it.inputs = [x.astype(np.float16) if x is not None and x.dtype == np.float32 else x for x in inputs]
    if half or (bits == 8 and block):  # onnxruntime's activations are of 8 bits there
        it.rtol, it.atol = 1e-2, 5e-2 if half else 2e-1
    return it


@case("MatMulBnb4")
def _(r: Random) -> MicrosoftCase:
    k, n, block, kind = pick_one(r, 32, 7, 20), int(r.integers(1, 6)), pick_one(r, 16, 32, 64), int(r.integers(2))
    b = random_integers(r, np.uint8, (n * k + 1) // 2)
    absmax = r.uniform(0.5, 2, -(-n * k // block)).astype(np.float32)
    attributes = {"K": k, "N": n, "block_size": block, "quant_type": kind}
    constant = (1, 2) if r.random() < 0.7 else ()
    return MicrosoftCase(
        [random_floats(r, *pick_one(r, (3,), (2, 3)), k), b, absmax],
        attributes,
        constant=constant,
        rtol=1e-4,
        atol=1e-5,
    )


@case("QEmbedLayerNormalization")
def _(r: Random) -> MicrosoftCase:
    dtype = pick_one(r, np.uint8, np.int8)
    ids, segments = r.integers(0, 20, (2, 5), np.int32), r.integers(0, 3, (2, 5), np.int32)
    segment = bool(r.integers(2))
    tables = [random_integers(r, dtype, *shape) for shape in ((20, 8), (9, 8), (3, 8), (8,), (8,))]
    scales = [np.array(r.uniform(0.01, 0.05), np.float32) for _ in tables]
    zeros = [random_integers(r, dtype) for _ in tables]
    if not segment:
        tables[2], scales[2], zeros[2] = None, None, None  # type: ignore[call-overload]
    mask = or_absent(r, (np.arange(5) < r.integers(1, 6, (2, 1))).astype(np.int32))
    inputs = [ids, segments if segment else None, *tables, mask, *scales, *zeros]
    return MicrosoftCase(inputs, {"epsilon": pick_one(r, 1e-12, 1e-3)}, outputs=2, rtol=1e-4, atol=1e-5)


# --- Attention of one new row.


@case("DecoderMaskedMultiHeadAttention")
def _(r: Random) -> MicrosoftCase:
    heads, width, most, beams = 2, 4, 8, pick_one(r, 1, 2)
    count = BATCH * beams
    past = int(r.integers(0, most))
    rows = [random_floats(r, count, 1, heads * width) for _ in range(3)]
    mask = or_absent(r, np.append(r.integers(0, 2, (count, past)), np.ones((count, 1)), 1).astype(np.int32))
    # With beams onnxruntime mixes up what is added by batch.
    added = or_absent(
        r, random_floats(r, pick_one(r, 1, count) if beams == 1 else 1, pick_one(r, 1, heads), 1, past + 1)
    )
    caches = [random_floats(r, count, heads, most, width) for _ in range(2)]
    origins = r.integers(0, beams, (BATCH, beams, most)).astype(np.int32)
    among = [np.array([beams], np.int32), origins] if beams > 1 else [None, None]
    attributes = {"num_heads": heads, "past_present_share_buffer": 1} | pick_one(r, {}, {"scale": 0.3})
    attributes |= pick_one(r, {}, {"mask_filter_value": -2.0})
    outputs = pick_one(r, 3, 4)
    attributes |= {"output_qk": 1} if outputs > 3 else {}
    inputs = [
        *rows,
        mask,
        added,
        *caches,
        np.array([past], np.int32),
        *among,
        or_absent(r, random_floats(r, 3 * heads * width)),
    ]
    declared = {3: np.float32} if outputs > 3 else {}
    # A masked score of -10000 has the precision that is left there.
    return MicrosoftCase(inputs, attributes, outputs, rtol=1e-4, atol=1e-3 if outputs > 3 else 1e-5, declared=declared)


@case("DecoderMaskedMultiHeadAttention/cross")
def _(r: Random) -> MicrosoftCase:
    heads, width, keys = 2, 4, 5
    mask = or_absent(r, np.append(np.ones((BATCH, 1)), r.integers(0, 2, (BATCH, keys - 1)), 1).astype(np.int32))
    inputs = [
        random_floats(r, BATCH, 1, heads * width),
        *(random_floats(r, BATCH, heads, keys, width) for _ in range(2)),
        mask,
    ]
    inputs += [None] * 6 + [or_absent(r, random_floats(r, 3 * heads * width))]
    return MicrosoftCase(inputs, {"num_heads": heads}, rtol=1e-4, atol=1e-5)


# --- Recurrences.


@case("CausalConvWithState")
def _(r: Random) -> MicrosoftCase:
    size, dilation, rows = int(r.integers(1, 5)), pick_one(r, 1, 2), int(r.integers(0, 6))
    last, channels = int(r.integers(2)), pick_one(r, (6,), (2, 3))
    shape = (BATCH, rows, *channels) if last else (BATCH, 6, rows)
    reach = (size - 1) * dilation
    past = or_absent(r, random_floats(r, BATCH, reach, *channels) if last else random_floats(r, BATCH, 6, reach))
    attributes = {"activation": pick_one(r, "none", "silu", "swish"), "dilation": dilation, "channels_last": last}
    inputs = [random_floats(r, *shape), random_floats(r, 6, 1, size), or_absent(r, random_floats(r, 6)), past]
    return MicrosoftCase(inputs, attributes, outputs=2, rtol=1e-4, atol=1e-5)


@case("LinearAttention")
def _(r: Random) -> MicrosoftCase:
    queries, keys = pick_one(r, (2, 2), (4, 2), (2, 4), (1, 2))
    rows, key_width, value_width = int(r.integers(0, 6)), 4, 3
    rule = pick_one(r, "linear", "gated", "delta", "gated_delta")
    few = 1 if queries < keys and r.random() < 0.3 else keys
    inputs = [random_floats(r, BATCH, rows, queries * key_width), random_floats(r, BATCH, rows, few * key_width) / 3]
    inputs += [
        random_floats(r, BATCH, rows, keys * value_width),
        or_absent(r, random_floats(r, BATCH, keys, key_width, value_width)),
    ]
    decay = -np.abs(random_floats(r, BATCH, rows, keys * pick_one(r, 1, key_width)))
    beta = r.uniform(0, 1, (BATCH, rows, pick_one(r, 1, keys))).astype(np.float32)
    inputs += [decay if rule.startswith("gated") else or_absent(r, decay), beta if rule.endswith("delta") else None]
    attributes = {"q_num_heads": queries, "kv_num_heads": keys, "update_rule": rule}
    return MicrosoftCase(inputs, attributes | pick_one(r, {}, {"scale": 0.3}), outputs=2, rtol=1e-4, atol=1e-5)


@case("GatedDeltaNet")
def _(r: Random) -> MicrosoftCase:
    heads, key_width, value_width = 2, 4, 3
    value_heads = pick_one(r, 2, 4)
    rule = pick_one(r, "linear", "gated", "delta", "gated_delta")
    form = pick_one(r, "rows", "batch", "packed", "packed batch", "ragged", "ragged packed")
    lengths = r.integers(0, 4, 3) if "ragged" in form else np.full(BATCH, int(r.integers(1, 5)))
    lengths[0] += 1
    if "ragged" not in form:
        lengths[:] = lengths[0]
    total = int(lengths.sum())
    query, key = random_floats(r, total, heads, key_width), random_floats(r, total, heads, key_width) / 3
    value = random_floats(r, total, value_heads, value_width)
    per_key = bool(r.integers(2))
    decay = random_floats(r, total, value_heads, *([key_width] if per_key else []))
    beta = random_floats(r, total, value_heads)
    attributes: dict[str, Any] = {"update_rule": rule, "qk_l2_norm": int(r.integers(2))} | pick_one(
        r, {}, {"scale": 0.3}
    )
    gate = pick_one(r, "none", "softplus", "qwen", "sigmoid", "kda")
    a_log = bias = None
    if rule.startswith("gated") and gate != "none":
        attributes |= {"gate_activation": gate} | pick_one(r, {}, {"gate_lower_bound": -3.0})
        a_log, bias = random_floats(r, value_heads), random_floats(r, value_heads, *([key_width] if per_key else []))
    else:
        decay = -np.abs(decay)
    if rule.endswith("delta") and r.random() < 0.5:
        attributes["beta_activation"] = "sigmoid"
    else:
        beta = np.abs(beta) / 4
    state = random_floats(r, len(lengths), value_heads, value_width, key_width)
    if form in ("batch", "ragged"):
        state = or_absent(r, state)
    parts = [query, key, value]
    if "packed" in form:
        parts = [np.concatenate([x.reshape(total, -1) for x in parts], 1), None, None]  # type: ignore[list-item]
    bounds = np.append(0, np.cumsum(lengths)).astype(np.int32) if "ragged" in form else None
    inputs = [*parts, bounds, decay if rule.startswith("gated") else None, beta if rule.endswith("delta") else None]
    if "batch" in form:
        inputs = [None if x is None else x.reshape(BATCH, -1, *x.shape[1:]) for x in inputs]
    inputs += [state, a_log, bias]
    half = r.random() < 0.3
    if half:
        inputs[:3] = [None if x is None else x.astype(np.float16) for x in inputs[:3]]
        if r.random() < 0.5:
            inputs[4:6] = [None if x is None else x.astype(np.float16) for x in inputs[4:6]]
    return MicrosoftCase(inputs, attributes, outputs=2, rtol=2e-3 if half else 1e-4, atol=2e-3 if half else 1e-5)


@case("GatedDeltaNet/captured")
def _(r: Random) -> MicrosoftCase:
    heads, value_heads, key_width, value_width, rows, width = 2, 4, 4, 3, int(r.integers(1, 5)), int(r.integers(1, 4))
    total, per_key = BATCH * rows, bool(r.integers(2))
    inputs = [random_floats(r, total, heads, key_width), random_floats(r, total, heads, key_width) / 3]
    inputs += [random_floats(r, total, value_heads, value_width), None]
    inputs += [-np.abs(random_floats(r, total, value_heads, *([key_width] if per_key else [])))]
    inputs += [
        np.abs(random_floats(r, total, value_heads)) / 4,
        random_floats(r, BATCH, value_heads, value_width, key_width),
        None,
        None,
    ]
    counts = r.integers(0, 5, BATCH).astype(np.int32)
    active = pick_one(r, None, np.array([0], np.int32), np.array([1], np.int32))
    inputs += [counts, active]
    sizes = [value_heads * (key_width if per_key else 1), heads * key_width, value_heads * value_width]

    def looked_at(k: int, x: Array) -> Array:
        """What is behind those that are asked for is left open."""
        if k != 2 or (active is not None and not active[0]):
            return x
        parts = np.split(x, np.cumsum([width * n for n in sizes])[:-1], axis=1)
        apart = [part.reshape(BATCH, width, -1) for part in parts]
        return np.concatenate(
            [part[b, : min(int(counts[b]), width, rows)].ravel() for part in apart for b in range(BATCH)]
        )

    return MicrosoftCase(
        inputs, {"state_update_capacity": width, "qk_l2_norm": 1}, 3, rtol=1e-4, atol=1e-5, comparable_part=looked_at
    )
