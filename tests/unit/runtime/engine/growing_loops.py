"""Loops whose shapes change, for tests."""

from __future__ import annotations

from typing import Any

import numpy as np

import loopdbg
from optimizer_access import start_engine

Inputs = dict[str, Any]
F = np.float32


def loop(body: str, carried: str, outs: str, text_value: str, types: str, header: str = "") -> str:
    """A model of one Loop. ``carried`` and ``outs``: typed parameters and results of the body."""
    params = [part.split()[-1] for part in text_value.split("; ")]
    results = ", ".join(f"o{k}" for k in range(len(outs.split("; "))))
    text_value, types, carried, outs = (text.replace(";", ",") for text in (text_value, types, carried, outs))
    return f"""
    g (int64 M, {text_value}) => ({types}) {header} {{
      {results} = Loop <body = b (int64 i, bool c, {carried}) => (bool keep, {outs}) {{
        keep = Identity (c)
        {body}
      }}> (M, , {", ".join(p for p in params if p.startswith("v"))})
    }}"""


APPEND = loop(
    "y = Concat <axis = 0> (x, e)\n t2 = ReduceSum <keepdims = 0> (y)",
    "float[n] x; float t",
    "float[m] y; float t2",
    "float[k] v0; float v1; float[1] e",
    "float[a] o0; float o1",
)


ROWS = loop(
    """f = Cast <to = 1> (i)
    row = Add (e, f)
    y = Concat <axis = 0> (x, row)
    s = ReduceMax <keepdims = 0> (y, first)""",
    "float[n,3] x",
    "float[m,3] y; float[3] s",
    "float[k,3] v0; float[1,3] e",
    "float[a,3] o0; float[b,3] o1",
    "<int64[1] first = {0}>",
)


CACHE = loop(
    """half = Mul (q, point)
    keys = Concat <axis = 2> (k, half)
    values = Concat <axis = 2> (v, q)
    across = Transpose <perm = [0, 1, 3, 2]> (keys)
    scores = MatMul (q, across)
    weights = Softmax <axis = -1> (scores)
    mixed = MatMul (weights, values)
    q2 = Tanh (mixed)""",
    "float[1,2,n,4] k; float[1,2,n,4] v; float[1,2,1,4] q",
    "float[1,2,m,4] keys; float[1,2,m,4] values; float[1,2,1,4] q2",
    "float[1,2,a,4] v0; float[1,2,a,4] v1; float[1,2,1,4] v2",
    "float[1,2,b,4] o0; float[1,2,b,4] o1; float[1,2,1,4] o2",
    "<float point = {0.5}>",
)


ATTENTION = loop(
    """half = Mul (q, point)
    mixed, keys, values = Attention <is_causal = 1> (half, half, q, , k, v)
    scores = Einsum <equation = "bhid,bhjd->bhij"> (mixed, keys)
    weights = Softmax <axis = -1> (scores)
    best, places = TopK <axis = -1, largest = 0> (weights, one)
    chosen = Mul (mixed, best)
    seen = Attention (chosen, keys, values)
    norm = RMSNormalization (seen, scale)
    q2 = Tanh (norm)""",
    "float[1,2,n,4] k; float[1,2,n,4] v; float[1,2,1,4] q",
    "float[1,2,m,4] keys; float[1,2,m,4] values; float[1,2,1,4] q2",
    "float[1,2,a,4] v0; float[1,2,a,4] v1; float[1,2,1,4] v2",
    "float[1,2,b,4] o0; float[1,2,b,4] o1; float[1,2,1,4] o2",
    "<float point = {0.5}, int64[1] one = {1}, float[4] scale = {1, 2, 0.5, 1}>",
)


TOKENS = loop(
    """last = Slice (x, minus, end, second)
    a = Mul (last, three)
    b2 = Add (a, i)
    new = Mod (b2, many)
    y = Concat <axis = 1> (x, new)
    seen = Slice (y, window, end, second)
    total = ReduceSum <keepdims = 0> (seen)""",
    "int64[1,n] x",
    "int64[1,m] y; int64 total",
    "int64[1,k] v0",
    "int64[1,a] o0; int64[b] o1",
    "<int64[1] minus = {-1}, int64[1] window = {-5}, int64[1] end = {9223372036854775807}, int64[1] second = {1}, "
    "int64 three = {3}, int64 many = {97}>",
)


