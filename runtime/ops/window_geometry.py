"""Window geometry of convolution and pooling: shapes, strides, dilations, pads.

onnx.reference deviates from the specification for ``SAME_LOWER`` and for ``ceil_mode`` with pads.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ..errors import ModelError
from ..record import record
from .axis_arguments import decode_string, unknown_value_error

Shape = tuple[int, ...]
AUTO_PADS = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")


@record(frozen=True)
class ConvAttributes:
    """Common attributes of ONNX convolutions."""

    auto_pad: str = "NOTSET"
    dilations: Sequence[int] | None = None
    group: int = 1
    kernel_shape: Sequence[int] | None = None
    pads: Sequence[int] | None = None
    strides: Sequence[int] | None = None

    def kernel(self, weights: Any) -> Shape:
        """The spatial extents of the weights.

        Raises:
            ModelError: ``kernel_shape`` differs.
        """
        kernel = tuple(int(extent) for extent in weights.shape[2:])
        if self.kernel_shape is not None and tuple(self.kernel_shape) != kernel:
            raise ModelError(
                f"kernel_shape {list(self.kernel_shape)} does not fit weights of shape {weights.shape}",
                name="kernel_shape",
                expected=str(weights.shape[2:]),
                got=str(list(self.kernel_shape)),
            )
        return kernel

    def windows(self, x: Any, weights: Any) -> WindowGeometry:
        """The windows over an input."""
        return window_geometry(
            x.shape[2:], self.kernel(weights), self.strides, self.pads, self.dilations, self.auto_pad
        )


@record(frozen=True)
class PoolAttributes:
    """Common attributes of ONNX poolings."""

    kernel_shape: Sequence[int]
    auto_pad: str = "NOTSET"
    ceil_mode: int = 0
    dilations: Sequence[int] | None = None
    pads: Sequence[int] | None = None
    strides: Sequence[int] | None = None

    def windows(self, x: Any, overhang: bool = False) -> WindowGeometry:
        """The windows over an input; ``overhang``: see :func:`window_geometry`."""
        kernel = self.kernel_shape
        if x.ndim < 3:
            raise ModelError(
                f"kernel_shape {list(kernel)} does not fit an input of shape {x.shape}",
                name="kernel_shape",
                got=str(list(kernel)),
            )
        parameters = self.strides, self.pads, self.dilations, self.auto_pad, self.ceil_mode
        return window_geometry(x.shape[2:], kernel, *parameters, overhang)


@record(frozen=True)
class WindowGeometry:
    """One number per spatial axis. ``pads_after`` excludes the overhang of ``ceil_mode``."""

    size: Shape
    kernel: Shape
    strides: Shape
    dilations: Shape
    pads_before: Shape
    pads_after: Shape
    output_shape: Shape


def window_geometry(
    size: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    auto_pad: str | bytes = "NOTSET",
    ceil_mode: int = 0,
    overhang: bool = False,
) -> WindowGeometry:
    """The windows over spatial axes of these extents. ``pads``: all leading, then all trailing pads.

    ``ceil_mode``: the last window may overhang, but may start in the trailing pads only with
    ``overhang``.

    Raises:
        ModelError: the attributes are inconsistent, or no window fits.
    """
    rank = len(kernel)
    if len(size) != rank:
        raise ModelError(
            f"a kernel of shape {list(kernel)} does not fit {len(size)} spatial axes",
            name="kernel_shape",
            expected=f"{len(size)} numbers",
            got=str(list(kernel)),
        )
    edges = list(pads or (0,) * (2 * rank))
    strides, dilations = tuple(strides or (1,) * rank), tuple(dilations or (1,) * rank)
    if not len(strides) == len(dilations) == rank == len(edges) / 2 or min(*strides, *dilations, *kernel, 1) < 1:
        name, got = ("pads", edges) if len(edges) != 2 * rank else ("strides", list(strides))
        what = f"strides, dilations and pads do not fit a kernel of shape {list(kernel)}"
        raise ModelError(what, name=name, expected=f"{rank} positive numbers", got=str(got))
    mode = decode_string(auto_pad)
    if mode not in AUTO_PADS:
        raise unknown_value_error("auto_pad", mode, AUTO_PADS)
    extents = tuple(int(n) for n in size)
    return _window_geometry(extents, tuple(kernel), strides, tuple(edges), dilations, mode, bool(ceil_mode), overhang)


@lru_cache(maxsize=1024)
def _window_geometry(
    size: Shape,
    kernel: Shape,
    strides: Shape,
    pads: Shape,
    dilations: Shape,
    mode: str,
    ceil_mode: bool,
    overhang: bool,
) -> WindowGeometry:
    rank = len(kernel)
    before, after, out = [], [], []
    for k, (n, step) in enumerate(zip(size, strides, strict=True)):
        span = (kernel[k] - 1) * dilations[k] + 1
        if mode.startswith("SAME"):
            count = -(-n // step)
            missing = max(0, (count - 1) * step + span - n)
            first = (missing + (mode == "SAME_LOWER")) // 2
            last = missing - first
        else:
            # By the specification's formulas, VALID ignores ceil_mode; onnxruntime adds a window.
            first, last = (pads[k], pads[rank + k]) if mode == "NOTSET" else (0, 0)
            free = n + first + last - span
            if free < 0 and n:
                raise ModelError(
                    f"a window of {span} does not fit spatial axis {k} of {list(size)} with its pads",
                    name="kernel_shape",
                    expected=f"at most {size[k]}",
                    got=str(span),
                )
            count = max(0, free // step + 1)
            if ceil_mode and mode == "NOTSET" and free % step and (overhang or count * step < n + first):
                count += 1
        before.append(first)
        after.append(last)
        out.append(count)
    return WindowGeometry(size, kernel, strides, dilations, tuple(before), tuple(after), tuple(out))
