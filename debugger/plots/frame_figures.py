"""Which numbers of a frame a picture shows, by what a person calls them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...runtime.errors import UsageError
from ...runtime.graph import Array, Loop, TensorType, ValueType, loops
from ...runtime.graph.index_values import index_values
from ...runtime.graph.producers import ProducerMap
from ...runtime.text import did_you_mean, escape_unprintable
from ..describe.condition import deciding_comparison
from ..describe.value_names import scan_names
from ..frame_protocol import FrameProtocol
from ..statistics.value_history import Evolution, ValueHistory

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class PlottedFrame(FrameProtocol, Protocol):
    """A frame that knows what its values were in other iterations."""

    @property
    def evolution(self) -> Evolution: ...


def can_plot(what: str, loop: Loop, name: str | None = None) -> bool:
    """As far as the graph tells: has a loop anything of a kind (``carried``, ``condition``, ``scan``, ``norms``), or of
    a name, that could be drawn? Each has a ``graph``."""
    edges = {edge.param.name: edge.param.type for edge in loop.back_edges}
    scans = {*scan_names(loop), *(port.outer.name for port in loop.scan_outputs)}
    comparison = deciding_comparison(loop)
    if what == "graph":
        return True
    if what == "condition":
        return comparison is not None
    if what == "scan":
        return bool(scans) if name is None else name in scans
    if what == "norms":
        edges = {one: kind for one, kind in edges.items() if _may_be_tensor(kind)}
        return bool(edges) if name is None else name in edges
    both = () if comparison is None else (comparison.left.name, comparison.right.name)
    return bool(edges) if name is None else name in {*edges, *scans, *both}


def _may_be_tensor(kind: ValueType) -> bool:
    if not isinstance(kind, TensorType):
        return False
    return kind.shape is None or any(d != 1 for d in kind.shape)


def plot_over_iterations(frame: PlottedFrame, name: str | None = None) -> Figure:
    """A value over iterations, or all that the loop carries; of a scan output all that it has collected.

    Raises:
        UsageError: the loop has nothing of that name, or nothing that could be drawn.
    """
    from .figures import Curve, plot_curves

    loop, evolution = _require_loop(frame), frame.evolution
    if name is not None and name not in evolution:
        return plot_scan(frame, name, evolution)
    if name is None:
        return plot_all_carried(loop, evolution, _frame_title(frame))
    return plot_curves([Curve(escape_unprintable(name), evolution[name])], _frame_title(frame))


def plot_all_carried(loop: Loop, evolution: Evolution, title: str) -> Figure:
    """All that a loop carries, over iterations.

    Raises:
        UsageError: nothing of it could be drawn.
    """
    from .figures import Curve, plot_curves

    names = [edge.param.name for edge in loop.back_edges if edge.param.name in evolution]
    names, remark = _changing_names(loop, names, evolution)
    if not names:
        inner = next((one for one in loops(loop.body) if can_plot("carried", one)), None)
        hint = "" if inner is None else f"; loop '{escape_unprintable(inner.name)}' inside of it does"
        raise UsageError(f"loop '{escape_unprintable(loop.name)}' carries nothing that could be drawn{hint}")
    return plot_curves([Curve(escape_unprintable(one), evolution[one]) for one in names], title, remark=remark)


def plot_norms(frame: PlottedFrame, name: str | None = None) -> Figure:
    """The norms of the tensors that a loop carries, on one logarithmic scale: of those that its body changes, unless
    one is named.

    Raises:
        UsageError: it carries no tensors, or none of that name.
    """
    from .figures import Curve, plot_overlaid

    loop = _require_loop(frame)
    found = {k: one for k, one in carried_histories(frame, name).items() if one.is_tensor}
    if not found:
        raise UsageError(
            f"loop '{escape_unprintable(loop.name)}' carries no tensor{'' if name is None else f' {name!r}'}"
        )
    names, remark = _changing_names(loop, list(found), found) if name is None else ([name], "")
    return plot_overlaid(
        [Curve(escape_unprintable(k), found[k]) for k in names], _frame_title(frame), log=True, remark=remark
    )


def _changing_names(loop: Loop, names: list[str], evolution: Mapping[str, ValueHistory]) -> tuple[list[str], str]:
    """Of what a loop carries, as far as its names are given, that which its body changes and which has a magnitude, and
    a word on the others; all of it where nothing would be left."""
    origins = ProducerMap.for_graph(loop.body)
    handed_on = {edge.param.name for edge in loop.back_edges if origins.skip_identities(edge.result) is edge.param}
    still = [name for name in names if name in handed_on]
    if still and len(still) == len(names):
        return names, "the body changes none of these"
    picked = {value.name for value in index_values(loop)} - handed_on
    indices = [name for name in names if name in picked and evolution[name].is_tensor]
    left = [name for name in names if name not in {*still, *indices}]
    if not left:
        return names, ""
    told = [_omission_note(still, "that the body never changes"), _omission_note(indices, "of indices")]
    return left, "; ".join(filter(None, told))


def _omission_note(names: list[str], which: str) -> str:
    if not names:
        return ""
    values, are = ("carried value", "is") if len(names) == 1 else ("carried values", "are")
    return f"{len(names)} {values} {which} {are} left out"


def carried_histories(frame: PlottedFrame, name: str | None = None) -> dict[str, ValueHistory]:
    """The histories of what a loop carries, or the one of a name.

    Raises:
        UsageError: there is none of that name.
    """
    evolution = frame.evolution
    if name is not None and name not in evolution:
        raise _unknown_name_error(frame, name, list(evolution))
    return {one: evolution[one] for one in ([name] if name is not None else evolution)}


def plot_condition(frame: PlottedFrame) -> Figure:
    """The two sides of the comparison that decides, over iterations.

    Raises:
        UsageError: no single comparison decides, or nothing of it is known yet.
    """
    from .figures import Curve, plot_comparison_sides

    loop = _require_loop(frame)
    comparison, known = deciding_comparison(loop), frame.evolution.sides
    if comparison is None:
        raise UsageError(f"no single comparison of numbers decides when loop '{escape_unprintable(loop.name)}' ends")
    if known is None or not len(known[0]):
        raise UsageError(
            f"nothing was compared yet in loop '{escape_unprintable(loop.name)}', or nothing of it was recorded"
        )
    left, right = (Curve(escape_unprintable(one.name), one) for one in known)
    return plot_comparison_sides(left, comparison.sign, right, _frame_title(frame))


def plot_scan(frame: PlottedFrame, name: str | None = None, also: Any = ()) -> Figure:
    """What a scan output has collected, an iteration a row; the first one where none is named. ``also``: what else
    could have been meant.

    Raises:
        UsageError: there is none of that name, or nothing in it that could be drawn.
    """
    from .figures import plot_elements, plot_heatmap

    loop = _require_loop(frame)
    names = list(scan_names(loop))
    if name is None and not names:
        raise UsageError(f"loop '{escape_unprintable(loop.name)}' has no scan output")
    wanted = names[0] if name is None else name
    ports = dict(zip(names, loop.scan_outputs, strict=True))
    ports |= {port.outer.name: port for port in loop.scan_outputs}
    if wanted not in ports:
        raise _unknown_name_error(frame, wanted, [*also, *names])
    port = ports[wanted]
    whole = frame.scan_outputs.get(port.outer.name)
    if not isinstance(whole, np.ndarray) or not whole.size or whole.dtype.kind in "OUST":
        raise UsageError(f"scan output '{escape_unprintable(wanted)}' has nothing that could be drawn")
    axis = port.axis % whole.ndim
    rows = np.moveaxis(whole, axis, 0).reshape(whole.shape[axis], -1)
    title = f"{escape_unprintable(wanted)}, {_frame_title(frame)}"
    if rows.shape[1] == 1:
        return plot_elements(rows[:, 0], title)
    return plot_heatmap(rows, title, "iteration" if port.stack else f"axis {port.axis}", "element")


def plot_value(frame: FrameProtocol, name: str, found: Any) -> Figure:
    """A tensor as it is at a frame: its elements, or the rows of its last axis as colours.

    Raises:
        UsageError: it is no tensor of numbers.
    """
    from .figures import plot_elements, plot_heatmap

    array: Array = np.asarray(found) if found is not None and not isinstance(found, list | tuple | str) else np.empty(0)
    if not array.size or array.dtype.kind in "OUST":
        raise UsageError(f"'{escape_unprintable(name)}' holds no numbers that could be drawn")
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


def _unknown_name_error(frame: FrameProtocol, name: str, known: list[str]) -> UsageError:
    have = did_you_mean(name, known) or (f"; there is {', '.join(map(repr, known))}" if known else "")
    return UsageError(
        f"loop '{escape_unprintable(frame.name)}' has nothing called '{escape_unprintable(name)}' over iterations{have}"
    )
