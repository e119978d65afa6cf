"""Matplotlib figures of histories and arrays. Lines differ in more than colour, and scales are labelled."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from ...runtime.text import escape_unprintable
from ..statistics.value_history import Numbers, ValueHistory
from ..value_text import number_text

_T = TypeVar("_T")
_LINE_STYLES = ("-", "--", "-.", ":")
_MARKERS = "o^sDvP"
#: Curves with at most this many points have markers.
_MARKER_MAX_POINTS = 40
#: The maximum rows and columns of a heat map; larger arrays are subsampled.
_HEATMAP_MAX_SIDE = 1000
#: Values with a larger ratio get a logarithmic scale.
_LOG_SCALE_MIN_RATIO = 100.0
#: The maximum length of titles and legends, and of axis labels with several rows or a single one.
_TITLE_MAX_CHARS, _ROW_LABEL_MAX_CHARS, _SINGLE_LABEL_MAX_CHARS = 60, 24, 40
#: The number of axes with full height, and the maximum number of axes.
_FULL_HEIGHT_AXES, _MAX_AXES = 12, 40
#: With more curves the legend is below the axes, so that it hides none; its maximum number of lines.
_LEGEND_INSIDE_MAX_CURVES, _LEGEND_MAX_LINES = 4, 20
#: The minimum share of curves in a figure's height, and the height of its margins in inches.
_CURVES_MIN_SHARE, _MARGIN_HEIGHT_INCHES = 0.5, 1.2


class NotebookFigure(Figure):
    """A figure with notebook rendering independent of the backend."""

    def savefig(self, *args: Any, **kwargs: Any) -> None:
        # Element ids in SVG are content hashes instead of random.
        with _ignore_missing_glyphs(), rc_context({"svg.hashsalt": "loopdbg"}):
            super().savefig(*args, **kwargs)

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png")
        return file.getvalue()


@contextmanager
def _ignore_missing_glyphs() -> Iterator[None]:
    """Suppress warnings for glyphs that the font lacks, which are drawn as boxes."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph ")
        yield


@dataclass(frozen=True, eq=False)
class Curve:
    """A history with its label."""

    label: str
    history: ValueHistory

    @property
    def quantity(self) -> str:
        """The plotted quantity."""
        return f"norm of {self.label}" if self.history.is_tensor else self.label


def plot_curves(curves: Sequence[Curve], title: str, *, remark: str = "") -> Figure:
    """Plot values over iterations, each on its own axes. ``remark``: a line below the title."""
    curves, remark = _limit_items(curves, _MAX_AXES, remark)
    rows = max(1, len(curves))
    figure = _create_figure(rows)
    axes = figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]
    for k, (axis, curve) in enumerate(zip(axes, curves, strict=False)):
        _draw_curve(axis, curve, k)
        axis.set_ylabel(_label_text(curve.quantity, _ROW_LABEL_MAX_CHARS if rows > 1 else _SINGLE_LABEL_MAX_CHARS))
        _set_scale(axis, [curve], None)
        _add_bucket_note(axis, curve.history)
    axes[0].set_title(remark, fontsize="small", loc="left")
    _finish_figure(figure, axes[-1], title)
    return figure


def plot_overlaid(curves: Sequence[Curve], title: str, *, log: bool | None = None, remark: str = "") -> Figure:
    """Plot values over iterations on common axes."""
    figure = _create_figure(1)
    axis = figure.subplots()
    quantity = "norm" if all(curve.history.is_tensor for curve in curves) else "value"
    labels = _distinct_labels([curve.label if quantity == "norm" else curve.quantity for curve in curves])
    for k, (curve, label) in enumerate(zip(curves, labels, strict=True)):
        _draw_curve(axis, curve, k, label)
    _set_scale(axis, curves, log)
    axis.set_ylabel(quantity)
    axis.set_title(remark, fontsize="small", loc="left")
    _finish_figure(figure, axis, title)
    _add_legend(figure, axis)
    return figure


