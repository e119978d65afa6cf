"""Figures of a frame, selected by kind and name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...runtime.errors import UsageError
from ...runtime.graph import Array, Loop, TensorType, ValueType, loops
from ...runtime.graph.index_values import find_index_values
from ...runtime.graph.producers import ProducerMap
from ...runtime.text import did_you_mean, escape_unprintable
from ..describe.condition_analysis import deciding_comparison
from ..describe.value_names import scan_names
from ..frame_protocol import FrameProtocol
from ..statistics.value_history import Evolution, ValueHistory

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class PlottedFrame(FrameProtocol, Protocol):
    """A frame with the histories of its values."""

    @property
    def evolution(self) -> Evolution: ...


def can_plot(quantity: str, loop: Loop, name: str | None = None) -> bool:
    """Whether a loop statically has something to plot of a kind (``carried``, ``condition``, ``scan``, ``norms``,
    ``graph``) and name."""
    edges = {edge.param.name: edge.param.type for edge in loop.back_edges}
    scans = {*scan_names(loop), *(port.outer.name for port in loop.scan_outputs)}
    comparison = deciding_comparison(loop)
    if quantity == "graph":
        return True
    if quantity == "condition":
        return comparison is not None
    if quantity == "scan":
        return bool(scans) if name is None else name in scans
    if quantity == "norms":
        edges = {edge_name: kind for edge_name, kind in edges.items() if _may_be_tensor(kind)}
        return bool(edges) if name is None else name in edges
    sides = () if comparison is None else (comparison.left.name, comparison.right.name)
    return bool(edges) if name is None else name in {*edges, *scans, *sides}


def _may_be_tensor(kind: ValueType) -> bool:
    if not isinstance(kind, TensorType):
        return False
    return kind.shape is None or any(d != 1 for d in kind.shape)


def plot_over_iterations(frame: PlottedFrame, name: str | None = None) -> Figure:
    """Plot a value over iterations, all carried values, or the elements of a scan output.

    Raises:
        UsageError: the name is unknown, or there is nothing to plot.
    """
    from .figures import Curve, plot_curves

    loop, evolution = _require_loop(frame), frame.evolution
    if name is not None and name not in evolution:
        return plot_scan(frame, name, evolution)
    if name is None:
        return plot_all_carried(loop, evolution, _frame_title(frame))
    return plot_curves([Curve(escape_unprintable(name), evolution[name])], _frame_title(frame))


def plot_all_carried(loop: Loop, evolution: Evolution, title: str) -> Figure:
    """Plot all carried values over iterations.

    Raises:
        UsageError: there is nothing to plot.
    """
    from .figures import Curve, plot_curves

    names = [edge.param.name for edge in loop.back_edges if edge.param.name in evolution]
    names, remark = _changing_names(loop, names, evolution)
    if not names:
        inner = next((item for item in loops(loop.body) if can_plot("carried", item)), None)
        hint = "" if inner is None else f"; loop '{escape_unprintable(inner.name)}' inside of it does"
        raise UsageError(
            f"loop '{escape_unprintable(loop.name)}' carries nothing that could be drawn{hint}", loop=loop.name
        )
    return plot_curves([Curve(escape_unprintable(item), evolution[item]) for item in names], title, remark=remark)


def plot_norms(frame: PlottedFrame, name: str | None = None) -> Figure:
    """Plot the norms of carried tensors on a common logarithmic scale: of those that the body changes, or of the named
    one.

    Raises:
        UsageError: the loop carries no tensors, or none of that name.
    """
    from .figures import Curve, plot_overlaid

    loop = _require_loop(frame)
    histories = {k: history for k, history in carried_histories(frame, name).items() if history.is_tensor}
    if not histories:
        raise UsageError(
            f"loop '{escape_unprintable(loop.name)}' carries no tensor{'' if name is None else f' {name!r}'}",
            loop=loop.name,
            name=name,
        )
    names, remark = _changing_names(loop, list(histories), histories) if name is None else ([name], "")
    return plot_overlaid(
        [Curve(escape_unprintable(k), histories[k]) for k in names], _frame_title(frame), log=True, remark=remark
    )


def _changing_names(loop: Loop, names: list[str], evolution: Mapping[str, ValueHistory]) -> tuple[list[str], str]:
    """Select the carried values that the body changes and that have a magnitude, with a remark on the others; all if
    none would remain."""
    origins = ProducerMap.for_graph(loop.body)
    passed_through = {edge.param.name for edge in loop.back_edges if origins.skip_identities(edge.result) is edge.param}
    unchanged = [name for name in names if name in passed_through]
    if unchanged and len(unchanged) == len(names):
        return names, "the body changes none of these"
    index_names = {value.name for value in find_index_values(loop)} - passed_through
    indices = [name for name in names if name in index_names and evolution[name].is_tensor]
    remaining = [name for name in names if name not in {*unchanged, *indices}]
    if not remaining:
        return names, ""
    notes = [_omission_note(unchanged, "that the body never changes"), _omission_note(indices, "of indices")]
    return remaining, "; ".join(filter(None, notes))


def _omission_note(names: list[str], description: str) -> str:
    if not names:
        return ""
    values, are = ("carried value", "is") if len(names) == 1 else ("carried values", "are")
    return f"{len(names)} {values} {description} {are} left out"


def carried_histories(frame: PlottedFrame, name: str | None = None) -> dict[str, ValueHistory]:
    """The histories of all carried values, or of the named one.

    Raises:
        UsageError: the name is unknown.
    """
    evolution = frame.evolution
    if name is not None and name not in evolution:
        raise _unknown_name_error(frame, name, list(evolution))
    return {key: evolution[key] for key in ([name] if name is not None else evolution)}


def plot_condition(frame: PlottedFrame) -> Figure:
    """Plot the two sides of the deciding comparison over iterations.

    Raises:
        UsageError: no single comparison decides, or it has no history yet.
    """
    from .figures import Curve, plot_comparison_sides

    loop = _require_loop(frame)
    comparison, sides = deciding_comparison(loop), frame.evolution.sides
    if comparison is None:
        raise UsageError(
            f"no single comparison of numbers decides when loop '{escape_unprintable(loop.name)}' ends", loop=loop.name
        )
    if sides is None or not len(sides[0]):
        raise UsageError(
            f"nothing was compared yet in loop '{escape_unprintable(loop.name)}', or nothing of it was recorded",
            loop=loop.name,
        )
    left, right = (Curve(escape_unprintable(side.name), side) for side in sides)
    return plot_comparison_sides(left, comparison.sign, right, _frame_title(frame))


def plot_scan(frame: PlottedFrame, name: str | None = None, other_names: Any = ()) -> Figure:
    """Plot the elements of a scan output (the first by default), one iteration per row. ``other_names``: further names
    for the error message.

    Raises:
        UsageError: the name is unknown, or there is nothing to plot.
    """
    from .figures import plot_elements, plot_heatmap

    loop = _require_loop(frame)
    names = list(scan_names(loop))
    if name is None and not names:
        raise UsageError(f"loop '{escape_unprintable(loop.name)}' has no scan output", loop=loop.name)
    output = names[0] if name is None else name
    ports = dict(zip(names, loop.scan_outputs, strict=True))
    ports |= {port.outer.name: port for port in loop.scan_outputs}
    if output not in ports:
        raise _unknown_name_error(frame, output, [*other_names, *names])
    port = ports[output]
    values = frame.scan_outputs.get(port.outer.name)
    if not isinstance(values, np.ndarray) or not values.size or values.dtype.kind in "OUST":
        raise UsageError(f"scan output '{escape_unprintable(output)}' has nothing that could be drawn", name=output)
    axis = port.axis % values.ndim
    rows = np.moveaxis(values, axis, 0).reshape(values.shape[axis], -1)
    title = f"{escape_unprintable(output)}, {_frame_title(frame)}"
    if rows.shape[1] == 1:
        return plot_elements(rows[:, 0], title)
    return plot_heatmap(rows, title, "iteration" if port.stack else f"axis {port.axis}", "element")


def plot_value(frame: FrameProtocol, name: str, value: Any) -> Figure:
    """Plot the current value of a tensor: its elements, or a heat map with rows along the last axis.

    Raises:
        UsageError: the value is no numeric tensor.
    """
    from .figures import plot_elements, plot_heatmap

    array: Array = np.asarray(value) if value is not None and not isinstance(value, list | tuple | str) else np.empty(0)
    if not array.size or array.dtype.kind in "OUST":
        raise UsageError(f"'{escape_unprintable(name)}' holds no numbers that could be drawn", name=name)
    title = f"{escape_unprintable(name)}, {_frame_title(frame)}, iteration {frame.iteration}"
    if array.ndim < 2 or array.size == max(array.shape):
        return plot_elements(array.reshape(-1), title)
    return plot_heatmap(array.reshape(-1, array.shape[-1]), title, "row", "column")


def _require_loop(frame: FrameProtocol) -> Loop:
    if frame.loop is None:
        raise UsageError("no loop is running here; a plot over iterations needs one")
    return frame.loop


def _frame_title(frame: FrameProtocol) -> str:
    return escape_unprintable(frame.path)


def _unknown_name_error(frame: FrameProtocol, name: str, candidates: list[str]) -> UsageError:
    hint = did_you_mean(name, candidates) or (f"; there is {', '.join(map(repr, candidates))}" if candidates else "")
    return UsageError(
        f"loop '{escape_unprintable(frame.name)}' has nothing called '{escape_unprintable(name)}'"
        f" over iterations{hint}",
        loop=frame.name,
        name=name,
    )
