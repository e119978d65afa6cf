"""The models of the lessons on slices, branches, layers, loop outputs and nested loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ir_writer import IrGraphWriter, PortMapInput, PortMapOutput, PortMapSlice
from lesson_text import text_sample
from sample import Array, SampleModel

LENGTH = 6
#: Model name -> the slicing of x; each range consists of whole parts.
SLICINGS = {
    "cut_pairs": PortMapSlice(0, stride=2, part_size=2),
    "cut_threes": PortMapSlice(0, stride=3, part_size=3),
    "cut_range": PortMapSlice(0, start=1, end=5),
    "cut_from_end": PortMapSlice(0, start=-5, end=-2),
    "cut_tail": PortMapSlice(0, start=2),
    "cut_back": PortMapSlice(0, start=-1, end=0, stride=-1),
    "cut_pairs_back": PortMapSlice(0, start=-1, end=0, stride=-2, part_size=2),
    "cut_range_back": PortMapSlice(0, start=5, end=2, stride=-1),
}


def slicing_sample(name: str, slicing: PortMapSlice) -> SampleModel:
    """A TensorIterator over x; each iteration yields ten times its part, and tens joins them in order."""
    size = slicing.part_size
    first, last = (v if v >= 0 else LENGTH + 1 + v for v in (slicing.start, slicing.end))
    count = abs(last - first) // abs(slicing.stride)
    net = IrGraphWriter()
    x = net.parameter("x", "i64", (LENGTH,))
    body = net.body()
    part = body.parameter("part", "i64", (size,))
    tenfold = body.binary("Multiply", "tenfold", part, body.constant("ten", np.array([10], np.int64)))
    result = body.result(tenfold, "tenfold_out")
    joined = PortMapSlice(0, stride=size, part_size=size)
    [tens] = net.tensor_iterator(
        name, body, [PortMapInput(x, part, slicing)], [PortMapOutput(result, joined, count)], []
    )
    net.result(tens, "tens")
    return SampleModel(net.files(name, 11), {"x": np.arange(1, LENGTH + 1)})


def meet() -> SampleModel:
    """A Scan over two inputs, one forwards and one backwards; its outputs are in both orders."""
    text = """
        main (int64[k] x, int64[k] y) => (int64 total, int64[k] sums, int64[k] newest)
        <int64 zero = {0}> {
          [meet] total, sums, newest = Scan <num_scan_inputs = 2, scan_input_directions = [0, 1],
              scan_output_directions = [0, 1], body = meet (int64 t, int64 a, int64 b)
              => (int64 t_next, int64 sum, int64 again) {
            both = Mul (a, b)
            t_next = Add (t, both)
            sum = Identity (t_next)
            again = Identity (t_next)
          }> (zero, x, y)
        }
    """
    return text_sample(text, {"x": [1, 2, 3], "y": [10, 20, 30]})


def fork() -> SampleModel:
    """A loop whose body branches: 3x + 1 where x is odd, else x / 2."""
    text = """
        main (int64 n, int64 x0) => (int64 x_last) {
          [fork] x_last = Loop <body = fork (int64 i, bool c, int64 x)
              => (bool go, int64 x_next) <bool go = {1}, int64 two = {2}, int64 zero = {0}> {
            rest = Mod (x, two)
            even = Equal (rest, zero)
            [parity] x_next = If (even) <
              then_branch: graph = half () => (int64 halved) { halved = Div (x, two) },
              else_branch: graph = more () => (int64 grown) <int64 three = {3}, int64 one = {1}> {
                tripled = Mul (x, three)
                grown = Add (tripled, one)
              }>
          }> (n, , x0)
        }
    """
    return text_sample(text, {"n": 4, "x0": 7})


def layer(direction: str) -> SampleModel:
    """An LSTM operator, which is a loop over the rows of X; lens is the number of valid rows."""
    weights = ", ".join(str(k / 10) for k in (3, -2, 1, 4, -3, 2, 5, -1))
    text = f"""
        main (float[k,1,1] X, int32[1] lens) => (float[k,1,1,2] Y, float[1,1,2] Y_h)
        <float[1,8,1] W = {{{weights}}}, float[1,8,2] R = {{{weights}, {weights}}}> {{
          [layer] Y, Y_h = LSTM <hidden_size = 2, direction = "{direction}"> (X, W, R, , lens)
        }}
    """
    sample = text_sample(text, {})
    X: Array = np.arange(1, 5, dtype=np.float32).reshape(4, 1, 1)
    return SampleModel(sample.files, {"X": X, "lens": np.array([4], np.int32)})


def towers() -> SampleModel:
    """A nested loop: the inner trip count is carried by the outer loop, which doubles it."""
    text = """
        main (int64 n, int64 height0) => (int64 height_last, int64[k] counts)
        <int64 one = {1}> {
          [towers] height_last, counts = Loop <body = towers (int64 i, bool c, int64 height)
              => (bool go, int64 height_next, int64 count) <bool go = {1}, int64 zero = {0}> {
            height_next = Add (height, height)
            [tower] count = Loop <body = tower (int64 j, bool d, int64 h)
                => (bool on, int64 h_next) <bool on = {1}, int64 unit = {1}> {
              h_next = Add (h, unit)
            }> (height, , zero)
          }> (n, , height0)
        }
    """
    return text_sample(text.replace("\n        <int64 one = {1}>", ""), {"n": 3, "height0": 1})


KINDS = '''"""A loop of the lessons with TensorRT's three kinds of loop outputs; two have a length of six."""

import numpy as np
import tensorrt as trt


def build(network):
    """Fill a network: inputs n and x0; outputs last, all and back."""
    n, x0 = (network.add_input(name, trt.int32, ()) for name in ("n", "x0"))
    loop = network.add_loop()
    loop.name = "kinds"
    loop.add_trip_limit(n, trt.TripLimit.COUNT)
    recurrence = loop.add_recurrence(x0)
    x = recurrence.get_output(0)
    three = network.add_constant((), np.array(3, np.int32)).get_output(0)
    x_next = network.add_elementwise(x, three, trt.ElementWiseOperation.SUM).get_output(0)
    x.name, x_next.name = "x", "x_next"
    recurrence.set_input(1, x_next)
    length = network.add_constant((), np.array(6, np.int32)).get_output(0)
    kinds = (("last", x, trt.LoopOutput.LAST_VALUE), ("all", x, trt.LoopOutput.CONCATENATE))
    for name, collected, kind in (*kinds, ("back", x_next, trt.LoopOutput.REVERSE)):
        output = loop.add_loop_output(collected, kind, 0)
        if kind != trt.LoopOutput.LAST_VALUE:
            output.set_input(1, length)
        output.name = name
        output.get_output(0).name = name
        network.mark_output(output.get_output(0))
'''


def kinds() -> SampleModel:
    """TensorRT's three kinds of loop outputs."""
    return SampleModel(
        {".py": KINDS.encode()}, {name: np.array(value, np.int32) for name, value in (("n", 4), ("x0", 1))}
    )


def _slicing_sample_factory(name: str, slicing: PortMapSlice) -> Callable[[], SampleModel]:
    return lambda: slicing_sample(name, slicing)


SAMPLES: dict[str, Callable[[], SampleModel]] = {
    **{name: _slicing_sample_factory(name, slicing) for name, slicing in SLICINGS.items()},
    "meet": meet,
    "fork": fork,
    "layer_forward": lambda: layer("forward"),
    "layer_reverse": lambda: layer("reverse"),
    "towers": towers,
    "kinds": kinds,
}
