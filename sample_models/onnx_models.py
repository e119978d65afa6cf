"""The ONNX sample models, in ONNX's text format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser

from sample import Array, SampleModel, uniform

HERE = Path(__file__).resolve().parent
# Operator set -> the IR version that was released with it.
IR_VERSION = {11: 6, 13: 7, 16: 8, 18: 8, 19: 9, 21: 10}


def onnx_sample(
    opset: int,
    text: str,
    inputs: Mapping[str, Array],
    weights: Mapping[str, Array] | None = None,
    lines: Mapping[str, str] | None = None,
) -> SampleModel:
    """A sample from the text of its graph; ``weights`` become initializers of the main graph. ``lines``: the first
    output of a node -> the line of code in ``power_iteration.py`` that the node comes from.

    Raises:
        onnx.parser.ParseError: the text is not a graph.
        onnx.checker.ValidationError: the graph is not a valid model.
    """
    header = f'<ir_version: {IR_VERSION[opset]}, opset_import: ["" : {opset}], producer_name: "loopdbg">\n'
    model = onnx.parser.parse_model(header + text)
    for name, array in (weights or {}).items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    add_source_metadata(model.graph, lines or {})
    onnx.checker.check_model(model, full_check=True)
    return SampleModel({".onnx": model.SerializeToString(deterministic=True)}, inputs)


def add_source_metadata(graph: onnx.GraphProto, lines: Mapping[str, str]) -> None:
    """Add the metadata of ``torch.onnx.export`` to nodes: the source line of each."""
    for node in graph.node:
        for attribute in node.attribute:
            add_source_metadata(attribute.g, lines)
        if node.output[0] in lines:
            node.metadata_props.add(key="pkg.torch.onnx.stack_trace", value=stack_trace(lines[node.output[0]]))


def stack_trace(text: str) -> str:
    """The location of a line of power_iteration.py as a Python stack trace."""
    name = "power_iteration.py"
    code = (HERE / name).read_text().splitlines()
    number = next(k for k, line in enumerate(code, 1) if line.strip() == text)
    function = next(line for line in reversed(code[:number]) if line.startswith("def "))
    return f'File "{name}", line {number}, in {function[4:].partition("(")[0]}\n    {text}\n'


def f32(value: object) -> Array:
    """A float32 array."""
    return np.array(value, np.float32)


def i64(value: object) -> Array:
    """An int64 array."""
    return np.array(value, np.int64)


def test_loop11() -> SampleModel:
    """The cumulative sum of the ONNX node test of that name."""
    text = """
        test_loop11 (int64 trip_count, bool cond, float[1] y) => (float[1] res_y, float[5,1] res_scan) {
          [cumulative_sum] res_y, res_scan = Loop (trip_count, cond, y) <
            body: graph = loop_body (int64 iter_count, bool cond_in, float[1] y_in)
                => (bool cond_out, float[1] y_out, float[1] scan_out) {
              cond_out = Identity (cond_in)
              x = Constant <value: tensor = float[5] {1, 2, 3, 4, 5}> ()
              one = Constant <value: tensor = int64 {1}> ()
              end = Add (iter_count, one)
              slice_start = Unsqueeze <axes: ints = [0]> (iter_count)
              slice_end = Unsqueeze <axes: ints = [0]> (end)
              slice_out = Slice (x, slice_start, slice_end)
              y_out = Add (y_in, slice_out)
              scan_out = Identity (y_out)
            }>
        }
    """
    return onnx_sample(11, text, {"trip_count": i64(5), "cond": np.array(True), "y": f32([-2])})


def spec_ab() -> SampleModel:
    """The sample of the ONNX Loop specification, its constants as inputs, its iteration number as int64."""
    text = """
        spec_ab (int32 a, int32 b, int64 max_trip_count, bool keepgoing) => (int32 b_out, int32[n] vals) {
          [spec_loop] b_out, vals = Loop (max_trip_count, keepgoing, b) <
            body: graph = body_net (int64 i, bool keepgoing_in, int32 b_in)
                => (bool keepgoing_out, int32 b_next, int32 user_defined_val) {
              my_local = Add (a, b_in)
              b_next = Sub (a, b_in)
              keepgoing_out = Greater (my_local, b_next)
              user_defined_val = Add (b_in, b_in)
            }>
        }
    """
    inputs = {
        "a": np.array(3, np.int32),
        "b": np.array(6, np.int32),
        "max_trip_count": i64(10),
        "keepgoing": np.array(True),
    }
    return onnx_sample(16, text, inputs)


def newton_sqrt() -> SampleModel:
    """Newton's square root: a while loop that ends when a step no longer changes x by more than ``tol``.

    It starts at max(a, 1), which is never below the root; where that is exact already there are zero trips.
    """
    text = """
        newton_sqrt (float a, float tol) => (float root, float[n] xs)
        <float one = {1}>
        {
          x0 = Max (a, one)
          x0_squared = Mul (x0, x0)
          excess = Sub (x0_squared, a)
          err0 = Abs (excess)
          keep0 = Greater (err0, tol)
          [sqrt] root, last_err, xs = Loop ("", keep0, x0, err0) <
            body: graph = newton_step (int64 i, bool keep_in, float x, float err)
                => (bool keep, float x_new, float err_new, float x_new)
            <float one_half = {0.5}>
            {
              half = Mul (x, one_half)
              q = Div (a, x)
              half_q = Mul (q, one_half)
              x_new = Add (half, half_q)
              change = Sub (x_new, x)
              err_new = Abs (change)
              keep = Greater (err_new, tol)
            }>
        }
    """
    return onnx_sample(16, text, {"a": f32(2), "tol": f32(1e-6)})


def collatz() -> SampleModel:
    """The Collatz sequence down to 1: a while loop whose body branches with If."""
    text = """
        collatz (int64 start) => (int64 steps, int64[n] trajectory)
        <int64 zero = {0}, int64 one = {1}, int64 two = {2}, int64 three = {3}>
        {
          start_is_one = Equal (start, one)
          walk = Not (start_is_one)
          [collatz] last, steps, trajectory = Loop ("", walk, start, zero) <
            body: graph = collatz_step (int64 i, bool go_on_in, int64 n, int64 count)
                => (bool go_on, int64 n_next, int64 count_next, int64 n_next) {
              remainder = Mod (n, two)
              is_even = Equal (remainder, zero)
              [parity] n_next = If (is_even) <
                then_branch: graph = even () => (int64 halved) {
                  halved = Div (n, two)
                },
                else_branch: graph = odd () => (int64 tripled_plus_one) {
                  tripled = Mul (n, three)
                  tripled_plus_one = Add (tripled, one)
                }>
              count_next = Add (count, one)
              at_one = Equal (n_next, one)
              go_on = Not (at_one)
            }>
        }
    """
    return onnx_sample(13, text, {"start": i64(7)})


def fibonacci() -> SampleModel:
    """The Fibonacci numbers: a for loop, trip count and no condition; one carried value becomes the other."""
    text = """
        fibonacci (int64 n) => (int64[n] numbers)
        <int64 f0 = {0}, int64 f1 = {1}>
        {
          [fibonacci] fn, fn_plus_1, numbers = Loop (n, "", f0, f1) <
            body: graph = fibonacci_step (int64 i, bool cond_in, int64 a, int64 b)
                => (bool cond_out, int64 a_next, int64 b_next, int64 number) {
              cond_out = Constant <value: tensor = bool {1}> ()
              number = Identity (a)
              a_next = Identity (b)
              b_next = Add (a, b)
            }>
        }
    """
    return onnx_sample(19, text, {"n": i64(12)})


def power_iteration() -> SampleModel:
    """The largest eigenvalue of a matrix: a loop that ends by convergence or by its trip count."""
    text = """
        power_iteration (float[4,4] A, float[4] v0, float tol, int64 max_iterations)
            => (float eigenvalue, float[4] eigenvector, float[n] estimates)
        <bool yes = {1}, float zero = {0}>
        {
          [power_iteration] eigenvector, eigenvalue, estimates = Loop (max_iterations, yes, v0, zero) <
            body: graph = power_step (int64 i, bool moving_in, float[4] v, float estimate)
                => (bool moving, float[4] v_new, float estimate_new, float estimate_new) {
              Av = MatMul (A, v)
              length = ReduceL2 <keepdims = 0> (Av)
              v_new = Div (Av, length)
              estimate_new = MatMul (v, Av)
              difference = Sub (estimate_new, estimate)
              change = Abs (difference)
              moving = Greater (change, tol)
            }>
        }
    """
    inputs = {
        "A": f32([[4, 1, 0, 0], [1, 3, 1, 0], [0, 1, 2, 1], [0, 0, 1, 1]]),
        "v0": f32([0.5, 0.5, 0.5, 0.5]),
        "tol": f32(1e-4),
        "max_iterations": i64(50),
    }
    change, loop = "change = abs(new_estimate - estimate)", "for _ in range(max_iterations):"
    lines = {
        "eigenvector": loop,
        "Av": "product = matrix @ v",
        **dict.fromkeys(("length", "v_new"), "longer = product / np.linalg.norm(product)"),
        "estimate_new": "new_estimate = v @ product",
        **dict.fromkeys(("difference", "change"), change),
        "moving": "if not change > tol:",
    }
    return onnx_sample(18, text, inputs, lines=lines)


def mandelbrot() -> SampleModel:
    """The Mandelbrot set, nested: a loop over the pixels around the loop of one pixel's escape."""
    text = """
        mandelbrot (int64 height, int64 width, int64 max_iterations) => (int64[height, width] counts)
        <bool yes = {1}, int64 no_count = {0}, int64 one = {1}, int64[1] axis0 = {0},
         float zero = {0}, float two = {2}, float four = {4},
         float left = {-2.25}, float top = {-1.5}, float side = {3}>
        {
          height_f = Cast <to = 1> (height)
          width_f = Cast <to = 1> (width)
          row_step = Div (side, height_f)
          column_step = Div (side, width_f)
          pixels = Mul (height, width)
          [pixels] flat_counts = Loop (pixels, "") <
            body: graph = pixel_body (int64 pixel, bool more_in) => (bool more, int64 escape_count) {
              row = Div (pixel, width)
              column = Mod (pixel, width)
              row_f = Cast <to = 1> (row)
              column_f = Cast <to = 1> (column)
              down = Mul (row_f, row_step)
              right = Mul (column_f, column_step)
              c_im = Add (top, down)
              c_re = Add (left, right)
              [escape] last_re, last_im, escape_count = Loop (max_iterations, yes, zero, zero, no_count) <
                body: graph = escape_body (int64 k, bool inside_in, float re, float im, int64 count)
                    => (bool inside, float re_new, float im_new, int64 count_new) {
                  re_re = Mul (re, re)
                  im_im = Mul (im, im)
                  re_im = Mul (re, im)
                  square_re = Sub (re_re, im_im)
                  square_im = Mul (two, re_im)
                  re_new = Add (square_re, c_re)
                  im_new = Add (square_im, c_im)
                  re_new_2 = Mul (re_new, re_new)
                  im_new_2 = Mul (im_new, im_new)
                  distance_2 = Add (re_new_2, im_new_2)
                  inside = LessOrEqual (distance_2, four)
                  count_new = Add (count, one)
                }>
              more = Constant <value: tensor = bool {1}> ()
            }>
          height_1 = Unsqueeze (height, axis0)
          width_1 = Unsqueeze (width, axis0)
          grid = Concat <axis = 0> (height_1, width_1)
          counts = Reshape (flat_counts, grid)
        }
    """
    return onnx_sample(16, text, {"height": i64(12), "width": i64(24), "max_iterations": i64(20)})


