"""Correct models, and variants with one fault each: typical errors of exporters, converters and manual edits in
loops."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from text_models import proto

HIDDEN_SIZE, STEP_COUNT, CACHE_ROWS, VOCABULARY_SIZE = 128, 60, 64, 256


def weight(seed: int, *shape: int, scale: float = 0.2) -> Any:
    """Random float32 numbers, the same ones each time."""
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)


def save_with_weights(path: Path, text: str, weights: Mapping[str, Any], opset: int = 18) -> None:
    """Save a model from its text, with weights in its main graph."""
    result = proto(text, opset)
    result.graph.initializer.extend(numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items())
    onnx.save(result, path)


def replace_parts(text: str, *changes: tuple[str, str]) -> str:
    """A text with some of its parts replaced; each of them must occur."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


#: An LSTM cell with a layer norm, written out in a Scan over 60 frames.
CELL = """speech (float[60, 1, 128] frames, float[1, 128] h0, float[1, 128] c0)
    => (float[60, 1, 128] states, float[1, 128] last) {
    last, cell, states = Scan <num_scan_inputs: int = 1, scan_input_directions: ints = [0], body: graph = step
        (float[1, 128] h, float[1, 128] c, float[1, 128] frame)
        => (float[1, 128] h_new, float[1, 128] c_new, float[1, 128] row) {
        from_input = Gemm <transB: int = 1> (frame, W, B)
        from_state = MatMul (h, R)
        gates = Add (from_input, from_state)
        gate_i, gate_o, gate_f, gate_g = Split <axis: int = 1, num_outputs: int = 4> (gates)
        i = Sigmoid (gate_i)
        o = Sigmoid (gate_o)
        f = Sigmoid (gate_f)
        g = Tanh (gate_g)
        kept = Mul (f, c)
        added = Mul (i, g)
        c_sum = Add (kept, added)
        c_new = LayerNormalization <epsilon: float = 0.00001> (c_sum, norm)
        squashed = Tanh (c_new)
        h_new = Mul (o, squashed)
        row = Identity (h_new)
    }> (h0, c0, frames)
}"""
CELL_WEIGHTS = {
    "W": weight(1, 4 * HIDDEN_SIZE, HIDDEN_SIZE),
    "R": weight(2, HIDDEN_SIZE, 4 * HIDDEN_SIZE),
    "B": weight(3, 4 * HIDDEN_SIZE),
    "norm": 1 + weight(4, HIDDEN_SIZE),
}
CELL_INPUTS = {
    "frames": weight(5, STEP_COUNT, 1, HIDDEN_SIZE, scale=1),
    "h0": weight(6, 1, HIDDEN_SIZE),
    "c0": weight(7, 1, HIDDEN_SIZE),
}

