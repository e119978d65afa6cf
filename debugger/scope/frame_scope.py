"""The scope of expressions at a frame: its values and, with a history, those of other iterations."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from ...runtime.errors import InterruptError, UsageError, one_line
from ...runtime.frame import CarriedValue, FrameValues, NodeState
from ...runtime.graph import Array, ScanOutput, Value
from ...runtime.graph.slicing import normalize_axis, pad_scan_output
from ..describe.value_names import display_name, quote, scan_names
from ..expression.expression import ScopeError, UnknownNameError
from ..frame_protocol import FrameProtocol, IterationLookup
from ..statistics.tensor_statistics import TensorRef
from .tensorrt_sequence_text import sequence_text

__all__ = ["FrameScope", "IterationLookup", "ScopeError", "UnknownNameError"]


class FrameScope:
    """The values of a frame.

    ``x@40`` is the value of x in iteration 40: for a parameter the value received by that iteration, for a body value
    the value computed in it. At the boundary before iteration i, a parameter has its value in iteration i and a body
    value that of iteration i-1 (see :meth:`iteration_remark`). ``previous`` is one iteration earlier than the frame.
    A scan output is the elements collected before the iteration and, after the loop has ended, the output of the
    loop with padding. A value from outside the loop is constant during one entry.

    A frame knows the previous value of each back edge; all other past values need a history.
    """

    def __init__(self, frame: FrameProtocol, history: IterationLookup | None = None) -> None:
        self._frame = frame
        self._history = history

    # -- the state of the loop

    @property
    def iteration(self) -> int:
        """The current iteration; at a boundary the next one."""
        self._require_loop("'iter'")
        return self._frame.iteration

    @property
    def trip_count(self) -> int | None:
        """The maximum number of iterations; None: no limit."""
        self._require_loop("'trip_count'")
        return self._frame.trip_count

    @property
    def condition(self) -> bool | None:
        """The current execution condition; None if the loop has none."""
        self._require_loop("'cond'")
        return self._frame.condition

    def _require_loop(self, subject: str) -> None:
        if self._frame.loop is None:
            raise ScopeError(f"{subject} has no meaning in '{self._frame.name}', which is no loop")

    # -- values

    def names(self) -> Collection[str]:
        """The names of all values that exist now."""
        return [*self._values, *self._scan_ports, *self._enclosing_scans, *self._last_value_outputs]

    def value(self, name: str) -> Any:
        """Return the value in the frame."""
        name = self._canonical_name(name)
        if name in self._enclosing_scans:
            try:
                return self._enclosing_scans[name].scan_outputs[name]
            except KeyError:
                raise ScopeError(f"not all elements of '{name}' were recorded") from None
        if name in self._scan_ports:
            return self._pad_scan(self._scan_ports[name], self._collected_scan_elements(name))
        if name in self._last_value_outputs:
            return self._values[self._last_value_outputs[name]]
        try:
            return self._values[name]
        except KeyError as error:
            raise ScopeError(str(error.args[0])) from None

    def _collected_scan_elements(self, name: str) -> Any:
        """The elements that a scan output of the loop has collected so far, without padding."""
        try:
            return self._frame.scan_outputs[self._scan_ports[name].outer.name]
        except KeyError:
            raise ScopeError(f"not all elements of '{name}' were recorded") from None

    def _pad_scan(self, port: ScanOutput, elements: Any) -> Any:
        """Pad a scan output with zeros to its length, as the loop returns it, if the loop has ended."""
        length = self._padded_length(port)
        if length is None or length <= elements.shape[normalize_axis(port.axis, elements.ndim)]:
            return elements
        if isinstance(elements, TensorRef):
            return elements.with_array(lambda array: pad_scan_output(array, port, length))
        return pad_scan_output(elements, port, length)

    def _padded_length(self, port: ScanOutput) -> int | None:
        """The length to which a scan output is padded; None while the loop runs or if it is not padded."""
        frame = self._frame
        if port.length is None or not frame.at_boundary or frame.stopped_by is None:
            return None
        is_known, length = frame.values.read(port.length)
        return int(np.asarray(length).reshape(())) if is_known else None

    def previous(self, name: str) -> Any:
        """Return the value one iteration before that of the frame."""
        name = self._canonical_name(name)
        self._require_loop("'prev'")
        current = self._iteration_of_value(name)
        if current is None:
            if not self._frame.iteration:
                raise ScopeError("there is no iteration before iteration 0")
            return self.value(name)
        if current < 1:
            raise ScopeError(f"'{name}' has no previous value: no iteration came before")
        return self._value_in_iteration(name, current - 1, current)

    def initial(self, name: str) -> Any:
        """Return the value in iteration 0."""
        return self.value_at(name, 0)

    def value_at(self, name: str, iteration: int) -> Any:
        """Return the value in an iteration of this entry of the loop."""
        name = self._canonical_name(name)
        self._require_loop("'@'")
        if iteration < 0:
            raise ScopeError(f"there is no iteration {iteration}")
        current = self._iteration_of_value(name)
        return self.value(name) if current is None else self._value_in_iteration(name, iteration, current)

    def history(self, name: str) -> Any:
        """Return one number for each iteration of this entry so far: the value or its norm; for many iterations the
        extremes of each bucket."""
        name = self._canonical_name(name)
        self._require_loop("'history'")
        evolution = {} if self._history is None else self._history.evolution()
        if name not in evolution:
            hint = f"; there is one of {', '.join(map(quote, evolution))}" if evolution else ""
            raise ScopeError(f"there is no history of '{name}'{hint}")
        return evolution[name].extremes

    # -- where a value comes from

    @cached_property
    def _values(self) -> FrameValues:
        return self._frame.values

    @cached_property
    def _values_by_name(self) -> Mapping[str, Value]:
        return self._values.scope()

    @cached_property
    def _scan_ports(self) -> dict[str, ScanOutput]:
        """Scan outputs: the nodes of a body cannot read them, a user can."""
        loop = self._frame.loop
        return {} if loop is None else dict(zip(scan_names(loop), loop.scan_outputs, strict=True))

    @cached_property
    def _edges(self) -> list[CarriedValue]:
        return self._frame.back_edges

    @cached_property
    def _producer_states(self) -> dict[Value, NodeState]:
        """Body value -> state of the node that computes it."""
        nodes = self._frame.nodes if self._frame.loop else []
        return {v: entry.state for entry in nodes for v in entry.node.outputs if v is not None}

    @cached_property
    def _varying_parameters(self) -> frozenset[str]:
        """Parameters that differ between iterations."""
        loop = self._frame.loop
        if loop is None:
            return frozenset()
        invariant = {entry.inner.name for entry in loop.invariants}
        return frozenset(value.name for value in loop.body.inputs if value.name not in invariant)

    @cached_property
    def _sliced_parameters(self) -> frozenset[str]:
        """Parameters that only sliced inputs feed."""
        loop = self._frame.loop
        if loop is None:
            return frozenset()
        carried = {edge.param.name for edge in loop.back_edges}
        return frozenset(entry.inner.name for entry in loop.sliced_inputs) - carried

    @cached_property
    def _enclosing_scans(self) -> dict[str, FrameProtocol]:
        """Scan outputs of the enclosing loops, which are still being collected, and the frames that collect them."""
        frames: dict[str, FrameProtocol] = {}
        frame = self._frame.around
        while frame is not None and frame.loop is not None:
            for port in frame.loop.scan_outputs:
                if self._values_by_name.get(port.outer.name) is port.outer:
                    frames[port.outer.name] = frame
            frame = frame.around
        return frames

    @cached_property
    def _last_value_outputs(self) -> dict[str, str]:
        """After the end of the loop: outputs that are last values, and the body value of each."""
        frame = self._frame
        if frame.loop is None or not frame.at_boundary or frame.stopped_by is None:
            return {}
        names: dict[str, str] = {}
        for last_value in frame.loop.last_values:
            edge = frame.loop.back_edge_for(last_value)
            inner = last_value.result if edge is None else edge.param
            outer = last_value.outer
            # A value of the body hides an outer value of the same name.
            if (
                self._values_by_name.get(outer.name) is outer
                and not self._values.read(outer)[0]
                and inner.name in self._values
            ):
                names[outer.name] = inner.name
        return names

    def _producer_state(self, name: str) -> NodeState | None:
        """The state of the body node that computes a value; None if no node computes it."""
        value = self._values_by_name.get(name)
        return None if value is None or name in self._scan_ports else self._producer_states.get(value)

    def _canonical_name(self, name: str) -> str:
        """The full name of a value that may be given by its short name."""
        if name not in self._values_by_name and name not in self._scan_ports:
            raise UnknownNameError(f"loop '{self._frame.name}' has no value '{name}'")
        value = self._values_by_name.get(name)
        return value.name if value is not None and value.short_name == name else name

    def iteration_of(self, name: str) -> int | None:
        """Return the iteration of the value; None for a value that is the same in all iterations."""
        name = self._canonical_name(name)
        return self._iteration_of_value(name)

    def sequence_text_of(self, name: str) -> str:
        """Return the required elements of a value of a TensorRT loop (tensorrt_sequence_text.py); else ""."""
        if name not in self._values_by_name:
            return ""
        name = self._canonical_name(name)
        return sequence_text(self._frame, name, self._iteration_of_value(name), lambda k: self.value_at(name, k))

    def iteration_remark(self, names: Collection[str]) -> str:
        """Return a remark on the names whose iteration differs from the frame's: ``  # y of iteration 3``; else ""."""
        frame = self._frame
        if frame.loop is None:
            return ""
        groups: dict[int, list[str]] = {}
        for name in sorted(names):
            current = (
                self._iteration_of_value(self._canonical_name(name))
                if name in self._values_by_name or name in self._scan_ports
                else None
            )
            if current is not None and current != frame.iteration:
                groups.setdefault(current, []).append(
                    display_name(self._values_by_name[name]) if name in self._values_by_name else quote(name)
                )
        remarks = [f"{', '.join(texts)} of iteration {iteration}" for iteration, texts in sorted(groups.items())]
        return f"  # {'; '.join(remarks)}" if remarks else ""

    def _iteration_of_value(self, name: str) -> int | None:
        frame = self._frame
        if frame.loop is None:
            return None
        if name in self._varying_parameters:
            # After the last iteration a sliced input has no further slice: its value is still the last one.
            has_ended = frame.at_boundary and frame.stopped_by is not None and frame.iteration > 0
            return frame.iteration - (has_ended and name in self._sliced_parameters)
        state = self._producer_state(name)
        if state is None:
            # A scan output grows; all other values come from outside.
            return frame.iteration if name in self._scan_ports else None
        # At a boundary only the condition of the next iteration has been computed.
        return frame.iteration if state is NodeState.DONE else frame.iteration - 1

    def _value_in_iteration(self, name: str, iteration: int, current: int) -> Any:
        if iteration == current:
            return self.value(name)
        loop = self._frame.loop
        assert loop is not None
        if loop.iteration is not None and loop.iteration.name == name and iteration < current:
            return np.full_like(self.value(name), iteration)
        port = self._scan_ports.get(name)
        if port is not None and port.stack and iteration < current:
            return _first_elements(self._collected_scan_elements(name), iteration, port)
        if iteration == current - 1:
            # At a boundary ``previous`` is the parameter of the last iteration, within an iteration that of the current
            # one. In both cases it is the result of the iteration before.
            boundary = self._frame.at_boundary
            for edge in self._edges:
                if edge.previous is None:
                    # No previous value, or an unknown one.
                    continue
                if edge.param == name and boundary:
                    return edge.previous
                if edge.result == name and boundary and current == self._frame.iteration:
                    return edge.value
                if (
                    edge.result == name
                    and self._producer_state(name) is not None
                    and (boundary or current == self._frame.iteration)
                ):
                    return edge.previous
        if self._history is None:
            raise ScopeError(f"what '{name}' was in iteration {iteration} is not kept here")
        try:
            return self._history.value(name, iteration)
        except (ScopeError, InterruptError):
            raise
        except UsageError as error:
            raise ScopeError(one_line(error)) from None


def _first_elements(elements: Array, count: int, port: ScanOutput) -> Array:
    """The first elements that a stacked scan output collected; the last ones for a reversed output."""
    axis = normalize_axis(port.axis, elements.ndim)
    index = [slice(None)] * elements.ndim
    index[axis] = slice(elements.shape[axis] - count, None) if port.reverse else slice(count)
    return elements[tuple(index)].copy()
