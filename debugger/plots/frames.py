"""Which numbers of a frame a picture shows, by what a person calls them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...runtime.errors import UsageError
from ...runtime.graph import Array, Loop, TensorType, ValueType, loops
from ...runtime.graph.origins import Origins
from ...runtime.graph.picks import picks
from ...runtime.text import did_you_mean, printable
from ..frame import AnyFrame
from ..statistics.history import Evolution, History
from ..words.condition import compared
from ..words.names import scan_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class PlottedFrame(AnyFrame, Protocol):
    """A frame that knows what its values were in other iterations."""

    @property
    def evolution(self) -> Evolution: ...


def may_draw(what: str, loop: Loop, name: str | None = None) -> bool:
    """As far as the graph tells: has a loop anything of a kind (``carried``, ``condition``, ``scan``, ``norms``), or of
    a name, that could be drawn? Each has a ``graph``."""
    edges = {edge.param.name: edge.param.type for edge in loop.back_edges}
    scans = {*scan_names(loop), *(port.outer.name for port in loop.scan_outputs)}
    comparison = compared(loop)
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


def over_iterations(frame: PlottedFrame, name: str | None = None) -> Figure:
    """A value over iterations, or all that the loop carries; of a scan output all that it has collected.

    Raises:
        UsageError: the loop has nothing of that name, or nothing that could be drawn.
    """
    from .figures import Curve, curves

    loop, evolution = _loop(frame), frame.evolution
    if name is not None and name not in evolution:
        return scan(frame, name, evolution)
    if name is None:
        return all_carried(loop, evolution, _title(frame))
    return curves([Curve(printable(name), evolution[name])], _title(frame))


def all_carried(loop: Loop, evolution: Evolution, title: str) -> Figure:
    """All that a loop carries, over iterations.

    Raises:
        UsageError: nothing of it could be drawn.
    """
    from .figures import Curve, curves

    names = [edge.param.name for edge in loop.back_edges if edge.param.name in evolution]
    names, remark = _moving(loop, names, evolution)
    if not names:
        inner = next((one for one in loops(loop.body) if may_draw("carried", one)), None)
        hint = "" if inner is None else f"; loop '{printable(inner.name)}' inside of it does"
        raise UsageError(f"loop '{printable(loop.name)}' carries nothing that could be drawn{hint}")
    return curves([Curve(printable(one), evolution[one]) for one in names], title, remark=remark)


def norms(frame: PlottedFrame, name: str | None = None) -> Figure:
    """The norms of the tensors that a loop carries, on one logarithmic scale: of those that its body changes, unless
    one is named.

    Raises:
        UsageError: it carries no tensors, or none of that name.
    """
    from .figures import Curve, together

    loop = _loop(frame)
    found = {k: one for k, one in carried(frame, name).items() if one.is_tensor}
    if not found:
        raise UsageError(f"loop '{printable(loop.name)}' carries no tensor{'' if name is None else f' {name!r}'}")
    names, remark = _moving(loop, list(found), found) if name is None else ([name], "")
    return together([Curve(printable(k), found[k]) for k in names], _title(frame), log=True, remark=remark)


def _moving(loop: Loop, names: list[str], evolution: Mapping[str, History]) -> tuple[list[str], str]:
    """Of what a loop carries, as far as its names are given, that which its body changes and which has a magnitude, and
    a word on the others; all of it where nothing would be left."""
    origins = Origins.of(loop.body)
    handed_on = {edge.param.name for edge in loop.back_edges if origins.origin(edge.result) is edge.param}
    still = [name for name in names if name in handed_on]
    if still and len(still) == len(names):
        return names, "the body changes none of these"
    picked = {value.name for value in picks(loop)} - handed_on
    indices = [name for name in names if name in picked and evolution[name].is_tensor]
    left = [name for name in names if name not in {*still, *indices}]
    if not left:
        return names, ""
    told = [_left_out(still, "that the body never changes"), _left_out(indices, "of indices")]
    return left, "; ".join(filter(None, told))


def _left_out(names: list[str], which: str) -> str:
    if not names:
        return ""
    values, are = ("carried value", "is") if len(names) == 1 else ("carried values", "are")
    return f"{len(names)} {values} {which} {are} left out"


def carried(frame: PlottedFrame, name: str | None = None) -> dict[str, History]:
    """The histories of what a loop carries, or the one of a name.

    Raises:
        UsageError: there is none of that name.
    """
    evolution = frame.evolution
    if name is not None and name not in evolution:
        raise _nothing(frame, name, list(evolution))
    return {one: evolution[one] for one in ([name] if name is not None else evolution)}


def condition(frame: PlottedFrame) -> Figure:
    """The two sides of the comparison that decides, over iterations.

    Raises:
        UsageError: no single comparison decides, or nothing of it is known yet.
    """
    from .figures import Curve, sides

    loop = _loop(frame)
    comparison, known = compared(loop), frame.evolution.sides
    if comparison is None:
        raise UsageError(f"no single comparison of numbers decides when loop '{printable(loop.name)}' ends")
    if known is None or not len(known[0]):
        raise UsageError(f"nothing was compared yet in loop '{printable(loop.name)}', or nothing of it was recorded")
    left, right = (Curve(printable(one.name), one) for one in known)
    return sides(left, comparison.sign, right, _title(frame))


def scan(frame: PlottedFrame, name: str | None = None, also: Any = ()) -> Figure:
    """What a scan output has collected, an iteration a row; the first one where none is named. ``also``: what else
    could have been meant.

    Raises:
        UsageError: there is none of that name, or nothing in it that could be drawn.
    """
    from .figures import elements, heat

    loop = _loop(frame)
    names = list(scan_names(loop))
    if name is None and not names:
        raise UsageError(f"loop '{printable(loop.name)}' has no scan output")
    wanted = names[0] if name is None else name
    ports = dict(zip(names, loop.scan_outputs, strict=True))
    ports |= {port.outer.name: port for port in loop.scan_outputs}
    if wanted not in ports:
        raise _nothing(frame, wanted, [*also, *names])
    port = ports[wanted]
    whole = frame.scan_outputs.get(port.outer.name)
    if not isinstance(whole, np.ndarray) or not whole.size or whole.dtype.kind in "OUST":
        raise UsageError(f"scan output '{printable(wanted)}' has nothing that could be drawn")
    axis = port.axis % whole.ndim
    rows = np.moveaxis(whole, axis, 0).reshape(whole.shape[axis], -1)
    title = f"{printable(wanted)}, {_title(frame)}"
    if rows.shape[1] == 1:
        return elements(rows[:, 0], title)
    return heat(rows, title, "iteration" if port.stack else f"axis {port.axis}", "element")


def value(frame: AnyFrame, name: str, found: Any) -> Figure:
    """A tensor as it is at a frame: its elements, or the rows of its last axis as colours.

    Raises:
        UsageError: it is no tensor of numbers.
    """
    from .figures import elements, heat

    array: Array = np.asarray(found) if found is not None and not isinstance(found, list | tuple | str) else np.empty(0)
    if not array.size or array.dtype.kind in "OUST":
        raise UsageError(f"'{printable(name)}' holds no numbers that could be drawn")
    title = f"{printable(name)}, {_title(frame)}, iteration {frame.iteration}"
    if array.ndim < 2 or array.size == max(array.shape):
        return elements(array.reshape(-1), title)
    return heat(array.reshape(-1, array.shape[-1]), title, "row", "column")


def _loop(frame: AnyFrame) -> Loop:
    if frame.loop is None:
        raise UsageError("no loop is running here; a plot over iterations needs one")
    return frame.loop


def _title(frame: AnyFrame) -> str:
    return printable(frame.path)


def _nothing(frame: AnyFrame, name: str, known: list[str]) -> UsageError:
    have = did_you_mean(name, known) or (f"; there is {', '.join(map(repr, known))}" if known else "")
    return UsageError(f"loop '{printable(frame.name)}' has nothing called '{printable(name)}' over iterations{have}")
