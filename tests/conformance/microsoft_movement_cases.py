"""Cases of operators of ``com.microsoft`` that ONNX had not, or not yet, when converters needed them."""

from __future__ import annotations

import numpy as np

from .microsoft_cases import Case, Random, case, integers, maybe, pick, some


@case("GatherND")
def _(r: Random) -> Case:
    depth = int(r.integers(1, 4))
    indices = np.stack([r.integers(0, n, (2, 3)) for n in (3, 4, 5)[:depth]], -1)
    x = pick(r, some(r, 3, 4, 5), integers(r, np.int16, 3, 4, 5), r.integers(0, 2, (3, 4, 5)).astype(bool))
    return Case([x, indices.astype(pick(r, np.int32, np.int64))])


@case("GridSample")
def _(r: Random) -> Case:
    attributes = {"mode": pick(r, "bilinear", "nearest", "bicubic"), "align_corners": int(r.integers(2))}
    attributes |= {"padding_mode": pick(r, "zeros", "border", "reflection")}
    grid = r.uniform(-1.5, 1.5, (2, 4, 3, 2)).astype(np.float32)
    return Case([some(r, 2, 3, 5, 6), grid], attributes, rtol=1e-4, atol=1e-5)


@case("Inverse")
def _(r: Random) -> Case:
    n, batch = int(r.integers(1, 6)), pick(r, (), (3,), (2, 3))
    x = some(r, *batch, n, n) + 5 * np.eye(n, dtype=np.float32)
    dtype = pick(r, np.float32, np.float64, np.float16)
    return Case(
        [x.astype(dtype)], rtol=2e-3 if dtype is np.float16 else 1e-4, atol=1e-3 if dtype is np.float16 else 1e-6
    )


@case("Pad")
def _(r: Random) -> Case:
    pads = r.integers(-1, 3, 6)
    mode = pick(r, "constant", "reflect", "edge", "wrap")
    if mode in ("reflect", "wrap"):
        pads = np.abs(pads)
    value = maybe(r, pick(r, np.array(1.5, np.float32), np.array([1.5], np.float32))) if mode == "constant" else None
    return Case([some(r, 3, 4, 5), pick(r, pads, pads[None]), value], {"mode": mode})


@case("Range")
def _(r: Random) -> Case:
    dtype = pick(r, np.int16, np.int32, np.int64, np.float32, np.float64)
    shape = pick(r, (), (1,))
    start, limit, delta = (np.full(shape, n, dtype) for n in (r.integers(-5, 5), r.integers(-9, 20), pick(r, 2, 3, -2)))
    return Case([start, limit, maybe(r, delta)])


@case("Unique")
def _(r: Random) -> Case:
    return Case([r.integers(-3, 4, int(r.integers(0, 20))).astype(np.float32)], outputs=3)


@case("ConvTransposeWithDynamicPads")
def _(r: Random) -> Case:
    group, strides, dilations = pick(r, 1, 2), pick(r, [1, 1], [2, 1], [3, 2]), pick(r, [1, 1], [1, 2])
    attributes = {"group": group, "strides": strides, "dilations": dilations, "kernel_shape": [3, 2]}
    if strides == [3, 2] and r.random() < 0.5:
        attributes["output_padding"] = [2, 1]
    pads = r.integers(0, 2, 4)
    return Case(
        [some(r, 2, 4, 5, 6), some(r, 4, 3, 3, 2), pads, maybe(r, some(r, 3 * group))], attributes, rtol=1e-4, atol=1e-5
    )


@case("MatMulInteger16")
def _(r: Random) -> Case:
    batch = pick(r, (), (3,), (2, 1))
    other = pick(r, (), (3,)) if batch != (3,) else (3,)
    return Case([integers(r, np.int16, *batch, 4, 5), integers(r, np.int16, *other, 5, 3)])


@case("ExpandDims")
def _(r: Random) -> Case:
    x = pick(r, some(r, 2, 3, 4), integers(r, np.uint8, 2, 3, 4), some(r, 2, 3, 4).astype(np.float16))
    return Case([x, np.array(r.integers(-4, 4), np.int32)])


@case("UnfoldTensor")
def _(r: Random) -> Case:
    x = pick(r, some(r, 4, 5, 6), integers(r, np.int64, 4, 5, 6))
    return Case([x], {"dim": int(r.integers(-3, 3)), "size": int(r.integers(1, 5)), "step": int(r.integers(1, 4))})


@case("CDist")
def _(r: Random) -> Case:
    dtype = pick(r, np.float32, np.float64)
    a, b = some(r, 4, 3).astype(dtype), some(r, 5, 3).astype(dtype)
    return Case([a, b], {"metric": pick(r, "euclidean", "sqeuclidean")}, rtol=1e-4, atol=1e-5)


@case("NGramRepeatBlock")
def _(r: Random) -> Case:
    ids = r.integers(0, 3, (3, int(r.integers(1, 12))))
    return Case([ids, some(r, 3, 5)], {"ngram_size": int(r.integers(1, 5))})


@case("DynamicTimeWarping")
def _(r: Random) -> Case:
    m, n = r.integers(1, 9, 2)
    x = r.integers(0, 3, (m, n)).astype(np.float32) if r.random() < 0.5 else some(r, m, n)
    return Case([pick(r, x, x[None])])
