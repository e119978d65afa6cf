"""What a case of an operator is, and what it is made of: odd values of every dtype, and sizes and shapes around what
kernels treat apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

FLOAT_TYPES = ("float16", "bfloat16", "float32", "float64")
INTEGER_TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
NUMERIC_TYPES = FLOAT_TYPES + INTEGER_TYPES
#: One of each size, for what only moves elements.
MOVABLE_TYPES = ("bool", "float16", "float32", "int64")
SUMMABLE_TYPES = (*FLOAT_TYPES, "int8", "int32", "uint64")
ALL_TYPES = (*NUMERIC_TYPES, "bool")
_ONNX_ORDER = ("float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "", "bool", "float16")
ONNX_TYPE = {
    **{name: k for k, name in enumerate(_ONNX_ORDER, 1)},
    "float64": 11,
    "uint32": 12,
    "uint64": 13,
    "bfloat16": 16,
}
OPENVINO_TYPE = {"bool": "boolean", "bfloat16": "bf16", **{f"float{n}": f"f{n}" for n in (16, 32, 64)}}
OPENVINO_TYPE.update({f"{'u' * u}int{n}": f"{'u' if u else 'i'}{n}" for u, n in product((0, 1), (8, 16, 32, 64))})


@dataclass
class OperatorCase:
    """One node."""

    inputs: list[Any]
    attributes: dict[str, Any] = field(default_factory=dict)
    n_outputs: int = 1


#: (dtype, version) -> cases
CaseGenerator = Callable[[str, int], Iterator[OperatorCase]]


@dataclass
class OperatorRow:
    """``pointwise``: each element of the result comes of the elements in its place alone, and the inputs of a case are
    vectors of one length. The test makes more cases of each."""

    dtypes: Sequence[str]
    cases: CaseGenerator
    pointwise: bool = False
    #: Conversions are many: of those fewer parts do.
    few_parts: bool = False


@cache
def special_values(dtype: str) -> Array:
    """Odd values of a dtype, and some plain ones."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.array([False, True])
    if kind.kind in "iu":
        info = np.iinfo(kind)
        small = [0, 1, 2, 3, 5, 7, 8, 31, 32, 33, 63, 64, 100, info.max, info.max - 1, info.min, info.min + 1]
        return np.array(small + ([-1, -2, -7, -64] if kind.kind == "i" else [200]), kind)
    info_f: Any = ml_dtypes.finfo(kind) if kind.kind == "V" else np.finfo(kind)
    plain = [0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2.5, 1.5, 3, -3.25, 0.1, 7, 88.5, -104, 300, -129.5, 65503, 2147483648.0]
    plain += [-2147483649.0, 3e9, 5e9, 1e19, 2e19, -1e19, float("inf"), -float("inf")]
    ends = [info_f.max, -info_f.max, info_f.tiny, -info_f.tiny, info_f.smallest_subnormal, -info_f.smallest_subnormal]
    bits: Any = {2: np.uint16, 4: np.uint32, 8: np.uint64}[kind.itemsize]
    quiet = np.array(np.nan, kind).view(bits)
    sign = bits(1) << bits(8 * kind.itemsize - 1)
    nans = [quiet, quiet | sign, quiet | bits(5), quiet | sign | bits(9)]
    with np.errstate(all="ignore"):
        return np.concatenate([np.array(plain).astype(kind), np.array(ends, kind), np.array(nans, bits).view(kind)])


def all_pairs(a: Array, b: Array) -> tuple[Array, Array]:
    """Every value next to every other."""
    return np.repeat(a, len(b)), np.tile(b, len(a))


def all_triples(dtype: str) -> list[Array]:
    a = special_values(dtype)[:: max(1, len(special_values(dtype)) // 9)]
    return [x.ravel() for x in np.meshgrid(a, a, a, indexing="ij")]


def special_tensor(dtype: str, *shape: int, start: int = 0) -> Array:
    """Odd values over and over; a step of 7 so that rows differ."""
    inputs = special_values(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    return inputs[(np.arange(count) * 7 + start) % len(inputs)].reshape(shape)


def order_sensitive_numbers(dtype: str, *shape: int, seed: int = 0) -> Array:
    """Numbers whose sums and products show in which order they were done."""
    kind = np.dtype(dtype)
    rng = np.random.default_rng([seed, *shape])
    if kind.kind == "b":
        return rng.integers(0, 2, shape).astype(kind)
    if kind.kind in "iu":
        return rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, shape, kind.type, endpoint=True)
    return rng.standard_normal(shape).astype(kind)


def i64(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


SHAPES: tuple[tuple[int, ...], ...] = ((), (1,), (7,), (0,), (3, 5), (2, 3, 4), (1, 1, 9), (4, 0), (33,), (2, 65))
#: For reductions: short rows and long ones, and axes in front.
LONG_SHAPES: tuple[tuple[int, ...], ...] = (
    *((n,) for n in (1, 7, 8, 17, 64, 65, 129, 1025)),
    *((12, 5), (5, 12), (3, 130), (130, 3), (2, 70, 3), (2, 3, 70), (1, 9, 1), (3, 0), (0, 3), ()),
)