SHRINK = loop(
    "y = Slice (x, one, end, first)\n t = ReduceSum <keepdims = 0> (y)",
    "float[n] x",
    "float[m] y; float t",
    "float[k] v0",
    "float[a] o0; float[b] o1",
    "<int64[1] one = {1}, int64[1] end = {9223372036854775807}, int64[1] first = {0}>",
)


# Only the first of two appends to one value can go on in its buffer.
DOUBLE_APPEND = loop(
    "y = Concat <axis = 0> (x, e)\n z = Concat <axis = 0> (x, x, e)\n t = ReduceSum <keepdims = 0> (z)\n"
    "same = ReduceSum <keepdims = 0> (x)",
    "float[n] x",
    "float[m] y; float t; float same",
    "float[k] v0; float[2] e",
    "float[a] o0; float[b] o1; float[c] o2",
)


PREPEND = loop("y = Concat <axis = 0> (e, x)", "float[n] x", "float[m] y", "float[k] v0; float[1] e", "float[a] o0")


# Two values in front of the carried one, which is read afterwards, and by the next iteration.
PREPEND_ROWS = loop(
    """f = Cast <to = 1> (i)
    row = Add (e, f)
    y = Concat <axis = 0> (row, e, x)
    s = ReduceMax <keepdims = 0> (y, first)
    t = ReduceMax <keepdims = 0> (x, first)""",
    "float[n,3] x",
    "float[m,3] y; float[3] s; float[3] t",
    "float[k,3] v0; float[1,3] e",
    "float[a,3] o0; float[b,3] o1; float[d,3] o2",
    "<int64[1] first = {0}>",
)


# Not along a line: a, b = b, a + b.
FIBONACCI = loop(
    "y = Identity (b2)\n z = Concat <axis = 0> (a2, b2)\n t = ReduceSum <keepdims = 0> (z)",
    "float[n] a2; float[m] b2",
    "float[m] y; float[l] z; float t",
    "float[k] v0; float[j] v1",
    "float[a] o0; float[b] o1; float[c] o2",
)


CROSSED = loop(
    "y = Concat <axis = 0> (a2, e)\n z = Concat <axis = 0> (b2, e, e)",
    "float[n] a2; float[m] b2",
    "float[l] z; float[j] y",
    "float[k] v0; float[q] v1; float[1] e",
    "float[a] o0; float[b] o1",
)


SHARED = loop(
    "y = Concat <axis = 0> (a2, e)\n t = ReduceSum <keepdims = 0> (b2)",
    "float[n] a2; float[m] b2",
    "float[l] y; float[l] y; float t",
    "float[k] v0; float[q] v1; float[1] e",
    "float[a] o0; float[b] o1; float[c] o2",
)


CONDITIONAL_APPEND = loop(
    """rest = Mod (i, two)
    odd = Cast <to = 9> (rest)
    y = If <then_branch = grown () => (float[p] up) { up = Concat <axis = 0> (x, e) },
            else_branch = same () => (float[q] down) { down = Identity (x) }> (odd)
    t = ReduceSum <keepdims = 0> (y)""",
    "float[n] x",
    "float[m] y; float t",
    "float[k] v0; float[1] e",
    "float[a] o0; float[b] o1",
    "<int64 two = {2}>",
)


# In one branch it grows, in a branch of the other one it loses its first, else it stays.
NESTED_BRANCHES = loop(
    """three_left = Mod (i, three)
    most = Cast <to = 9> (three_left)
    four_left = Mod (i, four)
    some = Cast <to = 9> (four_left)
    y, z = If <
      then_branch = grown () => (float[p] up, float[1] up2) {
        up = Concat <axis = 0> (x, e)
        up2 = Add (l, e)
      },
      else_branch = other () => (float[q] down, float[1] down2) {
        down = If <then_branch = same () => (float[r] same) { same = Identity (x) },
                   else_branch = cut () => (float[w] cut) { cut = Slice (x, one, end, first) }> (some)
        down2 = Neg (l)
      }> (most)
    t = ReduceSum <keepdims = 0> (y)""",
    "float[n] x; float[1] l",
    "float[m] y; float[1] z; float t",
    "float[k] v0; float[1] v1; float[1] e",
    "float[a] o0; float[1] o1; float[b] o2",
    "<int64 three = {3}, int64 four = {4}, int64[1] one = {1}, int64[1] end = {9223372036854775807}, "
    "int64[1] first = {0}>",
)


