"""The scope of expressions at a frame: its values, and through a history those of other iterations."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ...runtime.errors import InterruptError, UsageError, one_line
from ...runtime.frame import CarriedValue, NodeState
from ...runtime.graph import Array, ScanOutput, Value
from ...runtime.graph.slicing import normalize_axis, pad_scan_output
from ..describe.value_names import display_name, quote, scan_names
from ..expression.language import ScopeError, UnknownNameError
from ..frame_protocol import FrameProtocol, FrameValuesProtocol
from ..statistics.tensor_ref import TensorRef
from .sequence_text import sequence_text
from .tracked_values import HasEvolution

__all__ = ["FrameScope", "IterationLookup", "ScopeError", "UnknownNameError"]


class IterationLookup(Protocol):
    """What the values of one entry of a loop were in its other iterations."""

    def value(self, name: str, iteration: int) -> Any:
        """The value in an iteration: of a parameter what the iteration got, of a body value what it computed.

        Raises:
            UsageError: nothing is known of it.
        """


class FrameScope:
    """The values of a frame.

    ``x@40`` is what x was in iteration 40: a parameter what that iteration got, a body value what it computed. So at
    the boundary before iteration i a parameter has its value in iteration i and a body value that in iteration i-1
    (:meth:`remark` says so);
    ``previous`` is one iteration before that of the frame. A scan output has what it has collected when the
    iteration begins, and once the loop has ended what the loop returns, padding included. What comes from outside of
    the loop is the same in every iteration of one entry.

    A frame knows the last value of what its back edges carry; for all else it takes a history.
    """

    def __init__(self, frame: FrameProtocol, history: IterationLookup | None = None) -> None:
        self._frame = frame
        self._history = history

    # -- the state of the loop

    @property
    def iteration(self) -> int:
        """The iteration that runs, or at a boundary the one that would run next."""
        self._require_loop("'iter'")
        return self._frame.iteration

    @property
    def trip_count(self) -> int | None:
        """The most iterations allowed; None: no limit."""
        self._require_loop("'trip_count'")
        return self._frame.trip_count

    @property
    def condition(self) -> bool | None:
        """The execution condition in force; None where the loop has none."""
        self._require_loop("'cond'")
        return self._frame.condition

    def _require_loop(self, what: str) -> None:
        if self._frame.loop is None:
            raise ScopeError(f"{what} has no meaning in '{self._frame.name}', which is no loop")

    # -- values

    def names(self) -> Collection[str]:
        """Everything that has a value now."""
        return [*self._values, *self._scans, *self._enclosing_scans, *self._last_value_outputs]

    def value(self, name: str) -> Any:
        """The value in the frame."""
        name = self._canonical_name(name)
        if name in self._enclosing_scans:
            try:
                return self._enclosing_scans[name].scan_outputs[name]
            except KeyError:
                raise ScopeError(f"not all elements of '{name}' were recorded") from None
        if name in self._scans:
            return self._pad_scan(self._scans[name], self._scan_elements(name))
        if name in self._last_value_outputs:
            return self._values[self._last_value_outputs[name]]
        try:
            return self._values[name]
        except KeyError as error:
            raise ScopeError(str(error.args[0])) from None

    def _scan_elements(self, name: str) -> Any:
        """What a scan output of the loop has collected so far, without padding."""
        try:
            return self._frame.scan_outputs[self._scans[name].outer.name]
        except KeyError:
            raise ScopeError(f"not all elements of '{name}' were recorded") from None

    def _pad_scan(self, port: ScanOutput, elements: Any) -> Any:
        """A scan output with zeros up to its length, as the loop returns it, once the loop has ended."""
        length = self._padded_length(port)
        if length is None or length <= elements.shape[normalize_axis(port.axis, elements.ndim)]:
            return elements
        if isinstance(elements, TensorRef):
            return elements.with_array(lambda whole: pad_scan_output(whole, port, length))
        return pad_scan_output(elements, port, length)

    def _padded_length(self, port: ScanOutput) -> int | None:
        """The length to which a scan output is padded; None while the loop runs, and where it is not padded."""
        frame = self._frame
        if port.length is None or not frame.at_boundary or frame.stopped_by is None:
            return None
        known, length = frame.values.read(port.length)
        return int(np.asarray(length).reshape(())) if known else None

    def previous(self, name: str) -> Any:
        """The value one iteration before that of the frame."""
        name = self._canonical_name(name)
        self._require_loop("'prev'")
        shown = self._iteration_shown(name)
        if shown is None:
            if not self._frame.iteration:
                raise ScopeError("there is no iteration before iteration 0")
            return self.value(name)
        if shown < 1:
            raise ScopeError(f"'{name}' has no previous value: no iteration came before")
        return self._value_in_iteration(name, shown - 1, shown)

    def initial(self, name: str) -> Any:
        """The value in iteration 0."""
        return self.value_at(name, 0)

    def value_at(self, name: str, iteration: int) -> Any:
        """The value in an iteration of this entry of the loop."""
        name = self._canonical_name(name)
        self._require_loop("'@'")
        if iteration < 0:
            raise ScopeError(f"there is no iteration {iteration}")
        shown = self._iteration_shown(name)
        return self.value(name) if shown is None else self._value_in_iteration(name, iteration, shown)

    def history(self, name: str) -> Any:
        """One number for each iteration of this entry so far: the value, or its norm; of many iterations the extremes
        of some at a time."""
        name = self._canonical_name(name)
        self._require_loop("'history'")
        found = self._frame.evolution if isinstance(self._frame, HasEvolution) else {}
        if name not in found:
            have = f"; there is one of {', '.join(map(quote, found))}" if found else ""
            raise ScopeError(f"there is no history of '{name}'{have}")
        return found[name].extremes

    # -- where a value comes from

    @cached_property
    def _values(self) -> FrameValuesProtocol:
        return self._frame.values

    @cached_property
    def _names(self) -> Mapping[str, Value]:
        return self._frame._internals.scope()

    @cached_property
    def _scans(self) -> dict[str, ScanOutput]:
        """Scan outputs, which the nodes of a body cannot read but a user can: what they have collected so far."""
        loop = self._frame.loop
        return {} if loop is None else dict(zip(scan_names(loop), loop.scan_outputs, strict=True))

    @cached_property
    def _edges(self) -> list[CarriedValue]:
        return self._frame.back_edges

    @cached_property
    def _states(self) -> dict[Value, NodeState]:
        """Body value -> where the node that makes it stands."""
        nodes = self._frame.nodes if self._frame.loop else []
        return {v: entry.state for entry in nodes for v in entry.node.outputs if v is not None}

    @cached_property
    def _parameters(self) -> frozenset[str]:
        """Parameters that are another value in each iteration."""
        loop = self._frame.loop
        if loop is None:
            return frozenset()
        invariant = {entry.inner.name for entry in loop.invariants}
        return frozenset(value.name for value in loop.body.inputs if value.name not in invariant)

    @cached_property
    def _sliced(self) -> frozenset[str]:
        """Parameters that sliced inputs alone feed."""
        loop = self._frame.loop
        if loop is None:
            return frozenset()
        carried = {edge.param.name for edge in loop.back_edges}
        return frozenset(entry.inner.name for entry in loop.sliced_inputs) - carried

    @cached_property
    def _enclosing_scans(self) -> dict[str, FrameProtocol]:
        """Scan outputs of the loops around, which go on while this one runs, and the frames that collect them."""
        found: dict[str, FrameProtocol] = {}
        around = self._frame.around
        while around is not None and around.loop is not None:
            for port in around.loop.scan_outputs:
                if self._names.get(port.outer.name) is port.outer:
                    found[port.outer.name] = around
            around = around.around
        return found

    @cached_property
    def _last_value_outputs(self) -> dict[str, str]:
        """Where the loop ends: the outputs that are last values, which the graph around gets when the loop is left, and
        what in the body they are."""
        frame = self._frame
        if frame.loop is None or not frame.at_boundary or frame.stopped_by is None:
            return {}
        found: dict[str, str] = {}
        for last in frame.loop.last_values:
            edge = frame.loop.back_edge_for(last)
            inner = last.result if edge is None else edge.param
            outer = last.outer
            # A body's own value of that name is what the name means here.
            if self._names.get(outer.name) is outer and not self._values.read(outer)[0] and inner.name in self._values:
                found[outer.name] = inner.name
        return found

    def _producer_state(self, name: str) -> NodeState | None:
        """Where the node of the body stands that makes a value; None where none does."""
        value = self._names.get(name)
        return None if value is None or name in self._scans else self._states.get(value)

    def _canonical_name(self, name: str) -> str:
        """The value's own name, also where a short one was given."""
        if name not in self._names and name not in self._scans:
            raise UnknownNameError(f"loop '{self._frame.name}' has no value '{name}'")
        value = self._names.get(name)
        return value.name if value is not None and value.short_name == name else name

    def iteration_of(self, name: str) -> int | None:
        """The iteration that the value is of; None for what is the same in all of them."""
        name = self._canonical_name(name)
        return self._iteration_shown(name)

    def sequence_text_of(self, name: str) -> str:
        """All of its elements that were needed, of a value of a TensorRT loop (sequences.py); else ""."""
        if name not in self._names:
            return ""
        name = self._canonical_name(name)
        return sequence_text(self._frame, name, self._iteration_shown(name), lambda k: self.value_at(name, k))

    def iteration_remark(self, names: Collection[str]) -> str:
        """Which of some names are of another iteration than the frame: ``  # y of iteration 3``; else ""."""
        frame = self._frame
        if frame.loop is None:
            return ""
        of: dict[int, list[str]] = {}
        for name in sorted(names):
            shown = (
                self._iteration_shown(self._canonical_name(name))
                if name in self._names or name in self._scans
                else None
            )
            if shown is not None and shown != frame.iteration:
                of.setdefault(shown, []).append(display_name(self._names[name]) if name in self._names else quote(name))
        told = [f"{', '.join(found)} of iteration {iteration}" for iteration, found in sorted(of.items())]
        return f"  # {'; '.join(told)}" if told else ""

    def _iteration_shown(self, name: str) -> int | None:
        frame = self._frame
        if frame.loop is None:
            return None
        if name in self._parameters:
            # After the last iteration there is no further part of a sliced input: the value is still the last one.
            over = frame.at_boundary and frame.stopped_by is not None and frame.iteration > 0
            return frame.iteration - (over and name in self._sliced)
        state = self._producer_state(name)
        if state is None:
            # What a scan output has collected so far grows; all else comes from outside.
            return frame.iteration if name in self._scans else None
        # At a boundary only what decides whether the iteration ahead runs is done.
        return frame.iteration if state is NodeState.DONE else frame.iteration - 1

    def _value_in_iteration(self, name: str, iteration: int, shown: int) -> Any:
        if iteration == shown:
            return self.value(name)
        loop = self._frame.loop
        assert loop is not None
        if loop.iteration is not None and loop.iteration.name == name and iteration < shown:
            return np.full_like(self.value(name), iteration)
        port = self._scans.get(name)
        if port is not None and port.stack and iteration < shown:
            return _first_elements(self._scan_elements(name), iteration, port)
        if iteration == shown - 1:
            # ``previous`` is what the last iteration got, or within an iteration what this one got: either way that
            # is what the result was in the iteration before.
            boundary = self._frame.at_boundary
            for edge in self._edges:
                if edge.previous is None:
                    # Nothing, or nothing that is known here.
                    continue
                if edge.param == name and boundary:
                    return edge.previous
                if edge.result == name and boundary and shown == self._frame.iteration:
                    return edge.value
                if (
                    edge.result == name
                    and self._producer_state(name) is not None
                    and (boundary or shown == self._frame.iteration)
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


def _first_elements(collected: Array, count: int, port: ScanOutput) -> Array:
    """The first elements that a stacked scan output collected; the last ones in a reversed one."""
    axis = normalize_axis(port.axis, collected.ndim)
    index = [slice(None)] * collected.ndim
    index[axis] = slice(collected.shape[axis] - count, None) if port.reverse else slice(count)
    return collected[tuple(index)].copy()
