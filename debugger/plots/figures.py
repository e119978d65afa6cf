"""Numbers as figures of matplotlib. Lines differ in more than colour, and scales are named."""

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
#: Fewer points than this are marked.
_MARKER_MAX_POINTS = 40
#: A picture has no more rows and columns: of larger arrays some are taken.
_HEATMAP_MAX_SIDE = 1000
#: Numbers further apart than this stand on a logarithmic scale.
_LOG_SCALE_MIN_RATIO = 100.0
#: So many characters have room across a picture (a legend, a title), beside one of several rows, and beside one alone.
_TITLE_MAX_CHARS, _ROW_LABEL_MAX_CHARS, _SINGLE_LABEL_MAX_CHARS = 60, 24, 40
#: More axes than this below each other are lower, and there are at most so many.
_FULL_HEIGHT_AXES, _MAX_AXES = 12, 40
#: More curves than this are named below the axes, where names hide none of them, in at most so many lines.
_LEGEND_INSIDE_MAX_CURVES, _LEGEND_MAX_LINES = 4, 20
#: What curves have at least of a picture's height, and what is around them beside names, in inches.
_CURVES_MIN_SHARE, _MARGIN_HEIGHT_INCHES = 0.5, 1.2


class NotebookFigure(Figure):
    """A figure that a notebook draws by itself, whatever its backend."""

    def savefig(self, *args: Any, **kwargs: Any) -> None:
        # Names of shapes in SVG are made of what they show, and not at random.
        with _ignore_missing_glyphs(), rc_context({"svg.hashsalt": "loopdbg"}):
            super().savefig(*args, **kwargs)

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png")
        return file.getvalue()