MEAN = loop(
    """y = Concat <axis = 0> (x, e)
    mean = ReduceMean <keepdims = 1> (y, first)
    centred = Sub (y, mean)
    cut = Clip (centred, low)
    last = Gather <axis = 0> (y, minus)
    t = ReduceMax <keepdims = 0> (cut)""",
    "float[n,2] x",
    "float[m,2] y; float[2] last; float t",
    "float[k,2] v0; float[1,2] e",
    "float[a,2] o0; float[b,2] o1; float[c] o2",
    "<int64[1] first = {0}, int64 minus = {-1}, float low = {-1}>",
)


SHAPES = loop(
    "y = Concat <axis = 0> (x, e)\n s = Shape (y)\n z = ConstantOfShape (s)\n w = Add (y, z)\n"
    "t = ReduceSum <keepdims = 0> (w)\n size = Size (y)",
    "float[n] x",
    "float[m] y; float t; int64 size",
    "float[k] v0; float[1] e",
    "float[a] o0; float[b] o1; int64[c] o2",
)


SQUARE = loop(
    "y = Concat <axis = 0> (x, e)\n flat = Unsqueeze (y, zero)\n up = Transpose <perm = [1, 0]> (flat)\n"
    "table = Mul (flat, up)\n t = ReduceSum <keepdims = 0> (table)",
    "float[n] x",
    "float[m] y; float t",
    "float[k] v0; float[1] e",
    "float[a] o0; float[b] o1",
    "<int64[1] zero = {0}>",
)


NESTED = """
g (int64 M, int64 K, float[k] v0, float[1] e) => (float[a] o0, float[b] o1, float[c] o2) <float zero = {0}> {
  o0, o1, o2 = Loop <body = outer (int64 i, bool c, float[n] x) => (bool c2, float[m] y, float s, float first) {
    c2 = Identity (c)
    grown, sums = Loop <body = inner (int64 j, bool d, float[p] u) => (bool d2, float[q] w, float t) {
      d2 = Identity (d)
      w = Concat <axis = 0> (u, e)
      t = ReduceSum <keepdims = 0> (w)
    }> (K, , x)
    again, unused = Loop <body = other (int64 j2, bool d3, float[p2] u2) => (bool d4, float[q2] w2, float t2) {
      d4 = Identity (d3)
      w2 = Concat <axis = 0> (u2, e)
      t2 = ReduceSum <keepdims = 0> (w2)
    }> (K, , v0)
    y = Concat <axis = 0> (grown, e)
    s = ReduceSum <keepdims = 0> (sums)
    first = ReduceSum <keepdims = 0> (again)
  }> (M, , v0)
}"""


# Each entry grows again in the buffer of the one before, both ends of which it meets.
NESTED_PREPEND = NESTED.replace("w = Concat <axis = 0> (u, e)", "w = Concat <axis = 0> (e, u)").replace(
    "w2 = Concat <axis = 0> (u2, e)", "w2 = Concat <axis = 0> (e, u2)"
)


# The inner loop is hot and all scalar: a scalar program, while the outer one grows.
COUNTED = """
g (int64 M, int64 K, int64[k] v0) => (int64[a] o0, int64[b] o1) <int64 zero = {0}, int64[1] first = {0}> {
  o0, o1 = Loop <body = outer (int64 i, bool c, int64[n] x) => (bool c2, int64[m] y, int64 t) {
    c2 = Identity (c)
    sum = Loop <body = inner (int64 j, bool d, int64 u) => (bool d2, int64 w) {
      d2 = Identity (d)
      p = Mul (i, j)
      w = Add (u, p)
    }> (K, , zero)
    row = Unsqueeze (sum, first)
    y = Concat <axis = 0> (x, row)
    t = ReduceSum <keepdims = 0> (y)
  }> (M, , v0)
}"""


SEQUENCE = """
g (int64 M, float[2] e) => (seq(float[2]) o0, float[n,2] o1, int64[k] o2) {
  empty = SequenceEmpty <dtype = 1> ()
  o0, o2 = Loop <body = b (int64 i, bool c, seq(float[2]) x) => (bool keep, seq(float[2]) y, int64 length) {
    keep = Identity (c)
    f = Cast <to = 1> (i)
    row = Add (e, f)
    y = SequenceInsert (x, row)
    length = SequenceLength (x)
  }> (M, , empty)
  o1 = ConcatFromSequence <axis = 0, new_axis = 1> (o0)
}"""


