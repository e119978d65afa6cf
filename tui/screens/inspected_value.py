"""The value shown in an inspector, in the iteration of the stop or in another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from rich.cells import cell_len

from ...debugger.describe.value_names import scan_names
from ...debugger.session.session import Session
from ...debugger.statistics.tensor_statistics import TensorRef, as_tensor_ref
from ...runtime.errors import UsageError
from ...runtime.graph import Graph, Value, visible_values
from ...runtime.text import group_digits, size_text
from ..render.downsample import MinMaxBand
from ..render.formatting import dtype_name
from ..render.history_plots import history_band
from ..render.inspector_text import IterationSeries
from ..render.pseudo_code import model_pseudo_code
from ..render.stop_view import ScreenState
from ..render.styled_text import truncate
from ..render.targets import ValueKind, ValueTarget
from ..render.text_plots import representative_number

#: The maximum number of iterations queried for a series if no history has them.
_QUERIED_ITERATIONS_MAX = 64
#: Larger tensors are not recomputed in other iterations for a plot.
_RECOMPUTED_ELEMENTS_MAX = 100_000


class InspectedValue:
    """A value and its iteration.

    ``iteration``: the iteration of the value at the stop (of a carried value the one that receives it), or None;
    ``last_iteration``: the newest iteration that can be queried.
    """

    def __init__(self, target: ValueTarget, state: ScreenState) -> None:
        self.target = target
        self.is_present, self.value = target.find_value(state.view)
        #: The text shown when the value is absent.
        self.absence_text = target.absence_text(state.view)
        frame = target.find_frame(state.view)
        self._frame = None if target.kind is ValueKind.OUTPUT else frame
        self.loop_name = "" if self._frame is None or self._frame.loop is None else self._frame.name
        self.iteration: int | None = None
        self.last_iteration = -1
        self.trip_count: int | None = None
        frame = self._frame
        if target.kind is ValueKind.SCAN and frame is not None:
            scan = next((item for item in frame.scans if item.name == target.name), None)
            if scan is not None and scan.full_value is not None:
                self.is_present, self.value = True, scan.full_value
        elif frame is not None and frame.loop is not None:
            self.trip_count = frame.trip_count
            at_boundary = frame.at_boundary
            if target.kind is ValueKind.CARRIED:
                self.iteration = self.last_iteration = frame.iteration
            else:
                self.iteration = self.last_iteration = frame.iteration - (at_boundary and frame.iteration > 0)
        #: The code line of the producing node; empty if unknown.
        self.code_line = self._code_text(state.main_graph)
        #: The value of the previous iteration, if the stop has it.
        self.previous: Any = None
        if target.kind is ValueKind.CARRIED and frame is not None and self.iteration and frame.at_boundary:
            edge = next((item for item in frame.back_edges if item.param == target.name), None)
            self.previous = None if edge is None else edge.previous

    def _code_text(self, main: Graph) -> str:
        source, value = model_pseudo_code(main), self._node_value(main)
        node = None if value is None else source.formatter.origins.get(source.formatter.origins.skip_identities(value))
        return "" if node is None else source.code_lines.describe_node(node)

    def _node_value(self, main: Graph) -> Value | None:
        """The graph value that a node computes; for a back edge its result in the body."""
        name, loop = self.target.name, None if self._frame is None else self._frame.loop
        if loop is None:
            return visible_values([main]).get(name)
        if self.target.kind is ValueKind.CARRIED:
            return next((edge.result for edge in loop.back_edges if edge.param.name == name), None)
        if self.target.kind is ValueKind.SCAN:
            pairs = zip(scan_names(loop), loop.scan_outputs, strict=True)
            return next((port.result for scan_name, port in pairs if scan_name == name), None)
        return self.target.graph_value or visible_values([loop.body]).get(name)

    def title_line(self, name: str, value: Any, tensor: TensorRef | None, iteration: int | None, width: int) -> str:
        """The title: the value or one of its items, its type, owner, iteration and size."""
        parts = [name]
        if tensor is not None:
            parts.append(f"{dtype_name(tensor.dtype)} [{','.join(map(str, tensor.shape))}]")
        elif isinstance(value, list | tuple):
            parts.append(f"sequence of {len(value)}")
        if self.target.kind is ValueKind.OUTPUT:
            parts.append("output")
        elif self.loop_name:
            owner = {ValueKind.CARRIED: "carried by", ValueKind.SCAN: "scan output of"}.get(self.target.kind, "of")
            parts.append(f"{owner} '{self.loop_name}'")
        if iteration is not None:
            total = "" if self.trip_count is None else f" of {self.trip_count}"
            label = "into iteration" if self.target.kind is ValueKind.CARRIED else "iteration"
            parts.append(f"{label} {iteration}{total}")
            if iteration != self.iteration:
                parts.append(f"(the stop is at {self.iteration})")
        if tensor is not None:
            count = "1 element" if tensor.size == 1 else f"{group_digits(tensor.size)} elements"
            parts.append(f"{count}, {size_text(tensor.nbytes)}" if tensor.dtype.kind != "O" else count)
        text = "   ".join(parts)
        # The number of elements is also shown below.
        return text if cell_len(text) <= width or tensor is None else truncate("   ".join(parts[:-1]), width)

    def iteration_query(self, iteration: int) -> Callable[[Session], Any]:
        """A query for the value in another iteration."""
        name, depth = self.target.name, self.target.frame_depth

        def query(session: Session) -> Any:
            frames = session.frames
            if depth is not None and depth >= len(frames):
                # A typed-ahead key moved the session.
                raise UsageError("its loop does not run any more")
            frame = session.frame if depth is None else frames[depth]
            return frame.history.value(name, iteration)

        return query

    def known_series(self) -> IterationSeries | None:
        """The series over iterations, if the stop has it; None if the session must be queried."""
        frame = self._frame
        if frame is None or self.iteration is None:
            return IterationSeries((), MinMaxBand.from_numbers(np.empty(0)))
        history = frame.history.get(self.target.name)
        if history is None:
            return None
        quantity = "norm" if history.is_tensor else ""
        label = f"{quantity}, {history.bucket} iterations each".strip(", ") if history.bucket > 1 else quantity
        return IterationSeries(tuple(history.iterations.tolist()), history_band(history), label)

    @property
    def quantity(self) -> str:
        """The quantity plotted for a value: its norm, or "" for a scalar."""
        return "norm" if getattr(self.value, "size", 1) != 1 else ""

    @property
    def can_query_series(self) -> bool:
        """Whether the session may be queried for the series: the value is small, and other iterations ran."""
        return self.last_iteration > 0 and getattr(self.value, "size", 1) <= _RECOMPUTED_ELEMENTS_MAX

    @property
    def no_query_reason(self) -> str:
        """Why the session may not be queried."""
        is_large = getattr(self.value, "size", 1) > _RECOMPUTED_ELEMENTS_MAX
        return "not computed for large tensors" if is_large else "no other iteration yet"

    def series_query(self) -> Callable[[Session], IterationSeries]:
        """A query for the series, sampled evenly over long runs."""
        count = min(_QUERIED_ITERATIONS_MAX, self.last_iteration + 1)
        targets = sorted({round(k * self.last_iteration / max(1, count - 1)) for k in range(count)})
        # Within an iteration only the stop has the values computed so far.
        current = (
            [(self.iteration, representative_number(self.value))]
            if self.is_present and self.iteration in targets
            else []
        )
        queries = [(iteration, self.iteration_query(iteration)) for iteration in targets if iteration != self.iteration]
        quantity = self.quantity

        def query(session: Session) -> IterationSeries:
            points = [(iteration, representative_number(read(session))) for iteration, read in queries] + current
            return IterationSeries(
                tuple(i for i, _ in points), MinMaxBand.from_numbers(np.array([v for _, v in points])), quantity
            )

        return query


def as_tensor(value: Any) -> TensorRef | None:
    """Wrap a value as a tensor; None for sequences and None."""
    if value is None or isinstance(value, list | tuple):
        return None
    if isinstance(value, str | bytes):
        scalar = np.empty((), object)
        scalar[()] = value
        return TensorRef.from_array(scalar)
    return as_tensor_ref(value)