def plot_comparison_sides(left: Curve, sign: str, right: Curve, title: str) -> Figure:
    """Plot the two sides of the deciding comparison over iterations."""
    figure = _create_figure(1)
    axis = figure.subplots()
    for k, c in enumerate((left, right)):
        _draw_curve(axis, c, k)
    _set_scale(axis, (left, right), None)
    axis.set_ylabel(f" {sign} ".join(_label_text(c.label, _SINGLE_LABEL_MAX_CHARS // 2 - 2) for c in (left, right)))
    axis.legend()
    _label_threshold(axis, right.history)
    _add_bucket_note(axis, left.history)
    _finish_figure(figure, axis, title)
    return figure


def _label_threshold(axis: Axes, history: ValueHistory) -> None:
    """Label the line of a side that is constant with its number."""
    values = set(np.concatenate([history.value.low, history.value.high]).tolist())
    if len(values) != 1 or not math.isfinite(value := values.pop()):
        return
    transform = axis.get_yaxis_transform()
    axis.text(1.01, value, number_text(value), transform=transform, va="center", fontsize="small")


def plot_difference(pairs: Sequence[tuple[Curve, Curve]], title: str) -> Figure:
    """Plot the values of two runs, with their difference below on a logarithmic scale."""
    pairs, remark = _limit_items(pairs, _MAX_AXES // 2)
    figure = _create_figure(2 * len(pairs))
    axes = figure.subplots(2 * len(pairs), 1, sharex=True, squeeze=False)[:, 0]
    for k, (a, b) in enumerate(pairs):
        upper, lower = axes[2 * k], axes[2 * k + 1]
        _draw_curve(upper, a, 0)
        _draw_curve(upper, b, 1)
        upper.set_ylabel("norm" if a.history.is_tensor else "value")
        upper.legend()
        iterations, difference = differences(a.history, b.history)
        lower.plot(
            iterations,
            difference,
            "k-",
            marker="." if len(iterations) <= _MARKER_MAX_POINTS else "",
            label="difference",
        )
        lower.set_ylabel("|difference|" + (" of norms" if a.history.is_tensor else ""))
        if (difference > 0).any():
            lower.set_yscale("log")
        else:
            lower.text(0.5, 0.6, "no difference", transform=lower.transAxes, ha="center")
    axes[0].set_title(remark, fontsize="small", loc="left")
    _finish_figure(figure, axes[-1], title)
    return figure


def differences(first: ValueHistory, second: ValueHistory) -> tuple[npt.NDArray[np.int64], Numbers]:
    """The common iterations, and the absolute differences."""
    shared, i, j = np.intersect1d(first.iterations, second.iterations, return_indices=True)
    with np.errstate(all="ignore"):
        return shared, np.abs(first.value.first[i] - second.value.first[j])


def plot_heatmap(grid: npt.NDArray[Any], title: str, rows: str, columns: str) -> Figure:
    """Plot a table as a heat map; non-finite values are white and counted."""
    figure = _create_figure(2)
    axis = figure.subplots()
    sample, steps = _subsample(grid)
    finite = np.isfinite(sample)
    image = axis.imshow(
        np.ma.masked_array(sample, ~finite),
        aspect="auto",
        interpolation="nearest",
        origin="upper",
        extent=(-0.5, grid.shape[1] - 0.5, grid.shape[0] - 0.5, -0.5),
    )
    figure.colorbar(image, ax=axis)
    axis.set_ylabel(rows)
    notes = [f"every {step}. {kind}" for step, kind in zip(steps, ("row", "column"), strict=True) if step > 1]
    missing = int((~finite).sum())
    notes += [f"{missing} not finite, white"] if missing else []
    axis.yaxis.set_major_locator(MaxNLocator(integer=True))
    _finish_figure(figure, axis, title + (f" ({', '.join(notes)})" if notes else ""), columns)
    return figure


def plot_elements(values: npt.NDArray[Any], title: str) -> Figure:
    """Plot the elements of a 1-D tensor."""
    figure = _create_figure(1)
    axis = figure.subplots()
    (sample,), (step, _) = _subsample(values.reshape(1, -1).T)[0].T, _subsample(values.reshape(-1, 1))[1]
    axis.plot(np.arange(0, values.size, step), sample, marker="." if len(sample) <= _MARKER_MAX_POINTS else "")
    _finish_figure(figure, axis, title + (f" (every {step}. element)" if step > 1 else ""), "element")
    return figure


def plot_series(
    iterations: Sequence[float], series: Sequence[tuple[str, Sequence[float]]], title: str, quantity: str
) -> NotebookFigure:
    """Plot labelled numbers over iterations on common axes."""
    figure = _create_figure(2)
    axis = figure.subplots()
    labels = _distinct_labels([label for label, _ in series])
    for k, (label, (_, values)) in enumerate(zip(labels, series, strict=True)):
        axis.plot(iterations, values, linestyle=_LINE_STYLES[k % len(_LINE_STYLES)], label=label)
    axis.set_ylim(bottom=0)
    axis.set_ylabel(quantity)
    _finish_figure(figure, axis, title)
    _add_legend(figure, axis)
    return figure


def _create_figure(rows: int) -> NotebookFigure:
    height = 2.2 * min(rows, _FULL_HEIGHT_AXES) + 1.4 * max(rows - _FULL_HEIGHT_AXES, 0)
    return NotebookFigure(figsize=(7.2, 1.2 + height), layout="constrained")


def _limit_items(items: Sequence[_T], limit: int, remark: str = "") -> tuple[Sequence[_T], str]:
    """The first items, and a remark on the omitted ones."""
    if len(items) <= limit:
        return items, remark
    return items[:limit], "; ".join(filter(None, [remark, f"{len(items) - limit} more are left out"]))


def _draw_curve(axis: Axes, curve: Curve, k: int, label: str | None = None) -> None:
    history = curve.history
    x, y = history.iterations, history.value.last
    marks = {"marker": _MARKERS[k % len(_MARKERS)], "markersize": 4.0} if len(x) <= _MARKER_MAX_POINTS else {}
    label = _label_text(curve.quantity, _TITLE_MAX_CHARS) if label is None else label
    (line,) = axis.plot(x, y, linestyle=_LINE_STYLES[k % len(_LINE_STYLES)], label=label, **marks)  # type: ignore[arg-type]
    if history.bucket > 1:
        # Draw the range of each bucket, so that narrow spikes stay visible.
        axis.fill_between(x, history.value.low, history.value.high, alpha=0.3, color=line.get_color(), linewidth=0)
    non_finite = history.value.odd > 0
    if non_finite.any():
        base = np.full(int(non_finite.sum()), 0.02)
        axis.plot(x[non_finite], base, "rx", transform=axis.get_xaxis_transform(), label=f"{label}: NaN or infinite")


def _set_scale(axis: Axes, curves: Sequence[Curve], log: bool | None) -> None:
    numbers = [np.concatenate([curve.history.value.low, curve.history.value.high]) for curve in curves]
    values = np.concatenate(numbers) if numbers else np.empty(0)
    values = values[np.isfinite(values)]
    positive = values[values > 0]
    if log is None:
        log = bool(positive.size and values.min() >= 0 and positive.max() / positive.min() > _LOG_SCALE_MIN_RATIO)
    if log and positive.size:
        # Zeros are common in differences: the scale is linear below the smallest positive number.
        axis.set_yscale("symlog" if values.min() <= 0 else "log", **_symlog_options(values, positive))


def _symlog_options(values: npt.NDArray[Any], positive: npt.NDArray[Any]) -> dict[str, Any]:
    return {"linthresh": 10.0 ** np.floor(np.log10(positive.min()))} if values.min() <= 0 else {}


def _add_bucket_note(axis: Axes, history: ValueHistory) -> None:
    notes = [f"{history.bucket} iterations a point"] if history.bucket > 1 else []
    if notes:
        axis.set_title(", ".join(notes), fontsize="small", loc="right")


def _add_legend(figure: Figure, axis: Axes) -> None:
    """Add a legend inside the axes for few curves, else below them in as many columns as fit. The figure grows, so that
    the curves keep their height."""
    handles, labels = axis.get_legend_handles_labels()
    if len(handles) <= _LEGEND_INSIDE_MAX_CURVES:
        axis.legend()
        return
    with _ignore_missing_glyphs():
        column = figure.legend(handles, labels, fontsize="small", columnspacing=1, borderpad=1)
        window, size = figure.get_window_extent(), column.get_window_extent()
        column.remove()
    line_height = size.height / len(handles) / figure.dpi
    # The padding of a column counts on both sides: between columns and at the edges.
    columns = max(1, int(window.width / size.width))
    lines = min(_LEGEND_MAX_LINES, -(-len(handles) // columns))
    if len(handles) > columns * lines:
        count = columns * lines - 1
        labels = [*labels[:count], f"… and {len(labels) - count} more"]
        handles = [*handles[:count], Line2D([], [], linestyle="none")]
    figure.legend(
        handles, labels, loc="outside lower center", ncols=columns, columnspacing=1, fontsize="small", frameon=False
    )
    height = lines * line_height
    figure.set_figheight(
        max(figure.get_figheight() + height, (_MARGIN_HEIGHT_INCHES + height) / (1 - _CURVES_MIN_SHARE))
    )


def _finish_figure(figure: Figure, axis: Axes, title: str, label: str = "iteration") -> None:
    axis.set_xlabel(label)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.suptitle(_label_text(title, _TITLE_MAX_CHARS))


def _distinct_labels(labels: Sequence[str]) -> list[str]:
    """Legend labels, cut to the shortest length that keeps them distinct."""
    for limit in (_ROW_LABEL_MAX_CHARS, _SINGLE_LABEL_MAX_CHARS, _TITLE_MAX_CHARS):
        cut = [_label_text(label, limit) for label in labels]
        if len(set(cut)) == len(set(labels)):
            break
    return cut


def _label_text(text: str, limit: int) -> str:
    """A label without math markup, cut in the middle to ``limit`` characters."""
    if len(text) > limit:
        text = f"{text[: limit // 2]}…{text[-(limit - limit // 2 - 1) :]}"
    text = f" {text}" if text.startswith("_") else text  # legends omit labels with a leading underscore
    return escape_math_markup(text)


def escape_math_markup(text: str) -> str:
    """Escape text so that matplotlib draws it without math markup."""
    return escape_unprintable(text).replace("$", r"\$")


def _subsample(grid: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], tuple[int, int]]:
    """A subsample of a large table as float64, and its steps."""
    steps = -(-grid.shape[0] // _HEATMAP_MAX_SIDE) or 1, -(-grid.shape[1] // _HEATMAP_MAX_SIDE) or 1
    sample = grid[:: steps[0], :: steps[1]]
    with np.errstate(all="ignore"):
        return (np.abs(sample) if sample.dtype.kind == "c" else sample).astype(np.float64), steps