def vanishing_scale() -> SampleModel:
    """A state that is divided by a scale, which reaches zero in iteration 137 of 1 000: from then on it is NaN."""
    text = """
        vanishing_scale (float[4] h0, float[n] scale) => (float[4] h_last, float[n] sizes) {
          trips = Size (scale)
          [normalise] h_last, sizes = Loop (trips, "", h0) <
            body: graph = normalise_step (int64 i, bool more_in, float[4] h)
                => (bool more, float[4] h_new, float size) {
              s = Gather <axis = 0> (scale, i)
              q = Div (h, s)
              magnitude = Abs (q)
              largest = ReduceMax <keepdims = 0> (magnitude)
              h_new = Div (q, largest)
              size = ReduceSum <keepdims = 0> (h_new)
              more = Identity (more_in)
            }>
        }
    """
    scale = (137 - np.arange(1000, dtype=np.float32)) / np.float32(137)
    return onnx_sample(18, text, {"h0": f32([1, 2, 3, 4]), "scale": scale})


def counter() -> SampleModel:
    """A counter with both a trip count and a condition: whichever comes first ends it."""
    text = """
        counter (int64 max_trips, int64 start, int64 step, int64 limit) => (int64 last, int64[n] counts) {
          below0 = Less (start, limit)
          [counter] last, counts = Loop (max_trips, below0, start) <
            body: graph = count_step (int64 i, bool below_in, int64 count)
                => (bool below, int64 count_next, int64 count_next) {
              count_next = Add (count, step)
              below = Less (count_next, limit)
            }>
        }
    """
    return onnx_sample(21, text, {"max_trips": i64(10), "start": i64(0), "step": i64(3), "limit": i64(20)})


