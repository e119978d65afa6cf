"""Inputs for what moves elements, for pooling and for resampling."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from .operator_cases import (
    ONNX_TYPE,
    SHAPES,
    Array,
    CaseGenerator,
    OperatorCase,
    i64,
    order_sensitive_numbers,
    special_tensor,
    special_values,
)


def cases_of_each_shape(*ways: Callable[[Array], Iterator[OperatorCase]]) -> CaseGenerator:
    """Cases made of a tensor of each shape."""

    def each(dtype: str, version: int) -> Iterator[OperatorCase]:
        for shape in SHAPES:
            for way in ways:
                yield from way(special_tensor(dtype, *shape))

    return each


def without_attributes(x: Array) -> Iterator[OperatorCase]:
    yield OperatorCase([x])


def concats(dtype: str, version: int) -> Iterator[OperatorCase]:
    for parts, axis in (((3,), 0), ((0, 2, 1), 0), ((1, 33, 2), 1), ((2, 2), 1)):
        shapes = [(n, 3) if axis == 0 else (2, n) for n in parts]
        yield OperatorCase([special_tensor(dtype, *shape, start=k) for k, shape in enumerate(shapes)], {"axis": axis})
    yield OperatorCase([special_tensor(dtype, 1), special_tensor(dtype, 65, start=2)], {"axis": 0})


def attributes_as_text(cases: CaseGenerator) -> CaseGenerator:
    """Attributes as an IR file has them."""

    def text(value: Any) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)

    def each(dtype: str, version: int) -> Iterator[OperatorCase]:
        for case in cases(dtype, version):
            yield OperatorCase(case.inputs, {k: text(v) for k, v in case.attributes.items()}, case.n_outputs)

    return each


def constants(dtype: str, version: int) -> Iterator[OperatorCase]:
    yield OperatorCase([], {"value": special_tensor(dtype, 3, 5)})
    yield OperatorCase([], {"value": special_tensor(dtype)})


def constants_of_shapes(dtype: str, version: int) -> Iterator[OperatorCase]:
    for k, shape in enumerate(SHAPES):
        yield OperatorCase([i64(*shape)], {"value": special_values(dtype)[k % len(special_values(dtype)) :][:1]})
    yield OperatorCase([i64(2, 3)])


def expand_cases(x: Array) -> Iterator[OperatorCase]:
    yield OperatorCase([x, i64(2, *x.shape)])
    yield OperatorCase([x, i64(*(1,) * x.ndim)])


def eyes(dtype: str, version: int) -> Iterator[OperatorCase]:
    for shape, k in product(((3, 5), (5, 3), (1, 1), (0, 2)), (-1, 0, 2)):
        yield OperatorCase([special_tensor(dtype, *shape)], {"k": k})
        yield OperatorCase([special_tensor(dtype, *shape)], {"k": k, "dtype": ONNX_TYPE["int32"]})


def gathers(dtype: str, version: int) -> Iterator[OperatorCase]:
    for shape, axis in (((9,), 0), ((9, 3), 0), ((2, 9), 1), ((2, 9, 2), 1), ((2, 9, 5), -2)):
        for index in (i64(3, -1, 0), np.array(2), np.array([[8, -9], [0, 1]], np.int32), i64()):
            yield OperatorCase([special_tensor(dtype, *shape), index], {"axis": axis})


def openvino_gathers(dtype: str, version: int) -> Iterator[OperatorCase]:
    for case in gathers(dtype, version):
        x, index = case.inputs
        if version < 8:
            index = np.abs(index)
        yield OperatorCase([x, index, np.array(case.attributes["axis"])])
    if version >= 7:
        yield OperatorCase(
            [special_tensor(dtype, 2, 5, 3), i64(0, 4, 1, 1).reshape(2, 2), np.array(1)], {"batch_dims": "1"}
        )


def one_hots(dtype: str, version: int) -> Iterator[OperatorCase]:
    off_on = special_values(dtype)[:2]
    for index in (i64(0, 2, 4), i64(1, 3, 2, 0).reshape(2, 2), np.array(3)):
        for axis in (-1, 0):
            yield OperatorCase([index, np.array(5), off_on], {"axis": axis})


def openvino_one_hots(dtype: str, version: int) -> Iterator[OperatorCase]:
    for case in one_hots(dtype, version):
        index, depth, (off, on) = case.inputs
        yield OperatorCase(
            [index, depth, np.array(on, dtype), np.array(off, dtype)], {"axis": str(case.attributes["axis"])}
        )


PADS = ((1, 1, 1, 1), (0, 2, 0, 0), (3, 0, 0, 0), (2, 0, 1, 3), (0, 0, 0, 0))
MODES = ("constant", "edge", "reflect")


def pad_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    x, fill = special_tensor(dtype, 5, 6), special_values(dtype)[1]
    for pads, mode in product(PADS, MODES):
        if version < 2:
            yield OperatorCase([x], {"paddings": list(pads), "mode": mode})
        elif version < 11:
            yield OperatorCase([x], {"pads": list(pads), "mode": mode, "value": 1.0})
        else:
            yield OperatorCase([x, i64(*pads), np.array(fill, dtype)], {"mode": mode})


def openvino_pad_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    x, fill = special_tensor(dtype, 5, 6), special_values(dtype)[1]
    for pads, mode in product(PADS, (*MODES, "symmetric")):
        yield OperatorCase([x, i64(*pads[:2]), i64(*pads[2:]), np.array(fill, dtype)], {"pad_mode": mode})


def ranges(*more: dict[str, Any]) -> CaseGenerator:
    def each(dtype: str, version: int) -> Iterator[OperatorCase]:
        for limits, way in product(((0, 10, 3), (2, 2, 1), (5, 1, 1), (3, 70, 1)), more):
            yield OperatorCase([np.array(n, dtype) for n in limits], dict(way))
        if np.dtype(dtype).kind == "f":
            yield OperatorCase([np.array(n, dtype) for n in (0.1, 5, 0.7)], dict(more[0]))

    return each


def reshape_cases(x: Array) -> Iterator[OperatorCase]:
    if x.size:
        yield OperatorCase([x, i64(-1)])
        yield OperatorCase([x, i64(1, *x.shape)])
    else:
        yield OperatorCase([x, i64(0, 3)], {"allowzero": 1})


def reshape_attribute_cases(x: Array) -> Iterator[OperatorCase]:
    if x.size:
        yield OperatorCase([x], {"shape": [1, x.size]})


def openvino_reshape_cases(x: Array) -> Iterator[OperatorCase]:
    for case in reshape_cases(x):
        yield OperatorCase(case.inputs, {"special_zero": False})


SLICES = (
    ((0,), (2,), (0,), (1,)),
    ((-1,), (-100,), (0,), (-1,)),
    ((1, 0), (100, -1), (1, 0), (2, 1)),
    ((2,), (1,), (1,), (1,)),
)


def slice_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    for starts, ends, axes, steps in SLICES:
        x = special_tensor(dtype, 5, 65)
        if version >= 10:
            yield OperatorCase([x, i64(*starts), i64(*ends), i64(*axes), i64(*steps)])
        elif set(steps) == {1}:
            yield OperatorCase([x], {"starts": list(starts), "ends": list(ends), "axes": list(axes)})


def openvino_slice_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    for starts, ends, axes, steps in SLICES:
        yield OperatorCase([special_tensor(dtype, 5, 65), i64(*starts), i64(*ends), i64(*steps), i64(*axes)])


def strided_slice_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    x = special_tensor(dtype, 5, 65)
    for begin, end, step, masks in (
        ((0, 1), (3, 9), (1, 2), "0,0"),
        ((4, 60), (0, 2), (-1, -3), "0,1"),
        ((1, 0), (2, 65), (1, 1), "1,1"),
    ):
        yield OperatorCase([x, i64(*begin), i64(*end), i64(*step)], {"begin_mask": masks, "end_mask": masks})
    yield OperatorCase([x, i64(1, 0), i64(2, 65)], {"begin_mask": "0,0", "end_mask": "0,0", "shrink_axis_mask": "1,0"})


def split_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    x = special_tensor(dtype, 6, 5)
    if version >= 13:
        yield OperatorCase([x, i64(1, 5)], {"axis": 0}, 2)
        yield OperatorCase([x, i64(2, 0, 3)], {"axis": 1}, 3)
    else:
        yield OperatorCase([x], {"split": [1, 5], "axis": 0}, 2)
    yield OperatorCase([x], {"axis": 0, **({"num_outputs": 3} if version >= 18 else {})}, 3)


def openvino_split_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    yield OperatorCase([special_tensor(dtype, 6, 5), np.array(0)], {"num_splits": "3"}, 3)
    yield OperatorCase([special_tensor(dtype, 6, 5), np.array(-1)], {"num_splits": "5"}, 5)


def variadic_split_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    yield OperatorCase([special_tensor(dtype, 6, 5), np.array(0), i64(1, 5)], {}, 2)
    yield OperatorCase([special_tensor(dtype, 6, 5), np.array(1), i64(2, 0, -1)], {}, 3)


def axes_cases(shapes: Sequence[tuple[tuple[int, ...], tuple[int, ...]]], as_input: bool) -> CaseGenerator:
    def each(dtype: str, version: int) -> Iterator[OperatorCase]:
        for shape, axes in shapes:
            x = special_tensor(dtype, *shape)
            yield OperatorCase([x, i64(*axes)]) if as_input else OperatorCase([x], {"axes": list(axes)})

    return each


SQUEEZE_CASES = (((1, 3), (0,)), ((2, 1, 1), (1, 2)), ((1,), (-1,)), ((1, 0), (0,)))
UNSQUEEZE_CASES = (((3,), (0,)), ((2, 3), (0, 3)), ((), (0,)), ((0,), (1,)))


def tiles(dtype: str, version: int) -> Iterator[OperatorCase]:
    for shape, times in (((3,), (2,)), ((2, 3), (1, 4)), ((2, 1), (3, 0)), ((1, 33), (2, 2))):
        yield OperatorCase([special_tensor(dtype, *shape), i64(*times)])


def tiles_1(dtype: str, version: int) -> Iterator[OperatorCase]:
    yield OperatorCase([special_tensor(dtype, 2, 3), i64(4), i64(1)])


TRANSPOSE_CASES = (((2, 3), (1, 0)), ((2, 3, 4), (2, 0, 1)), ((1, 33), (1, 0)), ((0, 2), (1, 0)), ((5,), (0,)))


def transpose_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    for shape, order in TRANSPOSE_CASES:
        yield OperatorCase([special_tensor(dtype, *shape)], {"perm": list(order)})


def openvino_transpose_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    for shape, order in TRANSPOSE_CASES:
        yield OperatorCase([special_tensor(dtype, *shape), i64(*order)])


def triangles(dtype: str, version: int) -> Iterator[OperatorCase]:
    for shape, k, upper in product(((3, 5), (2, 4, 4)), (-1, 0, 2), (0, 1)):
        yield OperatorCase([special_tensor(dtype, *shape), np.array(k)], {"upper": upper})


def sparse_tensor(dtype: str, *shape: int, every: int) -> Array:
    """Odd values, all but each ``every``-th one a zero, of either sign."""
    x = special_tensor(dtype, *shape).reshape(-1)
    x[np.arange(x.size) % every != 0] = 0
    x[1::4] *= np.array(-1).astype(dtype)
    return x.reshape(shape)


def nonzero_cases(attributes: Sequence[dict[str, Any]]) -> CaseGenerator:
    """Tensors whose elements that are not 0 are asked for: words of marks that are full, empty and in between."""

    def each(dtype: str, version: int) -> Iterator[OperatorCase]:
        for shape, inputs in product((*SHAPES, (200,), (7, 64), (3, 2, 1, 31)), attributes):
            for x in (
                special_tensor(dtype, *shape),
                sparse_tensor(dtype, *shape, every=3),
                np.ones(shape, dtype),
                np.zeros(shape, dtype),
            ):
                yield OperatorCase([x], inputs)

    return each


def compress_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    for n in (0, 1, 5, 64, 130):
        for condition in (sparse_tensor("bool", n, every=3), np.ones(n, bool), np.zeros(n, bool)):
            yield OperatorCase([special_tensor(dtype, n), condition])
            for shape, axis in (((n, 3), 0), ((2, n), 1), ((2, n, 2), -2), ((n, 0), 0), ((n, 16), 0)):
                yield OperatorCase([special_tensor(dtype, *shape), condition], {"axis": axis})
    short, long = np.array([False, True, True]), np.array([True, False, True, *[False] * 70])
    for condition in (short, long):
        yield OperatorCase([special_tensor(dtype, 4, 3), condition])
        yield OperatorCase([special_tensor(dtype, 4, 3), condition], {"axis": 0})


def nms_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    limits = np.array(0.4, dtype), np.array(0.1, dtype)
    for centred, n in product((0, 1), (0, 1, 7, 60)):
        boxes, scores = abs(order_sensitive_numbers(dtype, 2, n, 4)), order_sensitive_numbers(dtype, 2, 3, n)
        for item in (
            (boxes, scores),
            (special_tensor(dtype, 2, n, 4), special_tensor(dtype, 2, 3, n)),
            (np.round(boxes), np.round(scores)),
        ):
            for most in (0, 3, 1 << 40):
                yield OperatorCase([*item, np.array([most]), *limits], {"center_point_box": centred})


def uniques(attributes: Sequence[dict[str, Any]]) -> CaseGenerator:
    def each(dtype: str, version: int) -> Iterator[OperatorCase]:
        for attribute in attributes:
            for x in (
                special_tensor(dtype, 3, 70),
                order_sensitive_numbers(dtype, 60),
                np.ones((7, 9), dtype),
                special_tensor(dtype, 40),
                *map(special_tensor, [dtype] * 3, (0, 1, 5)),
            ):
                yield OperatorCase([x], attribute, 4)
            yield OperatorCase([np.array(1).astype(dtype)], attribute, 4)

    return each


def flatten_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    for shape, axis in (((2, 3, 4), 0), ((2, 3, 4), 2), ((5,), 1), ((0, 3), 1)):
        yield OperatorCase([special_tensor(dtype, *shape)], {"axis": axis})


def broadcasts(dtype: str, version: int) -> Iterator[OperatorCase]:
    yield OperatorCase([special_tensor(dtype, 3, 1), i64(2, 3, 5)])
    yield OperatorCase([special_tensor(dtype), i64(7)])
    yield OperatorCase([special_tensor(dtype, 3), i64(3, 5), i64(0)], {"mode": "explicit"})
    yield OperatorCase([special_tensor(dtype, 3, 1), i64(1, 5)], {"mode": "bidirectional"})


def dropout_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    yield OperatorCase([special_values(dtype)], {"is_test": 1} if version < 7 else {}, 2)


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


def convolution_cases(transposed: bool, openvino: bool) -> CaseGenerator:
    def each(dtype: str, version: int) -> Iterator[OperatorCase]:
        for rank, inside, outside, groups, kernel, strides, dilations, extents in CONVOLUTIONS:
            x = order_sensitive_numbers(dtype, 2, groups * inside, *extents)
            shape = (groups, *((inside, outside) if transposed else (outside, inside)), *kernel)
            attributes: dict[str, Any] = {"strides": strides, "dilations": dilations}
            if openvino and groups == 1:
                more = {"pads_begin": [1] * rank, "pads_end": [0] * rank}
                yield OperatorCase([x, order_sensitive_numbers(dtype, *shape[1:])], {**attributes, **more})
            elif not openvino:
                weights = order_sensitive_numbers(dtype, shape[0] * shape[1], *shape[2:])
                attributes |= {"group": groups, "pads": [1] * rank + [0] * rank}
                yield OperatorCase([x, weights], attributes)
                yield OperatorCase([x, weights, order_sensitive_numbers(dtype, groups * outside)], attributes)

    return each


def group_convolution_cases(transposed: bool) -> CaseGenerator:
    def each(dtype: str, version: int) -> Iterator[OperatorCase]:
        for rank, inside, outside, groups, kernel, strides, dilations, extents in CONVOLUTIONS:
            shape = (groups, *((inside, outside) if transposed else (outside, inside)), *kernel)
            attributes = {"strides": strides, "dilations": dilations, "pads_begin": [1] * rank, "pads_end": [0] * rank}
            yield OperatorCase(
                [order_sensitive_numbers(dtype, 2, groups * inside, *extents), order_sensitive_numbers(dtype, *shape)],
                attributes,
            )

    return each


def integer_convolutions(dtype: str, version: int) -> Iterator[OperatorCase]:
    for channels in (2, 40):
        x, w = order_sensitive_numbers(dtype, 2, channels, 6, 7), order_sensitive_numbers("int8", 5, channels, 3, 3)
        yield OperatorCase([x, w])
        yield OperatorCase(
            [x, w, order_sensitive_numbers(dtype, seed=2), order_sensitive_numbers("int8", 5)], {"pads": [1, 0, 0, 1]}
        )


def qlinear_convolutions(dtype: str, version: int) -> Iterator[OperatorCase]:
    x, w, zeros = (
        order_sensitive_numbers(dtype, 2, 4, 6, 7),
        order_sensitive_numbers("int8", 5, 4, 3, 3),
        (order_sensitive_numbers(dtype, seed=2), order_sensitive_numbers("int8", seed=3)),
    )
    scales = [np.array(s, np.float32) for s in (0.02, 0.3, 1.5)]
    inputs = [x, scales[0], zeros[0], w, scales[1], zeros[1], scales[2], zeros[0]]
    yield OperatorCase(inputs)
    yield OperatorCase([*inputs, np.array([1, -2, 300, 0, 7], np.int32)], {"strides": [2, 1]})


#: Extents, kernel, strides, dilations.
POOLS: tuple[tuple[tuple[int, ...], ...], ...] = (
    ((19,), (3,), (2,), (1,)),
    ((9, 33), (2, 3), (1, 1), (1, 1)),
    ((12, 10), (3, 2), (2, 3), (2, 1)),
    ((4, 5, 7), (2, 3, 2), (1, 2, 1), (1, 1, 1)),
)


def pooling_cases(*ways: dict[str, Any], both: bool = False) -> CaseGenerator:
    def each(dtype: str, version: int) -> Iterator[OperatorCase]:
        for (extents, kernel, strides, dilations), way in product(POOLS, ways):
            x = order_sensitive_numbers(dtype, 2, 3, *extents)
            attributes = {"kernel_shape": kernel, "strides": strides, "pads": [1] * len(kernel) + [0] * len(kernel)}
            if version >= (10 if both else 19):
                attributes["dilations"] = dilations
            yield OperatorCase([x], {**attributes, **way})
            if both and version >= 8:
                yield OperatorCase([x], attributes, 2)

    return each


def depth_space_cases(inside: bool) -> CaseGenerator:
    def each(dtype: str, version: int) -> Iterator[OperatorCase]:
        for shape, size in (((2, 8, 3, 2), 2), ((1, 18, 1, 2), 3), ((1, 4, 2, 2), 1)):
            turned = (shape[0], shape[1] // size**2, shape[2] * size, shape[3] * size)
            yield OperatorCase([special_tensor(dtype, *(shape if inside else turned))], {"blocksize": size})

    return each


def global_pooling_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    for extents in ((70,), (5, 7), (2, 3, 5)):
        yield OperatorCase([order_sensitive_numbers(dtype, 2, 3, *extents)])


def openvino_pooling_cases(**more: Any) -> CaseGenerator:
    def each(dtype: str, version: int) -> Iterator[OperatorCase]:
        for extents, kernel, strides, dilations in POOLS:
            rank = len(kernel)
            way = {"kernel": kernel, "strides": strides, "pads_begin": [1] * rank, "pads_end": [0] * rank, **more}
            if more or version < 8:
                yield OperatorCase([order_sensitive_numbers(dtype, 2, 3, *extents)], way)
            else:
                yield OperatorCase(
                    [order_sensitive_numbers(dtype, 2, 3, *extents)], {**way, "dilations": dilations, "axis": 1}, 2
                )

    return each


def reversed_sequences(dtype: str, version: int) -> Iterator[OperatorCase]:
    yield OperatorCase([special_tensor(dtype, 5, 3, 2), i64(2, 5, 0)])
    yield OperatorCase([special_tensor(dtype, 3, 5), i64(1, 4, 5)], {"batch_axis": 0, "time_axis": 1})


def upsample_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    x, factors = order_sensitive_numbers(dtype, 1, 2, 3, 4), [1.0, 1.0, 2.0, 1.5]
    for mode in ("nearest", "linear"):
        if version < 9:
            yield OperatorCase([x], {"scales": factors, "mode": mode})
        else:
            yield OperatorCase([x, np.array(factors, np.float32)], {"mode": mode})


def resize_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    if version < 11:
        yield from upsample_cases(dtype, 9)
        return
    x = order_sensitive_numbers(dtype, 1, 2, 5, 4)
    for mode, size in product(("nearest", "linear", "cubic"), ((7, 9), (2, 3))):
        yield OperatorCase([x, None, None, i64(1, 2, *size)], {"mode": mode})
        yield OperatorCase(
            [x, None, None, i64(1, 2, *size)], {"mode": mode, "coordinate_transformation_mode": "align_corners"}
        )


def grid_sample_cases(dtype: str, version: int) -> Iterator[OperatorCase]:
    x, grid = order_sensitive_numbers(dtype, 2, 3, 4, 5), order_sensitive_numbers(dtype, 2, 3, 2, 2)
    modes = ("bilinear", "nearest", "bicubic") if version < 20 else ("linear", "nearest", "cubic")
    for mode, padding in product(modes, ("zeros", "border", "reflection")):
        yield OperatorCase([x, grid], {"mode": mode, "padding_mode": padding})
