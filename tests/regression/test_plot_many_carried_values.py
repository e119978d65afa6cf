"""The legend of twenty carried values left no space for their curves, and axes below each other got none."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from matplotlib.figure import Figure

import loopdbg
from loopdbg.debugger.plots import frame_figures
from text_models import model


def session(count: int, still: int = 0, name: str = "s{}") -> loopdbg.Session:
    """At the end of a loop that carries ``count`` values; its body passes on the first ``still`` of them."""
    names = [name.format(k) for k in range(count)]
    inputs = ", ".join(f"float[3] {name}" for name in names)
    outs = ", ".join(f"float[3] t{k}" for k in range(count))
    nodes = [f"t{k} = {'Identity' if k < still else 'Neg'} ({label})" for k, label in enumerate(names)]
    lasts = [f"last{k}" for k in range(count)]
    result = loopdbg.Session(
        model(f"""g (float[3] x) => ({", ".join(f"float[3] {last}" for last in lasts)}) {{
          n = Constant <value_int = 5> ()
          {", ".join(lasts)} = Loop (n, {", x" * count}) <body = b (int64 i, bool c, {inputs}) => (bool go, {outs}) {{
            go = Identity (c)
            {" ".join(nodes)}
          }}>
        }}"""),
        {"x": np.array([1, 2, 3], np.float32)},
    )
    result.finish()
    return result


def laid_out(figure: Figure) -> Figure:
    with warnings.catch_warnings(action="error"):  # such as that a layout does not fit
        warnings.simplefilter("ignore", DeprecationWarning)  # of old versions of matplotlib
        figure.draw_without_rendering()
    return figure


@pytest.mark.parametrize("count", [2, 5, 20, 30, 150])
@pytest.mark.parametrize("name", ["s{}", "a_rather_long_name_of_the_layer_with_number_{}_and_more"])
def test_legend_fits_and_leaves_plot_space(count: int, name: str) -> None:
    figure = laid_out(frame_figures.plot_norms(session(count, name=name).frame))
    (axes,) = figure.axes
    assert len(axes.lines) == count
    assert axes.get_position().height > 0.4
    (legend,) = figure.legends or [axes.get_legend()]
    assert legend is not None
    box, whole = legend.get_window_extent(), figure.get_window_extent()
    assert whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0 and box.y1 <= whole.y1
    messages = [text.get_text() for text in legend.get_texts()]
    named, rest = (
        [item for item in messages if not item.startswith("… and")],
        [entry for entry in messages if entry.startswith("… and")],
    )
    assert len(set(named)) == len(named)
    assert rest == ([f"… and {count - len(named)} more"] if len(named) < count else [])


@pytest.mark.parametrize(
    ("still", "drawn", "remark"),
    [
        (0, 4, ""),
        (1, 3, "1 carried value that the body never changes is left out"),
        (3, 1, "3 carried values that the body never changes are left out"),
        (4, 4, "the body changes none of these"),
    ],
)
def test_what_never_changes_is_counted(still: int, drawn: int, remark: str) -> None:
    frame = session(4, still).frame
    norms, rows = frame_figures.plot_norms(frame), frame.plot()
    assert (len(norms.axes[0].lines), len(rows.axes)) == (drawn, drawn)
    assert norms.axes[0].get_title("left") == rows.axes[0].get_title("left") == remark
    laid_out(norms)
    # What is asked for by its name is drawn.
    assert len(frame_figures.plot_norms(frame, "s0").axes[0].lines) == len(frame.plot("s0").axes[0].lines) == 1


@pytest.mark.parametrize(("count", "axes", "remark"), [(20, 20, ""), (50, 40, "10 more are left out")])
def test_stacked_axes_have_space(count: int, axes: int, remark: str) -> None:
    figure = laid_out(session(count).frame.plot())
    assert len(figure.axes) == axes
    assert figure.axes[0].get_position().height * figure.get_figheight() > 1
    assert figure.axes[0].get_title("left") == remark
