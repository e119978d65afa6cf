"""Inputs for reductions, products, normalisations and attention."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .operator_cases import LONG_SHAPES, CaseGenerator, OperatorCase, i64, order_sensitive_numbers, special_tensor


def _axes(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    results: list[tuple[int, ...]] = [tuple(range(len(shape)))]
    if len(shape) > 1:
        results += [(0,), (-1,)]
    if len(shape) > 2:
        results += [(1,), (0, 2), (1, 2)]
    return results


def reductions(by_input: bool, keyword: str, yes: Any, no: Any) -> CaseGenerator:
    def each(dtype: str, version: int) -> Iterator[OperatorCase]:
        for k, shape in enumerate(LONG_SHAPES):
            for axes in _axes(shape):
                keep = {keyword: yes if k % 2 else no}
                x = special_tensor(dtype, *shape) if k % 3 else order_sensitive_numbers(dtype, *shape)
                if by_input:
                    yield OperatorCase([x, i64(*axes)], keep)
                else:
                    yield OperatorCase([x], {**keep, **({"axes": list(axes)} if axes else {})})

    return each


def without_integer_means(cases: CaseGenerator) -> CaseGenerator:
    """Without the mean of no integers, which is an error."""
    return lambda dtype, version: (
        case for case in cases(dtype, version) if case.inputs[0].size or np.dtype(dtype).kind == "f"
    )


def axis_attribute_cases(**attributes: Any) -> CaseGenerator:
    """Operators with one axis, as an attribute."""

    def each(dtype: str, version: int) -> Iterator[OperatorCase]:
        for k, shape in enumerate(LONG_SHAPES):
            for axis in range(-1, len(shape) - 1):
                if shape[axis]:
                    x = special_tensor(dtype, *shape) if k % 3 else order_sensitive_numbers(dtype, *shape)
                    yield OperatorCase([x], {"axis": axis, **attributes})

    return each


def cumulative_cases(*ways: dict[str, Any]) -> CaseGenerator:
    def each(dtype: str, version: int) -> Iterator[OperatorCase]:
        for shape in ((1,), (9,), (65,), (3, 5), (5, 3, 2), (3, 0)):
            for axis in range(len(shape)):
                for way in ways:
                    yield OperatorCase([special_tensor(dtype, *shape), np.array(axis)], way)
                    yield OperatorCase([order_sensitive_numbers(dtype, *shape), np.array(axis)], way)

    return each


PRODUCTS = (
    *(((3, 4), (4, 5)), ((1, 1), (1, 1)), ((4,), (4,)), ((1,), (1,)), ((4,), (4, 3)), ((3, 4), (4,)), ((0, 4), (4, 3))),
    *(((3, 0), (0, 2)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((1, 3, 4), (6, 4, 2)), ((2, 1, 3, 4), (5, 4, 3))),
    *(
        ((2, 9, 65), (2, 65, 7)),
        ((40, 9), (9, 5)),
        ((8, 8), (3, 8, 8)),
        ((3, 8, 3), (3, 3, 3)),
        ((4, 1, 32), (4, 32, 32)),
    ),
    *(((1, 65), (65, 33)), ((17, 65), (65, 33)), ((1, 128), (128, 96)), ((5, 128), (128, 96))),
)


def products(dtype: str, version: int) -> Iterator[OperatorCase]:
    for a, b in PRODUCTS:
        yield OperatorCase([order_sensitive_numbers(dtype, *a), order_sensitive_numbers(dtype, *b, seed=1)])
    yield OperatorCase([special_tensor(dtype, 5, 9), special_tensor(dtype, 9, 4, start=3)])


def transposed_products(dtype: str, version: int) -> Iterator[OperatorCase]:
    yield from products(dtype, version)
    for a, b in PRODUCTS:
        if len(a) > 1 and len(b) > 1:
            turned = {"transpose_a": "true", "transpose_b": "true"}
            x, y = (order_sensitive_numbers(dtype, *s[:-2], s[-1], s[-2], seed=k) for k, s in enumerate((a, b)))
            yield OperatorCase([x, y], turned)


def integer_products(dtype: str, version: int) -> Iterator[OperatorCase]:
    for other in ("int8", "uint8"):
        for a, b in PRODUCTS:
            x, y = order_sensitive_numbers(dtype, *a), order_sensitive_numbers(other, *b, seed=1)
            yield OperatorCase([x, y])
            yield OperatorCase([x, y, order_sensitive_numbers(dtype, seed=2), order_sensitive_numbers(other, seed=3)])
        yield OperatorCase(
            [
                order_sensitive_numbers(dtype, 7, 130),
                order_sensitive_numbers(other, 130, 67),
                order_sensitive_numbers(dtype, 7),
                order_sensitive_numbers(other, 67),
            ]
        )


def qlinear_products(dtype: str, version: int) -> Iterator[OperatorCase]:
    scales = [np.array(s, np.float32) for s in (0.02, 0.3, 1.5)]
    for a, b in PRODUCTS:
        x, y = order_sensitive_numbers(dtype, *a), order_sensitive_numbers("int8", *b, seed=1)
        zeros = order_sensitive_numbers(dtype, seed=2), order_sensitive_numbers("int8", seed=3)
        yield OperatorCase([x, scales[0], zeros[0], y, scales[1], zeros[1], scales[2], zeros[0]])


def gemms(dtype: str, version: int) -> Iterator[OperatorCase]:
    old = {"broadcast": 1} if version < 7 else {}
    for m, k, n in ((3, 4, 5), (1, 1, 1), (1, 65, 33), (17, 128, 96), (2, 0, 3), (0, 2, 3)):
        for turned in (0, 1):
            a, b = (
                order_sensitive_numbers(dtype, *((k, m) if turned else (m, k))),
                order_sensitive_numbers(dtype, *((n, k) if turned else (k, n)), seed=1),
            )
            for c in (order_sensitive_numbers(dtype, n, seed=2), special_tensor(dtype, m, n)):
                factors = {"alpha": 0.5, "beta": 2.0} if turned else {}
                yield OperatorCase([a, b, c], {"transA": turned, "transB": turned, **factors, **old})


def cells(gates: int, states: int) -> CaseGenerator:
    def each(dtype: str, version: int) -> Iterator[OperatorCase]:
        for batch, width, size in ((1, 3, 2), (2, 4, 5), (1, 64, 33)):
            start = [order_sensitive_numbers(dtype, batch, size, seed=k) for k in range(states)]
            weights = [order_sensitive_numbers(dtype, gates * size, n) for n in (width, size)]
            inputs = [
                order_sensitive_numbers(dtype, batch, width),
                *start,
                *weights,
                order_sensitive_numbers(dtype, gates * size),
            ]
            yield OperatorCase(inputs, {"hidden_size": str(size)}, states)

    return each


def batch_norms(dtype: str, version: int) -> Iterator[OperatorCase]:
    for shape in ((2, 3), (2, 3, 5), (1, 3, 4, 17)):
        rest = [order_sensitive_numbers(dtype, 3, seed=k) for k in range(3)]
        yield OperatorCase(
            [order_sensitive_numbers(dtype, *shape), *rest, np.abs(order_sensitive_numbers(dtype, 3, seed=9))]
        )
        yield OperatorCase(
            [special_tensor(dtype, *shape), *rest, np.abs(order_sensitive_numbers(dtype, 3, seed=9))], {"epsilon": 0.25}
        )
        if version >= 14:
            yield OperatorCase(
                [order_sensitive_numbers(dtype, *shape), *rest, np.abs(order_sensitive_numbers(dtype, 3, seed=9))],
                {"training_mode": 1},
                3,
            )


def layer_norms(dtype: str, version: int) -> Iterator[OperatorCase]:
    for shape in ((7,), (3, 5), (2, 3, 65), (1, 200)):
        for axis in range(-1, len(shape) - 1):
            under = shape[axis:]
            yield OperatorCase(
                [
                    order_sensitive_numbers(dtype, *shape),
                    order_sensitive_numbers(dtype, *under, seed=1),
                    order_sensitive_numbers(dtype, *under, seed=2),
                ],
                {"axis": axis},
                3,
            )
            yield OperatorCase(
                [special_tensor(dtype, *shape), order_sensitive_numbers(dtype, *under, seed=1)], {"axis": axis}
            )


def scaled_norm_cases(**attributes: Any) -> CaseGenerator:
    """A scale for what is under the axis, and none that fits only by broadcasting."""

    def each(dtype: str, version: int) -> Iterator[OperatorCase]:
        for shape in ((7,), (3, 5), (2, 3, 65), (1, 200)):
            for axis in range(-1, len(shape) - 1):
                yield OperatorCase(
                    [order_sensitive_numbers(dtype, *shape), order_sensitive_numbers(dtype, *shape[axis:], seed=1)],
                    {"axis": axis, **attributes},
                )
            yield OperatorCase([special_tensor(dtype, *shape), order_sensitive_numbers(dtype, 1, seed=1)])

    return each


def channel_norms(*ways: dict[str, Any], of_groups: int = 0) -> CaseGenerator:
    """``of_groups``: before this version there is a scale for each group."""

    def each(dtype: str, version: int) -> Iterator[OperatorCase]:
        for shape in ((2, 4), (2, 4, 5), (1, 4, 3, 17)):
            for way in ways:
                count = int(way["num_groups"]) if version < of_groups else 4
                yield OperatorCase(
                    [
                        order_sensitive_numbers(dtype, *shape),
                        *(order_sensitive_numbers(dtype, count, seed=k) for k in (1, 2)),
                    ],
                    way,
                )
                yield OperatorCase(
                    [special_tensor(dtype, *shape), *(order_sensitive_numbers(dtype, count, seed=k) for k in (1, 2))],
                    way,
                )

    return each


def mean_variances(dtype: str, version: int) -> Iterator[OperatorCase]:
    for axes in ((0, 2, 3), (-1,), (1, 2, 3)):
        yield OperatorCase([order_sensitive_numbers(dtype, 2, 3, 4, 5)], {"axes": axes})
    yield OperatorCase([special_tensor(dtype, 2, 3, 1, 17)])


def openvino_mean_variances(dtype: str, version: int) -> Iterator[OperatorCase]:
    for shape in ((2, 3, 4, 5), (1, 3, 1, 17)):
        if version < 6:
            yield OperatorCase([order_sensitive_numbers(dtype, *shape)], {"eps": "0.1"})
            yield OperatorCase([order_sensitive_numbers(dtype, *shape)], {"eps": "0.1", "across_channels": "true"})
            yield OperatorCase([special_tensor(dtype, *shape)], {"eps": "0.1", "normalize_variance": "false"})
            continue
        for axes in ((2, 3), (-1,), (0, 2)):
            for mode in ("inside_sqrt", "OUTSIDE_SQRT"):
                way = {"normalize_variance": "true", "eps": "1e-5", "eps_mode": mode}
                yield OperatorCase([order_sensitive_numbers(dtype, *shape), i64(*axes)], way)
        plain = {"normalize_variance": "false", "eps": "1e-5", "eps_mode": "inside_sqrt"}
        yield OperatorCase([special_tensor(dtype, *shape), i64(1, 2)], plain)


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


def einsums(dtype: str, version: int) -> Iterator[OperatorCase]:
    for equation, *shapes in EINSUMS:
        yield OperatorCase(
            [order_sensitive_numbers(dtype, *s, seed=k) for k, s in enumerate(shapes)], {"equation": equation}
        )


def attentions(dtype: str, version: int) -> Iterator[OperatorCase]:
    """A few queries, and more than are done one by one; shared heads, a cache, masks."""
    for queries, keys, groups in ((1, 9, 2), (3, 17, 4), (11, 11, 1)):
        q, k, v = (
            order_sensitive_numbers(dtype, 2, queries, n * 20, seed=j) for j, n in enumerate((4, groups, groups))
        )
        heads = {"q_num_heads": 4, "kv_num_heads": groups, "is_causal": int(queries != 3)}
        past = [order_sensitive_numbers(dtype, 2, groups, keys, 20, seed=j) for j in (3, 4)]
        yield OperatorCase([q, k, v], heads)
        yield OperatorCase([q, k, v, None, *past], heads, 3)
        mask = order_sensitive_numbers("bool", queries, queries + keys)
        yield OperatorCase([q, k, v, mask, *past], {**heads, "softcap": 2.0}, 3)
        four = [x.reshape(2, queries, -1, 20).swapaxes(1, 2).copy() for x in (q, k, v)]
        yield OperatorCase(
            [*four, order_sensitive_numbers(dtype, 4, 1, queries)], {"scale": 0.5, "qk_matmul_output_mode": 3}, 4
        )
    yield OperatorCase(
        [
            special_tensor(dtype, 1, 2, 1, 8),
            special_tensor(dtype, 1, 2, 5, 8, start=2),
            special_tensor(dtype, 1, 2, 5, 3),
        ]
    )
    if version > 23:
        q, k = order_sensitive_numbers(dtype, 2, 2, 3, 8), order_sensitive_numbers(dtype, 2, 1, 9, 8, seed=1)
        yield OperatorCase([q, k, k, None, None, None, i64(9, 4)], {"is_causal": 1})
    if version > 24:
        yield OperatorCase(
            [order_sensitive_numbers(dtype, 1, 2, 4, 8)] * 3, {"left_window_size": 1, "right_window_size": 0}
        )


def openvino_attentions(dtype: str, version: int) -> Iterator[OperatorCase]:
    for queries in (1, 3, 11):
        q, k, v = (order_sensitive_numbers(dtype, 2, 3, n, 20, seed=j) for j, n in enumerate((queries, 12, 12)))
        yield OperatorCase([q, k, v], {"causal": "true"})
        yield OperatorCase([q, k, v, order_sensitive_numbers(dtype, queries, 12, seed=4)], {"causal": "false"})
        yield OperatorCase(
            [q, k, v, order_sensitive_numbers(dtype, 2, 1, queries, 12, seed=4), np.array(0.5, dtype)],
            {"causal": "false"},
        )


def rotary_embedding_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    for interleaved in (0, 1):
        for part in (0, 4):
            half = (part or 6) // 2
            caches = [order_sensitive_numbers(dtype, 9, half, seed=k) for k in (1, 2)]
            way = {"interleaved": interleaved, "rotary_embedding_dim": part}
            yield OperatorCase(
                [order_sensitive_numbers(dtype, 1, 2, 24), *caches, np.array([[3, 8]])], {**way, "num_heads": 4}
            )
            yield OperatorCase([special_tensor(dtype, 1, 4, 2, 6), *(c[None, 3:5] for c in caches)], way)


TOPS = (((7,), 0), ((3, 200), 1), ((1, 1000), -1), ((5, 3, 4), 0), ((2, 70, 3), 1))


def top_k_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    for shape, axis in TOPS:
        for k in (1, 2, shape[axis]):
            inputs: dict[str, Any] = {"axis": axis} if version > 1 else {"axis": axis, "k": k}
            more = [{"largest": 0}, {"largest": 1, "sorted": 0}] if version > 10 else [{}]
            for way in more:
                for x in (special_tensor(dtype, *shape), order_sensitive_numbers(dtype, *shape)):
                    yield OperatorCase([x, *([i64(k)] if version > 1 else [])], {**inputs, **way}, 2)


def openvino_top_k_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    for shape, axis in TOPS:
        for mode, sort in (("max", "value"), ("min", "index"), ("max", "none")):
            way = {"axis": str(axis), "mode": mode, "sort": sort, "index_element_type": "i32"}
            yield OperatorCase([special_tensor(dtype, *shape), np.array(2)], way, 2)


def element_gathers(dtype: str, version: int) -> Iterator[OperatorCase]:
    for index in ("int32", "int64"):
        yield OperatorCase([special_tensor(dtype, 3, 5), np.array([[0, -3, 2], [1, 1, -1]], index)], {"axis": 0})
        yield OperatorCase([special_tensor(dtype, 2, 3, 4), np.array([[[0, 3]] * 3] * 2, index)], {"axis": 2})
        yield OperatorCase([special_tensor(dtype, 2, 3, 4), np.array([[[2, 1, 0, 0]]], index)], {"axis": 1})


def tuple_gathers(dtype: str, version: int) -> Iterator[OperatorCase]:
    x = special_tensor(dtype, 2, 3, 4)
    yield OperatorCase([x, np.array([[0, 2], [-1, 1], [1, 0]])])
    yield OperatorCase([x, np.array([[[1], [0]]], np.int32)])
    yield OperatorCase([x, np.array([[[2]], [[0]]])], {"batch_dims": 1})
    yield OperatorCase([x, np.array([0, 1, 3])])


def _reductions_of(version: int, since: int, *words: str) -> list[dict[str, Any]]:
    return [{}, *({"reduction": word} for word in words if version >= since)]


def element_scatters(by_input: bool) -> CaseGenerator:
    def each(dtype: str, version: int) -> Iterator[OperatorCase]:
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
                x, updates = special_tensor(dtype, *shape), order_sensitive_numbers(dtype, *indices.shape)
                yield OperatorCase([x, indices, updates, *along], way if by_input else {"axis": axis, **way})

    return each


def tuple_scatters(*words: str, since: int) -> CaseGenerator:
    def each(dtype: str, version: int) -> Iterator[OperatorCase]:
        for way in _reductions_of(version, since, *words):
            if dtype == "bool" and way:
                continue
            yield OperatorCase(
                [special_tensor(dtype, 4, 5), i64(3, 0, 3).reshape(3, 1), order_sensitive_numbers(dtype, 3, 5)], way
            )
            yield OperatorCase(
                [
                    special_tensor(dtype, 2, 3, 4),
                    np.array([[[1, -1], [0, 0]]], np.int32),
                    order_sensitive_numbers(dtype, 1, 2, 4),
                ],
                way,
            )

    return each


def row_scatters(dtype: str, version: int) -> Iterator[OperatorCase]:
    for axis in (0, 1):
        x, indices = special_tensor(dtype, 3, 4, 2), np.array([2, 0])
        shape = (2, 4, 2) if axis == 0 else (3, 2, 2)
        yield OperatorCase([x, indices, order_sensitive_numbers(dtype, *shape), np.array(axis)])


def cache_scatters(dtype: str, version: int) -> Iterator[OperatorCase]:
    cache, rows = special_tensor(dtype, 2, 3, 5, 2), order_sensitive_numbers(dtype, 2, 3, 2, 2)
    yield OperatorCase([cache, rows, i64(3, 0)])
    yield OperatorCase([cache, rows])
    yield OperatorCase([cache, rows, i64(4, 2)], {"mode": "circular"})


def rms_norms(dtype: str, version: int) -> Iterator[OperatorCase]:
    for case in layer_norms(dtype, version):
        yield OperatorCase(case.inputs[:2], case.attributes, min(case.n_outputs, 2))


def lrn_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    for shape, size in (((1, 5, 3), 3), ((2, 9), 4), ((1, 3, 2, 2), 1)):
        yield OperatorCase([order_sensitive_numbers(dtype, *shape)], {"size": size, "alpha": 0.5})
        yield OperatorCase([special_tensor(dtype, *shape)], {"size": size})
