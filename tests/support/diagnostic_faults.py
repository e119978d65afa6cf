"""Faults that show in a run by itself, each next to the sound model that it was injected into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_COUNT = """
g (int64 M, {type} x0) => ({type} x) {{
    x = Loop <body = b (int64 i, bool c, {type} p) => (bool keep, {type} q) {{
        keep = Identity (c)
        {body}
    }}> (M, , x0)
}}"""
_WHILE = """
g (int64 M, float x0, float a) => (float x) {{
    true = Constant <value = bool {{1}}> ()
    x = Loop <body = b (int64 i, bool c, float p) => (bool keep, float q) {{
        {body}
    }}> ({count}, true, x0)
}}"""
#: Squares modulo a number, until one is 2 or less: 4, 16, 8, 2 modulo 31; 4, 16, 9, 5, 6, 17, 4, ... modulo 19.
_CYCLE = """
g (int64 x0) => (int64 x) {{
    true = Constant <value = bool {{1}}> ()
    x = Loop <body = b (int64 i, bool c, int64 p) => (bool keep, int64 q) {{
        squared = Mul (p, p)
        modulus = Constant <value = int64 {{{modulus}}}> ()
        q = Mod (squared, modulus)
        limit = Constant <value = int64 {{2}}> ()
        keep = Greater (q, limit)
    }}> (, true, x0)
}}"""
#: Newton's method for a square root.
_NEWTON = """
        half = Constant <value = float {{0.5}}> ()
        ratio = Div (a, p)
        sum = Add (p, ratio)
        q = Mul (sum, half)
        change = Sub (q, p)
        distance = Abs (change)
        tol = Constant <value = float {{{tolerance}}}> ()
        keep = {compare} (distance, tol)"""
_ROWS = """
g (int64 M, float[4,2] cache0, float[2] x0) => (float[4,2] cache, float[2] x) {{
    cache, x = Loop <body = b (int64 i, bool c, float[4,2] past, float[2] p)
        => (bool keep, float[4,2] present, float[2] q) {{
        keep = Identity (c)
        one = Constant <value = int64[1] {{1}}> ()
        both = Constant <value = int64[2] {{1, 2}}> ()
        at = Reshape (i, one)
        grown = Add (p, p)
        row = Reshape (grown, both)
        tuples = Constant <value = int64[2] {{1, 1}}> ()
        index = Reshape (i, tuples)
        present = ScatterND (past, index, row)
        {read}
        newest = Gather <axis = 0> ({source}, where)
        flat = Constant <value = int64[1] {{2}}> ()
        q = Reshape (newest, flat)
    }}> (M, , cache0, x0)
}}"""
_HALF = """
g (int64 M, float16[2] x0) => (float16[2] x) {{
    x = Loop <body = b (int64 i, bool c, float16[2] p) => (bool keep, float16[2] q) {{
        keep = Identity (c)
        {body}
    }}> (M, , x0)
}}"""
_SLICE = """
g (int64 M, float[8] v) => (float[K] s) {{
    zero = Constant <value = float {{0}}> ()
    last, s = Loop <body = b (int64 i, bool c, float p) => (bool keep, float q, float r) {{
        keep = Identity (c)
        one = Constant <value = int64[1] {{1}}> ()
        two = Constant <value = int64[1] {{{scale}}}> ()
        place = Reshape (i, one)
        start = Mul (place, two)
        end = Add (start, one)
        part = Slice (v, start, end)
        r = ReduceSum <keepdims = 0> (part)
        q = Add (p, r)
    }}> (M, , zero)
}}"""


@dataclass(frozen=True)
class Fault:
    """A fault: ``kind`` as reported, the type of the node (of the loop where it is about that), the first iteration."""

    name: str
    kind: str
    sound: str
    faulty: str
    inputs: Mapping[str, Any]
    op_type: str
    iteration: int
    faulty_inputs: Mapping[str, Any] = field(default_factory=dict)
    target_type: str | None = None


def _counted(
    name: str, type_name: str, dtype: type, body: str, start: Any, faulty_start: Any, trips: int, **expected: Any
) -> Fault:
    text = _COUNT.format(type=type_name, body=body)
    return Fault(
        name, "integer overflow", text, text, {"M": trips, "x0": np.array(start, dtype)},
        faulty_inputs={"x0": np.array(faulty_start, dtype)}, **expected,
    )  # fmt: skip


_SOUND_NEWTON = _WHILE.format(body=_NEWTON.format(tolerance=1e-5, compare="Greater"), count="M")


def _guarded(type_name: str, eps: float) -> str:
    """A quotient whose denominator has an epsilon."""
    number = {"float16": 10, "float": 1}[type_name]
    constant = f"w = Constant <value = float {{{eps}}}> () e = Cast <to = {number}> (w)"
    return f"{constant} m = Mul (p, p) n = Add (m, e) q = Div (p, n)"


FAULTS = [
    _counted("doubling an int32", "int32", np.int32, "q = Add (p, p)", 1, 2**29, 5, op_type="Add", iteration=1),
    _counted("a product of int64", "int64", np.int64, "q = Mul (p, p)", 3, 2**20, 4, op_type="Mul", iteration=1),
    _counted(
        "an unsigned counter below 0", "uint8", np.uint8, "d = Constant <value = uint8 {2}> () q = Sub (p, d)", 20, 5,
        4, op_type="Sub", iteration=2,
    ),
    _counted(
        "a Cast that does not fit", "float", np.float32,
        "n = Cast <to = 6> (p) m = Cast <to = 1> (n) t = Constant <value = float {1000}> () q = Mul (m, t)", 1, 1e4, 3,
        op_type="Cast", iteration=2,
    ),
    _counted(
        "a sum of int8", "int8[3]", np.int8,
        "s = ReduceSum <keepdims = 1> (p) k = Constant <value = int64[1] {3}> () q = Expand (s, k)", [1, 1, 1],
        [40, 40, 20], 3, op_type="ReduceSum", iteration=1,
    ),
    Fault(
        "a state that settles before its tolerance", "fixed point",
        _SOUND_NEWTON, _WHILE.format(body=_NEWTON.format(tolerance=0.0, compare="GreaterOrEqual"), count="M"),
        {"M": 400, "x0": np.float32(2), "a": np.float32(2)}, "Loop", 5,
    ),
    Fault(
        "a loop that never ends", "fixed point",
        _WHILE.format(body=_NEWTON.format(tolerance=1e-5, compare="Greater"), count=""),
        _WHILE.format(body=_NEWTON.format(tolerance=0.0, compare="GreaterOrEqual"), count=""),
        {"M": 0, "x0": np.float32(2), "a": np.float32(2)}, "Loop", 5,
    ),
    Fault(
        "a state that comes back after six iterations", "fixed point",
        _CYCLE.format(modulus=31), _CYCLE.format(modulus=19), {"x0": np.int64(2)}, "Loop", 14,
    ),
    Fault(
        "a tolerance below the steps of float32", "unreachable tolerance",
        _SOUND_NEWTON, _WHILE.format(body=_NEWTON.format(tolerance=1e-9, compare="Greater"), count="M"),
        {"M": 400, "x0": np.float32(2), "a": np.float32(2)}, "Greater", 0,
    ),
    Fault(
        "an epsilon that is 0 in float16", "vanishing epsilon",
        _HALF.format(body=_guarded("float16", 0.001)), _HALF.format(body=_guarded("float16", 1e-8)),
        {"M": 3, "x0": np.array([1, 2], np.float16)}, "Add", 0,
    ),
    Fault(
        "a square beyond float16", "beyond float16",
        _HALF.format(body="q = Mul (p, p)"), _HALF.format(body="q = Mul (p, p)"),
        {"M": 2, "x0": np.array([1, 2], np.float16)}, "Mul", 1,
        faulty_inputs={"x0": np.array([1, 100], np.float16)},
    ),
    Fault(
        "a slice that runs off its axis", "index outside",
        _SLICE.format(scale=1), _SLICE.format(scale=3), {"M": 4, "v": np.arange(8, dtype=np.float32)}, "Slice", 3,
    ),
    Fault(
        "an index outside of a table", "index outside",
        _ROWS.format(read="where = Identity (at)", source="present"),
        _ROWS.format(read="four = Constant <value = int64[1] {4}> () where = Add (at, four)", source="present"),
        {"M": 4, "cache0": np.zeros((4, 2), np.float32), "x0": np.ones(2, np.float32)}, "Gather", 0,
    ),
    Fault(
        "a row that is read before it is written", "unwritten row",
        _ROWS.format(read="where = Identity (at)", source="present"),
        _ROWS.format(read="where = Identity (at)", source="past"),
        {"M": 4, "cache0": np.zeros((4, 2), np.float32), "x0": np.ones(2, np.float32)}, "Gather", 0,
    ),
    Fault(
        "a condition that compares NaN", "NaN compared",
        _WHILE.format(
            body="one = Constant <value = float {1}> () d = Sub (p, one) q = Sqrt (d) keep = Greater (q, a)", count="M"
        ),
        _WHILE.format(
            body="one = Constant <value = float {1}> () d = Sub (p, one) q = Sqrt (d) keep = Greater (q, a)", count="M"
        ),
        {"M": 5, "x0": np.float32(9), "a": np.float32(2)}, "Greater", 3,
        faulty_inputs={"a": np.float32(-1)},
    ),
    Fault(
        "an epsilon that would be 0 in float16", "vanishing epsilon",
        _COUNT.format(type="float", body=_guarded("float", 0.001)),
        _COUNT.format(type="float", body=_guarded("float", 1e-8)),
        {"M": 3, "x0": np.float32(2)}, "Add", 0, target_type="float16",
    ),
    Fault(
        "a number that float16 could not hold", "beyond float16",
        _COUNT.format(type="float", body="q = Mul (p, p)"), _COUNT.format(type="float", body="q = Mul (p, p)"),
        {"M": 2, "x0": np.float32(2)}, "Mul", 1, faulty_inputs={"x0": np.float32(100)}, target_type="float16",
    ),
]  # fmt: skip