# As many as the numbers say, of a tensor that keeps its shape.
DATA_DEPENDENT = loop(
    """f = Cast <to = 1> (i)
    moved = Add (x, f)
    rest = Mod <fmod = 1> (moved, three)
    at = NonZero (rest)
    flat = Squeeze (at, first)
    taken = Gather <axis = 0> (x, flat)
    t = ReduceSum <keepdims = 0> (taken)
    many = Size (at)
    y = Neg (x)""",
    "float[n] x",
    "float[n] y; float t; int64 many",
    "float[k] v0",
    "float[a] o0; float[b] o1; int64[c] o2",
    "<float three = {3}, int64[1] first = {0}>",
)


# What is kept is carried: less and less, and in the end nothing.
COMPRESSED = loop(
    """f = Cast <to = 1> (i)
    column = Gather <axis = 1> (x, one)
    above = Greater (column, f)
    y = Compress <axis = 0> (x, above)
    all = Compress (x, above)
    t = ReduceSum <keepdims = 0> (y)
    s = ReduceSum <keepdims = 0> (all)""",
    "float[n,2] x",
    "float[m,2] y; float t; float s",
    "float[k,2] v0",
    "float[a,2] o0; float[b] o1; float[c] o2",
    "<int64 one = {1}>",
)


# What is carried is as long as it comes, whatever it was before; an inner loop runs as often.
BRANCH_SELECTED = """
g (int64 M, float[k] v0, float[l] e) => (float[a] o0, float[b] o1, float[c] o2) <float four = {4}, float zero = {0}> {
  o0, o1, o2 = Loop <body = outer (int64 i, bool c, float[n] x) => (bool c2, float[m] y, float s, float t) {
    c2 = Identity (c)
    f = Cast <to = 1> (i)
    moved = Add (e, f)
    rest = Mod <fmod = 1> (moved, four)
    some = Cast <to = 9> (rest)
    y = Compress (e, some)
    s = ReduceSum <keepdims = 0> (x)
    many = Size (y)
    t = Loop <body = inner (int64 j, bool d, float u) => (bool d2, float w) {
      d2 = Identity (d)
      one = Gather (y, j)
      w = Add (u, one)
    }> (many, , zero)
  }> (M, , v0)
}"""


VARYING_LENGTH = loop(
    """n = Add (i, two)
    n7 = Mod (n, seven)
    n1 = Add (n7, one)
    rest = Mod (x, n1)
    values, first, which, times = Unique <sorted = 1> (rest)
    values2, first2, which2, times2 = Unique <sorted = 0> (rest)
    t = ReduceSum <keepdims = 0> (values)
    both = Concat <axis = 0> (values2, times, first2)
    a = ReduceMax <keepdims = 0> (both)
    y = Add (which, which2)
    z = Add (y, x)""",
    "int64[n] x",
    "int64[m] z; int64 t; int64 a",
    "int64[k] v0",
    "int64[l] o0; int64[b] o1; int64[c] o2",
    "<int64 one = {1}, int64 two = {2}, int64 seven = {7}>",
)


BRANCHES = loop(
    """rest = Mod (i, two)
    odd = Cast <to = 9> (rest)
    f = Cast <to = 1> (i)
    moved = Add (x, f)
    left = Mod <fmod = 1> (moved, three)
    at = If <then_branch = found () => (int64[1,p] up) { up = NonZero (left) },
             else_branch = same () => (int64[1,q] down) { down = NonZero (x) }> (odd)
    flat = Squeeze (at, first)
    y = Gather <axis = 0> (x, flat)
    z = Concat <axis = 0> (y, e)
    t = ReduceSum <keepdims = 0> (y)""",
    "float[n] x",
    "float[m] z; float t",
    "float[k] v0; float[3] e",
    "float[a] o0; float[b] o1",
    "<int64 two = {2}, float three = {3}, int64[1] first = {0}>",
)


STRINGS = loop(
    "y = Concat <axis = 0> (x, e)", "string[n] x", "string[m] y", "string[k] v0; string[1] e", "string[a] o0"
)


