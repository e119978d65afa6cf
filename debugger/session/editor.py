"""Edits of a stopped execution: carried and computed values, constants, condition and trip count."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ...runtime.array_interop import to_checked_array
from ...runtime.engine.engine import Engine
from ...runtime.errors import UsageError
from ...runtime.frame import NodeState
from ...runtime.graph import Loop, Value
from ...runtime.graph.producers import ProducerMap
from ...runtime.ops.constant_folding import ConstantFolder
from ..describe.value_names import mask_quoted, quote
from ..expression.expression import AssignmentTarget, format_value, parse, parse_target, replace_value
from ..frame_protocol import FrameReader
from ..scope.frame_scope import FrameScope
from .timeline import EditRecord

#: The assignment sign; comparisons do not match.
_ASSIGNMENT_SIGN = re.compile(r"(?<![=!<>])=(?!=)")


def normalize_value(value: Any) -> Any:
    """Convert a Python value to an expression value: None, a number, a string, an array, or a list.

    Raises:
        UsageError: the type is not supported.
    """
    if value is None or type(value) in (bool, int, float, complex, str, bytes):
        return value
    if isinstance(value, list | tuple):
        return [normalize_value(item) for item in value]
    array = to_checked_array(value)
    return array if array.ndim else array[()]


class StateEditor:
    """Edits the state of one engine at a stop, by the names of a frame."""

    def __init__(
        self,
        engine: Engine,
        frame: FrameReader,
        earlier: Mapping[Value, Any] = MappingProxyType({}),
    ) -> None:
        """``earlier``: values that were set before on this branch."""
        self._engine = engine
        self._frame = frame
        self._scope = FrameScope(frame, frame.history)
        self._edited_values = dict(earlier)
        #: The edits, for saving them into a model file.
        self.edit_records: list[EditRecord] = []

    def assign(self, text: str) -> str:
        """Execute ``target = expression``; returns its description.

        Raises:
            UsageError: the text is no assignment, or it is not possible here.
        """
        sign = _ASSIGNMENT_SIGN.search(mask_quoted(text))
        if sign is None:
            raise UsageError(
                f"'{text}' sets nothing; write NAME = EXPRESSION, as in h[0, 3] = 1.5",
                expected="NAME = EXPRESSION",
                got=text,
            )
        target, expression = text[: sign.start()].strip(), text[sign.end() :].strip()
        return self.set(target, parse(expression).evaluate(self._scope))

    def set(self, text: str, new: Any) -> str:
        """Replace a value; returns a description of the edit.

        Raises:
            UsageError: there is no such value, it cannot be set here, or the new one does not fit.
        """
        target = parse_target(text)
        text_ = f"{target.name if target.is_loop_state else text} = {format_value(new, 40)}"
        if target.is_loop_state:
            self._set_loop_state(target.name, new)
            kind = "condition" if target.name == "cond" else "trip count"
            self._record_edit(kind, np.asarray(new).item(), text_)
            return text_
        variable_inputs = self._pending_variable_inputs(target.name)
        if variable_inputs is not None:
            self._set_variable(variable_inputs, target, new)
            self._record_edit("variable", None, text_)
            return text_
        value = self._editable_value(target.name)
        slot = self._engine.plan.slot_of[value]
        is_constant = self._engine.editor.is_constant_node(slot)
        new_value = self._merge_value(
            self._constant_node_value(value) if is_constant else self._scope.value(target.name), target, new
        )
        self._engine.editor.set(slot, new_value)
        self._update_condition(value, slot)
        self._record_edit("value", new_value if is_constant else self._engine.value(slot), text_, value)
        return text_

    def _constant_node_value(self, value: Value) -> Any:
        """The output of a node without inputs, which need not have run yet."""
        if value in self._edited_values:
            return self._edited_values[value]
        graph = self._engine.plan.graph
        return ConstantFolder(ProducerMap.for_graph(graph), graph.system).value_of(value)

    def _record_edit(self, kind: str, data: Any, text: str, value: Value | None = None) -> None:
        if value is not None:
            self._edited_values[value] = data
        self.edit_records.append(EditRecord(kind, data, self._engine.position, text, value, self._frame.index))

    def _pending_variable_inputs(self, name: str) -> list[Value] | None:
        """For a variable that a pending ReadValue will read: its value, and whether it is assigned."""
        value = self._frame.scope().get(name)
        for entry in self._frame.nodes:
            node = entry.node
            if node.op_type == "ReadValue" and value in node.outputs and entry.state is not NodeState.DONE:
                return [v for v in node.inputs[:2] if v is not None]
        return None

    def _set_variable(self, inputs: list[Value], target: AssignmentTarget, new: Any) -> None:
        state, *assigned_flags = (self._engine.plan.slot_of[value] for value in inputs)
        old = self._engine.value(state)
        if not target.index and np.ndim(new):
            # An unassigned variable has no shape yet.
            old = np.zeros(np.shape(new), old.dtype)
        self._engine.editor.set(state, self._merge_value(old, target, new))
        for slot in assigned_flags:
            self._engine.editor.set(slot, np.array(True))

    def _update_condition(self, value: Value, slot: int) -> None:
        """Recompute the condition of the iteration after an edit that it depends on."""
        frame, plan = self._frame, self._engine.plan
        if frame.loop is None or frame.loop.condition_node_count is None or not frame.at_boundary:
            return
        loop = plan.loops[frame.index]
        if all(slot not in instruction.outputs for instruction in plan.code[loop.top : loop.head]):
            self._engine.retest_condition()
        elif value is frame.loop.condition:
            self._engine.editor.set_condition(frame.index, bool(np.all(self._engine.value(slot))))

    def _merge_value(self, old: Any, target: AssignmentTarget, new: Any) -> Any:
        # A complete new tensor may have another shape: loops may change shapes.
        replaces_tensor = isinstance(new, np.ndarray) and isinstance(old, np.ndarray) and not target.index
        if replaces_tensor and new.dtype == old.dtype and new.ndim and new.shape != old.shape:
            return new
        return replace_value(old, target, new, self._scope)

    def _set_loop_state(self, word: str, new: Any) -> None:
        frame = self._frame
        if frame.loop is None or not frame.at_boundary or frame.index not in self._engine.stack:
            raise UsageError(f"{word} can be set between two iterations of a running loop", name=word)
        if word == "cond":
            if not isinstance(new, bool | np.bool_):
                raise UsageError(
                    f"cond is true or false, not {format_value(new, 40)}",
                    name="cond",
                    expected="true or false",
                    got=format_value(new, 40),
                )
            if frame.condition is None:
                reason = (
                    "its sliced inputs count its iterations"
                    if frame.loop.counted_by_slices
                    else "set trip_count ends it"
                )
                raise UsageError(f"loop '{frame.name}' has no condition; {reason}", loop=frame.name, name="cond")
            self._engine.editor.set_condition(frame.index, bool(new))
            return
        number = None if isinstance(new, list) else np.asarray(new)
        if number is None or number.ndim or number.dtype.kind not in "iu" or int(number) < 0:
            raise UsageError(
                f"trip_count is a number of iterations, not {format_value(new, 40)}",
                name="trip_count",
                expected="a number of iterations",
                got=format_value(new, 40),
            )
        if frame.loop.counted_by_slices:
            raise UsageError(
                f"the sliced inputs of loop '{frame.name}' count its iterations; it has no trip count to set",
                loop=frame.name,
                name="trip_count",
            )
        self._engine.editor.set_trip_count(frame.index, int(number))
        self._engine.retest_condition()

    def _editable_value(self, name: str) -> Value:
        """The value with a name, if its contents will still be used.

        Raises:
            UsageError: there is none, or setting it would change nothing.
        """
        frame, loop = self._frame, self._frame.loop
        value = frame.scope().get(name)
        if value is None:
            self._scope.value(name)  # raises, with similar names
            raise UsageError(f"'{name}' is an output of the loop and grows by itself; it cannot be set", name=name)
        if loop is not None and value is loop.iteration:
            raise UsageError(f"'{name}' is the iteration number; goto goes to another iteration", name=name)
        if loop is not None and value is loop.condition_input:
            raise UsageError(f"'{name}' is the condition; set cond = true or false", name=name)
        if loop is not None and frame.at_boundary and any(value is port.inner for port in loop.sliced_inputs):
            outer = next(port.outer.name for port in loop.sliced_inputs if port.inner is value)
            raise UsageError(
                f"'{name}' is a part of '{outer}': set {quote(outer)}, or {quote(name)} inside the iteration", name=name
            )
        if self._engine.editor.is_constant_node(self._engine.plan.slot_of[value]):
            return value
        for entry in frame.nodes:
            if value in entry.node.outputs and entry.state is not NodeState.DONE:
                raise UsageError(self._not_computed_message(name, value, loop), name=name)
        return value

    def _not_computed_message(self, name: str, value: Value, loop: Loop | None) -> str:
        if loop is not None and self._frame.at_boundary:
            for edge in loop.back_edges:
                if edge.result is value:
                    return f"'{name}' is recomputed in each iteration; set {quote(edge.param.name)} for the next one"
        return f"'{name}' is not computed yet in this iteration; what is set now would be overwritten"
