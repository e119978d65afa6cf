"""Inputs for every operator that can have kernels: odd values of every dtype, and sizes and shapes around what kernels
treat apart. ``rows`` has a row for each registered operator, and a missing row is an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np

from loopdbg.runtime.graph import System
from loopdbg.runtime.ops import registry

from . import openvino_cases
from .single_node import attribute_text

Array = np.ndarray[Any, np.dtype[Any]]

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
NUMBERS = FLOATS + INTS
#: One of each size, for what only moves elements.
MOVED = ("bool", "float16", "float32", "int64")
SUMMED = (*FLOATS, "int8", "int32", "uint64")
ALL = (*NUMBERS, "bool")
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
class Case:
    """One node."""

    inputs: list[Any]
    attributes: dict[str, Any] = field(default_factory=dict)
    n_outputs: int = 1


#: (dtype, version) -> cases
Cases = Callable[[str, int], Iterator[Case]]


@dataclass
class Row:
    """``pointwise``: each element of the result comes of the elements in its place alone, and the inputs of a case are
    vectors of one length. The test makes more cases of each."""

    dtypes: Sequence[str]
    cases: Cases
    pointwise: bool = False
    #: Conversions are many: of those fewer parts do.
    few_parts: bool = False


# ------------------------------------------------------------------ values


@cache
def values(dtype: str) -> Array:
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


def pairs(a: Array, b: Array) -> tuple[Array, Array]:
    """Every value beside every other."""
    return np.repeat(a, len(b)), np.tile(b, len(a))


def triples(dtype: str) -> list[Array]:
    a = values(dtype)[:: max(1, len(values(dtype)) // 9)]
    return [x.ravel() for x in np.meshgrid(a, a, a, indexing="ij")]


def data(dtype: str, *shape: int, start: int = 0) -> Array:
    """Odd values over and over; a step of 7 so that rows differ."""
    given = values(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    return given[(np.arange(count) * 7 + start) % len(given)].reshape(shape)


def tame(dtype: str, *shape: int, seed: int = 0) -> Array:
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
LONG: tuple[tuple[int, ...], ...] = (
    *((n,) for n in (1, 7, 8, 17, 64, 65, 129, 1025)),
    *((12, 5), (5, 12), (3, 130), (130, 3), (2, 70, 3), (2, 3, 70), (1, 9, 1), (3, 0), (0, 3), ()),
)

# ------------------------------------------------------------------ pointwise


def one(dtype: str, version: int) -> Iterator[Case]:
    yield Case([values(dtype)])


def two(dtype: str, version: int) -> Iterator[Case]:
    yield Case(list(pairs(values(dtype), values(dtype))))


def three(dtype: str, version: int) -> Iterator[Case]:
    yield Case(triples(dtype))


def with_attributes(cases: Cases, **attributes: Any) -> Cases:
    def each(dtype: str, version: int) -> Iterator[Case]:
        for case in cases(dtype, version):
            yield Case(case.inputs, {**attributes, **case.attributes}, case.n_outputs)

    return each


def _divisions(dtype: str, version: int) -> Iterator[Case]:
    a, b = pairs(values(dtype), values(dtype))
    if np.dtype(dtype).kind != "f":
        a, b = a[b != 0], b[b != 0]
    yield Case([a, b])


def _powers(dtype: str, version: int) -> Iterator[Case]:
    a, b = pairs(values(dtype), values(dtype))
    if np.dtype(dtype).kind == "i":
        a, b = a[(a != 0) | (b >= 0)], b[(a != 0) | (b >= 0)]
    yield Case([a, b])


def _chosen(dtype: str, version: int) -> Iterator[Case]:
    a, b = pairs(values(dtype), values(dtype))
    yield Case([np.arange(len(a)) % 3 == 0, a, b])


def _casts(system: System) -> Cases:
    def each(dtype: str, version: int) -> Iterator[Case]:
        for target in ALL:
            if system is System.OPENVINO:
                yield Case([values(dtype)], {"destination_type": OPENVINO_TYPE[target]})
            else:
                old = {"float32": "FLOAT", "float64": "DOUBLE"}.get(target, target.upper())
                yield Case([values(dtype)], {"to": old if version < 6 else ONNX_TYPE[target]})

    return each


def _casts_like(dtype: str, version: int) -> Iterator[Case]:
    for target in ALL:
        yield Case([values(dtype), np.resize(values(target), len(values(dtype)))])


def _ways(cases: Cases, *ways: dict[str, Any]) -> Cases:
    """The same inputs with several sets of attributes."""

    def each(dtype: str, version: int) -> Iterator[Case]:
        for way in ways:
            yield from with_attributes(cases, **way)(dtype, version)

    return each


def _either(new: Cases, old: Cases, since: int) -> Cases:
    return lambda dtype, version: (new if version >= since else old)(dtype, version)


def _quantised(dtype: str, version: int) -> Iterator[Case]:
    x = values(dtype)
    yield Case([x, np.float32(0.3).reshape(())])
    yield Case([x, np.float32(0.3).reshape(()), np.array(2, dtype)])
    grid = np.resize(x, (5, 7))
    yield Case([grid, tame("float32", 7), np.resize(x, 7)], {"axis": 1})
    yield Case([grid, tame("float32", 5)], {"axis": 0})


def _quantising(dtype: str, version: int) -> Iterator[Case]:
    x, grid = values(dtype), np.resize(values(dtype), (5, 70))
    scale = np.array(0.3, dtype)
    yield Case([x, scale])
    for zero in (np.array(7, np.uint8), np.array(-3, np.int8), *((np.array(900, np.int16),) if version > 19 else ())):
        yield Case([x, scale, zero])
        yield Case([grid, np.abs(tame(dtype, 70)), np.resize(zero, 70)], {"axis": 1})
        yield Case([grid, np.abs(tame(dtype, 5)), np.resize(zero, 5)], {"axis": 0})
        if version > 19:
            yield Case([grid, np.abs(tame(dtype, 5, 9)), np.resize(zero, (5, 9))], {"axis": 1, "block_size": 8})
            yield Case([grid, np.abs(tame(dtype, 3, 70)), np.resize(zero, (3, 70))], {"axis": 0, "block_size": 2})


def _ranges_quantised(dtype: str, version: int) -> Iterator[Case]:
    for x in (values(dtype), tame(dtype, 3, 70), tame(dtype), tame(dtype, 0, 4), np.zeros(5, dtype)):
        yield Case([x], {}, 3)


# ------------------------------------------------------------------ reductions and products


def _axes(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = [tuple(range(len(shape)))]
    if len(shape) > 1:
        found += [(0,), (-1,)]
    if len(shape) > 2:
        found += [(1,), (0, 2), (1, 2)]
    return found


def _reductions(by_input: bool, keyword: str, yes: Any, no: Any) -> Cases:
    def each(dtype: str, version: int) -> Iterator[Case]:
        for k, shape in enumerate(LONG):
            for axes in _axes(shape):
                keep = {keyword: yes if k % 2 else no}
                x = data(dtype, *shape) if k % 3 else tame(dtype, *shape)
                if by_input:
                    yield Case([x, i64(*axes)], keep)
                else:
                    yield Case([x], {**keep, **({"axes": list(axes)} if axes else {})})

    return each


def _whole_means(cases: Cases) -> Cases:
    """Without the mean of no integers, which is an error."""
    return lambda dtype, version: (
        case for case in cases(dtype, version) if case.inputs[0].size or np.dtype(dtype).kind == "f"
    )


def _along(**attributes: Any) -> Cases:
    """Operators with one axis, as an attribute."""

    def each(dtype: str, version: int) -> Iterator[Case]:
        for k, shape in enumerate(LONG):
            for axis in range(-1, len(shape) - 1):
                if shape[axis]:
                    x = data(dtype, *shape) if k % 3 else tame(dtype, *shape)
                    yield Case([x], {"axis": axis, **attributes})

    return each


def _running(*ways: dict[str, Any]) -> Cases:
    def each(dtype: str, version: int) -> Iterator[Case]:
        for shape in ((1,), (9,), (65,), (3, 5), (5, 3, 2), (3, 0)):
            for axis in range(len(shape)):
                for way in ways:
                    yield Case([data(dtype, *shape), np.array(axis)], way)
                    yield Case([tame(dtype, *shape), np.array(axis)], way)

    return each


PRODUCTS = (
    *(((3, 4), (4, 5)), ((1, 1), (1, 1)), ((4,), (4,)), ((1,), (1,)), ((4,), (4, 3)), ((3, 4), (4,)), ((0, 4), (4, 3))),
    *(((3, 0), (0, 2)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((1, 3, 4), (6, 4, 2)), ((2, 1, 3, 4), (5, 4, 3))),
    *(((1, 65), (65, 33)), ((17, 65), (65, 33)), ((1, 128), (128, 96)), ((5, 128), (128, 96))),
)


def _products(dtype: str, version: int) -> Iterator[Case]:
    for a, b in PRODUCTS:
        yield Case([tame(dtype, *a), tame(dtype, *b, seed=1)])
    yield Case([data(dtype, 5, 9), data(dtype, 9, 4, start=3)])


def _turned_products(dtype: str, version: int) -> Iterator[Case]:
    yield from _products(dtype, version)
    for a, b in PRODUCTS:
        if len(a) > 1 and len(b) > 1:
            turned = {"transpose_a": "true", "transpose_b": "true"}
            x, y = (tame(dtype, *s[:-2], s[-1], s[-2], seed=k) for k, s in enumerate((a, b)))
            yield Case([x, y], turned)


def _integer_products(dtype: str, version: int) -> Iterator[Case]:
    for other in ("int8", "uint8"):
        for a, b in PRODUCTS:
            x, y = tame(dtype, *a), tame(other, *b, seed=1)
            yield Case([x, y])
            yield Case([x, y, tame(dtype, seed=2), tame(other, seed=3)])
        yield Case([tame(dtype, 7, 130), tame(other, 130, 67), tame(dtype, 7), tame(other, 67)])


def _qlinear_products(dtype: str, version: int) -> Iterator[Case]:
    scales = [np.array(s, np.float32) for s in (0.02, 0.3, 1.5)]
    for a, b in PRODUCTS:
        x, y = tame(dtype, *a), tame("int8", *b, seed=1)
        zeros = tame(dtype, seed=2), tame("int8", seed=3)
        yield Case([x, scales[0], zeros[0], y, scales[1], zeros[1], scales[2], zeros[0]])


def _gemms(dtype: str, version: int) -> Iterator[Case]:
    old = {"broadcast": 1} if version < 7 else {}
    for m, k, n in ((3, 4, 5), (1, 1, 1), (1, 65, 33), (17, 128, 96), (2, 0, 3), (0, 2, 3)):
        for turned in (0, 1):
            a, b = tame(dtype, *((k, m) if turned else (m, k))), tame(dtype, *((n, k) if turned else (k, n)), seed=1)
            for c in (tame(dtype, n, seed=2), data(dtype, m, n)):
                factors = {"alpha": 0.5, "beta": 2.0} if turned else {}
                yield Case([a, b, c], {"transA": turned, "transB": turned, **factors, **old})


def _cells(gates: int, states: int) -> Cases:
    def each(dtype: str, version: int) -> Iterator[Case]:
        for batch, width, size in ((1, 3, 2), (2, 4, 5), (1, 64, 33)):
            start = [tame(dtype, batch, size, seed=k) for k in range(states)]
            weights = [tame(dtype, gates * size, n) for n in (width, size)]
            inputs = [tame(dtype, batch, width), *start, *weights, tame(dtype, gates * size)]
            yield Case(inputs, {"hidden_size": str(size)}, states)

    return each


def _batch_norms(dtype: str, version: int) -> Iterator[Case]:
    for shape in ((2, 3), (2, 3, 5), (1, 3, 4, 17)):
        rest = [tame(dtype, 3, seed=k) for k in range(3)]
        yield Case([tame(dtype, *shape), *rest, np.abs(tame(dtype, 3, seed=9))])
        yield Case([data(dtype, *shape), *rest, np.abs(tame(dtype, 3, seed=9))], {"epsilon": 0.25})
        if version >= 14:
            yield Case([tame(dtype, *shape), *rest, np.abs(tame(dtype, 3, seed=9))], {"training_mode": 1}, 3)


def _layer_norms(dtype: str, version: int) -> Iterator[Case]:
    for shape in ((7,), (3, 5), (2, 3, 65), (1, 200)):
        for axis in range(-1, len(shape) - 1):
            under = shape[axis:]
            yield Case(
                [tame(dtype, *shape), tame(dtype, *under, seed=1), tame(dtype, *under, seed=2)], {"axis": axis}, 3
            )
            yield Case([data(dtype, *shape), tame(dtype, *under, seed=1)], {"axis": axis})


def _scaled_norms(**attributes: Any) -> Cases:
    """A scale for what is under the axis, and none that fits only by broadcasting."""

    def each(dtype: str, version: int) -> Iterator[Case]:
        for shape in ((7,), (3, 5), (2, 3, 65), (1, 200)):
            for axis in range(-1, len(shape) - 1):
                yield Case([tame(dtype, *shape), tame(dtype, *shape[axis:], seed=1)], {"axis": axis, **attributes})
            yield Case([data(dtype, *shape), tame(dtype, 1, seed=1)])

    return each


def _channel_norms(*ways: dict[str, Any], of_groups: int = 0) -> Cases:
    """``of_groups``: before this version there is a scale for each group."""

    def each(dtype: str, version: int) -> Iterator[Case]:
        for shape in ((2, 4), (2, 4, 5), (1, 4, 3, 17)):
            for way in ways:
                count = int(way["num_groups"]) if version < of_groups else 4
                yield Case([tame(dtype, *shape), *(tame(dtype, count, seed=k) for k in (1, 2))], way)
                yield Case([data(dtype, *shape), *(tame(dtype, count, seed=k) for k in (1, 2))], way)

    return each


def _mean_variances(dtype: str, version: int) -> Iterator[Case]:
    for axes in ((0, 2, 3), (-1,), (1, 2, 3)):
        yield Case([tame(dtype, 2, 3, 4, 5)], {"axes": axes})
    yield Case([data(dtype, 2, 3, 1, 17)])


def _openvino_mean_variances(dtype: str, version: int) -> Iterator[Case]:
    for shape in ((2, 3, 4, 5), (1, 3, 1, 17)):
        if version < 6:
            yield Case([tame(dtype, *shape)], {"eps": "0.1"})
            yield Case([tame(dtype, *shape)], {"eps": "0.1", "across_channels": "true"})
            yield Case([data(dtype, *shape)], {"eps": "0.1", "normalize_variance": "false"})
            continue
        for axes in ((2, 3), (-1,), (0, 2)):
            for mode in ("inside_sqrt", "OUTSIDE_SQRT"):
                way = {"normalize_variance": "true", "eps": "1e-5", "eps_mode": mode}
                yield Case([tame(dtype, *shape), i64(*axes)], way)
        plain = {"normalize_variance": "false", "eps": "1e-5", "eps_mode": "inside_sqrt"}
        yield Case([data(dtype, *shape), i64(1, 2)], plain)


EINSUMS = (
    *(("ij,jk->ik", (3, 4), (4, 5)), ("bhid,bhjd->bhij", (1, 2, 3, 33), (1, 2, 5, 33)), ("iji->j", (3, 2, 3))),
    *(
        ("i,j->ji", (3,), (4,)),
        ("...ij,jk", (2, 3, 4), (4, 5)),
        ("ab,cd,e->e", (2, 3), (2, 2), (7,)),
        ("ij->", (3, 65)),
    ),
    *(
        ("bsd,fd->bsf", (1, 1, 128), (96, 128)),
        ("ij,jk->ki", (0, 4), (4, 5)),
        ("bshd,hdm->bsm", (1, 2, 3, 4), (3, 4, 5)),
    ),
)


def _einsums(dtype: str, version: int) -> Iterator[Case]:
    for equation, *shapes in EINSUMS:
        yield Case([tame(dtype, *s, seed=k) for k, s in enumerate(shapes)], {"equation": equation})


def _attentions(dtype: str, version: int) -> Iterator[Case]:
    """A few queries, and more than are done one by one; shared heads, a cache, masks."""
    for queries, keys, groups in ((1, 9, 2), (3, 17, 4), (11, 11, 1)):
        q, k, v = (tame(dtype, 2, queries, n * 20, seed=j) for j, n in enumerate((4, groups, groups)))
        heads = {"q_num_heads": 4, "kv_num_heads": groups, "is_causal": int(queries != 3)}
        past = [tame(dtype, 2, groups, keys, 20, seed=j) for j in (3, 4)]
        yield Case([q, k, v], heads)
        yield Case([q, k, v, None, *past], heads, 3)
        mask = tame("bool", queries, queries + keys)
        yield Case([q, k, v, mask, *past], {**heads, "softcap": 2.0}, 3)
        four = [x.reshape(2, queries, -1, 20).swapaxes(1, 2).copy() for x in (q, k, v)]
        yield Case([*four, tame(dtype, 4, 1, queries)], {"scale": 0.5, "qk_matmul_output_mode": 3}, 4)
    yield Case([data(dtype, 1, 2, 1, 8), data(dtype, 1, 2, 5, 8, start=2), data(dtype, 1, 2, 5, 3)])
    if version > 23:
        q, k = tame(dtype, 2, 2, 3, 8), tame(dtype, 2, 1, 9, 8, seed=1)
        yield Case([q, k, k, None, None, None, i64(9, 4)], {"is_causal": 1})
    if version > 24:
        yield Case([tame(dtype, 1, 2, 4, 8)] * 3, {"left_window_size": 1, "right_window_size": 0})


def _openvino_attentions(dtype: str, version: int) -> Iterator[Case]:
    for queries in (1, 3, 11):
        q, k, v = (tame(dtype, 2, 3, n, 20, seed=j) for j, n in enumerate((queries, 12, 12)))
        yield Case([q, k, v], {"causal": "true"})
        yield Case([q, k, v, tame(dtype, queries, 12, seed=4)], {"causal": "false"})
        yield Case([q, k, v, tame(dtype, 2, 1, queries, 12, seed=4), np.array(0.5, dtype)], {"causal": "false"})


def _rotated(dtype: str, version: int) -> Iterator[Case]:
    for interleaved in (0, 1):
        for part in (0, 4):
            half = (part or 6) // 2
            caches = [tame(dtype, 9, half, seed=k) for k in (1, 2)]
            way = {"interleaved": interleaved, "rotary_embedding_dim": part}
            yield Case([tame(dtype, 1, 2, 24), *caches, np.array([[3, 8]])], {**way, "num_heads": 4})
            yield Case([data(dtype, 1, 4, 2, 6), *(c[None, 3:5] for c in caches)], way)


TOPS = (((7,), 0), ((3, 200), 1), ((1, 1000), -1), ((5, 3, 4), 0), ((2, 70, 3), 1))


def _tops(dtype: str, version: int) -> Iterator[Case]:
    for shape, axis in TOPS:
        for k in (1, 2, shape[axis]):
            given: dict[str, Any] = {"axis": axis} if version > 1 else {"axis": axis, "k": k}
            more = [{"largest": 0}, {"largest": 1, "sorted": 0}] if version > 10 else [{}]
            for way in more:
                for x in (data(dtype, *shape), tame(dtype, *shape)):
                    yield Case([x, *([i64(k)] if version > 1 else [])], {**given, **way}, 2)


def _openvino_tops(dtype: str, version: int) -> Iterator[Case]:
    for shape, axis in TOPS:
        for mode, sort in (("max", "value"), ("min", "index"), ("max", "none")):
            way = {"axis": str(axis), "mode": mode, "sort": sort, "index_element_type": "i32"}
            yield Case([data(dtype, *shape), np.array(2)], way, 2)


def _element_gathers(dtype: str, version: int) -> Iterator[Case]:
    for index in ("int32", "int64"):
        yield Case([data(dtype, 3, 5), np.array([[0, -3, 2], [1, 1, -1]], index)], {"axis": 0})
        yield Case([data(dtype, 2, 3, 4), np.array([[[0, 3]] * 3] * 2, index)], {"axis": 2})
        yield Case([data(dtype, 2, 3, 4), np.array([[[2, 1, 0, 0]]], index)], {"axis": 1})


def _tuple_gathers(dtype: str, version: int) -> Iterator[Case]:
    x = data(dtype, 2, 3, 4)
    yield Case([x, np.array([[0, 2], [-1, 1], [1, 0]])])
    yield Case([x, np.array([[[1], [0]]], np.int32)])
    yield Case([x, np.array([[[2]], [[0]]])], {"batch_dims": 1})
    yield Case([x, np.array([0, 1, 3])])


def _reductions_of(version: int, since: int, *words: str) -> list[dict[str, Any]]:
    return [{}, *({"reduction": word} for word in words if version >= since)]


def _element_scatters(by_input: bool) -> Cases:
    def each(dtype: str, version: int) -> Iterator[Case]:
        words = ("sum", "sub", "prod", "max", "min") if by_input else ("add", "mul", "max", "min")
        for way in _reductions_of(version, 12 if by_input else 16, *words):
            if dtype == "bool" and way:
                continue
            for shape, axis, places in (
                ((4, 5), 0, [[0, 3, 1], [2, 2, 2]]),
                ((2, 3, 4), 1, [[[0, 1, 2, 0], [1, 1, 1, 1]]]),
            ):
                indices = np.array(places)
                along: Any = [np.array(axis)] if by_input else []
                x, updates = data(dtype, *shape), tame(dtype, *indices.shape)
                yield Case([x, indices, updates, *along], way if by_input else {"axis": axis, **way})

    return each


def _tuple_scatters(*words: str, since: int) -> Cases:
    def each(dtype: str, version: int) -> Iterator[Case]:
        for way in _reductions_of(version, since, *words):
            if dtype == "bool" and way:
                continue
            yield Case([data(dtype, 4, 5), i64(3, 0, 3).reshape(3, 1), tame(dtype, 3, 5)], way)
            yield Case([data(dtype, 2, 3, 4), np.array([[[1, -1], [0, 0]]], np.int32), tame(dtype, 1, 2, 4)], way)

    return each


def _row_scatters(dtype: str, version: int) -> Iterator[Case]:
    for axis in (0, 1):
        x, indices = data(dtype, 3, 4, 2), np.array([2, 0])
        shape = (2, 4, 2) if axis == 0 else (3, 2, 2)
        yield Case([x, indices, tame(dtype, *shape), np.array(axis)])


def _cache_scatters(dtype: str, version: int) -> Iterator[Case]:
    cache, rows = data(dtype, 2, 3, 5, 2), tame(dtype, 2, 3, 2, 2)
    yield Case([cache, rows, i64(3, 0)])
    yield Case([cache, rows])
    yield Case([cache, rows, i64(4, 2)], {"mode": "circular"})


def _rms_norms(dtype: str, version: int) -> Iterator[Case]:
    for case in _layer_norms(dtype, version):
        yield Case(case.inputs[:2], case.attributes, min(case.n_outputs, 2))


def _neighbours(dtype: str, version: int) -> Iterator[Case]:
    for shape, size in (((1, 5, 3), 3), ((2, 9), 4), ((1, 3, 2, 2), 1)):
        yield Case([tame(dtype, *shape)], {"size": size, "alpha": 0.5})
        yield Case([data(dtype, *shape)], {"size": size})


# ------------------------------------------------------------------ shapes and movement


def _moves(*ways: Callable[[Array], Iterator[Case]]) -> Cases:
    """Cases made of a tensor of each shape."""

    def each(dtype: str, version: int) -> Iterator[Case]:
        for shape in SHAPES:
            for way in ways:
                yield from way(data(dtype, *shape))

    return each


def _as_it_is(x: Array) -> Iterator[Case]:
    yield Case([x])


def _concats(dtype: str, version: int) -> Iterator[Case]:
    for parts, axis in (((3,), 0), ((0, 2, 1), 0), ((1, 33, 2), 1), ((2, 2), 1)):
        shapes = [(n, 3) if axis == 0 else (2, n) for n in parts]
        yield Case([data(dtype, *shape, start=k) for k, shape in enumerate(shapes)], {"axis": axis})
    yield Case([data(dtype, 1), data(dtype, 65, start=2)], {"axis": 0})


def _text(cases: Cases) -> Cases:
    """Attributes as an IR file has them."""

    def text(value: Any) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)

    def each(dtype: str, version: int) -> Iterator[Case]:
        for case in cases(dtype, version):
            yield Case(case.inputs, {k: text(v) for k, v in case.attributes.items()}, case.n_outputs)

    return each


def _constants(dtype: str, version: int) -> Iterator[Case]:
    yield Case([], {"value": data(dtype, 3, 5)})
    yield Case([], {"value": data(dtype)})


def _constants_of_shapes(dtype: str, version: int) -> Iterator[Case]:
    for k, shape in enumerate(SHAPES):
        yield Case([i64(*shape)], {"value": values(dtype)[k % len(values(dtype)) :][:1]})
    yield Case([i64(2, 3)])


def _expanded(x: Array) -> Iterator[Case]:
    yield Case([x, i64(2, *x.shape)])
    yield Case([x, i64(*(1,) * x.ndim)])


def _eyes(dtype: str, version: int) -> Iterator[Case]:
    for shape, k in product(((3, 5), (5, 3), (1, 1), (0, 2)), (-1, 0, 2)):
        yield Case([data(dtype, *shape)], {"k": k})
        yield Case([data(dtype, *shape)], {"k": k, "dtype": ONNX_TYPE["int32"]})


def _gathers(dtype: str, version: int) -> Iterator[Case]:
    for shape, axis in (((9,), 0), ((9, 3), 0), ((2, 9), 1), ((2, 9, 2), 1), ((2, 9, 5), -2)):
        for index in (i64(3, -1, 0), np.array(2), np.array([[8, -9], [0, 1]], np.int32), i64()):
            yield Case([data(dtype, *shape), index], {"axis": axis})


def _openvino_gathers(dtype: str, version: int) -> Iterator[Case]:
    for case in _gathers(dtype, version):
        x, index = case.inputs
        if version < 8:
            index = np.abs(index)
        yield Case([x, index, np.array(case.attributes["axis"])])
    if version >= 7:
        yield Case([data(dtype, 2, 5, 3), i64(0, 4, 1, 1).reshape(2, 2), np.array(1)], {"batch_dims": "1"})


def _one_hots(dtype: str, version: int) -> Iterator[Case]:
    off_on = values(dtype)[:2]
    for index in (i64(0, 2, 4), i64(1, 3, 2, 0).reshape(2, 2), np.array(3)):
        for axis in (-1, 0):
            yield Case([index, np.array(5), off_on], {"axis": axis})


def _openvino_one_hots(dtype: str, version: int) -> Iterator[Case]:
    for case in _one_hots(dtype, version):
        index, depth, (off, on) = case.inputs
        yield Case([index, depth, np.array(on, dtype), np.array(off, dtype)], {"axis": str(case.attributes["axis"])})


PADS = ((1, 1, 1, 1), (0, 2, 0, 0), (3, 0, 0, 0), (2, 0, 1, 3), (0, 0, 0, 0))
MODES = ("constant", "edge", "reflect")


def _padded(dtype: str, version: int) -> Iterator[Case]:
    x, fill = data(dtype, 5, 6), values(dtype)[1]
    for pads, mode in product(PADS, MODES):
        if version < 2:
            yield Case([x], {"paddings": list(pads), "mode": mode})
        elif version < 11:
            yield Case([x], {"pads": list(pads), "mode": mode, "value": 1.0})
        else:
            yield Case([x, i64(*pads), np.array(fill, dtype)], {"mode": mode})


def _openvino_padded(dtype: str, version: int) -> Iterator[Case]:
    x, fill = data(dtype, 5, 6), values(dtype)[1]
    for pads, mode in product(PADS, (*MODES, "symmetric")):
        yield Case([x, i64(*pads[:2]), i64(*pads[2:]), np.array(fill, dtype)], {"pad_mode": mode})


def _ranges(*more: dict[str, Any]) -> Cases:
    def each(dtype: str, version: int) -> Iterator[Case]:
        for limits, way in product(((0, 10, 3), (2, 2, 1), (5, 1, 1), (3, 70, 1)), more):
            yield Case([np.array(n, dtype) for n in limits], dict(way))
        if np.dtype(dtype).kind == "f":
            yield Case([np.array(n, dtype) for n in (0.1, 5, 0.7)], dict(more[0]))

    return each


def _reshaped(x: Array) -> Iterator[Case]:
    if x.size:
        yield Case([x, i64(-1)])
        yield Case([x, i64(1, *x.shape)])
    else:
        yield Case([x, i64(0, 3)], {"allowzero": 1})


def _reshaped_by_attribute(x: Array) -> Iterator[Case]:
    if x.size:
        yield Case([x], {"shape": [1, x.size]})


def _openvino_reshaped(x: Array) -> Iterator[Case]:
    for case in _reshaped(x):
        yield Case(case.inputs, {"special_zero": False})


SLICES = (
    ((0,), (2,), (0,), (1,)),
    ((-1,), (-100,), (0,), (-1,)),
    ((1, 0), (100, -1), (1, 0), (2, 1)),
    ((2,), (1,), (1,), (1,)),
)


def _sliced(dtype: str, version: int) -> Iterator[Case]:
    for starts, ends, axes, steps in SLICES:
        x = data(dtype, 5, 65)
        if version >= 10:
            yield Case([x, i64(*starts), i64(*ends), i64(*axes), i64(*steps)])
        elif set(steps) == {1}:
            yield Case([x], {"starts": list(starts), "ends": list(ends), "axes": list(axes)})


def _openvino_sliced(dtype: str, version: int) -> Iterator[Case]:
    for starts, ends, axes, steps in SLICES:
        yield Case([data(dtype, 5, 65), i64(*starts), i64(*ends), i64(*steps), i64(*axes)])


def _strided(dtype: str, version: int) -> Iterator[Case]:
    x = data(dtype, 5, 65)
    for begin, end, step, masks in (
        ((0, 1), (3, 9), (1, 2), "0,0"),
        ((4, 60), (0, 2), (-1, -3), "0,1"),
        ((1, 0), (2, 65), (1, 1), "1,1"),
    ):
        yield Case([x, i64(*begin), i64(*end), i64(*step)], {"begin_mask": masks, "end_mask": masks})
    yield Case([x, i64(1, 0), i64(2, 65)], {"begin_mask": "0,0", "end_mask": "0,0", "shrink_axis_mask": "1,0"})


def _split(dtype: str, version: int) -> Iterator[Case]:
    x = data(dtype, 6, 5)
    if version >= 13:
        yield Case([x, i64(1, 5)], {"axis": 0}, 2)
        yield Case([x, i64(2, 0, 3)], {"axis": 1}, 3)
    else:
        yield Case([x], {"split": [1, 5], "axis": 0}, 2)
    yield Case([x], {"axis": 0, **({"num_outputs": 3} if version >= 18 else {})}, 3)


def _openvino_split(dtype: str, version: int) -> Iterator[Case]:
    yield Case([data(dtype, 6, 5), np.array(0)], {"num_splits": "3"}, 3)
    yield Case([data(dtype, 6, 5), np.array(-1)], {"num_splits": "5"}, 5)


def _variadic_split(dtype: str, version: int) -> Iterator[Case]:
    yield Case([data(dtype, 6, 5), np.array(0), i64(1, 5)], {}, 2)
    yield Case([data(dtype, 6, 5), np.array(1), i64(2, 0, -1)], {}, 3)


def _axes_given(shapes: Sequence[tuple[tuple[int, ...], tuple[int, ...]]], as_input: bool) -> Cases:
    def each(dtype: str, version: int) -> Iterator[Case]:
        for shape, axes in shapes:
            x = data(dtype, *shape)
            yield Case([x, i64(*axes)]) if as_input else Case([x], {"axes": list(axes)})

    return each


SQUEEZED = (((1, 3), (0,)), ((2, 1, 1), (1, 2)), ((1,), (-1,)), ((1, 0), (0,)))
UNSQUEEZED = (((3,), (0,)), ((2, 3), (0, 3)), ((), (0,)), ((0,), (1,)))


def _tiles(dtype: str, version: int) -> Iterator[Case]:
    for shape, times in (((3,), (2,)), ((2, 3), (1, 4)), ((2, 1), (3, 0)), ((1, 33), (2, 2))):
        yield Case([data(dtype, *shape), i64(*times)])


def _tiles_1(dtype: str, version: int) -> Iterator[Case]:
    yield Case([data(dtype, 2, 3), i64(4), i64(1)])


TURNED = (((2, 3), (1, 0)), ((2, 3, 4), (2, 0, 1)), ((1, 33), (1, 0)), ((0, 2), (1, 0)), ((5,), (0,)))


def _turned(dtype: str, version: int) -> Iterator[Case]:
    for shape, order in TURNED:
        yield Case([data(dtype, *shape)], {"perm": list(order)})


def _openvino_turned(dtype: str, version: int) -> Iterator[Case]:
    for shape, order in TURNED:
        yield Case([data(dtype, *shape), i64(*order)])


def _triangles(dtype: str, version: int) -> Iterator[Case]:
    for shape, k, upper in product(((3, 5), (2, 4, 4)), (-1, 0, 2), (0, 1)):
        yield Case([data(dtype, *shape), np.array(k)], {"upper": upper})


def _flattened(dtype: str, version: int) -> Iterator[Case]:
    for shape, axis in (((2, 3, 4), 0), ((2, 3, 4), 2), ((5,), 1), ((0, 3), 1)):
        yield Case([data(dtype, *shape)], {"axis": axis})


def _broadcasts(dtype: str, version: int) -> Iterator[Case]:
    yield Case([data(dtype, 3, 1), i64(2, 3, 5)])
    yield Case([data(dtype), i64(7)])
    yield Case([data(dtype, 3), i64(3, 5), i64(0)], {"mode": "explicit"})
    yield Case([data(dtype, 3, 1), i64(1, 5)], {"mode": "bidirectional"})


def _dropped(dtype: str, version: int) -> Iterator[Case]:
    yield Case([values(dtype)], {"is_test": 1} if version < 7 else {}, 2)


#: Rank, channels in a group and out of it, groups, kernel, strides, dilations, extents.
CONVOLUTIONS: tuple[tuple[Any, ...], ...] = (
    (1, 3, 5, 1, [3], [1], [2], [40]),
    (1, 1, 1, 7, [4], [1], [1], [19]),
    (2, 20, 11, 1, [3, 3], [1, 1], [1, 1], [7, 33]),
    (2, 2, 8, 2, [3, 2], [2, 3], [1, 2], [9, 12]),
    (2, 6, 16, 1, [1, 1], [1, 1], [1, 1], [5, 8]),
    (2, 3, 4, 1, [4, 4], [4, 4], [1, 1], [8, 12]),
    (3, 2, 3, 1, [2, 3, 2], [1, 2, 1], [1, 1, 1], [4, 7, 6]),
)


def _convolved(transposed: bool, openvino: bool) -> Cases:
    def each(dtype: str, version: int) -> Iterator[Case]:
        for rank, inside, outside, groups, kernel, strides, dilations, extents in CONVOLUTIONS:
            x = tame(dtype, 2, groups * inside, *extents)
            shape = (groups, *((inside, outside) if transposed else (outside, inside)), *kernel)
            attributes: dict[str, Any] = {"strides": strides, "dilations": dilations}
            if openvino and groups == 1:
                more = {"pads_begin": [1] * rank, "pads_end": [0] * rank}
                yield Case([x, tame(dtype, *shape[1:])], {**attributes, **more})
            elif not openvino:
                weights = tame(dtype, shape[0] * shape[1], *shape[2:])
                attributes |= {"group": groups, "pads": [1] * rank + [0] * rank}
                yield Case([x, weights], attributes)
                yield Case([x, weights, tame(dtype, groups * outside)], attributes)

    return each


def _convolved_by_groups(transposed: bool) -> Cases:
    def each(dtype: str, version: int) -> Iterator[Case]:
        for rank, inside, outside, groups, kernel, strides, dilations, extents in CONVOLUTIONS:
            shape = (groups, *((inside, outside) if transposed else (outside, inside)), *kernel)
            attributes = {"strides": strides, "dilations": dilations, "pads_begin": [1] * rank, "pads_end": [0] * rank}
            yield Case([tame(dtype, 2, groups * inside, *extents), tame(dtype, *shape)], attributes)

    return each


def _integer_convolutions(dtype: str, version: int) -> Iterator[Case]:
    for channels in (2, 40):
        x, w = tame(dtype, 2, channels, 6, 7), tame("int8", 5, channels, 3, 3)
        yield Case([x, w])
        yield Case([x, w, tame(dtype, seed=2), tame("int8", 5)], {"pads": [1, 0, 0, 1]})


def _qlinear_convolutions(dtype: str, version: int) -> Iterator[Case]:
    x, w, zeros = tame(dtype, 2, 4, 6, 7), tame("int8", 5, 4, 3, 3), (tame(dtype, seed=2), tame("int8", seed=3))
    scales = [np.array(s, np.float32) for s in (0.02, 0.3, 1.5)]
    inputs = [x, scales[0], zeros[0], w, scales[1], zeros[1], scales[2], zeros[0]]
    yield Case(inputs)
    yield Case([*inputs, np.array([1, -2, 300, 0, 7], np.int32)], {"strides": [2, 1]})


#: Extents, kernel, strides, dilations.
POOLS: tuple[tuple[tuple[int, ...], ...], ...] = (
    ((19,), (3,), (2,), (1,)),
    ((9, 33), (2, 3), (1, 1), (1, 1)),
    ((12, 10), (3, 2), (2, 3), (2, 1)),
    ((4, 5, 7), (2, 3, 2), (1, 2, 1), (1, 1, 1)),
)


def _pooled(*ways: dict[str, Any], both: bool = False) -> Cases:
    def each(dtype: str, version: int) -> Iterator[Case]:
        for (extents, kernel, strides, dilations), way in product(POOLS, ways):
            x = tame(dtype, 2, 3, *extents)
            attributes = {"kernel_shape": kernel, "strides": strides, "pads": [1] * len(kernel) + [0] * len(kernel)}
            if version >= (10 if both else 19):
                attributes["dilations"] = dilations
            yield Case([x], {**attributes, **way})
            if both and version >= 8:
                yield Case([x], attributes, 2)

    return each


# ------------------------------------------------------------------ what OpenVINO's own suite tries


def _as_tried(name: str) -> Cases:
    """The rows of ``openvino_cases``, their float32 inputs in another type."""

    def each(dtype: str, version: int) -> Iterator[Case]:
        for tried in openvino_cases.CASES:
            found = registry.find(System.OPENVINO, "", tried.type, tried.opset)
            if tried.type.lower() != name.lower() or found is None or found.since != version:
                continue
            arrays = [x.array if isinstance(x, openvino_cases.K) else x for x in tried.inputs]
            with np.errstate(all="ignore"):
                arrays = [x.astype(dtype) if x.dtype == np.float32 else x for x in arrays]
            attributes = {key: attribute_text(value) for key, value in tried.attributes.items()}
            yield Case(arrays, attributes, 2 if name == "ConvertPromoteTypes" else 1)

    return each


#: Moved or summed by several kernels; what OpenVINO's suite has is odd enough.
TRIED = (
    "BatchNormInference BatchToSpace ConvertPromoteTypes DepthToSpace EmbeddingBagOffsets EmbeddingBagOffsetsSum"
    " EmbeddingBagPacked EmbeddingBagPackedSum EmbeddingSegmentsSum ExtractImagePatches Eye FakeQuantize GRN"
    " GridSample Interpolate LRN NormalizeL2 ReorgYolo Reverse ReverseSequence Roll ShuffleChannels SliceScatter"
    " SpaceToBatch SpaceToDepth"
)


def _read(dtype: str, version: int) -> Iterator[Case]:
    for known in (False, True):
        yield Case([data(dtype, 3), np.array(known), data(dtype, 4)], {"variable_id": "h"})


def _blocks(inside: bool) -> Cases:
    def each(dtype: str, version: int) -> Iterator[Case]:
        for shape, size in (((2, 8, 3, 2), 2), ((1, 18, 1, 2), 3), ((1, 4, 2, 2), 1)):
            turned = (shape[0], shape[1] // size**2, shape[2] * size, shape[3] * size)
            yield Case([data(dtype, *(shape if inside else turned))], {"blocksize": size})

    return each


def _over_all(dtype: str, version: int) -> Iterator[Case]:
    for extents in ((70,), (5, 7), (2, 3, 5)):
        yield Case([tame(dtype, 2, 3, *extents)])


def _openvino_pooled(**more: Any) -> Cases:
    def each(dtype: str, version: int) -> Iterator[Case]:
        for extents, kernel, strides, dilations in POOLS:
            rank = len(kernel)
            way = {"kernel": kernel, "strides": strides, "pads_begin": [1] * rank, "pads_end": [0] * rank, **more}
            if more or version < 8:
                yield Case([tame(dtype, 2, 3, *extents)], way)
            else:
                yield Case([tame(dtype, 2, 3, *extents)], {**way, "dilations": dilations, "axis": 1}, 2)

    return each


def _reversed_sequences(dtype: str, version: int) -> Iterator[Case]:
    yield Case([data(dtype, 5, 3, 2), i64(2, 5, 0)])
    yield Case([data(dtype, 3, 5), i64(1, 4, 5)], {"batch_axis": 0, "time_axis": 1})


def _upsampled(dtype: str, version: int) -> Iterator[Case]:
    x, factors = tame(dtype, 1, 2, 3, 4), [1.0, 1.0, 2.0, 1.5]
    for mode in ("nearest", "linear"):
        if version < 9:
            yield Case([x], {"scales": factors, "mode": mode})
        else:
            yield Case([x, np.array(factors, np.float32)], {"mode": mode})


def _resized(dtype: str, version: int) -> Iterator[Case]:
    if version < 11:
        yield from _upsampled(dtype, 9)
        return
    x = tame(dtype, 1, 2, 5, 4)
    for mode, size in product(("nearest", "linear", "cubic"), ((7, 9), (2, 3))):
        yield Case([x, None, None, i64(1, 2, *size)], {"mode": mode})
        yield Case([x, None, None, i64(1, 2, *size)], {"mode": mode, "coordinate_transformation_mode": "align_corners"})


def _grids(dtype: str, version: int) -> Iterator[Case]:
    x, grid = tame(dtype, 2, 3, 4, 5), tame(dtype, 2, 3, 2, 2)
    modes = ("bilinear", "nearest", "bicubic") if version < 20 else ("linear", "nearest", "cubic")
    for mode, padding in product(modes, ("zeros", "border", "reflection")):
        yield Case([x, grid], {"mode": mode, "padding_mode": padding})


# ------------------------------------------------------------------ the rows


def _rows_of_onnx() -> dict[str, Row]:
    rows: dict[str, Row] = {}

    def add(names: str, dtypes: Sequence[str], cases: Cases, pointwise: bool = False) -> None:
        rows.update(dict.fromkeys(names.split(), Row(dtypes, cases, pointwise, names.startswith("Cast"))))

    add("Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor HardSwish IsNaN Log Mish", FLOATS, one, True)
    add("Reciprocal Relu Round Sigmoid Sin Sinh Softplus Softsign Sqrt Tan Tanh", FLOATS, one, True)
    add("Abs Neg Sign", NUMBERS, one, True)
    add("Not", ("bool",), one, True)
    add("BitwiseNot", INTS, one, True)
    add("Identity", ALL, one, True)
    add("Celu Elu LeakyRelu ThresholdedRelu", FLOATS, _ways(one, {}, {"alpha": 0.3}), True)
    add("Swish", FLOATS, _ways(one, {}, {"alpha": 0.3}), True)
    add("HardSigmoid", FLOATS, _ways(one, {}, {"alpha": 0.3, "beta": 0.1}), True)
    add("Selu", FLOATS, _ways(one, {}, {"alpha": 0.3, "gamma": 2.0}), True)
    add("Gelu", FLOATS, _ways(one, {}, {"approximate": "tanh"}), True)
    add("IsInf", FLOATS, _ways(one, {}, {"detect_negative": 0}, {"detect_positive": 0}), True)
    add("Cast", ALL, _casts(System.ONNX), True)
    add("CastLike", ALL, _casts_like, True)
    add("Clip", NUMBERS, _either(three, _ways(one, {"min": -1.0, "max": 5.0}, {"max": 0.0}, {"min": 0.0}), 11), True)
    add("Add Sub Mul Max Min Sum Mean", NUMBERS, two, True)
    add("Div", NUMBERS, _divisions, True)
    add("Mod", NUMBERS, _ways(_divisions, {"fmod": 1}), True)
    add("Pow", NUMBERS, _powers, True)
    add("PRelu", NUMBERS, two, True)
    add("Equal", ALL, two, True)
    add("Less LessOrEqual Greater GreaterOrEqual", NUMBERS, two, True)
    add("And Or Xor", ("bool",), two, True)
    add("BitwiseAnd BitwiseOr BitwiseXor", INTS, two, True)
    add("BitShift", INTS[4:], _ways(two, {"direction": "LEFT"}, {"direction": "RIGHT"}), True)
    add("Where", ALL, _chosen, True)
    add("Dropout", FLOATS, _dropped)
    add("DequantizeLinear", ("int8", "uint8", "int16", "uint16", "int32"), _quantised)
    add("QuantizeLinear", ("float32", "float16"), _quantising)
    add("DynamicQuantizeLinear", ("float32",), _ranges_quantised)

    reduced = _either(_reductions(True, "keepdims", 1, 0), _reductions(False, "keepdims", 1, 0), 18)
    add("ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMin ReduceProd", SUMMED, reduced)
    add("ReduceSumSquare", SUMMED, reduced)
    add("ReduceMean", SUMMED, _whole_means(reduced))
    add("ReduceSum", SUMMED, _either(_reductions(True, "keepdims", 1, 0), _reductions(False, "keepdims", 1, 0), 13))
    add("ArgMax ArgMin", SUMMED, _either(_ways(_along(), {}, {"select_last_index": 1}), _along(), 12))
    add("Softmax LogSoftmax Hardmax", FLOATS, _along())
    add("LpNormalization", FLOATS, _ways(_along(), {"p": 1}, {"p": 2}))
    add("CumSum CumProd", SUMMED, _running({}, {"exclusive": 1}, {"reverse": 1}))
    add("MatMul", (*FLOATS, "int32", "int64", "uint8"), _products)
    add("MatMulInteger", ("int8", "uint8"), _integer_products)
    add("QLinearMatMul", ("int8", "uint8"), _qlinear_products)
    add("Gemm", (*FLOATS, "int32", "int64"), _gemms)
    add("Conv", FLOATS, _convolved(False, False))
    add("ConvTranspose", FLOATS, _convolved(True, False))
    add("MaxPool", (*FLOATS, "int8", "uint8"), _pooled({}, both=True))
    add("AveragePool", FLOATS, _either(_pooled({}, {"count_include_pad": 1}), _pooled({}), 7))
    add("LpPool", FLOATS, _pooled({}, {"p": 1}, {"p": 3}))
    add("GlobalMaxPool GlobalAveragePool GlobalLpPool", FLOATS, _over_all)
    add("ConvInteger", ("int8", "uint8"), _integer_convolutions)
    add("QLinearConv", ("int8", "uint8"), _qlinear_convolutions)
    add("BatchNormalization", FLOATS, _batch_norms)
    add("LayerNormalization", FLOATS, _layer_norms)
    add("TopK", NUMBERS, _tops)
    add("GatherElements", MOVED, _element_gathers)
    add("GatherND", MOVED, _tuple_gathers)
    add("Scatter ScatterElements", SUMMED, _element_scatters(False))
    add("ScatterND", SUMMED, _tuple_scatters("add", "mul", "max", "min", since=16))
    add("TensorScatter", MOVED, _cache_scatters)
    add("Attention", FLOATS, _attentions)
    add("RotaryEmbedding", FLOATS, _rotated)
    add("RMSNormalization", FLOATS, _scaled_norms())
    add("InstanceNormalization", FLOATS, _channel_norms({}, {"epsilon": 0.25}))
    add("GroupNormalization", FLOATS, _channel_norms({"num_groups": 2}, {"num_groups": 4}, of_groups=21))
    add("MeanVarianceNormalization", FLOATS, _mean_variances)
    add("Einsum", (*FLOATS, "int32", "int64"), _einsums)
    add("SimplifiedLayerNormalization", FLOATS, _rms_norms)
    add("LRN", FLOATS, _neighbours)

    add("Concat", MOVED, _concats)
    add("Constant", MOVED, _constants)
    add("ConstantOfShape", MOVED, _constants_of_shapes)
    add("Expand", MOVED, _moves(_expanded))
    add("EyeLike", NUMBERS, _eyes)
    add("Flatten", MOVED, _flattened)
    add("Gather", MOVED, _gathers)
    add("OneHot", MOVED, _one_hots)
    add("Pad", MOVED, _padded)
    add("Range", ("float32", "float64", "int16", "int32", "int64"), _ranges({}))
    add("Reshape", MOVED, _either(_moves(_reshaped), _moves(_reshaped_by_attribute), 5))
    add("Shape Size", MOVED, _moves(_as_it_is))
    add("Slice", MOVED, _sliced)
    add("Split", MOVED, _split)
    add("Squeeze", MOVED, _either(_axes_given(SQUEEZED, True), _axes_given(SQUEEZED, False), 13))
    add("Unsqueeze", MOVED, _either(_axes_given(UNSQUEEZED, True), _axes_given(UNSQUEEZED, False), 13))
    add("Tile", MOVED, _either(_tiles, _tiles_1, 6))
    add("Transpose", MOVED, _turned)
    add("Trilu", MOVED, _triangles)
    add("DepthToSpace", MOVED, _blocks(True))
    add("SpaceToDepth", MOVED, _blocks(False))
    add("ReverseSequence", MOVED, _reversed_sequences)
    add("Upsample", ("float32", "float64"), _upsampled)
    add("Resize", ("float32", "float64"), _resized)
    add("GridSample", FLOATS, _grids)
    return rows


def _rows_of_openvino() -> dict[str, Row]:
    rows: dict[str, Row] = {}

    def add(names: str, dtypes: Sequence[str], cases: Cases, pointwise: bool = False) -> None:
        rows.update(dict.fromkeys(names.split(), Row(dtypes, _text(cases), pointwise, names.startswith("Convert"))))

    add("Abs Negative Sign", NUMBERS, one, True)
    add("Acos Acosh Asin Asinh Atan Atanh Cos Cosh Erf Exp Log Sin Sinh Sqrt Tan Tanh", FLOATS, one, True)
    add("Ceiling Floor Identity", NUMBERS, one, True)
    add("Gelu HSigmoid HSwish Mish ReLU Sigmoid SoftPlus SoftSign IsFinite IsNaN", FLOATS, one, True)
    add("IsInf", FLOATS, _ways(one, {}, {"detect_negative": False}), True)
    add("LogicalNot", ("bool",), one, True)
    add("BitwiseNot", INTS, one, True)
    add("Elu", FLOATS, _ways(one, {"alpha": 0.3}), True)
    add("Clamp", NUMBERS, _ways(one, {"min": -1.0, "max": 5.0}), True)
    add("Round", FLOATS, _ways(one, {}, {"mode": "half_away_from_zero"}), True)
    add("Convert", ALL, _casts(System.OPENVINO), True)
    add("ConvertLike", ALL, _casts_like, True)
    add("Add Subtract Multiply Minimum Maximum SquaredDifference", NUMBERS, two, True)
    add("Divide", NUMBERS, _ways(_divisions, {}, {"m_pythondiv": False}), True)
    add("Mod FloorMod", NUMBERS, _divisions, True)
    add("Power", NUMBERS, _powers, True)
    add("PReLU", FLOATS, two, True)
    add("Equal NotEqual Less LessEqual Greater GreaterEqual", NUMBERS, two, True)
    add("LogicalAnd LogicalOr LogicalXor Xor", ("bool",), two, True)
    add("BitwiseAnd BitwiseOr BitwiseXor BitwiseLeftShift BitwiseRightShift", INTS, two, True)
    add("Select", ALL, _chosen, True)
    add("Swish", FLOATS, two, True)
    add("HardSigmoid Selu", FLOATS, three, True)

    reduced = _reductions(True, "keep_dims", True, False)
    add("ReduceL1 ReduceL2 ReduceMax ReduceMin ReduceProd ReduceSum", SUMMED, reduced)
    add("ReduceMean", SUMMED, _whole_means(reduced))
    add("ReduceLogicalAnd ReduceLogicalOr", ("bool",), reduced)
    add("Softmax LogSoftmax", FLOATS, _along())
    add("CumSum", SUMMED, _running({}, {"exclusive": True}, {"reverse": True}))
    add("MatMul", (*FLOATS, "int32", "int64"), _turned_products)
    add("Convolution", (*FLOATS, "int32"), _convolved(False, True))
    add("ConvolutionBackpropData", FLOATS, _convolved(True, True))
    add("MaxPool", (*FLOATS, *INTS[:-1]), _openvino_pooled())
    add("AvgPool", (*FLOATS, "int8"), _openvino_pooled(**{"exclude-pad": True}))
    add("GroupConvolution", FLOATS, _convolved_by_groups(False))
    add("GroupConvolutionBackpropData", FLOATS, _convolved_by_groups(True))
    add("Einsum", (*FLOATS, "int32", "int64"), _einsums)
    add("TopK", NUMBERS, _openvino_tops)
    add("GatherElements", MOVED, _element_gathers)
    add("GatherND", MOVED, _tuple_gathers)
    add("ScatterElementsUpdate", SUMMED, _element_scatters(True))
    add("ScatterNDUpdate", SUMMED, _tuple_scatters("sum", "sub", "prod", "max", "min", since=15))
    add("ScatterUpdate", MOVED, _row_scatters)
    add("ScaledDotProductAttention", FLOATS, _openvino_attentions)
    add("MVN", FLOATS, _openvino_mean_variances)
    grouped = ({"num_groups": "2", "epsilon": "1e-5"}, {"num_groups": "4", "epsilon": "0.25"})
    add("GroupNormalization", FLOATS, _channel_norms(*grouped))
    add("LSTMCell", FLOATS, _cells(4, 2))
    add("GRUCell", FLOATS, _cells(3, 1))
    add("RNNCell", FLOATS, _cells(1, 1))

    add("Broadcast", MOVED, _broadcasts)
    add("Concat", MOVED, _concats)
    add("Gather", MOVED, _openvino_gathers)
    add("OneHot", MOVED, _openvino_one_hots)
    add("Pad", MOVED, _openvino_padded)
    add(
        "Range",
        ("float32", "float64", "int32", "int64"),
        _either(_ranges({"output_type": "f32"}, {"output_type": "i64"}), _ranges({}), 4),
    )
    add("Reshape", MOVED, _moves(_openvino_reshaped))
    add("ShapeOf", MOVED, _moves(_as_it_is))
    add("Slice", MOVED, _openvino_sliced)
    add("StridedSlice", MOVED, _strided)
    add("Split", MOVED, _openvino_split)
    add("VariadicSplit", MOVED, _variadic_split)
    add("Squeeze", MOVED, _axes_given(SQUEEZED, True))
    add("Unsqueeze", MOVED, _axes_given(UNSQUEEZED, True))
    add("Tile", MOVED, _tiles)
    add("Transpose", MOVED, _openvino_turned)
    add("Assign", MOVED, _ways(one, {"variable_id": "h"}))
    add("ReadValue", MOVED, _read)
    for name in TRIED.split():
        add(name, ("float32", "float64") if name == "Interpolate" else FLOATS, _as_tried(name))
    return rows


ROWS = {System.ONNX: _rows_of_onnx(), System.OPENVINO: _rows_of_openvino()}


#: Domains whose operators are in test_microsoft.py and test_tensorrt_operators.py.
_APART = ("com.microsoft", "tensorrt")


def definitions() -> list[tuple[System, registry.Definition]]:
    """Every registered operator that can have kernels, in each of its versions; those of _APART apart."""
    found = registry.definitions()
    return [(system, entry) for system, domain, entry in found if entry.native and domain not in _APART]