#: A greedy decoder with one attention layer over a cache of 64 rows, in a Loop.
DECODER = """decoder (int64 start, int64 count) => (int64[n] tokens, float[64, 128] keys_end) {
    yes = Constant <value = bool {1}> ()
    no_keys = ConstantOfShape <value = float[1] {0}> (room_shape)
    last, keys_end, values_end, tokens = Loop <body: graph = step
        (int64 i, bool going, int64 token, float[64, 128] keys, float[64, 128] values)
        => (bool go_on, int64 next, float[64, 128] keys_new, float[64, 128] values_new, int64 spoken) {
        word = Gather (embedding, token)
        place = Gather (positions, i)
        x = Add (word, place)
        row = Unsqueeze (x, zero)
        q = MatMul (row, Wq)
        k = MatMul (row, Wk)
        v = MatMul (row, Wv)
        at = Unsqueeze (i, zero_one)
        keys_new = ScatterND (keys, at, k)
        values_new = ScatterND (values, at, v)
        turned = Transpose <perm: ints = [1, 0]> (keys_new)
        raw = MatMul (q, turned)
        scores = Mul (raw, scale)
        seen = LessOrEqual (range, i)
        masked = Where (seen, scores, minus)
        weights = Softmax <axis: int = 1> (masked)
        mixed = MatMul (weights, values_new)
        out = MatMul (mixed, Wo)
        sum = Add (out, row)
        logits = MatMul (sum, head)
        best = ArgMax <axis: int = 1, keepdims: int = 0> (logits)
        next = Squeeze (best, zero)
        spoken = Identity (next)
        ended = Equal (next, stop)
        go_on = Not (ended)
    }> (count, yes, start, no_keys, no_keys)
}"""
DECODER_WEIGHTS = {
    "embedding": weight(11, VOCABULARY_SIZE, HIDDEN_SIZE, scale=1),
    "positions": weight(12, CACHE_ROWS + 1, HIDDEN_SIZE, scale=0.7),
    **{f"W{name}": weight(20 + k, HIDDEN_SIZE, HIDDEN_SIZE) for k, name in enumerate("qkvo")},
    "head": weight(30, HIDDEN_SIZE, VOCABULARY_SIZE, scale=1),
    "scale": np.float32(HIDDEN_SIZE**-0.5),
    "minus": np.float32(-1e9),
    "range": np.arange(CACHE_ROWS, dtype=np.int64)[None],
    "room_shape": np.int64([CACHE_ROWS, HIDDEN_SIZE]),
    "zero": np.int64([0]),
    "zero_one": np.int64([0, 1]),
    "stop": np.int64(VOCABULARY_SIZE),
}
DECODER_INPUTS = {"start": np.int64(7), "count": np.int64(48)}

#: A recurrent operator of ONNX.
RECURRENT_OPERATOR = """layer (float[60, 2, 64] X, int32[2] lens) => (float[60, 1, 2, 64] Y) {
    Y, last = GRU <hidden_size: int = 64, linear_before_reset: int = 1, direction: string = "forward">
        (X, W, R, B, lens)
}"""
LSTM = replace_parts(RECURRENT_OPERATOR, ("GRU", "LSTM"), ("linear_before_reset: int = 1", "clip: float = 1.5"))
RECURRENT_OPERATOR_INPUTS = {"X": weight(41, STEP_COUNT, 2, 64, scale=1), "lens": np.int32([60, 23])}


def recurrent_operator_weights(gates: int) -> dict[str, Any]:
    """A layer with N gates."""
    rows = gates * 64
    return {"W": weight(42, 1, rows, 64), "R": weight(43, 1, rows, 64), "B": weight(44, 1, 2 * rows)}


#: A filter with an 8-bit state.
QUANTISED = """filter (float[200, 64] signal, float[1, 64] s0) => (float[1, 64] end) {
    end = Scan <num_scan_inputs: int = 1, body: graph = step
        (float[1, 64] s, float[64] x) => (float[1, 64] s_new) {
        moved = MatMul (s, mix)
        mean = Add (moved, x)
        bytes = QuantizeLinear (mean, scale, zero)
        s_new = DequantizeLinear (bytes, scale, zero)
    }> (s0, signal)
}"""
QUANTISED_WEIGHTS = {"mix": weight(51, 64, 64, scale=0.08), "scale": np.float32(0.03125), "zero": np.uint8(128)}
QUANTISED_INPUTS = {"signal": weight(52, 200, 64, scale=0.5), "s0": weight(53, 1, 64)}

#: A running sum, and its hash; TYPE is the type of both.
SUMS = """sums (TYPE[400] xs, TYPE start) => (TYPE end, TYPE[400] all) {
    end, all = Scan <num_scan_inputs: int = 1, body: graph = step
        (TYPE s, TYPE x) => (TYPE s_new, TYPE row) {
        grown = Mul (s, factor)
        s_new = Add (grown, x)
        row = Identity (s_new)
    }> (start, xs)
}"""