def greedy_decoder() -> SampleModel:
    """A GRU decoder that takes the best token each time and stops early, at the end token (token 0)."""
    vocabulary, embedded, hidden = 24, 12, 32
    text = f"""
        greedy_decoder (float[{hidden}] encoded, int64 start_token, int64 max_length) => (int64[n] tokens)
        <bool yes = {{1}}, int64 end_token = {{0}}, float one = {{1}}>
        {{
          [decode] last_token, last_state, tokens = Loop (max_length, yes, start_token, encoded) <
            body: graph = decode_step (int64 i, bool go_on_in, int64 token, float[{hidden}] h)
                => (bool go_on, int64 token_next, float[{hidden}] h_next, int64 token_next) {{
              x = Gather (embedding, token)
              x_W = MatMul (x, W)
              h_R = MatMul (h, R)
              x_gates = Add (x_W, b)
              x_z, x_r, x_n = Split <axis = 0, num_outputs = 3> (x_gates)
              h_z, h_r, h_n = Split <axis = 0, num_outputs = 3> (h_R)
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
              token_next = ArgMax <axis = 0, keepdims = 0> (logits)
              at_end = Equal (token_next, end_token)
              go_on = Not (at_end)
            }}>
        }}
    """
    weights = {
        "embedding": uniform(1881, vocabulary, embedded),
        "W": uniform(1882, embedded, 3 * hidden),
        "R": uniform(1883, hidden, 3 * hidden, scale=0.5),
        "b": uniform(1884, 3 * hidden, scale=0.25),
        "to_logits": uniform(1885, hidden, vocabulary),
    }
    inputs = {"encoded": uniform(1886, hidden, scale=0.5), "start_token": i64(1), "max_length": i64(32)}
    return onnx_sample(19, text, inputs, weights)


