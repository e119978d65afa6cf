"""``com.microsoft.nchwc``: images with blocked channels, ``[batch, channels / block, height, width, block]``.

onnxruntime emits it in models saved after full optimization for the host processor. The declared shape remains
``[batch, channels, height, width]``, and other operators in between (sums, Concat, activations) use the blocked data
unchanged. The file does not contain the block size; the reader infers it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ModelError
from ..graph import Array
from .axis_arguments import shape_error, unknown_value_error
from .microsoft_fused_matmul import apply_activation, nchw_to_nhwc, nhwc_to_nchw
from .registry import Floats, Ints, apply_standard_operator, inherit_attributes, onnx
from .window_geometry import ConvAttributes, PoolAttributes

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any
NCHWC = "com.microsoft.nchwc"
_MODES = ("asymmetric", "align_corners", "half_pixel")


def _check_image(x: T, block: int) -> None:
    """Raises: ModelError: not an image with channels in full blocks."""
    if x.ndim != 4 or x.shape[1] % block:
        raise shape_error("input", x.shape, f"is no image with channels in blocks of {block}")


def unblock_channels(p: P, x: T, block: int) -> T:
    """Convert blocked channels to NCHW."""
    _check_image(x, block)
    n, c, h, w = x.shape
    return p.reshape(p.transpose(p.reshape(x, (n, c // block, h, w, block)), (0, 1, 4, 2, 3)), (n, c, h, w))


def block_channels(p: P, x: T, block: int) -> T:
    """The inverse of :func:`unblock_channels`."""
    _check_image(x, block)
    n, c, h, w = x.shape
    return p.reshape(p.transpose(p.reshape(x, (n, c // block, block, h, w)), (0, 1, 3, 4, 2)), (n, c, h, w))


@onnx("ReorderInput", domain=NCHWC)
def reorder_input(p: P, x: T, *, channels_last: int = 0, block: int) -> T:
    """Missing channels of the last block are zero."""
    if x.ndim != 4:
        raise shape_error("input", x.shape, "is no image")
    x = nhwc_to_nchw(p, x) if channels_last else x
    n, c, h, w = x.shape
    size = -(-c // block) * block
    return block_channels(p, x if size == c else p.assemble((n, size, h, w), x.dtype, [(x, (0, 0, 0, 0))], 0), block)


@onnx("ReorderOutput", domain=NCHWC)
def reorder_output(p: P, x: T, *, channels: int = 0, channels_last: int = 0, block: int) -> T:
    _check_image(x, block)
    n, c, h, w = x.shape
    if not c - block < channels <= c:
        raise ModelError(
            f"channels={channels} do not fill {c // block} blocks of {block}", name="channels", got=str(channels)
        )
    result = p.slice(unblock_channels(p, x, block), (0,) * 4, (1,) * 4, (n, channels, h, w))
    return nchw_to_nhwc(p, result) if channels_last else result


@onnx("Conv", domain=NCHWC)
@inherit_attributes(ConvAttributes)
def conv(
    p: P,
    x: T,
    w: T,
    b: T | None = None,
    z: T | None = None,
    *,
    activation: str = "",
    activation_params: Floats = (),
    block: int,
    **attributes: Any,
) -> T:
    """An image with fewer channels than a block is not blocked."""
    if w.ndim != 4 or w.shape[0] % block:
        raise shape_error("kernel", w.shape, f"has no blocks of {block} channels")
    unblocked_inputs = w.shape[1] < block
    layout = UnblockedKernelLayout(block, unblocked_inputs)
    weights = p.constant_in_layout(w, layout)
    if weights is None:
        weights = _unblock_kernel(p, w, block, unblocked_inputs)
    image = x if unblocked_inputs and attributes.get("group", 1) == 1 else unblock_channels(p, x, block)
    (y,) = apply_standard_operator(p, "Conv", (image, weights) if b is None else (image, weights, b), **attributes)
    y = block_channels(p, y, block)
    return apply_activation(p, y if z is None else p.map(np.add, y, z), activation, tuple(activation_params))


def _unblock_kernel(p: P, w: T, block: int, unblocked_inputs: bool) -> T:
    """``[outputs, inputs, height, width]`` from a kernel with blocked outputs and, unless ``few``, blocked inputs."""
    o, i, h, v = w.shape
    if unblocked_inputs:
        return p.reshape(p.transpose(p.reshape(w, (o // block, i, h, v, block)), (0, 4, 1, 2, 3)), w.shape)
    if i % block:
        raise shape_error("kernel", w.shape, f"has no blocks of {block} channels")
    blocked = p.reshape(w, (o // block, i // block, h, v, block, block))
    return p.reshape(p.transpose(blocked, (0, 5, 1, 4, 2, 3)), w.shape)


class UnblockedKernelLayout:
    """:func:`_unblock_kernel` for a constant."""

    def __init__(self, block: int, unblocked_inputs: bool) -> None:
        self.key = block, unblocked_inputs

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnblockedKernelLayout) and self.key == other.key

    def __call__(self, w: Array) -> Array:
        from .eager import EagerPrimitives

        return np.ascontiguousarray(_unblock_kernel(EagerPrimitives(), w, *self.key))


def _pool_blocked(p: P, op_type: str, x: T, block: int, **attributes: Any) -> T:
    return block_channels(
        p, apply_standard_operator(p, op_type, (unblock_channels(p, x, block),), **attributes)[0], block
    )


@onnx("MaxPool", domain=NCHWC)
@inherit_attributes(PoolAttributes)
def max_pool(p: P, x: T, *, storage_order: int = 0, block: int, **attributes: Any) -> T:
    """``storage_order`` has no effect without the indices output."""
    return _pool_blocked(p, "MaxPool", x, block, **attributes)


@onnx("AveragePool", domain=NCHWC)
@inherit_attributes(PoolAttributes)
def average_pool(p: P, x: T, *, count_include_pad: int = 0, block: int, **attributes: Any) -> T:
    return _pool_blocked(p, "AveragePool", x, block, count_include_pad=count_include_pad, **attributes)


@onnx("GlobalAveragePool", domain=NCHWC)
def global_average_pool(p: P, x: T, *, block: int) -> T:
    return _pool_blocked(p, "GlobalAveragePool", x, block)


@onnx("GlobalMaxPool", domain=NCHWC)
def global_max_pool(p: P, x: T, *, block: int) -> T:
    return _pool_blocked(p, "GlobalMaxPool", x, block)


@onnx("Upsample", domain=NCHWC)
def upsample(
    p: P, x: T, *, scales: Ints, coordinate_transformation_mode: str = "asymmetric", mode: str = "nearest", block: int
) -> T:
    if mode not in ("nearest", "linear"):
        raise unknown_value_error("mode", mode, ("nearest", "linear"))
    modes = _MODES[:1] if mode == "nearest" else _MODES
    if coordinate_transformation_mode not in modes:
        raise unknown_value_error("coordinate_transformation_mode", coordinate_transformation_mode, modes)
    if len(scales) != 4 or min(scales) < 1 or tuple(scales[:2]) != (1, 1):
        raise ModelError(
            f"scales={list(scales)} are not 1, 1 and two positive numbers", name="scales", got=str(list(scales))
        )
    factors = p.constant(np.array(scales, np.float32))
    attributes: dict[str, Any] = {
        "mode": mode,
        "coordinate_transformation_mode": coordinate_transformation_mode,
        "nearest_mode": "floor",
    }
    return block_channels(
        p,
        apply_standard_operator(p, "Resize", (unblock_channels(p, x, block), None, factors), version=13, **attributes)[
            0
        ],
        block,
    )
