"""Cases of operators of ``com.microsoft`` that newer decoders are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from .microsoft_cases import Array, Case, Random, case, integers, maybe, pick, some

BATCH, ROWS = 2, 3


def _typed(r: Random, inputs: list[Array | None], attributes: dict[str, Any], kept: tuple[int, ...] = ()) -> Case:
    """In float32 or float16; ``kept``: inputs that are float32 all the same."""
    if r.random() < 0.5:
        return Case(inputs, attributes, rtol=1e-5, atol=2e-6)
    narrow = [
        x.astype(np.float16) if x is not None and x.dtype == np.float32 and k not in kept else x
        for k, x in enumerate(inputs)
    ]
    return Case(narrow, attributes, rtol=2e-3, atol=1e-3)


@case("ScaledSiLU")
def _(r: Random) -> Case:
    scale = maybe(r, np.array(r.uniform(-2, 2), np.float32))
    return _typed(r, [some(r, 3, 5), scale], {"alpha": pick(r, 1.0, 1.7, -0.5)}, kept=pick(r, (), (1,)))


@case("GatedAdd")
def _(r: Random) -> Case:
    return _typed(r, [some(r, 2, 3, 5), some(r, 2, 3, 5), some(r, 2, 3, 1)], {})


@case("LinearAttentionGate")
def _(r: Random) -> Case:
    b = maybe(r, some(r, BATCH, ROWS, 4))
    it = _typed(r, [5 * some(r, BATCH, ROWS, 4), some(r, 4), some(r, 4), b], {}, kept=(1, 2))
    it.outputs = 1 if b is None else 2
    return it


@case("GatedRMSNorm")
def _(r: Random) -> Case:
    attributes = {"activation": pick(r, "silu", "swish", "sigmoid"), "epsilon": pick(r, 1e-5, 1e-2)}
    return _typed(r, [some(r, 2, 3, 8), some(r, pick(r, 4, 8)), some(r, 2, 3, 8)], attributes)


@case("BranchwiseRMSNorm")
def _(r: Random) -> Case:
    flat = bool(r.integers(2))
    scale = pick(r, None, some(r, 12), some(r, 3, 4), some(r, 4))
    attributes = {"epsilon": pick(r, 1e-5, 1e-2)} | ({"num_branches": 3} if flat else {})
    return _typed(r, [some(r, 2, 12) if flat else some(r, 2, 3, 4), scale], attributes, kept=pick(r, (), (1,)))


@case("MRotaryEmbedding")
def _(r: Random) -> Case:
    flat, width, half = bool(r.integers(2)), 16, pick(r, 8, 6)
    x = some(r, BATCH, ROWS, 2 * width) if flat else some(r, BATCH, 2, ROWS, width)
    layout = int(r.integers(2))
    sections = pick(r, [half, 0, 0], [2, 2, half - 4], [half - 4, 2, 2])
    if layout and max(sections[1:]) * 3 > half + 2:
        sections = [half - 4, 2, 2]
    attributes = {"mrope_section": sections, "mrope_layout": layout, "interleaved": int(r.integers(2))}
    attributes |= {"num_heads": 2} if flat or half < 8 else {}
    attributes |= {"rotary_embedding_dim": 2 * half} if half < 8 else {}
    positions = r.integers(0, 9, (3, BATCH, ROWS))
    return _typed(r, [x, positions, some(r, 9, half), some(r, 9, half)], attributes)


# --- Mixtures of experts.


@case("MoE")
def _(r: Random) -> Case:
    experts, hidden, inner = 4, 8, 6
    name = pick(r, "relu", "gelu", "silu", "identity", "swiglu")
    parts = 2 if name == "swiglu" else 1
    x = pick(r, some(r, 5, hidden), some(r, 1, 5, hidden))
    router = pick(r, some(r, 5, experts), r.integers(0, 2, (5, experts)).astype(np.float32))
    inputs = [x, router, some(r, experts, parts * inner, hidden), maybe(r, some(r, experts, parts * inner))]
    inputs += [some(r, experts, hidden, inner), maybe(r, some(r, experts, hidden))]
    attributes = {"k": int(r.integers(1, 5)), "normalize_routing_weights": int(r.integers(2)), "activation_type": name}
    if name == "swiglu":
        attributes |= {"swiglu_fusion": 1} | pick(r, {}, {"activation_alpha": 1.7, "activation_beta": 1.0})
        attributes |= pick(r, {}, {"swiglu_limit": 0.8})
    return Case(inputs, attributes, rtol=1e-4, atol=1e-4)


def packed(codes: Array, bits: int) -> Array:
    """Numbers as one string of bits along the last axis, the lowest first, in whole bytes."""
    single = (codes[..., None] >> np.arange(bits)) & 1
    return np.packbits(single.reshape(*codes.shape[:-1], -1).astype(np.uint8), axis=-1, bitorder="little")


def experts_of(r: Random, bits: int, block: int, zeros: bool, *shape: int) -> tuple[list[Array | None], Array]:
    """Quantized weights, scales and zero points, and what they stand for."""
    count, rows, columns = shape
    blocks = columns // block if block else 1
    codes = r.integers(0, 1 << bits, shape).astype(np.uint8)
    scales = r.uniform(0.01, 0.05, (count, rows, blocks)).astype(np.float32)
    points = np.full((count, rows, blocks), 1 << (bits - 1))
    if zeros:
        points = r.integers(0, 1 << bits, points.shape)
    real = (codes.reshape(count, rows, blocks, -1) - points[..., None]) * scales[..., None]
    held = packed(points if block else points[..., 0], bits) if zeros else None
    return [packed(codes, bits), scales if block else scales[..., 0], held], real.reshape(shape).astype(np.float32)


@case("QMoE")
def _(r: Random) -> Case:
    experts, hidden, inner = 4, 32, 32
    bits, block, zeros = pick(r, 2, 4, 8), pick(r, 0, 16, 32), bool(r.integers(2))
    name = pick(r, "relu", "gelu", "silu", "identity", "swiglu")
    half = bool(r.integers(2))
    if half and r.random() < 0.4:
        bits, block, zeros, name = 3, 32, False, "swiglu"
    parts = 2 if name == "swiglu" else 1
    one, _ = experts_of(r, bits, block, zeros, experts, parts * inner, hidden)
    two, _ = experts_of(r, bits, block, zeros, experts, hidden, inner)
    # Positive: onnxruntime leaves out experts whose share is not. For 3 bits it does not normalize them.
    shares = maybe(r, r.uniform(0.1, 1, (5, experts)).astype(np.float32)) if bits != 3 else None
    inputs = [some(r, 5, hidden), some(r, 5, experts), *one[:2], maybe(r, some(r, experts, parts * inner)), *two[:2]]
    inputs += [maybe(r, some(r, experts, hidden)), None, None, None, one[2], two[2], None, shares]
    attributes = {"k": int(r.integers(1, 5)), "normalize_routing_weights": 1, "activation_type": name}
    attributes |= {"expert_weight_bits": bits, "weights_prepacked": 0} | ({"block_size": block} if block else {})
    attributes |= {"swiglu_fusion": 1} if name == "swiglu" else {}
    it = Case(inputs, attributes, constant=(2, 3, 5, 6, 11, 12), rtol=1e-4, atol=1e-4)
    if half:
        it.inputs = [x.astype(np.float16) if x is not None and x.dtype == np.float32 else x for x in inputs]
    if half or (bits == 8 and block):  # onnxruntime's activations are of 8 bits there
        it.rtol, it.atol = 1e-2, 1e-2 * (1 if bits < 8 else 300 if parts == 1 else 5000)
    return it


@case("MatMulBnb4")
def _(r: Random) -> Case:
    k, n, block, kind = pick(r, 32, 7, 20), int(r.integers(1, 6)), pick(r, 16, 32, 64), int(r.integers(2))
    b = integers(r, np.uint8, (n * k + 1) // 2)
    absmax = r.uniform(0.5, 2, -(-n * k // block)).astype(np.float32)
    attributes = {"K": k, "N": n, "block_size": block, "quant_type": kind}
    constant = (1, 2) if r.random() < 0.7 else ()
    return Case([some(r, *pick(r, (3,), (2, 3)), k), b, absmax], attributes, constant=constant, rtol=1e-4, atol=1e-5)


@case("QEmbedLayerNormalization")
def _(r: Random) -> Case:
    dtype = pick(r, np.uint8, np.int8)
    ids, segments = r.integers(0, 20, (2, 5), np.int32), r.integers(0, 3, (2, 5), np.int32)
    segment = bool(r.integers(2))
    tables = [integers(r, dtype, *shape) for shape in ((20, 8), (9, 8), (3, 8), (8,), (8,))]
    scales = [np.array(r.uniform(0.01, 0.05), np.float32) for _ in tables]
    zeros = [integers(r, dtype) for _ in tables]
    if not segment:
        tables[2], scales[2], zeros[2] = None, None, None  # type: ignore[call-overload]
    mask = maybe(r, (np.arange(5) < r.integers(1, 6, (2, 1))).astype(np.int32))
    inputs = [ids, segments if segment else None, *tables, mask, *scales, *zeros]
    return Case(inputs, {"epsilon": pick(r, 1e-12, 1e-3)}, outputs=2, rtol=1e-4, atol=1e-5)
