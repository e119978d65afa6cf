"""Loops of recurrent cells in terms of basic operators: products with loop-invariant weights."""

from __future__ import annotations

import functools

import numpy as np
import onnx

from case import Array, BenchmarkCase, Inputs, i64, parse, trip_count_inputs, uniform, weight


def _lstm_layer_text(n: int, source: str, hidden: int, batch: int = 1) -> str:
    """The text of LSTM layer ``n`` as a Loop over the rows of ``source``, gates in the order i, o, f, c."""
    row = f"float[{batch},{hidden}]"
    return f"""
              h{n}_last, c{n}_last, h{n}_rows = Loop (M, cond, h0, c0) <
                body: graph = step{n} (int64 i, bool more_in, {row} h, {row} c)
                    => (bool more, {row} h_next, {row} c_next, {row} h_row) {{
                  x = Gather <axis = 0> ({source}, i)
                  x_W = MatMul (x, W{n})
                  h_R = MatMul (h, R{n})
                  products = Add (x_W, h_R)
                  gates = Add (products, b{n})
                  i_in, o_in, f_in, g_in = Split <axis = 1, num_outputs = 4> (gates)
                  i_gate = Sigmoid (i_in)
                  o_gate = Sigmoid (o_in)
                  f_gate = Sigmoid (f_in)
                  g = Tanh (g_in)
                  kept = Mul (f_gate, c)
                  added = Mul (i_gate, g)
                  c_next = Add (kept, added)
                  squashed = Tanh (c_next)
                  h_next = Mul (o_gate, squashed)
                  h_row = Identity (h_next)
                  more = Identity (more_in)
                }}>
    """


def _lstm_weights(n: int, features: int, hidden: int) -> dict[str, Array]:
    seed = 600 + 10 * n
    return {
        f"W{n}": weight(seed, features, 4 * hidden),
        f"R{n}": weight(seed + 1, hidden, 4 * hidden),
        f"b{n}": uniform(seed + 2, 4 * hidden, low=-0.25, high=0.25),
    }


def _lstm_inputs(features: int, hidden: int, iterations: int, batch: int = 1) -> Inputs:
    zeros = np.zeros((batch, hidden), np.float32)
    x = uniform(66, iterations, batch, features)
    return {"X": x, "h0": zeros, "c0": zeros}


def lstm(features: int = 512, hidden: int = 256, iterations: int = 500, batch: int = 1) -> BenchmarkCase:
    """One LSTM layer over a sequence."""

    def build() -> onnx.ModelProto:
        text = f"""
            lstm (float[{iterations},{batch},{features}] X, float[{batch},{hidden}] h0, float[{batch},{hidden}] c0)
                => (float[n,{batch},{hidden}] h1_rows, float[{batch},{hidden}] h1_last, float[{batch},{hidden}] c1_last)
            {{
              {_lstm_layer_text(1, "X", hidden, batch)}
            }}
        """
        return parse(text, trip_count_inputs(iterations) | _lstm_weights(1, features, hidden))

    inputs = functools.partial(_lstm_inputs, features, hidden, iterations, batch)
    description = f"by nodes, input {features}, hidden {hidden}, batch {batch}: MatMul, Add, Split, Sigmoid, Tanh, Mul"
    return BenchmarkCase("lstm", description, iterations, build, inputs, speedup_goal=2, stepped_speedup_goal=1.2)


def two_lstm(hidden: int = 256, steps: int = 200) -> BenchmarkCase:
    """Two LSTM layers as two Loops; an iteration is one step of one layer."""

    def build() -> onnx.ModelProto:
        text = f"""
            two_lstm (float[{steps},1,{hidden}] X, float[1,{hidden}] h0, float[1,{hidden}] c0)
                => (float[n,1,{hidden}] h2_rows, float[1,{hidden}] h2_last, float[1,{hidden}] c2_last) {{
              {_lstm_layer_text(1, "X", hidden)}
              {_lstm_layer_text(2, "h1_rows", hidden)}
            }}
        """
        return parse(
            text, trip_count_inputs(steps) | _lstm_weights(1, hidden, hidden) | _lstm_weights(2, hidden, hidden)
        )

    inputs = functools.partial(_lstm_inputs, hidden, hidden, steps)
    description = f"two layers, each a Loop of {steps} steps, hidden {hidden}; the second reads the first's scan output"
    return BenchmarkCase("two_lstm", description, 2 * steps, build, inputs)


def greedy(vocabulary: int = 1000, hidden: int = 64, iterations: int = 300) -> BenchmarkCase:
    """A GRU decoder with greedy selection; it would stop at token 0, which is never the best."""
    row = f"float[1,{hidden}]"

    def build() -> onnx.ModelProto:
        text = f"""
            greedy (int64 token0, {row} h0) => (int64[n] tokens, {row} h_last)
            <int64 end_token = {{0}}, float one = {{1}}>
            {{
              token_last, h_last, tokens = Loop (M, cond, token0, h0) <
                body: graph = step (int64 i, bool more_in, int64 token, {row} h)
                    => (bool more, int64 token_next, {row} h_next, int64 token_row) {{
                  x_row = Gather <axis = 0> (embedding, token)
                  x_W = MatMul (x_row, W)
                  h_R = MatMul (h, R)
                  x_gates = Add (x_W, b)
                  x_z, x_r, x_n = Split <axis = 1, num_outputs = 3> (x_gates)
                  h_z, h_r, h_n = Split <axis = 1, num_outputs = 3> (h_R)
                  update_in = Add (x_z, h_z)
                  update = Sigmoid (update_in)
                  reset_in = Add (x_r, h_r)
                  reset = Sigmoid (reset_in)
                  recalled = Mul (reset, h_n)
                  candidate_in = Add (x_n, recalled)
                  candidate = Tanh (candidate_in)
                  kept = Mul (update, h)
                  openness = Sub (one, update)
                  fresh = Mul (openness, candidate)
                  h_next = Add (kept, fresh)
                  logits = MatMul (h_next, to_logits)
                  best = ArgMax <axis = 1, keepdims = 0> (logits)
                  token_next = Squeeze (best)
                  token_row = Identity (token_next)
                  at_end = Equal (token_next, end_token)
                  more = Not (at_end)
                }}>
            }}
        """
        to_logits = weight(105, hidden, vocabulary)
        to_logits[:, 0] = 0  # some other logit is above 0
        weights: dict[str, Array] = {
            "embedding": uniform(101, vocabulary, 1, hidden),
            "W": weight(102, hidden, 3 * hidden),
            "R": weight(103, hidden, 3 * hidden),
            "b": uniform(104, 3 * hidden, low=-0.25, high=0.25),
            "to_logits": to_logits,
        }
        return parse(text, trip_count_inputs(iterations) | weights)

    def inputs() -> Inputs:
        return {"token0": i64(1), "h0": uniform(106, 1, hidden)}

    description = f"greedy decoder: Gather, GRU by nodes ({hidden}), MatMul to {vocabulary} logits, ArgMax"
    return BenchmarkCase("greedy", description, iterations, build, inputs, speedup_goal=1.5)
