"""Thirty loops with a fault that only an edge case exposes, for the fuzzer.

Each is a graph in ONNX text form with ``$``, which is replaced by the faulty or the correct code. Without correct code
the fault is one of any run: a loop that never ends, an index out of range.
"""

from __future__ import annotations

from typing import NamedTuple


class EdgeFault(NamedTuple):
    """A loop, its fault, and the inputs that expose it in words. ``correct`` None: there is no reference."""

    name: str
    edge: str
    text: str
    faulty: str
    correct: str | None = None


def loop(
    before: str, carried: str, body: str, after: str = "", trips: str = "M", keep: str = "", start: str = "yes"
) -> str:
    """The nodes of a loop that carries one value ``a`` from ``carried`` to ``r``; ``body`` computes ``b``."""
    type_ = "float" if carried[0] == "f" else "int64"
    keep = keep or "keep = Identity (c)"
    return f"""
        yes = Constant <value = bool {{1}}> ()
        {before}
        r = Loop <body = body (int64 i, bool c, {type_} a) => (bool keep, {type_} b) {{
            {body}
            {keep}
        }}> ({trips}, {start}, {carried})
        {after}"""


def graph(inputs: str, output: str, nodes: str) -> str:
    """A graph in text form."""
    return f"g ({inputs}) => ({output}) {{{nodes}}}"


FZERO = "f0 = Constant <value = float {0.0}> ()\n f1 = Constant <value = float {1.0}> ()"
IONE = "one = Constant <value = int64 {1}> ()"
IZERO = "zero = Constant <value = int64 {0}> ()"
ADD_X = loop(FZERO, "f0", "b = Add (a, x)")
SCAN_SUM = """
        r, unused = Scan <num_scan_inputs = 1, body = body (float a, float e) => (float b, float o) {
            b = Add (a, e)
            o = Identity (b)
        }> (f0, x)"""

