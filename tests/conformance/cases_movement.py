"""Inputs for what moves elements, for pooling and for resampling."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from .case_values import ONNX_TYPE, SHAPES, Array, Case, Cases, data, i64, tame, values


def moves(*ways: Callable[[Array], Iterator[Case]]) -> Cases:
    """Cases made of a tensor of each shape."""

    def each(dtype: str, version: int) -> Iterator[Case]:
        for shape in SHAPES:
            for way in ways:
                yield from way(data(dtype, *shape))

    return each


def as_it_is(x: Array) -> Iterator[Case]:
    yield Case([x])


def concats(dtype: str, version: int) -> Iterator[Case]:
    for parts, axis in (((3,), 0), ((0, 2, 1), 0), ((1, 33, 2), 1), ((2, 2), 1)):
        shapes = [(n, 3) if axis == 0 else (2, n) for n in parts]
        yield Case([data(dtype, *shape, start=k) for k, shape in enumerate(shapes)], {"axis": axis})
    yield Case([data(dtype, 1), data(dtype, 65, start=2)], {"axis": 0})


def as_text(cases: Cases) -> Cases:
    """Attributes as an IR file has them."""

    def text(value: Any) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)

    def each(dtype: str, version: int) -> Iterator[Case]:
        for case in cases(dtype, version):
            yield Case(case.inputs, {k: text(v) for k, v in case.attributes.items()}, case.n_outputs)

    return each


def constants(dtype: str, version: int) -> Iterator[Case]:
    yield Case([], {"value": data(dtype, 3, 5)})
    yield Case([], {"value": data(dtype)})


def constants_of_shapes(dtype: str, version: int) -> Iterator[Case]:
    for k, shape in enumerate(SHAPES):
        yield Case([i64(*shape)], {"value": values(dtype)[k % len(values(dtype)) :][:1]})
    yield Case([i64(2, 3)])


def expanded(x: Array) -> Iterator[Case]:
    yield Case([x, i64(2, *x.shape)])
    yield Case([x, i64(*(1,) * x.ndim)])


def eyes(dtype: str, version: int) -> Iterator[Case]:
    for shape, k in product(((3, 5), (5, 3), (1, 1), (0, 2)), (-1, 0, 2)):
        yield Case([data(dtype, *shape)], {"k": k})
        yield Case([data(dtype, *shape)], {"k": k, "dtype": ONNX_TYPE["int32"]})


def gathers(dtype: str, version: int) -> Iterator[Case]:
    for shape, axis in (((9,), 0), ((9, 3), 0), ((2, 9), 1), ((2, 9, 2), 1), ((2, 9, 5), -2)):
        for index in (i64(3, -1, 0), np.array(2), np.array([[8, -9], [0, 1]], np.int32), i64()):
            yield Case([data(dtype, *shape), index], {"axis": axis})


def openvino_gathers(dtype: str, version: int) -> Iterator[Case]:
    for case in gathers(dtype, version):
        x, index = case.inputs
        if version < 8:
            index = np.abs(index)
        yield Case([x, index, np.array(case.attributes["axis"])])
    if version >= 7:
        yield Case([data(dtype, 2, 5, 3), i64(0, 4, 1, 1).reshape(2, 2), np.array(1)], {"batch_dims": "1"})


def one_hots(dtype: str, version: int) -> Iterator[Case]:
    off_on = values(dtype)[:2]
    for index in (i64(0, 2, 4), i64(1, 3, 2, 0).reshape(2, 2), np.array(3)):
        for axis in (-1, 0):
            yield Case([index, np.array(5), off_on], {"axis": axis})


def openvino_one_hots(dtype: str, version: int) -> Iterator[Case]:
    for case in one_hots(dtype, version):
        index, depth, (off, on) = case.inputs
        yield Case([index, depth, np.array(on, dtype), np.array(off, dtype)], {"axis": str(case.attributes["axis"])})


PADS = ((1, 1, 1, 1), (0, 2, 0, 0), (3, 0, 0, 0), (2, 0, 1, 3), (0, 0, 0, 0))
MODES = ("constant", "edge", "reflect")


def padded(dtype: str, version: int) -> Iterator[Case]:
    x, fill = data(dtype, 5, 6), values(dtype)[1]
    for pads, mode in product(PADS, MODES):
        if version < 2:
            yield Case([x], {"paddings": list(pads), "mode": mode})
        elif version < 11:
            yield Case([x], {"pads": list(pads), "mode": mode, "value": 1.0})
        else:
            yield Case([x, i64(*pads), np.array(fill, dtype)], {"mode": mode})


def openvino_padded(dtype: str, version: int) -> Iterator[Case]:
    x, fill = data(dtype, 5, 6), values(dtype)[1]
    for pads, mode in product(PADS, (*MODES, "symmetric")):
        yield Case([x, i64(*pads[:2]), i64(*pads[2:]), np.array(fill, dtype)], {"pad_mode": mode})


def ranges(*more: dict[str, Any]) -> Cases:
    def each(dtype: str, version: int) -> Iterator[Case]:
        for limits, way in product(((0, 10, 3), (2, 2, 1), (5, 1, 1), (3, 70, 1)), more):
            yield Case([np.array(n, dtype) for n in limits], dict(way))
        if np.dtype(dtype).kind == "f":
            yield Case([np.array(n, dtype) for n in (0.1, 5, 0.7)], dict(more[0]))

    return each


def reshaped(x: Array) -> Iterator[Case]:
    if x.size:
        yield Case([x, i64(-1)])
        yield Case([x, i64(1, *x.shape)])
    else:
        yield Case([x, i64(0, 3)], {"allowzero": 1})


def reshaped_by_attribute(x: Array) -> Iterator[Case]:
    if x.size:
        yield Case([x], {"shape": [1, x.size]})


def openvino_reshaped(x: Array) -> Iterator[Case]:
    for case in reshaped(x):
        yield Case(case.inputs, {"special_zero": False})


SLICES = (
    ((0,), (2,), (0,), (1,)),
    ((-1,), (-100,), (0,), (-1,)),
    ((1, 0), (100, -1), (1, 0), (2, 1)),
    ((2,), (1,), (1,), (1,)),
)


def sliced(dtype: str, version: int) -> Iterator[Case]:
    for starts, ends, axes, steps in SLICES:
        x = data(dtype, 5, 65)
        if version >= 10:
            yield Case([x, i64(*starts), i64(*ends), i64(*axes), i64(*steps)])
        elif set(steps) == {1}:
            yield Case([x], {"starts": list(starts), "ends": list(ends), "axes": list(axes)})


def openvino_sliced(dtype: str, version: int) -> Iterator[Case]:
    for starts, ends, axes, steps in SLICES:
        yield Case([data(dtype, 5, 65), i64(*starts), i64(*ends), i64(*steps), i64(*axes)])


def strided(dtype: str, version: int) -> Iterator[Case]:
    x = data(dtype, 5, 65)
    for begin, end, step, masks in (
        ((0, 1), (3, 9), (1, 2), "0,0"),
        ((4, 60), (0, 2), (-1, -3), "0,1"),
        ((1, 0), (2, 65), (1, 1), "1,1"),
    ):
        yield Case([x, i64(*begin), i64(*end), i64(*step)], {"begin_mask": masks, "end_mask": masks})
    yield Case([x, i64(1, 0), i64(2, 65)], {"begin_mask": "0,0", "end_mask": "0,0", "shrink_axis_mask": "1,0"})


def split(dtype: str, version: int) -> Iterator[Case]:
    x = data(dtype, 6, 5)
    if version >= 13:
        yield Case([x, i64(1, 5)], {"axis": 0}, 2)
        yield Case([x, i64(2, 0, 3)], {"axis": 1}, 3)
    else:
        yield Case([x], {"split": [1, 5], "axis": 0}, 2)
    yield Case([x], {"axis": 0, **({"num_outputs": 3} if version >= 18 else {})}, 3)


def openvino_split(dtype: str, version: int) -> Iterator[Case]:
    yield Case([data(dtype, 6, 5), np.array(0)], {"num_splits": "3"}, 3)
    yield Case([data(dtype, 6, 5), np.array(-1)], {"num_splits": "5"}, 5)


def variadic_split(dtype: str, version: int) -> Iterator[Case]:
    yield Case([data(dtype, 6, 5), np.array(0), i64(1, 5)], {}, 2)
    yield Case([data(dtype, 6, 5), np.array(1), i64(2, 0, -1)], {}, 3)


def axes_given(shapes: Sequence[tuple[tuple[int, ...], tuple[int, ...]]], as_input: bool) -> Cases:
    def each(dtype: str, version: int) -> Iterator[Case]:
        for shape, axes in shapes:
            x = data(dtype, *shape)
            yield Case([x, i64(*axes)]) if as_input else Case([x], {"axes": list(axes)})

    return each


SQUEEZED = (((1, 3), (0,)), ((2, 1, 1), (1, 2)), ((1,), (-1,)), ((1, 0), (0,)))
UNSQUEEZED = (((3,), (0,)), ((2, 3), (0, 3)), ((), (0,)), ((0,), (1,)))


def tiles(dtype: str, version: int) -> Iterator[Case]:
    for shape, times in (((3,), (2,)), ((2, 3), (1, 4)), ((2, 1), (3, 0)), ((1, 33), (2, 2))):
        yield Case([data(dtype, *shape), i64(*times)])


def tiles_1(dtype: str, version: int) -> Iterator[Case]:
    yield Case([data(dtype, 2, 3), i64(4), i64(1)])


TURNED = (((2, 3), (1, 0)), ((2, 3, 4), (2, 0, 1)), ((1, 33), (1, 0)), ((0, 2), (1, 0)), ((5,), (0,)))


def turned_about(dtype: str, version: int) -> Iterator[Case]:
    for shape, order in TURNED:
        yield Case([data(dtype, *shape)], {"perm": list(order)})


def openvino_turned(dtype: str, version: int) -> Iterator[Case]:
    for shape, order in TURNED:
        yield Case([data(dtype, *shape), i64(*order)])


def triangles(dtype: str, version: int) -> Iterator[Case]:
    for shape, k, upper in product(((3, 5), (2, 4, 4)), (-1, 0, 2), (0, 1)):
        yield Case([data(dtype, *shape), np.array(k)], {"upper": upper})


def sparse(dtype: str, *shape: int, every: int) -> Array:
    """Odd values, all but each ``every``-th one a zero, of either sign."""
    x = data(dtype, *shape).reshape(-1)
    x[np.arange(x.size) % every != 0] = 0
    x[1::4] *= np.array(-1).astype(dtype)
    return x.reshape(shape)


def placed(attributes: Sequence[dict[str, Any]]) -> Cases:
    """Tensors whose elements that are not 0 are asked for: words of marks that are full, empty and in between."""

    def each(dtype: str, version: int) -> Iterator[Case]:
        for shape, given in product((*SHAPES, (200,), (7, 64), (3, 2, 1, 31)), attributes):
            for x in (
                data(dtype, *shape),
                sparse(dtype, *shape, every=3),
                np.ones(shape, dtype),
                np.zeros(shape, dtype),
            ):
                yield Case([x], given)

    return each


def compressed(dtype: str, version: int) -> Iterator[Case]:
    for n in (0, 1, 5, 64, 130):
        for condition in (sparse("bool", n, every=3), np.ones(n, bool), np.zeros(n, bool)):
            yield Case([data(dtype, n), condition])
            for shape, axis in (((n, 3), 0), ((2, n), 1), ((2, n, 2), -2), ((n, 0), 0), ((n, 16), 0)):
                yield Case([data(dtype, *shape), condition], {"axis": axis})
    short, long = np.array([False, True, True]), np.array([True, False, True, *[False] * 70])
    for condition in (short, long):
        yield Case([data(dtype, 4, 3), condition])
        yield Case([data(dtype, 4, 3), condition], {"axis": 0})


def suppressed(dtype: str, version: int) -> Iterator[Case]:
    limits = np.array(0.4, dtype), np.array(0.1, dtype)
    for centred, n in product((0, 1), (0, 1, 7, 60)):
        boxes, scores = abs(tame(dtype, 2, n, 4)), tame(dtype, 2, 3, n)
        for given in (
            (boxes, scores),
            (data(dtype, 2, n, 4), data(dtype, 2, 3, n)),
            (np.round(boxes), np.round(scores)),
        ):
            for most in (0, 3, 1 << 40):
                yield Case([*given, np.array([most]), *limits], {"center_point_box": centred})


def uniques(attributes: Sequence[dict[str, Any]]) -> Cases:
    def each(dtype: str, version: int) -> Iterator[Case]:
        for given in attributes:
            for x in (
                data(dtype, 3, 70),
                tame(dtype, 60),
                np.ones((7, 9), dtype),
                data(dtype, 40),
                *map(data, [dtype] * 3, (0, 1, 5)),
            ):
                yield Case([x], given, 4)
            yield Case([np.array(1).astype(dtype)], given, 4)

    return each


def flattened(dtype: str, version: int) -> Iterator[Case]:
    for shape, axis in (((2, 3, 4), 0), ((2, 3, 4), 2), ((5,), 1), ((0, 3), 1)):
        yield Case([data(dtype, *shape)], {"axis": axis})


def broadcasts(dtype: str, version: int) -> Iterator[Case]:
    yield Case([data(dtype, 3, 1), i64(2, 3, 5)])
    yield Case([data(dtype), i64(7)])
    yield Case([data(dtype, 3), i64(3, 5), i64(0)], {"mode": "explicit"})
    yield Case([data(dtype, 3, 1), i64(1, 5)], {"mode": "bidirectional"})


def dropped(dtype: str, version: int) -> Iterator[Case]:
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


def convolved(transposed: bool, openvino: bool) -> Cases:
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


def convolved_by_groups(transposed: bool) -> Cases:
    def each(dtype: str, version: int) -> Iterator[Case]:
        for rank, inside, outside, groups, kernel, strides, dilations, extents in CONVOLUTIONS:
            shape = (groups, *((inside, outside) if transposed else (outside, inside)), *kernel)
            attributes = {"strides": strides, "dilations": dilations, "pads_begin": [1] * rank, "pads_end": [0] * rank}
            yield Case([tame(dtype, 2, groups * inside, *extents), tame(dtype, *shape)], attributes)

    return each


def integer_convolutions(dtype: str, version: int) -> Iterator[Case]:
    for channels in (2, 40):
        x, w = tame(dtype, 2, channels, 6, 7), tame("int8", 5, channels, 3, 3)
        yield Case([x, w])
        yield Case([x, w, tame(dtype, seed=2), tame("int8", 5)], {"pads": [1, 0, 0, 1]})


def qlinear_convolutions(dtype: str, version: int) -> Iterator[Case]:
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


def pooled(*ways: dict[str, Any], both: bool = False) -> Cases:
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


def blocks(inside: bool) -> Cases:
    def each(dtype: str, version: int) -> Iterator[Case]:
        for shape, size in (((2, 8, 3, 2), 2), ((1, 18, 1, 2), 3), ((1, 4, 2, 2), 1)):
            turned = (shape[0], shape[1] // size**2, shape[2] * size, shape[3] * size)
            yield Case([data(dtype, *(shape if inside else turned))], {"blocksize": size})

    return each


def over_all(dtype: str, version: int) -> Iterator[Case]:
    for extents in ((70,), (5, 7), (2, 3, 5)):
        yield Case([tame(dtype, 2, 3, *extents)])


def openvino_pooled(**more: Any) -> Cases:
    def each(dtype: str, version: int) -> Iterator[Case]:
        for extents, kernel, strides, dilations in POOLS:
            rank = len(kernel)
            way = {"kernel": kernel, "strides": strides, "pads_begin": [1] * rank, "pads_end": [0] * rank, **more}
            if more or version < 8:
                yield Case([tame(dtype, 2, 3, *extents)], way)
            else:
                yield Case([tame(dtype, 2, 3, *extents)], {**way, "dilations": dilations, "axis": 1}, 2)

    return each


def reversed_sequences(dtype: str, version: int) -> Iterator[Case]:
    yield Case([data(dtype, 5, 3, 2), i64(2, 5, 0)])
    yield Case([data(dtype, 3, 5), i64(1, 4, 5)], {"batch_axis": 0, "time_axis": 1})


def upsampled(dtype: str, version: int) -> Iterator[Case]:
    x, factors = tame(dtype, 1, 2, 3, 4), [1.0, 1.0, 2.0, 1.5]
    for mode in ("nearest", "linear"):
        if version < 9:
            yield Case([x], {"scales": factors, "mode": mode})
        else:
            yield Case([x, np.array(factors, np.float32)], {"mode": mode})


def resized(dtype: str, version: int) -> Iterator[Case]:
    if version < 11:
        yield from upsampled(dtype, 9)
        return
    x = tame(dtype, 1, 2, 5, 4)
    for mode, size in product(("nearest", "linear", "cubic"), ((7, 9), (2, 3))):
        yield Case([x, None, None, i64(1, 2, *size)], {"mode": mode})
        yield Case([x, None, None, i64(1, 2, *size)], {"mode": mode, "coordinate_transformation_mode": "align_corners"})


def grids(dtype: str, version: int) -> Iterator[Case]:
    x, grid = tame(dtype, 2, 3, 4, 5), tame(dtype, 2, 3, 2, 2)
    modes = ("bilinear", "nearest", "bicubic") if version < 20 else ("linear", "nearest", "cubic")
    for mode, padding in product(modes, ("zeros", "border", "reflection")):
        yield Case([x, grid], {"mode": mode, "padding_mode": padding})
