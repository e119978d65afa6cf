"""What a sweep found, as a figure: how often loops ran, and how measures are spread."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from .figures import NotebookFigure, as_plain_text

#: Bars of a histogram, and axes below each other.
_MAX_BARS, _MAX_AXES = 40, 20
#: Numbers further apart than this have bars that grow.
_LOG_SCALE_MIN_RATIO = 100.0


def plot_histograms(shown: Sequence[tuple[str, Sequence[float]]], title: str) -> Figure:
    """A histogram of each of some sets of numbers, with what they are of. Values that are far apart, all above 0, stand
    on a logarithmic scale."""
    left_out = len(shown) - _MAX_AXES
    shown = shown[:_MAX_AXES]
    figure = NotebookFigure(figsize=(7.0, 1.0 + 2.0 * max(1, len(shown))), layout="constrained")
    axes = figure.subplots(max(1, len(shown)), 1, squeeze=False)[:, 0]
    for axis, (what, numbers) in zip(axes, shown, strict=False):
        _draw_histogram(axis, what, np.asarray(numbers, np.float64))
    more = f" ({left_out} more are not drawn)" if left_out > 0 else ""
    figure.suptitle(as_plain_text(title + more), fontsize="medium")
    return figure


def _draw_histogram(axis: Axes, what: str, numbers: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> None:
    axis.set_xlabel(as_plain_text(what))
    axis.set_ylabel("cases")
    axis.yaxis.set_major_locator(MaxNLocator(integer=True))
    if not numbers.size:
        axis.text(0.5, 0.5, "no numbers", ha="center", va="center", transform=axis.transAxes)
        return
    low, high = float(numbers.min()), float(numbers.max())
    if low > 0 and high > _LOG_SCALE_MIN_RATIO * low:
        axis.set_xscale("log")
        axis.hist(numbers, bins=np.geomspace(low, high, _MAX_BARS + 1).tolist())
    elif bool((numbers == np.rint(numbers)).all()) and high - low < _MAX_BARS:
        axis.hist(numbers, bins=np.arange(low - 0.5, high + 1).tolist(), rwidth=0.9)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    else:
        axis.hist(numbers, bins=_MAX_BARS)
