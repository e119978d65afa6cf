"""What an inspector shows: a value of a frame, in the iteration of the stop or in another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from rich.cells import cell_len

from ...debugger.describe.value_names import scan_names
from ...debugger.session.session_base import SessionBase
from ...debugger.statistics.tensor_ref import TensorRef, as_tensor_ref
from ...runtime.errors import UsageError
from ...runtime.graph import Graph, Value, visible_values
from ...runtime.text import group_digits, size_text
from ..render.downsample import MinMaxBand
from ..render.formatting import dtype_name
from ..render.history_plots import history_band
from ..render.inspector_text import IterationSeries
from ..render.pseudo_code import program_source
from ..render.stop_view import ScreenState
from ..render.styled_text import truncate
from ..render.targets import ValueKind, ValueTarget
from ..render.text_plots import representative_number

#: So many other iterations are asked for one number each, at most, where no history has them.
_QUERIED_ITERATIONS_MAX = 64
#: Tensors of more elements are not computed again in other iterations for a picture.
_RECOMPUTED_ELEMENTS_MAX = 100_000


class InspectedValue:
    """A value and where it stands in time.

    ``iteration``: of which iteration the value at the stop is, or of what is carried which one gets it; None where it
    is of none. ``last``: the newest iteration that it can be asked of.
    """

    def __init__(self, target: ValueTarget, shown: ScreenState) -> None:
        self.target = target
        self.is_present, self.value = target.find_value(shown.view)
        #: What is said of it where it is not there.
        self.absence_text = target.absence_text(shown.view)
        found = target.frame_view(shown.view)
        self._frame = None if found is None or target.kind is ValueKind.OUTPUT else found.frame
        self.loop_name = "" if self._frame is None or self._frame.loop is None else self._frame.name
        self.iteration: int | None = None
        self.last_iteration = -1
        self.trip_count: int | None = None
        frame = self._frame
        if target.kind is ValueKind.SCAN and frame is not None:
            scan = next((one for one in frame.scans if one.name == target.name), None)
            if scan is not None and scan.full_value is not None:
                self.is_present, self.value = True, scan.full_value
        elif frame is not None and frame.loop is not None:
            self.trip_count = frame.trip_count
            between = frame.at_boundary
            if target.kind is ValueKind.CARRIED:
                self.iteration = self.last_iteration = frame.iteration
            else:
                self.iteration = self.last_iteration = frame.iteration - (between and frame.iteration > 0)
        #: The line of code that what computes it comes from; empty where that is not known.
        self.code_line = self._code_text(shown.main_graph)
        #: What it was in the iteration before, where the stop knows that.
        self.previous: Any = None
        if target.kind is ValueKind.CARRIED and frame is not None and self.iteration and frame.at_boundary:
            edge = next((one for one in frame.back_edges if one.param == target.name), None)
            self.previous = None if edge is None else edge.previous

    def _code_text(self, main: Graph) -> str:
        source, value = program_source(main), self._node_value(main)
        node = (
            None
            if value is None
            else source.formatter.origins.producer(source.formatter.origins.skip_identities(value))
        )
        return "" if node is None else source.code_lines.describe_node(node)

    def _node_value(self, main: Graph) -> Value | None:
        """The value as a node computes it: of a back edge what it takes from the body."""
        name, loop = self.target.name, None if self._frame is None else self._frame.loop
        if loop is None:
            return visible_values([main]).get(name)
        if self.target.kind is ValueKind.CARRIED:
            return next((edge.result for edge in loop.back_edges if edge.param.name == name), None)
        if self.target.kind is ValueKind.SCAN:
            pairs = zip(scan_names(loop), loop.scan_outputs, strict=True)
            return next((port.result for called, port in pairs if called == name), None)
        return self.target.graph_value or visible_values([loop.body]).get(name)

    def title_line(self, called: str, value: Any, tensor: TensorRef | None, iteration: int | None, width: int) -> str:
        """A line that says what is shown: a value, which may be that of another iteration, or an item of it."""
        parts = [called]
        if tensor is not None:
            parts.append(f"{dtype_name(tensor.dtype)} [{','.join(map(str, tensor.shape))}]")
        elif isinstance(value, list | tuple):
            parts.append(f"sequence of {len(value)}")
        if self.target.kind is ValueKind.OUTPUT:
            parts.append("output")
        elif self.loop_name:
            whose = {ValueKind.CARRIED: "carried by", ValueKind.SCAN: "scan output of"}.get(self.target.kind, "of")
            parts.append(f"{whose} '{self.loop_name}'")
        if iteration is not None:
            of = "" if self.trip_count is None else f" of {self.trip_count}"
            word = "into iteration" if self.target.kind is ValueKind.CARRIED else "iteration"
            parts.append(f"{word} {iteration}{of}")
            if iteration != self.iteration:
                parts.append(f"(the stop is at {self.iteration})")
        if tensor is not None:
            count = "1 element" if tensor.size == 1 else f"{group_digits(tensor.size)} elements"
            parts.append(f"{count}, {size_text(tensor.nbytes)}" if tensor.dtype.kind != "O" else count)
        text = "   ".join(parts)
        # How many elements there are stands below as well.
        return text if cell_len(text) <= width or tensor is None else truncate("   ".join(parts[:-1]), width)

    def iteration_query(self, iteration: int) -> Callable[[SessionBase], Any]:
        """How a session tells what the value was in another iteration."""
        name, depth = self.target.name, self.target.frame_depth

        def find(session: SessionBase) -> Any:
            frames = session.frames
            if depth is not None and depth >= len(frames):
                # A key typed ahead moved the session.
                raise UsageError("its loop does not run any more")
            frame = session.frame if depth is None else frames[depth]
            return frame.history.value(name, iteration)

        return find

    def known_series(self) -> IterationSeries | None:
        """How it went over iterations, as far as the stop knows; None where the session has to be asked."""
        frame = self._frame
        if frame is None or self.iteration is None:
            return IterationSeries((), MinMaxBand.from_numbers(np.empty(0)))
        history = frame.history.get(self.target.name)
        if history is None:
            return None
        what = "norm" if history.is_tensor else ""
        each = f"{what}, {history.bucket} iterations each".strip(", ") if history.bucket > 1 else what
        return IterationSeries(tuple(history.iterations.tolist()), history_band(history), each)

    @property
    def quantity(self) -> str:
        """What one number that stands for it is."""
        return "norm" if getattr(self.value, "size", 1) != 1 else ""

    @property
    def can_query_series(self) -> bool:
        """Whether the session may be asked for its course: it is small, and has been in other iterations."""
        return self.last_iteration > 0 and getattr(self.value, "size", 1) <= _RECOMPUTED_ELEMENTS_MAX

    @property
    def no_query_reason(self) -> str:
        """Why it may not be asked."""
        large = getattr(self.value, "size", 1) > _RECOMPUTED_ELEMENTS_MAX
        return "not computed for large tensors" if large else "no other iteration yet"

    def series_query(self) -> Callable[[SessionBase], IterationSeries]:
        """How a session tells the course: of some iterations, evenly apart, where there are many."""
        count = min(_QUERIED_ITERATIONS_MAX, self.last_iteration + 1)
        wanted = sorted({round(k * self.last_iteration / max(1, count - 1)) for k in range(count)})
        # In the middle of an iteration only the stop knows what that one has computed so far.
        now = (
            [(self.iteration, representative_number(self.value))]
            if self.is_present and self.iteration in wanted
            else []
        )
        finds = [(iteration, self.iteration_query(iteration)) for iteration in wanted if iteration != self.iteration]
        what = self.quantity

        def find(session: SessionBase) -> IterationSeries:
            told = [(iteration, representative_number(one(session))) for iteration, one in finds] + now
            return IterationSeries(
                tuple(i for i, _ in told), MinMaxBand.from_numbers(np.array([v for _, v in told])), what
            )

        return find


def as_tensor(value: Any) -> TensorRef | None:
    """The tensor that a value is; None of sequences and of nothing."""
    if value is None or isinstance(value, list | tuple):
        return None
    if isinstance(value, str | bytes):
        word = np.empty((), object)
        word[()] = value
        return TensorRef.from_array(word)
    return as_tensor_ref(value)
