"""Histograms of sweep results: iteration counts and measures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from .figures import NotebookFigure, escape_math_markup

#: The maximum number of bars and of axes.
_MAX_BARS, _MAX_AXES = 40, 20
#: Numbers with a larger ratio get logarithmic bars.
_LOG_SCALE_MIN_RATIO = 100.0


def plot_histograms(samples: Sequence[tuple[str, Sequence[float]]], title: str) -> Figure:
    """Plot a histogram of each labelled set of numbers. Positive values with a large ratio get a logarithmic scale."""
    omitted = len(samples) - _MAX_AXES
    samples = samples[:_MAX_AXES]
    figure = NotebookFigure(figsize=(7.0, 1.0 + 2.0 * max(1, len(samples))), layout="constrained")
    axes = figure.subplots(max(1, len(samples)), 1, squeeze=False)[:, 0]
    for axis, (label, numbers) in zip(axes, samples, strict=False):
        _draw_histogram(axis, label, np.asarray(numbers, np.float64))
    note = f" ({omitted} more are not drawn)" if omitted > 0 else ""
    figure.suptitle(escape_math_markup(title + note), fontsize="medium")
    return figure


def _draw_histogram(axis: Axes, label: str, numbers: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> None:
    axis.set_xlabel(escape_math_markup(label))
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