def numbers(*shape: int) -> Any:
    """Small whole numbers, which sum to the same in any order."""
    return np.random.default_rng(7).integers(-8, 9, shape).astype(F)


CASES: dict[str, tuple[str, Inputs]] = {
    "append": (APPEND, {"v0": numbers(1), "v1": F(0), "e": numbers(1)}),
    "append to nothing": (APPEND, {"v0": numbers(0), "v1": F(0), "e": numbers(1)}),
    "append nothing": (APPEND.replace("float[1] e", "float[p] e"), {"v0": numbers(3), "v1": F(0), "e": numbers(0)}),
    "append to many": (APPEND, {"v0": numbers(50), "v1": F(0), "e": numbers(1)}),
    "rows": (ROWS, {"v0": numbers(1, 3), "e": numbers(1, 3)}),
    "cache": (CACHE, {"v0": numbers(1, 2, 1, 4), "v1": numbers(1, 2, 1, 4), "v2": numbers(1, 2, 1, 4)}),
    "attention": (ATTENTION, {"v0": numbers(1, 2, 1, 4), "v1": numbers(1, 2, 1, 4), "v2": numbers(1, 2, 1, 4)}),
    "tokens": (TOKENS, {"v0": np.array([[3, 1, 4]])}),
    "shrink": (SHRINK, {"v0": numbers(90)}),
    "shrink to nothing": (SHRINK, {"v0": numbers(20)}),
    "twice": (DOUBLE_APPEND, {"v0": numbers(2), "e": numbers(2)}),
    "prepend": (PREPEND, {"v0": numbers(2), "e": numbers(1)}),
    "prepend to nothing": (PREPEND, {"v0": numbers(0), "e": numbers(1)}),
    "prepend rows": (PREPEND_ROWS, {"v0": numbers(1, 3), "e": numbers(1, 3)}),
    "prepend and nested": (NESTED_PREPEND, {"K": np.array(9), "v0": numbers(2), "e": numbers(1)}),
    "crossed": (CROSSED, {"v0": numbers(2), "v1": numbers(5), "e": numbers(1)}),
    "shared": (SHARED, {"v0": numbers(2), "v1": numbers(5), "e": numbers(1)}),
    "sometimes": (CONDITIONAL_APPEND, {"v0": numbers(2), "e": numbers(1)}),
    "deep": (NESTED_BRANCHES, {"v0": numbers(2), "v1": numbers(1), "e": numbers(1)}),
    "mean": (MEAN, {"v0": numbers(2, 2), "e": numbers(1, 2)}),
    "shapes": (SHAPES, {"v0": numbers(2), "e": numbers(1)}),
    "square": (SQUARE, {"v0": numbers(2), "e": numbers(1)}),
    "nested": (NESTED, {"K": np.array(4), "v0": numbers(2), "e": numbers(1)}),
    "counted": (COUNTED, {"K": np.array(150), "v0": np.array([5])}),
    "sequence": (SEQUENCE, {"e": numbers(2)}),
    "fibonacci": (FIBONACCI, {"v0": numbers(1), "v1": numbers(2)}),
    "found": (DATA_DEPENDENT, {"v0": numbers(40)}),
    "kept": (COMPRESSED, {"v0": np.abs(numbers(30, 2)) * 9}),
    "chosen": (BRANCH_SELECTED, {"v0": numbers(3), "e": numbers(25)}),
    "different": (VARYING_LENGTH, {"v0": np.array([3, -1, 4, 1, 3, 9, 2, 4, 4])}),
    "branches": (BRANCHES, {"v0": numbers(20), "e": numbers(3)}),
    "strings": (STRINGS, {"v0": np.array(["a"], object), "e": np.array(["b"], object)}),
}


TRIPS = {"nested": 9, "prepend and nested": 9, "counted": 12, "square": 20, "strings": 9, "fibonacci": 12}


def inputs_of(case: str, trips: int | None = None) -> Inputs:
    trips = TRIPS.get(case, 80) if trips is None else trips
    return {"M": np.array(trips)} | {k: np.copy(v) for k, v in CASES[case][1].items()}


def run_in_python(m: loopdbg.Model, inputs: Inputs) -> dict[str, Any]:
    engine = start_engine(m, inputs, native=False)
    assert engine.resume() == ("end", -1)
    return engine.results()