def lstm_layer_text(n: int, inputs: str, hidden: int) -> str:
    """The text of LSTM layer ``n`` as a Loop over the rows of ``inputs``, gates in the order i, o, f, c."""
    return f"""
          [layer{n}] h{n}_last, c{n}_last, h{n}_rows = Loop (steps, "", h_zero, c_zero) <
            body: graph = lstm_step{n} (int64 t, bool cond_in, float[{hidden}] h, float[{hidden}] c)
                => (bool cond_out, float[{hidden}] h_next, float[{hidden}] c_next, float[{hidden}] h_next) {{
              cond_out = Constant <value: tensor = bool {{1}}> ()
              x = Gather <axis = 0> ({inputs}, t)
              x_W = MatMul (x, W{n})
              h_R = MatMul (h, R{n})
              products = Add (x_W, h_R)
              gates = Add (products, b{n})
              i_in, o_in, f_in, g_in = Split <axis = 0, num_outputs = 4> (gates)
              i_gate = Sigmoid (i_in)
              o_gate = Sigmoid (o_in)
              f_gate = Sigmoid (f_in)
              g = Tanh (g_in)
              kept = Mul (f_gate, c)
              added = Mul (i_gate, g)
              c_next = Add (kept, added)
              squashed = Tanh (c_next)
              h_next = Mul (o_gate, squashed)
            }}>
    """


def two_layer_lstm() -> SampleModel:
    """Two LSTM layers as two Loops in a row: the second reads the scan output of the first, row by row."""
    steps, features, hidden = 16, 8, 16
    text = f"""
        two_layer_lstm (float[steps, {features}] X)
            => (float[steps, {hidden}] Y, float[{hidden}] H, float[{hidden}] C) {{
          shape = Shape <start = 0, end = 1> (X)
          steps = Squeeze (shape)
          {lstm_layer_text(1, "X", hidden)}
          {lstm_layer_text(2, "h1_rows", hidden)}
          Y = Identity (h2_rows)
          H = Identity (h2_last)
          C = Identity (c2_last)
        }}
    """
    weights = {
        "W1": uniform(201, features, 4 * hidden, scale=0.6),
        "R1": uniform(202, hidden, 4 * hidden, scale=0.4),
        "b1": uniform(203, 4 * hidden, scale=0.25),
        "W2": uniform(204, hidden, 4 * hidden, scale=0.6),
        "R2": uniform(205, hidden, 4 * hidden, scale=0.4),
        "b2": uniform(206, 4 * hidden, scale=0.25),
        "h_zero": np.zeros(hidden, np.float32),
        "c_zero": np.zeros(hidden, np.float32),
    }
    return onnx_sample(21, text, {"X": uniform(207, steps, features)}, weights)


SAMPLES: dict[str, Callable[[], SampleModel]] = {
    function.__name__: function
    for function in (
        test_loop11,
        spec_ab,
        newton_sqrt,
        collatz,
        fibonacci,
        power_iteration,
        mandelbrot,
        vanishing_scale,
        counter,
        greedy_decoder,
        two_layer_lstm,
    )
}
