"""A loop as TensorRT's ILoop (docs/semantics.md 8): limits, recurrences, iterators and outputs as script lines."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ...runtime.errors import ExecutionError, Remedy, UnsupportedError, one_line
from ...runtime.graph import (
    Graph,
    LastValueOutput,
    Loop,
    ScanOutput,
    SlicedInput,
    TensorType,
    Value,
    values_read_in_graph,
)
from ...runtime.graph.slicing import normalize_axis, part_geometry
from ..describe.condition_analysis import condition_slice
from ..describe.termination import TerminationRule
from ..describe.value_names import display_name
from .primitive_layers import ScriptTensor, TensorRTLayers
from .script_code import ScriptCode, shape_literal, string_literal

_BOOL = np.dtype(bool)
_INT64 = np.dtype(np.int64)
_MAX_TRIP_COUNT = np.iinfo(_INT64).max


class LoopContext(Protocol):
    """The context of a loop: tensors of values, and a writer for the nodes of a body."""

    tensors: dict[Value, ScriptTensor]
    notes: list[str]

    def tensor_of(self, value: Value) -> ScriptTensor: ...

    def write_nodes(self, graph: Graph) -> None: ...


@dataclass(frozen=True)
class RecurrenceLayer:
    """``layer``: its name in the script; ``output``: its tensor."""

    layer: str
    output: ScriptTensor


class ILoopWriter:
    """Writes one loop. ``capacity``: the capacity of scan outputs that only a condition ends."""

    def __init__(
        self,
        scope: LoopContext,
        code: ScriptCode,
        layers: TensorRTLayers,
        loop: Loop,
        rule: TerminationRule,
        capacity: int | None,
    ) -> None:
        self.scope = scope
        self.code = code
        self.layers = layers
        self.loop = loop
        self.ending = rule
        self.scan_capacity = capacity
        self.values_read = values_read_in_graph(loop.body)
        #: The ILoop's name in the script.
        self.name = ""
        #: The trip count: an integer scalar; None if there is no limit.
        self.trip_count: ScriptTensor | None = None
        #: The enclosing loops, as far as they follow from the inputs.
        self.enclosing_loops: frozenset[str] = frozenset()
        self.recurrences: dict[Value, RecurrenceLayer] = {}
        #: Recurrences whose second input is not set yet, with the body's value for it.
        self.open_recurrences: list[tuple[RecurrenceLayer, Value]] = []

    def write(self) -> None:
        """Write the limits, inputs, body, back edges and outputs.

        Raises:
            UnsupportedError: TensorRT cannot express the loop.
        """
        loop, code = self.loop, self.code
        self._check_supported()
        code.add_line()
        code.add_comment(
            f"{loop.op_type} '{loop.name}'" + (f", made of {loop.derived_from}" if loop.derived_from else "")
        )
        # Compute all inputs of the loop before it.
        self.trip_count = self._trip_count()
        sliced = [(port, *self._slice_source(port)) for port in loop.sliced_inputs]
        initials = [self._initial_tensor(edge.initial) for edge in loop.back_edges]
        first = self._initial_condition()
        self.enclosing_loops = frozenset().union(
            first.loops, *(x.loops for x in initials), *(x.loops for _, x, _, _ in sliced)
        )
        self.name = code.identifier(loop.name or "loop")
        code.add_line(f"{self.name} = network.add_loop()")
        code.add_line(f"{self.name}.name = {string_literal(loop.name)}")
        if self.trip_count is not None:
            code.add_line(
                f"{self.name}.add_trip_limit({self.layers.tensor_name(self.trip_count)}, trt.TripLimit.COUNT)"
            )
        self._write_condition(first)
        number = self._write_iteration_number()
        for port, source, axis, reverse in sliced:
            self._write_slice(port, source, axis, reverse, number)
        for invariant in loop.invariants:
            self.scope.tensors[invariant.inner] = self.scope.tensor_of(invariant.outer)
        for edge, initial in zip(loop.back_edges, initials, strict=True):
            code.add_comment(f"carried: {edge.param.name}, then {edge.result.name}")
            recurrence = self._add_recurrence(edge.param.name, initial)
            self.recurrences[edge.param] = recurrence
            self.open_recurrences.append((recurrence, edge.result))
            self.scope.tensors[edge.param] = recurrence.output
        self.scope.write_nodes(loop.body)
        code.add_line()
        code.add_comment(f"the end of '{loop.name}'")
        for recurrence, result in self.open_recurrences:
            # A loop is also nested in the loops that its back edges depend on.
            self.enclosing_loops |= self._close_recurrence(recurrence, result).loops
        for output in loop.last_values:
            self._write_last_value(output)
        for scan in loop.scan_outputs:
            self._write_scan_output(scan)

    def _check_supported(self) -> None:
        loop, rule = self.loop, self.ending
        if not any(value is not None for value in loop.outputs):
            raise UnsupportedError("TensorRT drops a loop that has no outputs")
        if not rule.has_iteration_bound and not rule.condition_decides and rule.initial_condition is True:
            raise UnsupportedError("TensorRT refuses a loop with neither a trip count nor a condition")
        for value in (*(edge.param for edge in loop.back_edges), *(scan.result for scan in loop.scan_outputs)):
            if not isinstance(value.type, TensorType):
                raise UnsupportedError(
                    f"{display_name(value)} is {value.type}: TensorRT has no sequences and no optionals"
                )

    # -- limits

    def _trip_count(self) -> ScriptTensor | None:
        """The trip count as a scalar."""
        rule = self.ending
        self.layers.result_name = f"{self.loop.name}_trips"
        if rule.slices:
            counts = {port.outer.name: self._number_of_parts(port) for port in rule.slices}
            if len(set(counts.values())) > 1:
                details = ", ".join(f"{name} has {count}" for name, count in counts.items())
                raise UnsupportedError(f"its sliced inputs disagree on the number of iterations: {details}")
            return self._integer_constant(next(iter(counts.values())))
        if rule.trip_count is not None:
            return self._integer_constant(rule.trip_count)
        return (
            None
            if rule.trip_count_value is None
            else self._normalize_trip_count(self.scope.tensor_of(rule.trip_count_value))
        )

    def _integer_constant(self, number: int) -> ScriptTensor:
        return self.layers.constant_tensor(np.array(number, _INT64))

    def _normalize_trip_count(self, count: ScriptTensor) -> ScriptTensor | None:
        endless = self.loop.minus_one_is_no_limit
        if count.array is not None:
            number = int(count.array.reshape(-1)[0])
            return None if endless and number == -1 else self._integer_constant(max(number, 0))
        layers = self.layers
        count = layers.cast(layers.reshape(count, ()), _INT64)
        if not endless:
            return layers.map(np.maximum, count, self._integer_constant(0))
        return layers.where(
            layers.map(np.less, count, self._integer_constant(0)), self._integer_constant(_MAX_TRIP_COUNT), count
        )

    def _initial_condition(self) -> ScriptTensor:
        """The condition before iteration 0, as a scalar."""
        outer = self.loop.initial_condition
        if outer is None:
            return self.layers.constant_tensor(np.array(True))
        self.layers.result_name = f"{self.loop.name}_first"
        return self.layers.reshape(self.layers.cast(self.scope.tensor_of(outer), _BOOL), ())

    def _write_condition(self, first: ScriptTensor) -> None:
        """kWHILE is tested before an iteration: a recurrence carries the condition of the previous one to it."""
        loop, rule = self.loop, self.ending
        reader = loop.condition_input if loop.condition_input in self.values_read else None
        value = loop.condition if loop.condition is not None else loop.ignored_condition
        if reader is None and not rule.condition_decides:
            if rule.initial_condition is not True:
                self.code.add_line(f"{self.name}.add_trip_limit({self.layers.tensor_name(first)}, trt.TripLimit.WHILE)")
            return
        flag = first
        if value is not None:
            self.code.add_comment(f"what an iteration yields decides about the next: {value.name}")
            carried = self._add_recurrence("condition" if reader is None else reader.name, first)
            self.open_recurrences.append((carried, value))
            flag = carried.output
        if reader is not None:
            self.layers.result_name = f"{reader.name}_shaped"
            self.scope.tensors[reader] = self._reshape_to_declared(flag, reader)
        if rule.condition_decides or rule.initial_condition is not True:
            self.code.add_line(f"{self.name}.add_trip_limit({self.layers.tensor_name(flag)}, trt.TripLimit.WHILE)")

    def _reshape_to_declared(self, x: ScriptTensor, value: Value) -> ScriptTensor:
        """One element, in the shape that the body declares for it."""
        shape = value.type.shape if isinstance(value.type, TensorType) else None
        return self.layers.reshape(x, (1,) * len(shape)) if shape else x

    # -- recurrences

    def _add_recurrence(self, name: str, initial: ScriptTensor) -> RecurrenceLayer:
        first = self.layers.tensor_name(initial)
        layer = self.code.identifier(f"{name}_recurrence")
        output = self.code.identifier(name)
        self.code.add_line(f"{layer} = {self.name}.add_recurrence({first})")
        self.code.add_line(f"{output} = named({layer}, {string_literal(name)})")
        loops = initial.loops | {self.name}
        return RecurrenceLayer(layer, ScriptTensor(output, initial.shape, initial.dtype, loops=loops))

    def _close_recurrence(self, recurrence: RecurrenceLayer, result: Value) -> ScriptTensor:
        """Close the back edge; return the carried tensor."""
        update, first = self.scope.tensor_of(result), recurrence.output
        if first.dtype == _BOOL and not first.shape and update.shape == (1,):
            self.layers.result_name = f"{result.name}_scalar"
            update = self.layers.reshape(update, ())
        if update.shape != first.shape:
            raise UnsupportedError(
                f"{display_name(result)} has shape {list(update.shape)} where it begins with {list(first.shape)},"
                " and both inputs of an IRecurrenceLayer have one shape"
            )
        if update.dtype != first.dtype:
            raise UnsupportedError(
                f"{display_name(result)} is {update.dtype} where it begins as {first.dtype}, and both inputs of an"
                " IRecurrenceLayer have one type"
            )
        self.code.add_line(f"{recurrence.layer}.set_input(1, {self.layers.tensor_name(update)})")
        return update

    def _write_iteration_number(self) -> ScriptTensor | None:
        """The iteration number, if it is used: TensorRT has none."""
        value = self.loop.iteration if self.loop.iteration in self.values_read else None
        if value is None and not self._slices_by_iteration_number:
            return None
        dtype = value.type.dtype if value is not None and isinstance(value.type, TensorType) else None
        name = "iteration" if value is None else value.name
        self.code.add_comment("the iteration number")
        counter = self._add_recurrence(name, self.layers.constant_tensor(np.array(0, dtype or _INT64)))
        self.layers.result_name = f"{name}_plus_1"
        update = self.layers.map(np.add, counter.output, self.layers.constant_tensor(np.array(1, counter.output.dtype)))
        self.code.add_line(f"{counter.layer}.set_input(1, {update.code})")
        trips = None if self.trip_count is None else self.trip_count.array
        if trips is not None and not self.ending.condition_decides:  # kWHILE may not reach iterators
            self.layers.iteration_numbers[counter.output.code] = (self.name, int(trips))
        if value is not None:
            self.layers.result_name = f"{name}_shaped"
            self.scope.tensors[value] = self._reshape_to_declared(counter.output, value)
        return counter.output

    # -- inputs

    @property
    def _slices_by_iteration_number(self) -> bool:
        """Whether to slice by iteration number: the condition needs the slices, and kWHILE allows no iterators."""
        return self.ending.condition_decides and bool(condition_slice(self.loop).all_slices)

    def _number_of_parts(self, port: SlicedInput) -> int:
        return self._slice_geometry(port)[2]

    def _slice_geometry(self, port: SlicedInput) -> tuple[int, int, int, int]:
        """First element, step, number of parts, and the axis."""
        outer = self.scope.tensor_of(port.outer)
        axis = normalize_axis(port.axis, outer.ndim)
        if not 0 <= axis < outer.ndim:
            raise UnsupportedError(f"{display_name(port.outer)} {list(outer.shape)} has no axis {port.axis}")
        try:
            return (*part_geometry(outer.shape[axis], port, axis, lambda: display_name(port.outer)), axis)
        except ExecutionError as error:
            raise UnsupportedError(one_line(error)) from None

    def _slice_source(self, port: SlicedInput) -> tuple[ScriptTensor, int, bool]:
        """A tensor whose slices along an axis are the parts, and whether they are read in reverse."""
        outer = self.scope.tensor_of(port.outer)
        first, step, count, axis = self._slice_geometry(port)
        length = outer.shape[axis]
        is_single = port.part_size == 1 or port.drop_axis
        trips = None if self.trip_count is None else self.trip_count.array
        backward = first == length - 1 and (step == -1 or count == 1 == length) and port.stride < 0
        if is_single and count == length and not self._slices_by_iteration_number:
            if first == 0 and step >= 0:
                return outer, axis, False
            # A reverse iterator begins at the last trip, not at the last element.
            if backward and trips is not None and int(trips) == length:
                return outer, axis, True
        indices = first + step * np.arange(count, dtype=_INT64)
        if not is_single:
            indices = indices[:, None] + np.arange(port.part_size, dtype=_INT64)
        self.layers.result_name = f"{port.inner.name}_parts"
        return self.layers.gather(outer, self.layers.constant_tensor(indices), axis), axis, False

    def _write_slice(
        self, port: SlicedInput, source: ScriptTensor, axis: int, reverse: bool, number: ScriptTensor | None
    ) -> None:
        self.code.add_comment(f"sliced input: {port.inner.name} of {port.outer.name}, axis {axis}")
        self.layers.result_name = port.inner.name
        if self._slices_by_iteration_number and number is not None:
            part = self.layers.gather(source, number, axis)
        else:
            shape = source.shape[:axis] + source.shape[axis + 1 :]
            name = self.code.identifier(port.inner.name)
            arguments = f"{self.layers.tensor_name(source)}, {axis}, {reverse}"
            self.code.add_line(
                f"{name} = named({self.name}.add_iterator({arguments}), {string_literal(port.inner.name)})"
            )
            part = ScriptTensor(name, shape, source.dtype, loops=source.loops | {self.name})
        if not port.drop_axis and part.ndim < self.scope.tensor_of(port.outer).ndim:
            part = self.layers.reshape(part, (*part.shape[:axis], 1, *part.shape[axis:]))
        self.scope.tensors[port.inner] = part

    def _initial_tensor(self, initial: Value | SlicedInput) -> ScriptTensor:
        if isinstance(initial, Value):
            return self.scope.tensor_of(initial)
        first, _, _, axis = self._slice_geometry(initial)
        outer = self.scope.tensor_of(initial.outer)
        index = np.array(first, _INT64)
        if not initial.drop_axis:
            index = first + np.arange(initial.part_size, dtype=_INT64)
        self.layers.result_name = f"{initial.inner.name}_first"
        return self.layers.gather(outer, self.layers.constant_tensor(index), axis)

    # -- outputs

    def _add_loop_output(self, call: str, name: str, length: str = "") -> str:
        identifier = self.code.identifier(name)
        self.code.add_line(f"layer = {self.name}.add_loop_output({call})")
        if length:
            self.code.add_line(f"layer.set_input(1, {length})")
        self.code.add_line(f"{identifier} = named(layer, {string_literal(name)})")
        return identifier

    def _write_last_value(self, output: LastValueOutput) -> None:
        edge = output.edge or next((edge for edge in self.loop.back_edges if edge.result is output.result), None)
        if edge is not None:
            source = self.recurrences[edge.param].output
        else:
            result = self.scope.tensor_of(output.result)
            self.code.add_comment(
                f"a last value comes from a recurrence: one of {output.result.name}, which begins with zeros"
            )
            zeros = self.layers.constant_tensor(np.zeros(result.shape, result.dtype))
            recurrence = self._add_recurrence(f"{output.result.name}_last", zeros)
            self._close_recurrence(recurrence, output.result)
            source = recurrence.output
        name = self._add_loop_output(f"{source.code}, trt.LoopOutput.LAST_VALUE", output.outer.name)
        self.scope.tensors[output.outer] = ScriptTensor(
            name, source.shape, source.dtype, loops=self._output_loops(source)
        )

    def _scan_length(self, scan: ScanOutput) -> tuple[ScriptTensor, bool]:
        """The maximum length of an output, and whether it may stay shorter."""
        limit = self.trip_count
        number = None if limit is None or limit.array is None else int(limit.array)
        is_padded = self.ending.condition_decides or self.ending.initial_condition is not True or limit is None
        if is_padded:
            if self.scan_capacity is not None and (number is None or number > self.scan_capacity):
                limit = self._integer_constant(self.scan_capacity)
            if limit is None or (number is not None and number >= _MAX_TRIP_COUNT):
                raise UnsupportedError(
                    f"the length of {display_name(scan.outer)} is known only when the loop ends, and TensorRT needs it"
                    " in advance",
                    Remedy.SET_MAX_LENGTH,
                )
            self.scope.notes.append(
                f"{display_name(scan.outer)} is as long as the loop may run; what lies beyond its end is zeros here and"
                " arbitrary in TensorRT"
            )
        assert limit is not None
        return limit, is_padded

    def _write_scan_output(self, scan: ScanOutput) -> None:
        result = self.scope.tensor_of(scan.result)
        length, is_padded = self._scan_length(scan)
        count = -1 if length.array is None else int(length.array)
        if self.name not in result.loops:
            self.code.add_comment(f"{scan.result.name} comes from outside, and loop outputs collect what is inside")
            recurrence = self._add_recurrence(f"{scan.result.name}_each", result)
            self.code.add_line(f"{recurrence.layer}.set_input(1, {self.layers.tensor_name(result)})")
            result = recurrence.output
        axis = normalize_axis(scan.axis, result.ndim + scan.stack)
        word = "REVERSE" if scan.reverse else "CONCATENATE"
        call = f"{result.code}, trt.LoopOutput.{word}, {axis}"
        label = scan.outer.name if scan.stack else f"{scan.outer.name}_parts"
        name = self._add_loop_output(call, label, self.layers.tensor_name(length))
        shape = (*result.shape[:axis], count, *result.shape[axis:])
        stacked = ScriptTensor(name, shape, result.dtype, loops=self._output_loops(result))
        joined = stacked if scan.stack else self._join_parts(stacked, axis, scan.outer.name)
        self.scope.tensors[scan.outer] = replace(joined, is_padded=is_padded)

    def _output_loops(self, inner: ScriptTensor) -> frozenset[str]:
        """The loops that contain an output: the enclosing ones."""
        count = frozenset() if self.trip_count is None else self.trip_count.loops
        return (inner.loops | self.enclosing_loops | count) - {self.name}

    def _join_parts(self, x: ScriptTensor, axis: int, name: str) -> ScriptTensor:
        """Parts joined along their own axis."""
        count, size = x.shape[axis], x.shape[axis + 1]
        shape = (*x.shape[:axis], -1 if count < 0 else count * size, *x.shape[axis + 2 :])
        self.layers.result_name = name
        # No size is to be copied, which 0 would mean.
        settings = [f"reshape_dims = {shape_literal(shape)}", *(["zero_is_placeholder = False"] if 0 in shape else [])]
        return self.layers.add_layer("add_shuffle", (x,), shape, x.dtype, settings)
