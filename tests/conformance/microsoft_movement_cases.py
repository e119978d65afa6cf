"""Cases of operators of ``com.microsoft`` that ONNX had not, or not yet, when converters needed them."""

from __future__ import annotations

import numpy as np

from .microsoft_cases import MicrosoftCase, Random, case, or_absent, pick_one, random_floats, random_integers


@case("GatherND")
def _(r: Random) -> MicrosoftCase:
    depth = int(r.integers(1, 4))
    indices = np.stack([r.integers(0, n, (2, 3)) for n in (3, 4, 5)[:depth]], -1)
    x = pick_one(
        r, random_floats(r, 3, 4, 5), random_integers(r, np.int16, 3, 4, 5), r.integers(0, 2, (3, 4, 5)).astype(bool)
    )
    return MicrosoftCase([x, indices.astype(pick_one(r, np.int32, np.int64))])


@case("GridSample")
def _(r: Random) -> MicrosoftCase:
    attributes = {"mode": pick_one(r, "bilinear", "nearest", "bicubic"), "align_corners": int(r.integers(2))}
    attributes |= {"padding_mode": pick_one(r, "zeros", "border", "reflection")}
    grid = r.uniform(-1.5, 1.5, (2, 4, 3, 2)).astype(np.float32)
    return MicrosoftCase([random_floats(r, 2, 3, 5, 6), grid], attributes, rtol=1e-4, atol=1e-5)


@case("Inverse")
def _(r: Random) -> MicrosoftCase:
    n, batch = int(r.integers(1, 6)), pick_one(r, (), (3,), (2, 3))
    x = random_floats(r, *batch, n, n) + 5 * np.eye(n, dtype=np.float32)
    dtype = pick_one(r, np.float32, np.float64, np.float16)
    return MicrosoftCase(
        [x.astype(dtype)], rtol=2e-3 if dtype is np.float16 else 1e-4, atol=1e-3 if dtype is np.float16 else 1e-6
    )


@case("Pad")
def _(r: Random) -> MicrosoftCase:
    pads = r.integers(-1, 3, 6)
    mode = pick_one(r, "constant", "reflect", "edge", "wrap")
    if mode in ("reflect", "wrap"):
        pads = np.abs(pads)
    value = (
        or_absent(r, pick_one(r, np.array(1.5, np.float32), np.array([1.5], np.float32)))
        if mode == "constant"
        else None
    )
    return MicrosoftCase([random_floats(r, 3, 4, 5), pick_one(r, pads, pads[None]), value], {"mode": mode})


@case("Range")
def _(r: Random) -> MicrosoftCase:
    dtype = pick_one(r, np.int16, np.int32, np.int64, np.float32, np.float64)
    shape = pick_one(r, (), (1,))
    start, limit, delta = (
        np.full(shape, n, dtype) for n in (r.integers(-5, 5), r.integers(-9, 20), pick_one(r, 2, 3, -2))
    )
    return MicrosoftCase([start, limit, or_absent(r, delta)])


@case("Unique")
def _(r: Random) -> MicrosoftCase:
    return MicrosoftCase([r.integers(-3, 4, int(r.integers(0, 20))).astype(np.float32)], outputs=3)


@case("ConvTransposeWithDynamicPads")
def _(r: Random) -> MicrosoftCase:
    group, strides, dilations = pick_one(r, 1, 2), pick_one(r, [1, 1], [2, 1], [3, 2]), pick_one(r, [1, 1], [1, 2])
    attributes = {"group": group, "strides": strides, "dilations": dilations, "kernel_shape": [3, 2]}
    if strides == [3, 2] and r.random() < 0.5:
        attributes["output_padding"] = [2, 1]
    pads = r.integers(0, 2, 4)
    return MicrosoftCase(
        [random_floats(r, 2, 4, 5, 6), random_floats(r, 4, 3, 3, 2), pads, or_absent(r, random_floats(r, 3 * group))],
        attributes,
        rtol=1e-4,
        atol=1e-5,
    )


@case("MatMulInteger16")
def _(r: Random) -> MicrosoftCase:
    batch = pick_one(r, (), (3,), (2, 1))
    other = pick_one(r, (), (3,)) if batch != (3,) else (3,)
    return MicrosoftCase([random_integers(r, np.int16, *batch, 4, 5), random_integers(r, np.int16, *other, 5, 3)])


@case("ExpandDims")
def _(r: Random) -> MicrosoftCase:
    x = pick_one(
        r,
        random_floats(r, 2, 3, 4),
        random_integers(r, np.uint8, 2, 3, 4),
        random_floats(r, 2, 3, 4).astype(np.float16),
    )
    return MicrosoftCase([x, np.array(r.integers(-4, 4), np.int32)])


@case("UnfoldTensor")
def _(r: Random) -> MicrosoftCase:
    x = pick_one(r, random_floats(r, 4, 5, 6), random_integers(r, np.int64, 4, 5, 6))
    return MicrosoftCase(
        [x], {"dim": int(r.integers(-3, 3)), "size": int(r.integers(1, 5)), "step": int(r.integers(1, 4))}
    )


@case("CDist")
def _(r: Random) -> MicrosoftCase:
    dtype = pick_one(r, np.float32, np.float64)
    a, b = random_floats(r, 4, 3).astype(dtype), random_floats(r, 5, 3).astype(dtype)
    return MicrosoftCase([a, b], {"metric": pick_one(r, "euclidean", "sqeuclidean")}, rtol=1e-4, atol=1e-5)


@case("NGramRepeatBlock")
def _(r: Random) -> MicrosoftCase:
    ids = r.integers(0, 3, (3, int(r.integers(1, 12))))
    return MicrosoftCase([ids, random_floats(r, 3, 5)], {"ngram_size": int(r.integers(1, 5))})


@case("DynamicTimeWarping")
def _(r: Random) -> MicrosoftCase:
    m, n = r.integers(1, 9, 2)
    x = r.integers(0, 3, (m, n)).astype(np.float32) if r.random() < 0.5 else random_floats(r, m, n)
    return MicrosoftCase([pick_one(r, x, x[None])])
