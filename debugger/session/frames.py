"""Frames as a session gives them: with expressions, and with a face in notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...runtime import frame as runtime
from ..expression.language import parse
from ..text import dtype_name, value_text
from ..values.iterations import Iterations
from ..values.scope import FrameScope
from ..words.endings import stopper
from ..words.moments import when, whose
from .timeline import Timeline

#: A tensor is drawn with at most this many rows and columns; larger ones are sampled.
_CELLS = 32


class SessionFrame(runtime.Frame):
    """A frame of a session; see :class:`~...runtime.frame.Frame` for what it shows."""

    def __init__(self, timeline: Timeline, index: int) -> None:
        super().__init__(timeline.engine, index)
        self._timeline = timeline

    def __repr__(self) -> str:
        return f"<Frame {self.path}{'' if self.loop is None else f', {when(self)}'}>"

    @property
    def history(self) -> Iterations:
        """The values of this entry of the loop in other iterations, computed without moving the session."""
        return self._timeline.iterations(self)

    @property
    def around(self) -> SessionFrame | None:
        """The frame in which this loop runs; None of the main graph."""
        return None if self._plan is None else SessionFrame(self._timeline, self._plan.parent)

    def before(self) -> None:
        """The frame at the boundary before this one, where that can be had without running anything: never here."""

    def __getitem__(self, expression: str) -> Any:
        """The value of an expression, as ``frame["max(abs(h))"]``.

        Raises:
            UsageError: it is no expression, or something in it has no value here.
        """
        return parse(expression).evaluate(FrameScope(self, self.history))

    def iteration_of(self, name: str) -> int | None:
        """The iteration that the value of a name is of; None for what is the same in all of them.

        Before iteration 3 that is 3 for what a parameter gets, and 2 for what the body computed; inside of it 2 for
        what is not computed yet.

        Raises:
            UsageError: the loop has no value of that name.
        """
        return FrameScope(self).iteration_of(name)

    def show(self, expression: str) -> Shown:
        """The same as something that a notebook draws."""
        found = parse(expression)
        scope = FrameScope(self, self.history)
        return Shown(expression, found.evaluate(scope), scope.remark(found.present))

    def _repr_html_(self) -> str:
        loop = self.loop
        if loop is None:
            return f"<b>{_text(self.path)}</b>: no loop is running"
        limit = "no limit" if self.trip_count is None else str(self.trip_count)
        ended = f", ended by {stopper(self.stopped_by)}" if self.stopped_by else ""
        condition = "" if self.condition is None else f", condition {str(self.condition).lower()}"
        head = f"<b>{_text(self.path)}</b>, {when(self)} / {limit}{condition}{ended}"
        edges = [
            (e.param, "" if e.previous is None else value_text(e.previous), value_text(e.value) if e.ready else "·")
            for e in self.back_edges
        ]
        scans = [(name, dtype_name(value.dtype), str(list(value.shape))) for name, value in self.scan_outputs.items()]
        return head + _table(("carried", *whose(self)), edges) + _table(("scan output", "dtype", "so far"), scans)


class Shown:
    """A value with a name; a notebook shows its type, its statistics and, for a tensor, its elements as colours."""

    def __init__(self, name: str, value: Any, remark: str = "") -> None:
        self.name = name
        self.value = value
        #: Which iterations its parts are of, where that is not the frame's.
        self.remark = remark

    def __repr__(self) -> str:
        return f"{self.name} = {value_text(self.value, 80)}{self.remark}"

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.value, dtype=dtype, copy=copy)

    def _repr_html_(self) -> str:
        drawn = self._drawn()
        return f"{drawn}<br>{_text(self.remark.strip(' #'))}" if self.remark else drawn

    def _drawn(self) -> str:
        if isinstance(self.value, list):
            rows = [(str(k), value_text(element, 80)) for k, element in enumerate(self.value[:_CELLS])]
            return f"<b>{_text(self.name)}</b>: sequence of {len(self.value)}" + _table(("", ""), rows)
        if self.value is None or isinstance(self.value, str):
            return f"<b>{_text(self.name)}</b> = {_text(value_text(self.value, 200))}"
        array = np.asarray(self.value)
        head = f"<b>{_text(self.name)}</b> {dtype_name(array.dtype)} {list(array.shape)}"
        if array.ndim == 0 or array.size <= 1:
            return f"{head} = {_text(value_text(array, 200))}"
        return f"{head} {_text(value_text(array, 100))}{_heat(array)}"


def _text(text: str) -> str:
    return html.escape(text)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    body = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    if not body:
        return ""
    return f"<table><tr>{''.join(f'<th>{_text(cell)}</th>' for cell in head)}</tr>{body}</table>"


def _heat(array: npt.NDArray[Any]) -> str:
    """The elements as coloured cells, axes before the last flattened into rows."""
    if array.dtype.kind not in "biuf" or array.size == 0:
        return ""
    grid = np.atleast_2d(array.astype(np.float64).reshape(-1, array.shape[-1]))
    rows = np.unique(np.linspace(0, grid.shape[0] - 1, _CELLS).astype(int))
    columns = np.unique(np.linspace(0, grid.shape[1] - 1, _CELLS).astype(int))
    grid = grid[np.ix_(rows, columns)]
    finite = grid[np.isfinite(grid)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    cells = []
    for y, row in enumerate(grid):
        for x, value in enumerate(row):
            share = (value - low) / (high - low) if high > low else 0.5
            # Sequential from light to dark; what is not finite stands out in red.
            colour = f"hsl(210,60%,{90 - 65 * share:.0f}%)" if np.isfinite(value) else "#d33"
            cells.append(f'<rect x="{8 * x}" y="{8 * y}" width="8" height="8" fill="{colour}"/>')
    height, width = 8 * len(grid), 8 * len(grid[0])
    return f'<br><svg width="{width}" height="{height}" xmlns="http://www.w3.org/2000/svg">{"".join(cells)}</svg>'
