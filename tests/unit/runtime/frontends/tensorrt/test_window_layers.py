"""TensorRT's convolutions, poolings, resizes, boxes, quantisation and attention against NumPy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from loopdbg.runtime.errors import ExecutionError, ModelError
from loopdbg.runtime.frontends.tensorrt.enums import (
    AttentionNormalizationOp,
    BoundingBoxFormat,
    CausalMaskKind,
    DataType,
    InterpolationMode,
    KVCacheMode,
    PaddingMode,
    PoolingType,
    ResizeCoordinateTransformation,
    ResizeRoundMode,
    ResizeSelector,
    SampleMode,
)
from loopdbg.runtime.model import Model

from .layer_checks import build_error, build_network, check_layer, layer

random = np.random.default_rng(7)
IMAGE = random.standard_normal((2, 4, 7, 6)).astype(np.float32)
VOLUME = random.standard_normal((1, 2, 4, 5, 3)).astype(np.float32)


def convolved(
    x: Any, kernel: Any, stride: Sequence[int], pre: Sequence[int], post: Sequence[int], dilation: Any, groups: int
) -> Any:
    """A convolution, place by place."""
    spatial = x.ndim - 2
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *zip(pre, post, strict=True)])
    reach = [1 + d * (n - 1) for d, n in zip(dilation, kernel.shape[2:], strict=True)]
    sizes = [(n - r) // s + 1 for n, r, s in zip(padded.shape[2:], reach, stride, strict=True)]
    maps, share = kernel.shape[0], x.shape[1] // groups
    y = np.zeros((x.shape[0], maps, *sizes))
    for place in itertools.product(*map(range, sizes)):
        cut = tuple(slice(p * s, p * s + r, d) for p, s, r, d in zip(place, stride, reach, dilation, strict=True))
        for m in range(maps):
            g = m // (maps // groups)
            part = padded[(slice(None), slice(g * share, (g + 1) * share), *cut)]
            y[(slice(None), m, *place)] = (part * kernel[m]).sum(tuple(range(1, spatial + 2)))
    return y


@pytest.mark.parametrize(
    ("x", "maps", "window", "settings"),
    [
        (IMAGE, 3, (3, 3), {}),
        (IMAGE, 4, (3, 2), {"stride_nd": (2, 1), "padding_nd": (1, 0), "dilation_nd": (1, 2), "num_groups": 2}),
        (IMAGE, 3, (2, 2), {"pre_padding": (0, 1), "post_padding": (1, 2)}),
        (VOLUME, 2, (2, 3, 2), {"padding_nd": (1, 1, 0)}),
    ],
)
@pytest.mark.parametrize("by_tensor", [False, True])
def test_convolution(x: Any, maps: int, window: Any, settings: dict[str, Any], by_tensor: bool) -> None:
    groups = settings.get("num_groups", 1)
    kernel = random.standard_normal((maps, x.shape[1] // groups, *window)).astype(np.float32)
    bias = random.standard_normal(maps).astype(np.float32)
    axes = len(window)
    pad = settings.get("padding_nd", (0,) * axes)
    want = convolved(
        x,
        kernel,
        settings.get("stride_nd", (1,) * axes),
        settings.get("pre_padding", pad),
        settings.get("post_padding", pad),
        settings.get("dilation_nd", (1,) * axes),
        groups,
    ) + bias.reshape(-1, *(1,) * axes)
    weights = (None, None) if by_tensor else (kernel, bias)
    inputs = {1: kernel, 2: bias} if by_tensor else {}
    build = layer("add_convolution_nd", maps, window, *weights, inputs=inputs, **settings)
    check_layer(build, {"x": x}, want.astype(np.float32), rtol=1e-5, known=[1])


@pytest.mark.parametrize("kind", ["convolution", "deconvolution", "pooling"])
def test_all_axes_in_front_of_the_channels_are_batches(kind: str) -> None:
    kernel = random.standard_normal((4, 4, 3, 2)).astype(np.float32)
    arguments = (PoolingType.MAX, (3, 2)) if kind == "pooling" else (4, (3, 2), kernel)
    build = layer(f"add_{kind}_nd", *arguments)
    [alone] = Model(build_network(build, {"x": IMAGE})[0].graph()).run({"x": IMAGE}).values()
    whole = np.stack([IMAGE, IMAGE * 2, IMAGE * 4])
    want = np.stack([alone, alone * 2, alone * 4])
    check_layer(build, {"x": whole}, want, rtol=1e-5, known=[2])
    check_layer(build, {"x": whole[None]}, want[None], rtol=1e-5, known=[3])


PADDINGS = {
    PaddingMode.EXPLICIT_ROUND_DOWN: ((1, 0), (1, 0)),
    # What is missing for the last place of the window.
    PaddingMode.EXPLICIT_ROUND_UP: ((1, 0), (1, 1)),
    PaddingMode.SAME_UPPER: ((1, 0), (1, 1)),
    PaddingMode.SAME_LOWER: ((1, 1), (1, 0)),
}


@pytest.mark.parametrize("mode", PaddingMode)
def test_padding_modes_of_convolutions(mode: PaddingMode) -> None:
    kernel = random.standard_normal((1, 4, 3, 3)).astype(np.float32)
    build = layer("add_convolution_nd", 1, (3, 3), kernel, stride_nd=(2, 2), padding_nd=(1, 0), padding_mode=mode)
    pre, post = PADDINGS[mode]
    want = convolved(IMAGE, kernel, (2, 2), pre, post, (1, 1), 1).astype(np.float32)
    check_layer(build, {"x": IMAGE}, want, rtol=1e-5, known=[1])


@pytest.mark.parametrize("mode", [PaddingMode.EXPLICIT_ROUND_DOWN, PaddingMode.SAME_UPPER, PaddingMode.SAME_LOWER])
@pytest.mark.parametrize("groups", [1, 2])
def test_deconvolution(mode: PaddingMode, groups: int) -> None:
    x = IMAGE[:, :, :3, :2]
    kernel = random.standard_normal((4, 2, 3, 4)).astype(np.float32)
    full = np.zeros((2, 2 * groups, 2 * 2 + 3, 1 * 3 + 4))
    for c, m, i, j in itertools.product(range(4), range(2), range(3), range(2)):
        to = (c // (4 // groups)) * 2 + m
        full[:, to, 2 * i : 2 * i + 3, 3 * j : 3 * j + 4] += x[:, c, i, j, None, None] * kernel[c, m]
    trims = {
        PaddingMode.EXPLICIT_ROUND_DOWN: np.s_[:, :, 1:-1, 0:],
        PaddingMode.SAME_UPPER: np.s_[:, :, 0:-1, 0:-1],
        PaddingMode.SAME_LOWER: np.s_[:, :, 1:, 1:],
    }
    settings = {"stride_nd": (2, 3), "num_groups": groups, "padding_mode": mode, "padding_nd": (1, 0)}
    build = layer("add_deconvolution_nd", 2 * groups, (3, 4), kernel, **settings)
    check_layer(build, {"x": x}, full[trims[mode]].astype(np.float32), rtol=1e-5, known=[1])


@pytest.mark.parametrize("kind", PoolingType)
@pytest.mark.parametrize("mode", PaddingMode)
@pytest.mark.parametrize("excludes", [False, True])
def test_pooling(kind: PoolingType, mode: PaddingMode, excludes: bool) -> None:
    build = layer(
        "add_pooling_nd",
        kind,
        (3, 3),
        initially={"type": kind, "stride_nd": (1, 1)},
        stride_nd=(2, 2),
        padding_nd=(1, 0),
        padding_mode=mode,
        average_count_excludes_padding=excludes,
        blend_factor=0.25,
    )
    pre, post = PADDINGS[mode]
    pads = [(0, 0), (0, 0), *zip(pre, post, strict=True)]
    # A place that rounding up adds counts neither way, as it is no padding.
    inside = np.pad(np.ones_like(IMAGE), pads)
    counted = inside if excludes else np.pad(inside * 0 + 1, [(0, 0)] * 4)
    if mode is PaddingMode.EXPLICIT_ROUND_UP and not excludes:
        counted[:, :, :, -1] = 0
    low, zero = np.pad(IMAGE, pads, constant_values=-np.inf), np.pad(IMAGE, pads)
    sizes = [(n - 3) // 2 + 1 for n in low.shape[2:]]
    want = np.zeros((2, 4, *sizes), np.float32)
    for i, j in itertools.product(*map(range, sizes)):
        cut = np.s_[:, :, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3]
        most = low[cut].max((2, 3))
        mean = zero[cut].sum((2, 3)) / counted[cut].sum((2, 3))
        blend = {PoolingType.MAX: 0, PoolingType.AVERAGE: 1, PoolingType.MAX_AVERAGE_BLEND: 0.25}[kind]
        want[:, :, i, j] = (1 - blend) * most + blend * mean
    check_layer(build, {"x": IMAGE}, want, rtol=1e-5)


@pytest.mark.parametrize("mode", PaddingMode)
@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize(("window", "stride"), [(1, 2), (2, 3), (3, 1), (3, 4)])
def test_padding_follows_from_sizes_that_a_run_tells(
    mode: PaddingMode, dilation: int, window: int, stride: int
) -> None:
    kernel = random.standard_normal((2, 1, window, window)).astype(np.float32)
    settings = {"stride_nd": (stride, stride), "padding_mode": mode}
    square = (window, window)
    convolution = layer("add_convolution_nd", 2, square, kernel, dilation_nd=(dilation, dilation), **settings)
    pooling = layer("add_pooling_nd", PoolingType.AVERAGE, square, **settings)
    for rows in range(5, 12):
        x = random.standard_normal((1, 1, rows, 7)).astype(np.float32)
        sizes = np.array(x.shape[2:])
        reach = 1 + dilation * (window - 1)
        pads = np.zeros((2, 2), int)
        if mode.name.startswith("SAME"):
            whole = np.maximum((sizes - 1) // stride * stride + reach - sizes, 0)
            pads = np.array([whole // 2, whole - whole // 2])[:: 1 if mode is PaddingMode.SAME_UPPER else -1]
        elif mode is PaddingMode.EXPLICIT_ROUND_UP:
            pads[1] = -(sizes - reach) % stride
        want = convolved(x, kernel, (stride, stride), *pads, (dilation, dilation), 1).astype(np.float32)
        check_layer(convolution, {"x": x}, want, rtol=1e-4, known=[1])
        places = [-(-(n - window) // stride) for n in x.shape[2:]]
        if mode is PaddingMode.EXPLICIT_ROUND_UP and any(p * stride >= n for p, n in zip(places, sizes, strict=True)):
            with pytest.raises(ModelError, match=r"its last window would begin behind the \d+ elements"):
                build_network(pooling, {"x": x})[0].graph()
            with pytest.raises(ExecutionError, match=r"its last window would begin behind the \d+ elements"):
                Model(build_network(pooling, {"x": x}, True, [1])[0].graph()).run({"x": x})
            continue
        net, [pooled] = build_network(pooling, {"x": x})
        exact = Model(net.graph()).run({"x": x})["out0"]
        assert exact.shape == tuple(pooled.shape)
        check_layer(pooling, {"x": x}, exact, known=[1])


# -- resize


RESIZES: dict[str, dict[str, Any]] = {
    "shape": {"shape": (2, 4, 14, 9)},
    "scales": {"scales": [1, 1, 2, 1.5]},
    "tensor": {"inputs": {1: np.array([2, 4, 14, 9], np.int32)}},
}


@pytest.mark.parametrize("by", RESIZES)
def test_resize_to_the_nearest(by: str) -> None:
    build = layer("add_resize", initially={"scales": []}, **RESIZES[by])
    rows, columns = np.floor(np.arange(14) * 7 / 14), np.floor(np.arange(9) * 6 / 9)
    want = IMAGE[:, :, rows.astype(int)][..., columns.astype(int)]
    check_layer(build, {"x": IMAGE}, want, dynamic=False)


def test_resize_without_size_keeps_size() -> None:
    check_layer(layer("add_resize", resize_mode=InterpolationMode.CUBIC), {"x": IMAGE}, IMAGE, rtol=1e-5)


ROUNDS: dict[ResizeRoundMode, Any] = {
    ResizeRoundMode.HALF_UP: lambda x: np.floor(x + 0.5),
    ResizeRoundMode.HALF_DOWN: lambda x: np.ceil(x - 0.5),
    ResizeRoundMode.FLOOR: np.floor,
    ResizeRoundMode.CEIL: np.ceil,
}


def places(mode: ResizeCoordinateTransformation, size: int, to: int) -> Any:
    x = np.arange(to)
    if mode is ResizeCoordinateTransformation.ASYMMETRIC:
        return x * size / to
    if mode is ResizeCoordinateTransformation.HALF_PIXEL:
        return (x + 0.5) * size / to - 0.5
    return x * (size - 1) / (to - 1)


@pytest.mark.parametrize("mode", ResizeCoordinateTransformation)
@pytest.mark.parametrize("rounding", ResizeRoundMode)
def test_where_the_nearest_is(mode: ResizeCoordinateTransformation, rounding: ResizeRoundMode) -> None:
    build = layer("add_resize", shape=(13,), coordinate_transformation=mode, nearest_rounding=rounding)
    row = np.arange(8, dtype=np.float32)
    index = ROUNDS[rounding](places(mode, 8, 13)).clip(0, 7).astype(int)
    check_layer(build, {"x": row}, row[index], dynamic=False)


@pytest.mark.parametrize("mode", ResizeCoordinateTransformation)
def test_linear_resize(mode: ResizeCoordinateTransformation) -> None:
    settings = {"resize_mode": InterpolationMode.LINEAR, "coordinate_transformation": mode}
    build = layer("add_resize", shape=(2, 4, 7, 11), **settings)
    position = places(mode, 6, 11)
    low = np.floor(position)
    part = position - low
    left, right = (IMAGE[..., (low + k).clip(0, 5).astype(int)] for k in range(2))
    check_layer(build, {"x": IMAGE}, (left * (1 - part) + right * part).astype(np.float32), dynamic=False, rtol=1e-5)


@pytest.mark.parametrize(("selector", "want"), [(ResizeSelector.FORMULA, 1.5), (ResizeSelector.UPPER, 0)])
def test_a_single_pixel(selector: ResizeSelector, want: float) -> None:
    build = layer(
        "add_resize",
        shape=(1,),
        resize_mode=InterpolationMode.LINEAR,
        coordinate_transformation=ResizeCoordinateTransformation.HALF_PIXEL,
        selector_for_single_pixel=selector,
    )
    check_layer(build, {"x": np.arange(4, dtype=np.float32)}, np.array([want], np.float32), dynamic=False)


@pytest.mark.parametrize("sample", [SampleMode.FILL, SampleMode.CLAMP])
@pytest.mark.parametrize("align", [False, True])
def test_grid_sample(sample: SampleMode, align: bool) -> None:
    grid = random.uniform(-1.4, 1.4, (2, 3, 5, 2)).astype(np.float32)
    initially = {"sample_mode": SampleMode.FILL}
    build = layer("add_grid_sample", initially=initially, sample_mode=sample, align_corners=align)
    want = np.zeros((2, 4, 3, 5), np.float32)
    for n, i, j in itertools.product(range(2), range(3), range(5)):
        position = []
        for value, size in zip(grid[n, i, j].astype(float), (6, 7), strict=True):
            place = (value + 1) / 2 * (size - 1) if align else ((value + 1) * size - 1) / 2
            position.append(place if sample is SampleMode.FILL else min(max(place, 0), size - 1))
        x0, y0 = math.floor(position[0]), math.floor(position[1])
        for dx, dy in itertools.product(range(2), range(2)):
            x, y = x0 + dx, y0 + dy
            if 0 <= x < 6 and 0 <= y < 7:
                weight = (1 - abs(position[0] - x)) * (1 - abs(position[1] - y))
                want[n, :, i, j] += (weight * IMAGE[n, :, y, x]).astype(np.float32)
    check_layer(build, {"x": IMAGE, "g": grid}, want, rtol=1e-5)


# -- boxes

CORNERS = np.array([[0, 0, 4, 4], [0, 0, 4, 3], [5, 5, 8, 8], [5, 5, 8, 7.9], [0, 6, 2, 8]], np.float32)
SCORES = np.array([[0.9, 0.2], [0.95, 0.1], [0.5, 0.8], [0.6, 0.7], [0.05, 0.3]], np.float32)
KEPT = np.array([[0, 0, 1], [0, 1, 2], [0, 0, 3], [0, 1, 4], [0, 1, 0]], np.int32)


@pytest.mark.parametrize("form", BoundingBoxFormat)
@pytest.mark.parametrize("per_class", [False, True])
def test_nms(form: BoundingBoxFormat, per_class: bool) -> None:
    boxes = CORNERS
    if form is BoundingBoxFormat.CENTER_SIZES:
        low, high = CORNERS[:, :2], CORNERS[:, 2:]
        boxes = np.concatenate([(low + high) / 2, high - low], 1)
    boxes = boxes[None, :, None].repeat(2, 2) if per_class else boxes[None]

    def build(net: Any, b: Any, s: Any) -> Any:
        layer = net.add_nms(b, s, net.const(3, np.int32))
        layer.bounding_box_format = form
        layer.set_input(3, net.const(0.5))
        layer.set_input(4, net.const(0.15))
        return layer

    feeds = {"b": boxes, "s": SCORES[None]}
    check_layer(build, feeds, KEPT, np.array(len(KEPT), np.int32), static=False)


# -- quantisation


@pytest.mark.parametrize("axis", [None, 1])
def test_quantize_and_back(axis: int | None) -> None:
    scale = np.array([0.1, 0.02, 0.5, 0.03], np.float32) if axis else np.float32(0.1)
    each = scale.reshape(-1, 1, 1) if axis else scale

    def build(net: Any, t: Any) -> Any:
        scales = net.const(scale)
        quantized = net.add_quantize(t, scales, DataType.INT8)
        restored = net.add_dequantize(quantized.get_output(0), scales)
        if axis:
            quantized.axis = restored.axis = axis
        return [quantized.get_output(0), restored.get_output(0)]

    whole = np.rint(IMAGE / each).clip(-128, 127)
    check_layer(build, {"x": IMAGE}, whole.astype(np.int8), (whole * each).astype(np.float32))


def test_quantize_with_a_zero_point() -> None:
    def build(net: Any, t: Any) -> Any:
        return layer("add_quantize", net.const(0.1), inputs={2: np.int8(10)})(net, t)

    want = (np.rint(IMAGE / np.float32(0.1)) + 10).clip(-128, 127).astype(np.int8)
    check_layer(build, {"x": IMAGE}, want)


# -- attention

Q = random.standard_normal((2, 4, 3, 8)).astype(np.float32)
K, V = (random.standard_normal((2, 2, 5, n)).astype(np.float32) for n in (8, 6))


@pytest.mark.parametrize("kind", CausalMaskKind)
@pytest.mark.parametrize("norm", AttentionNormalizationOp)
@pytest.mark.parametrize("mask", [None, "bool", "float"])
def test_attention(kind: CausalMaskKind, norm: AttentionNormalizationOp, mask: str | None) -> None:
    seen = random.random((2, 1, 3, 5)) > 0.3
    seen[..., 0] = True
    added = random.standard_normal((2, 1, 3, 5)).astype(np.float32)
    k, v = K.repeat(2, 1), V.repeat(2, 1)
    scores = Q @ k.swapaxes(2, 3)
    hidden = np.zeros((2, 4, 3, 5), bool)
    if mask == "float":
        scores = scores + added
    if mask == "bool":
        hidden |= ~seen
    if kind is not CausalMaskKind.NONE:
        hidden |= np.triu(np.ones((3, 5), bool), 1 if kind is CausalMaskKind.UPPER_LEFT else 3)
    if norm is AttentionNormalizationOp.SOFTMAX:
        grown = np.exp(np.where(hidden, -np.inf, scores - scores.max()))
        weights = grown / grown.sum(-1, keepdims=True)
    else:
        weights = np.where(hidden, 0, scores)

    def build(net: Any, q: Any, key: Any, value: Any) -> Any:
        attention = net.add_attention_v2(q, key, value, norm, kind)
        assert attention.mask is None
        assert attention.causal == (kind is not CausalMaskKind.NONE)
        if mask:
            attention.mask = net.const(seen, np.bool_) if mask == "bool" else net.const(added)
        return [attention.get_output(0)]

    check_layer(build, {"q": Q, "k": K, "v": V}, (weights @ v).astype(np.float32), rtol=1e-4)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("positions", [False, True])
def test_rotary_embedding(interleaved: bool, positions: bool) -> None:
    angles = random.uniform(-3, 3, (7, 3) if positions else (2, 3, 3)).astype(np.float32)
    ids = np.array([[6, 0, 2], [1, 1, 5]], np.int64)
    used = (angles[ids] if positions else angles)[:, None]
    turned, rest = Q[..., :6], Q[..., 6:]
    a, b = (turned[..., ::2], turned[..., 1::2]) if interleaved else (turned[..., :3], turned[..., 3:])
    c, s = np.cos(used), np.sin(used)
    pair = a * c - b * s, a * s + b * c
    joined = np.stack(pair, -1).reshape(turned.shape) if interleaved else np.concatenate(pair, -1)

    def build(net: Any, x: Any) -> Any:
        caches = net.const(np.cos(angles)), net.const(np.sin(angles))
        return layer("add_rotary_embedding", *caches, interleaved, 6, inputs={3: ids} if positions else {})(net, x)

    check_layer(build, {"x": Q}, np.concatenate([joined, rest], -1).astype(np.float32), rtol=1e-5)


def test_kv_cache_update() -> None:
    cache, new = random.standard_normal((2, 3, 6, 2)), random.standard_normal((2, 3, 2, 2))
    want = cache.copy()
    want[0, :, 4:6], want[1, :, 1:3] = new
    check_layer(
        layer("add_kv_cache_update", KVCacheMode.LINEAR),
        {"c": cache.astype(np.float32), "u": new.astype(np.float32), "i": np.array([4, 1], np.int32)},
        want.astype(np.float32),
    )


W = np.zeros((3, 4, 3, 3), np.float32)


@pytest.mark.parametrize(
    ("build", "inputs", "message"),
    [
        (layer("add_convolution_nd", 3, (3, 3), W[:2]), [IMAGE], "has 72 weights; the shape [3, 4, 3, 3]"),
        (layer("add_convolution_nd", 3, (3, 3), W, W[0, 0, 0, :2]), [IMAGE], "its bias has 2 weights"),
        (layer("add_convolution_nd", 3, (3, 3), None), [IMAGE], "has 0 weights"),
        (layer("add_convolution_nd", 3, (3, 3), W.tolist()), [IMAGE], "NumPy array"),
        (layer("add_convolution_nd", 3, (3,), W), [IMAGE], "two or three positive numbers"),
        (layer("add_convolution_nd", 3, (9, 3), np.zeros(324, "f4")), [IMAGE], "reaches over 9 elements"),
        (layer("add_convolution_nd", 3, (3, 3), W.astype("f2")), [IMAGE], "is float16"),
        (layer("add_convolution_nd", 3, (3, 3), W), [IMAGE[0]], "takes 4 to 8 dimensions"),
        (layer("add_pooling_nd", PoolingType.MAX, (2, 0)), [IMAGE], "positive numbers"),
        (layer("add_pooling_nd", 0, (2, 2)), [IMAGE], "must be a trt.PoolingType"),
        (layer("add_grid_sample"), [IMAGE, IMAGE], "the last axis is x and y"),
        (lambda net, b, s: net.add_nms(b, s, net.const(3, np.int32)), [IMAGE[0], IMAGE[0]], "do not fit"),
        (lambda net, x: net.add_quantize(x, net.const([1, 2, 3])), [IMAGE], "its axis"),
        (lambda net, x: net.add_quantize(x, net.const(1), DataType.INT32), [IMAGE], "not INT32"),
        (lambda net, x: net.add_dequantize(x, net.const(1)), [IMAGE], "takes INT8"),
        (
            lambda net, q, k: [net.add_attention(q, k, k, AttentionNormalizationOp.SOFTMAX, False).get_output(0)],
            [Q, V],
            "do not fit",
        ),
    ],
)
def test_wrong_use_is_one_error_with_the_line(build: Any, inputs: list[Any], message: str) -> None:
    assert message in build_error(build, inputs)