FAULTS = [
    EdgeFault(
        "mean_of_no_iteration", "no iteration",
        graph("int64 M, float x", "float y", ADD_X + "\n n = Cast <to = 1> (M)\n $\n y = Div (r, d)"),
        "d = Identity (n)", "d = Max (n, f1)",
    ),
    EdgeFault(
        "ignores_initial_condition", "condition false from the start",
        graph("int64 M, bool go, float x", "float r", loop(FZERO, "f0", "b = Add (a, x)", start="start").replace(
            "r = Loop", "$\n r = Loop", 1)),
        "start = Identity (yes)", "start = Identity (go)",
    ),
    EdgeFault(
        "counts_negative_trips", "negative trip count",
        graph("int64 M, float x", "float r, int64 n", ADD_X + f"\n {IZERO}\n $"),
        "n = Identity (M)", "n = Max (M, zero)",
    ),
    EdgeFault(
        "variance_of_one_iteration", "one iteration",
        graph("int64 M, float x", "float y", ADD_X + f"\n {IONE}\n {IZERO}\n m = Sub (M, one)\n $\n"
              " f = Cast <to = 1> (d)\n y = Div (r, f)"),
        "d = Identity (m)", "none = Equal (m, zero)\n d = Where (none, one, m)",
    ),
    EdgeFault(
        "do_while", "condition false from the start",
        graph("int64 n", "int64 r", loop(IONE + "\n" + IZERO, "n", "b = Sub (a, one)", trips="", start="start",
              keep="keep = Greater (b, zero)").replace("r = Loop", "$\n r = Loop", 1)),
        "start = Identity (yes)", "start = Greater (n, zero)",
    ),
    EdgeFault(
        "floor_of_minus_one", "negative integer",
        graph("int64 n", "float r", loop(
            "two = Constant <value = float {2.0}> ()\n f0 = Constant <value = float {0.0}> ()\n"
            " fn = Cast <to = 1> (n)", "fn",
            "h = Div (a, two)\n $", trips="", keep="z = Equal (b, f0)\n keep = Not (z)")),
        "b = Floor (h)",
    ),
    EdgeFault(
        "nan_never_below_tolerance", "NaN compared",
        graph("float x", "float r", loop(
            "half = Constant <value = float {0.5}> ()\n tol = Constant <value = float {0.001}> ()", "fx",
            "s = Abs (a)\n b = Mul (s, half)\n"
            " $", trips="").replace("keep = Identity (c)", "keep = Not (small)").replace(
            "r = Loop", "fx = Identity (x)\n r = Loop", 1)),
        "small = Less (b, tol)",
    ),
    EdgeFault(
        "tolerance_zero", "zero",
        graph("int64 tol", "float r", loop(
            "half = Constant <value = float {0.5}> ()\n f1 = Constant <value = float {1.0}> ()\n"
            " t = Cast <to = 1> (tol)",
            "f1", "b = Mul (a, half)", trips="", keep="$")),
        "low = Less (b, t)\n keep = Not (low)",
    ),
    EdgeFault(
        "narrow_counter", "integer overflow",
        graph("int64 n", "int64 r", loop(IONE + "\n" + IZERO, "zero", "u = Add (a, one)\n $", trips="",
              keep="keep = Less (b, n)")),
        "v = Cast <to = 3> (u)\n b = Cast <to = 7> (v)",
    ),
    EdgeFault(
        "step_zero", "zero step",
        graph("int64 step", "int64 r", loop(
            "limit = Constant <value = int64 {50}> ()\n" + IZERO, "zero", "d = Abs (step)\n $", trips="",
            keep="keep = Less (b, limit)")),
        "b = Add (a, d)",
    ),
    EdgeFault(
        "no_progress", "a step below the last bit",
        graph("float step", "float r", loop(
            "limit = Constant <value = float {1001.0}> ()\n f0 = Constant <value = float {1000.0}> ()\n"
            " s1 = Abs (step)\n least = Constant <value = float {0.00001}> ()\n s = Add (s1, least)", "f0",
            "$", trips="", keep="keep = Less (b, limit)")),
        "b = Add (a, s)",
    ),
    EdgeFault(
        "index_at_the_end", "index at the end",
        graph("float[10] x, int64 n", "float r", loop(
            FZERO + "\n three = Constant <value = int64 {3}> ()", "f0", "e = Gather (x, k)\n"
            " b = Add (a, e)", trips="three"
            ).replace("r = Loop", "$\n r = Loop", 1)),
        "k = Abs (n)",
    ),
    EdgeFault(
        "negative_remainder", "negative integer",
        graph("float[17] x, int64 n, int64 M", "float r", loop(
            FZERO + "\n m = Constant <value = int64 {16}> ()", "f0",
            "j = Add (i, n)\n k = Mod <fmod = $> (j, m)\n e = Gather (x, k)\n b = Add (a, e)")),
        "1", "0",
    ),
    EdgeFault(
        "drops_the_last_part", "last part",
        graph("float[N] x", "float r", loop(
            FZERO + "\n" + IONE + "\n n = Size (x)\n four = Constant <value = int64 {4}> ()\n full = Div (n, four)\n"
            " zero = Constant <value = int64 {0}> ()\n few = Equal (full, zero)\n $\n last = Sub (n, one)", "f0",
            "e = Gather (x, i)\n b = Add (a, e)", trips="trips")),
        "most = Mul (full, four)\n trips = Where (few, n, most)", "trips = Identity (n)",
    ),
    EdgeFault(
        "maximum_of_nothing", "empty axis",
        graph("float[N] x, int64 M", "float r", loop(
            FZERO + "\n m0 = ReduceMax <keepdims = 0> (x)\n n = Size (x)\n zero = Constant <value = int64 {0}> ()\n"
            " empty = Equal (n, zero)\n $", "f0", "b = Add (a, m)")),
        "m = Identity (m0)", "m = Where (empty, f0, m0)",
    ),
    EdgeFault(
        "mean_of_no_part", "empty axis",
        graph("float[N] x", "float y", FZERO + SCAN_SUM + "\n n = Size (x)\n f = Cast <to = 1> (n)\n $\n"
        " y = Div (r, d)"),
        "d = Identity (f)", "d = Max (f, f1)",
    ),
    EdgeFault(
        "last_of_equal_scores", "equal scores",
        graph("float[6] x, int64 M", "int64 r", loop(
            IZERO, "zero", "k = ArgMax <axis = 0, keepdims = 0, select_last_index = $> (x)\n b = Add (a, k)")),
        "1", "0",
    ),
    EdgeFault(
        "first_of_equal_scores", "equal elements",
        graph("float[N] x", "int64 r", loop(
            FZERO + "\n" + IZERO + "\n n = Size (x)", "zero",
            "e = Gather (x, i)\n best = Gather (x, a)\n $\n b = Where (better, i, a)", trips="n")),
        "better = GreaterOrEqual (e, best)", "better = Greater (e, best)",
    ),
    EdgeFault(
        "last_index_is_none", "index at the end",
        graph("float[64] x, int64 M", "int64 r", loop(
            IZERO + "\n" + IONE + "\n end = Constant <value = int64 {63}> ()", "zero",
            "k = ArgMax <axis = 0, keepdims = 0> (x)\n $\n b = Add (a, j)")),
        "none = Equal (k, end)\n j = Where (none, zero, k)", "j = Identity (k)",
    ),
    EdgeFault(
        "softmax_without_maximum", "overflow",
        graph("float[3] x, int64 M", "float r", loop(
            FZERO + "\n m0 = ReduceMax <keepdims = 0> (x)\n $\n d = Sub (x, m)\n e = Exp (d)\n"
            " s = ReduceSum <keepdims = 0> (e)\n p = Div (e, s)\n q = ReduceMax <keepdims = 0> (p)", "f0",
            "b = Max (a, q)")),
        "m = Identity (f0)", "m = Identity (m0)",
    ),
    EdgeFault(
        "narrow_sum", "integer overflow",
        graph("int64[4] x, int64 M", "int64 r", loop(
            IZERO + "\n s0 = ReduceSum <keepdims = 0> (x)\n $", "zero", "b = Add (a, s)")),
        "s1 = Cast <to = 6> (s0)\n s = Cast <to = 7> (s1)", "s = Identity (s0)",
    ),
    EdgeFault(
        "clips_large_numbers", "large number",
        graph("float x, int64 M", "float r", loop(
            FZERO + "\n top = Constant <value = float {10000.0}> ()\n $", "f0", "b = Max (a, s)")),
        "s = Clip (x, , top)", "s = Identity (x)",
    ),
    EdgeFault(
        "divides_by_equal", "equal inputs",
        graph("float x, float y, int64 M", "float r", loop(
            FZERO + "\n d = Sub (x, y)\n same = Equal (d, f0)\n $\n q = Div (f1, e)", "f0", "b = Max (a, q)")),
        "e = Identity (d)", "e = Where (same, f1, d)",
    ),
    EdgeFault(
        "logarithm_of_zero", "zero",
        graph("int64 n, int64 M", "float r", loop(
            FZERO + "\n p = Abs (n)\n f = Cast <to = 1> (p)\n $\n l = Log (g0)", "f0", "b = Add (a, l)")),
        "g0 = Identity (f)", "g0 = Max (f, f1)",
    ),
    EdgeFault(
        "maximum_ignores_nan", "NaN compared",
        graph("float[4] x", "float r", loop(
            FZERO + "\n n = Constant <value = int64 {4}> ()", "f0", "e = Gather (x, i)\n $", trips="n")),
        "more = Greater (e, a)\n b = Where (more, e, a)", "b = Max (e, a)",
    ),
    EdgeFault(
        "sign_of_zero", "negative zero",
        graph("float x, int64 M", "float r", loop(
            FZERO + "\n inverse = Reciprocal (x)\n $\n minus = Neg (f1)\n s = Where (negative, minus, f1)", "f0",
            "b = Add (a, s)")),
        "negative = Less (inverse, f0)", "negative = Less (x, f0)",
    ),
    EdgeFault(
        "threshold_included", "equal to a constant",
        graph("float x, int64 M", "float r", loop(
            FZERO + "\n t = Constant <value = float {0.731}> ()\n $\n"
            " s = Where (more, f1, f0)", "f0", "b = Add (a, s)")),
        "more = GreaterOrEqual (x, t)", "more = Greater (x, t)",
    ),
    EdgeFault(
        "either_instead_of_both", "false conditions",
        graph("bool p, bool q, int64 M", "float r", loop(
            FZERO + "\n $\n s = Where (both, f1, f0)", "f0", "b = Add (a, s)")),
        "both = Or (p, q)", "both = And (p, q)",
    ),
    EdgeFault(
        "buffer_too_short", "maximum of iterations",
        graph("float[32] x, int64 M", "float r", loop(FZERO, "f0", "e = Gather (x, i)\n $")),
        "b = Add (a, e)",
    ),
    EdgeFault(
        "interpolates_equal_elements", "equal elements",
        graph("float[5] x, float t", "float r", loop(
            FZERO + "\n k0 = Constant <value = int64 {0}> ()\n k4 = Constant <value = int64 {4}> ()\n"
            " low = Gather (x, k0)\n high = Gather (x, k4)\n three = Constant <value = int64 {3}> ()\n"
            " span = Sub (high, low)\n part = Abs (span)\n gap = Sub (t, low)\n dist = Abs (gap)\n"
            " within = Min (dist, part)\n q = Div (within, part)\n f4 = Constant <value = float {4.0}> ()\n"
            " p = Mul (q, f4)\n k = Cast <to = 7> (p)", "f0", "e = Gather (x, k)\n $", trips="three")),
        "b = Max (a, e)",
    ),
]  # fmt: skip


def texts(fault: EdgeFault) -> tuple[str, str | None]:
    """The graphs of a fault: the faulty one, and the correct one."""
    correct = None if fault.correct is None else fault.text.replace("$", fault.correct)
    return fault.text.replace("$", fault.faulty), correct