#: Gradient descent until the step is small; its logarithm is collected as well.
DESCENT = """descent (float x0, float rate) => (float x, float[n] losses) {
    yes = Constant <value = bool {1}> ()
    none = Constant <value = int64 {1000}> ()
    x, losses = Loop <body: graph = step (int64 i, bool going, float x_in) => (bool go_on, float x_out, float loss) {
        shifted = Sub (x_in, target)
        step = Mul (shifted, rate)
        x_out = Sub (x_in, step)
        left = Sub (x_out, floor)
        loss = Log (left)
        size = Abs (step)
        go_on = Greater (size, tolerance)
    }> (none, yes, x0)
}"""
DESCENT_WEIGHTS = {"target": np.float32(1), "tolerance": np.float32(1e-9), "floor": np.float32(0)}

#: Attention over two axes of a state; its meaning depends on the opset.
WINDOWS = """windows (float[40, 3, 4, 6] parts, float[3, 4, 6] x0) => (float[3, 4, 6] x) {
    x = Scan <num_scan_inputs: int = 1, body: graph = step
        (float[3, 4, 6] x_in, float[3, 4, 6] part) => (float[3, 4, 6] x_out) {
        share = Softmax <axis: int = 1> (x_in)
        mixed = Mul (share, part)
        x_out = Add (mixed, x_in)
    }> (x0, parts)
}"""
WINDOWS_INPUTS = {"parts": weight(61, 40, 3, 4, 6, scale=1), "x0": weight(62, 3, 4, 6, scale=1)}

#: Heads that are split off and joined; an empty batch is a batch.
HEADS = """heads (float[20, b, 32] frames, float[1, 32] h0) => (float[20, b, 32] all) {
    h, all = Scan <num_scan_inputs: int = 1, body: graph = step
        (float[1, 32] h, float[b, 32] frame) => (float[1, 32] h_new, float[b, 32] row) {
        h_new = Tanh (h)
        heads = Reshape (frame, split)
        moved = Mul (heads, two)
        row = Reshape <allowzero: int = 0> (moved, joined)
    }> (h0, frames)
}"""
HEADS_WEIGHTS = {"split": np.int64([0, 4, 8]), "joined": np.int64([0, 32]), "two": np.float32(2)}
HEADS_INPUTS = {"frames": weight(63, 20, 3, 32), "h0": weight(64, 1, 32)}

#: An encoder block without a loop.
ENCODER = """encoder (float[64, 128] frames) => (float[64, 128] out) {
    normed = LayerNormalization <epsilon: float = 0.00001> (frames, norm)
    q = MatMul (normed, Wq)
    k = MatMul (normed, Wk)
    v = MatMul (normed, Wv)
    turned = Transpose <perm: ints = [1, 0]> (k)
    raw = MatMul (q, turned)
    scores = Mul (raw, scale)
    shares = Softmax <axis: int = 1> (scores)
    mixed = MatMul (shares, v)
    back = MatMul (mixed, Wo)
    attended = Add (back, frames)
    normed_again = LayerNormalization <epsilon: float = 0.00001> (attended, norm)
    wide = MatMul (normed_again, W1)
    bent = Relu (wide)
    narrow = MatMul (bent, W2)
    out = Add (narrow, attended)
}"""
ENCODER_WEIGHTS = {
    **{name: weight(70 + k, HIDDEN_SIZE, HIDDEN_SIZE, scale=0.1) for k, name in enumerate(("Wq", "Wk", "Wv", "Wo"))},
    **{
        "W1": weight(74, HIDDEN_SIZE, VOCABULARY_SIZE, scale=0.1),
        "W2": weight(75, VOCABULARY_SIZE, HIDDEN_SIZE, scale=0.1),
    },
    **{"norm": 1 + weight(76, HIDDEN_SIZE), "scale": np.float32(HIDDEN_SIZE**-0.5)},
}
ENCODER_INPUTS = {"frames": weight(77, 64, HIDDEN_SIZE, scale=1)}