@contextmanager
def _ignore_missing_glyphs() -> Iterator[None]:
    """Boxes stand for what the font lacks; a warning for each character tells no more."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph ")
        yield


@dataclass(frozen=True, eq=False)
class Curve:
    """A history with what it is called in the picture."""

    label: str
    history: ValueHistory

    @property
    def quantity(self) -> str:
        """What its numbers are."""
        return f"norm of {self.label}" if self.history.is_tensor else self.label


def plot_curves(shown: Sequence[Curve], title: str, *, log: bool | None = None, remark: str = "") -> Figure:
    """Values over iterations, each on axes of its own. ``log``: None, where they are far apart. ``remark``: a line
    below the title."""
    shown, remark = _limit_shown(shown, _MAX_AXES, remark)
    rows = max(1, len(shown))
    figure = _create_figure(rows)
    axes = figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]
    for k, (axis, one) in enumerate(zip(axes, shown, strict=False)):
        _draw_curve(axis, one, k)
        axis.set_ylabel(_label_text(one.quantity, _ROW_LABEL_MAX_CHARS if rows > 1 else _SINGLE_LABEL_MAX_CHARS))
        _set_scale(axis, [one], log)
        _add_bucket_note(axis, one.history)
    axes[0].set_title(remark, fontsize="small", loc="left")
    _finish_figure(figure, axes[-1], title)
    return figure


def plot_overlaid(shown: Sequence[Curve], title: str, *, log: bool | None = None, remark: str = "") -> Figure:
    """Values over iterations, all on the same axes, however many they are."""
    figure = _create_figure(1)
    axis = figure.subplots()
    what = "norm" if all(one.history.is_tensor for one in shown) else "value"
    labels = _distinct_labels([one.label if what == "norm" else one.quantity for one in shown])
    for k, (one, label) in enumerate(zip(shown, labels, strict=True)):
        _draw_curve(axis, one, k, label)
    _set_scale(axis, shown, log)
    axis.set_ylabel(what)
    axis.set_title(remark, fontsize="small", loc="left")
    _finish_figure(figure, axis, title)
    _add_legend(figure, axis)
    return figure


def plot_comparison_sides(left: Curve, sign: str, right: Curve, title: str) -> Figure:
    """The two sides of the comparison that decides, over iterations."""
    figure = _create_figure(1)
    axis = figure.subplots()
    for k, one in enumerate((left, right)):
        _draw_curve(axis, one, k)
    _set_scale(axis, (left, right), None)
    axis.set_ylabel(f" {sign} ".join(_label_text(one.label, _SINGLE_LABEL_MAX_CHARS // 2 - 2) for one in (left, right)))
    axis.legend()
    _label_threshold(axis, right.history)
    _add_bucket_note(axis, left.history)
    _finish_figure(figure, axis, title)
    return figure


def _label_threshold(axis: Axes, history: ValueHistory) -> None:
    """The number of a side that is one number all the time, on its line."""
    seen = set(np.concatenate([history.value.low, history.value.high]).tolist())
    if len(seen) != 1 or not math.isfinite(value := seen.pop()):
        return
    across = axis.get_yaxis_transform()
    axis.text(1.01, value, number_text(value), transform=across, va="center", fontsize="small")


def plot_difference(pairs: Sequence[tuple[Curve, Curve]], title: str) -> Figure:
    """Two runs: their values above, and below how far apart they are, on a logarithmic scale."""
    pairs, remark = _limit_shown(pairs, _MAX_AXES // 2)
    figure = _create_figure(2 * len(pairs))
    axes = figure.subplots(2 * len(pairs), 1, sharex=True, squeeze=False)[:, 0]
    for k, (one, other) in enumerate(pairs):
        above, below = axes[2 * k], axes[2 * k + 1]
        _draw_curve(above, one, 0)
        _draw_curve(above, other, 1)
        above.set_ylabel("norm" if one.history.is_tensor else "value")
        above.legend()
        iterations, difference = differences(one.history, other.history)
        below.plot(
            iterations,
            difference,
            "k-",
            marker="." if len(iterations) <= _MARKER_MAX_POINTS else "",
            label="difference",
        )
        below.set_ylabel("|difference|" + (" of norms" if one.history.is_tensor else ""))
        if (difference > 0).any():
            below.set_yscale("log")
        else:
            below.text(0.5, 0.6, "no difference", transform=below.transAxes, ha="center")
    axes[0].set_title(remark, fontsize="small", loc="left")
    _finish_figure(figure, axes[-1], title)
    return figure


def differences(one: ValueHistory, other: ValueHistory) -> tuple[npt.NDArray[np.int64], Numbers]:
    """The iterations that both know, and how far apart they are there."""
    shared, mine, theirs = np.intersect1d(one.iterations, other.iterations, return_indices=True)
    with np.errstate(all="ignore"):
        return shared, np.abs(one.value.first[mine] - other.value.first[theirs])


def plot_heatmap(grid: npt.NDArray[Any], title: str, rows: str, columns: str) -> Figure:
    """A table of numbers as colours; what is not finite is left white and counted."""
    figure = _create_figure(2)
    axis = figure.subplots()
    shown, steps = _subsample(grid)
    finite = np.isfinite(shown)
    image = axis.imshow(
        np.ma.masked_array(shown, ~finite),
        aspect="auto",
        interpolation="nearest",
        origin="upper",
        extent=(-0.5, grid.shape[1] - 0.5, grid.shape[0] - 0.5, -0.5),
    )
    figure.colorbar(image, ax=axis)
    axis.set_ylabel(rows)
    notes = [f"every {step}. {what}" for step, what in zip(steps, ("row", "column"), strict=True) if step > 1]
    lost = int((~finite).sum())
    notes += [f"{lost} not finite, white"] if lost else []
    axis.yaxis.set_major_locator(MaxNLocator(integer=True))
    _finish_figure(figure, axis, title + (f" ({', '.join(notes)})" if notes else ""), columns)
    return figure


def plot_elements(values: npt.NDArray[Any], title: str) -> Figure:
    """The elements of a tensor of one axis."""
    figure = _create_figure(1)
    axis = figure.subplots()
    (shown,), (step, _) = _subsample(values.reshape(1, -1).T)[0].T, _subsample(values.reshape(-1, 1))[1]
    axis.plot(np.arange(0, values.size, step), shown, marker="." if len(shown) <= _MARKER_MAX_POINTS else "")
    _finish_figure(figure, axis, title + (f" (every {step}. element)" if step > 1 else ""), "element")
    return figure


def _create_figure(rows: int) -> NotebookFigure:
    height = 2.2 * min(rows, _FULL_HEIGHT_AXES) + 1.4 * max(rows - _FULL_HEIGHT_AXES, 0)
    return NotebookFigure(figsize=(7.2, 1.2 + height), layout="constrained")


def _limit_shown(shown: Sequence[_T], most: int, remark: str = "") -> tuple[Sequence[_T], str]:
    """The first of what is to be drawn, and a remark on the rest."""
    if len(shown) <= most:
        return shown, remark
    return shown[:most], "; ".join(filter(None, [remark, f"{len(shown) - most} more have no room here"]))


def _draw_curve(axis: Axes, one: Curve, k: int, label: str | None = None) -> None:
    history = one.history
    x, y = history.iterations, history.value.last
    marks = {"marker": _MARKERS[k % len(_MARKERS)], "markersize": 4.0} if len(x) <= _MARKER_MAX_POINTS else {}
    label = _label_text(one.quantity, _TITLE_MAX_CHARS) if label is None else label
    (drawn,) = axis.plot(x, y, linestyle=_LINE_STYLES[k % len(_LINE_STYLES)], label=label, **marks)  # type: ignore[arg-type]
    if history.bucket > 1:
        # Of a bucket all that was in it: a spike is visible however narrow it is.
        axis.fill_between(x, history.value.low, history.value.high, alpha=0.3, color=drawn.get_color(), linewidth=0)
    odd = history.value.odd > 0
    if odd.any():
        base = np.full(int(odd.sum()), 0.02)
        axis.plot(x[odd], base, "rx", transform=axis.get_xaxis_transform(), label=f"{label}: NaN or infinite")


def _set_scale(axis: Axes, shown: Sequence[Curve], log: bool | None) -> None:
    numbers = [np.concatenate([one.history.value.low, one.history.value.high]) for one in shown]
    every = np.concatenate(numbers) if numbers else np.empty(0)
    every = every[np.isfinite(every)]
    positive = every[every > 0]
    if log is None:
        log = bool(positive.size and every.min() >= 0 and positive.max() / positive.min() > _LOG_SCALE_MIN_RATIO)
    if log and positive.size:
        # Zero is what many a difference ends at: below the smallest number the scale is linear.
        axis.set_yscale("symlog" if every.min() <= 0 else "log", **_symlog_options(every, positive))


def _symlog_options(every: npt.NDArray[Any], positive: npt.NDArray[Any]) -> dict[str, Any]:
    return {"linthresh": 10.0 ** np.floor(np.log10(positive.min()))} if every.min() <= 0 else {}


def _add_bucket_note(axis: Axes, history: ValueHistory) -> None:
    notes = [f"{history.bucket} iterations a point"] if history.bucket > 1 else []
    if notes:
        axis.set_title(", ".join(notes), fontsize="small", loc="right")


def _add_legend(figure: Figure, axis: Axes) -> None:
    """A legend: where it hides nothing within the axes, else below them, as many names beside each other as there is
    room for. The picture grows with it, so that it takes nothing from the curves."""
    handles, labels = axis.get_legend_handles_labels()
    if len(handles) <= _LEGEND_INSIDE_MAX_CURVES:
        axis.legend()
        return
    with _ignore_missing_glyphs():
        alone = figure.legend(handles, labels, fontsize="small", columnspacing=1, borderpad=1)
        room, size = figure.get_window_extent(), alone.get_window_extent()
        alone.remove()
    each = size.height / len(handles) / figure.dpi
    # What is around a column counts twice: between two of them and at the picture's edges.
    columns = max(1, int(room.width / size.width))
    lines = min(_LEGEND_MAX_LINES, -(-len(handles) // columns))
    if len(handles) > columns * lines:
        named = columns * lines - 1
        labels = [*labels[:named], f"… and {len(labels) - named} more"]
        handles = [*handles[:named], Line2D([], [], linestyle="none")]
    figure.legend(
        handles, labels, loc="outside lower center", ncols=columns, columnspacing=1, fontsize="small", frameon=False
    )
    height = lines * each
    figure.set_figheight(
        max(figure.get_figheight() + height, (_MARGIN_HEIGHT_INCHES + height) / (1 - _CURVES_MIN_SHARE))
    )


def _finish_figure(figure: Figure, last: Axes, title: str, below: str = "iteration") -> None:
    last.set_xlabel(below)
    last.xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.suptitle(_label_text(title, _TITLE_MAX_CHARS))


def _distinct_labels(labels: Sequence[str]) -> list[str]:
    """Names as a legend shows them: cut as short as leaves them different."""
    for most in (_ROW_LABEL_MAX_CHARS, _SINGLE_LABEL_MAX_CHARS, _TITLE_MAX_CHARS):
        cut = [_label_text(label, most) for label in labels]
        if len(set(cut)) == len(set(labels)):
            break
    return cut


def _label_text(text: str, most: int) -> str:
    """A name as a picture shows it: cut in the middle where it is longer than ``most``, and no formula."""
    if len(text) > most:
        text = f"{text[: most // 2]}…{text[-(most - most // 2 - 1) :]}"
    text = f" {text}" if text.startswith("_") else text  # a legend leaves out what begins so
    return as_plain_text(text)


def as_plain_text(text: str) -> str:
    """Text as matplotlib draws it letter by letter, no part of it as a formula."""
    return escape_unprintable(text).replace("$", r"\$")


def _subsample(grid: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], tuple[int, int]]:
    """Some rows and columns of a large table, as float64, and how far apart they are."""
    steps = -(-grid.shape[0] // _HEATMAP_MAX_SIDE) or 1, -(-grid.shape[1] // _HEATMAP_MAX_SIDE) or 1
    taken = grid[:: steps[0], :: steps[1]]
    with np.errstate(all="ignore"):
        return (np.abs(taken) if taken.dtype.kind == "c" else taken).astype(np.float64), steps
