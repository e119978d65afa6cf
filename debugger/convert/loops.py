"""A loop as TensorRT's ILoop (docs/semantics.md 8): limits, recurrences, iterators, outputs, as lines of a script."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ...runtime.errors import ExecutionError, Remedy, UnsupportedError, one_line
from ...runtime.graph import Graph, LastValueOutput, Loop, ScanOutput, SlicedInput, TensorType, Value, read_in
from ...runtime.graph.slices import from_start, parts_along
from ..words.condition import condition_slice
from ..words.endings import Ending
from ..words.names import named
from .code import Code, dims, text
from .layers import Layers, Tensor

_FLAG = np.dtype(bool)
_COUNT = np.dtype(np.int64)
_ENDLESS = np.iinfo(_COUNT).max


class Scope(Protocol):
    """What surrounds a loop: the tensors that values are, and how the nodes of a body are written."""

    tensors: dict[Value, Tensor]
    notes: list[str]

    def tensor(self, value: Value) -> Tensor: ...

    def body(self, graph: Graph) -> None: ...


@dataclass(frozen=True)
class Recurrence:
    """``layer``: its name in the script; ``output``: what it gives."""

    layer: str
    output: Tensor


class LoopWriter:
    """Writes one loop. ``longest``: the capacity of scan outputs that only a condition ends."""

    def __init__(
        self, scope: Scope, code: Code, layers: Layers, loop: Loop, found: Ending, longest: int | None
    ) -> None:
        self.scope = scope
        self.code = code
        self.layers = layers
        self.loop = loop
        self.ending = found
        self.longest = longest
        self.used = read_in(loop.body)
        #: The ILoop's name in the script.
        self.name = ""
        #: The trip count: a 0-D tensor of integers, None where nothing counts.
        self.count: Tensor | None = None
        #: The loops around this one, as far as what comes in tells.
        self.outside: frozenset[str] = frozenset()
        self.edges: dict[Value, Recurrence] = {}
        #: Recurrences whose second input is still to be set, with the body's value for it.
        self.open: list[tuple[Recurrence, Value]] = []

    def write(self) -> None:
        """The limits, what comes in, the body, back edges, and what goes out.

        Raises:
            UnsupportedError: TensorRT cannot say it.
        """
        loop, code = self.loop, self.code
        self._refuse()
        code.line()
        code.comment(f"{loop.op_type} '{loop.name}'" + (f", made of {loop.made_of}" if loop.made_of else ""))
        # All that the loop takes from outside is computed before it.
        self.count = self._counted()
        sliced = [(port, *self._parts(port)) for port in loop.sliced_inputs]
        initials = [self._initial(edge.initial) for edge in loop.back_edges]
        first = self._first_condition()
        self.outside = frozenset().union(first.loops, *(x.loops for x in initials), *(x.loops for _, x, _, _ in sliced))
        self.name = code.identifier(loop.name or "loop")
        code.line(f"{self.name} = network.add_loop()")
        code.line(f"{self.name}.name = {text(loop.name)}")
        if self.count is not None:
            code.line(f"{self.name}.add_trip_limit({self.layers.name(self.count)}, trt.TripLimit.COUNT)")
        self._condition(first)
        number = self._iteration()
        for port, whole, axis, reverse in sliced:
            self._slice(port, whole, axis, reverse, number)
        for invariant in loop.invariants:
            self.scope.tensors[invariant.inner] = self.scope.tensor(invariant.outer)
        for edge, initial in zip(loop.back_edges, initials, strict=True):
            code.comment(f"carried: {edge.param.name}, then {edge.result.name}")
            found = self._recurrence(edge.param.name, initial)
            self.edges[edge.param] = found
            self.open.append((found, edge.result))
            self.scope.tensors[edge.param] = found.output
        self.scope.body(loop.body)
        code.line()
        code.comment(f"the end of '{loop.name}'")
        for found, result in self.open:
            # A loop is inside of those that its back edges read from, too.
            self.outside |= self._close(found, result).loops
        for last in loop.last_values:
            self._last(last)
        for scan in loop.scan_outputs:
            self._scan(scan)

    def _refuse(self) -> None:
        loop, found = self.loop, self.ending
        if not any(value is not None for value in loop.outputs):
            raise UnsupportedError("TensorRT drops a loop that has no outputs")
        if not found.limited and not found.decides and found.initial is True:
            raise UnsupportedError("TensorRT refuses a loop with neither a trip count nor a condition")
        for value in (*(edge.param for edge in loop.back_edges), *(scan.result for scan in loop.scan_outputs)):
            if not isinstance(value.type, TensorType):
                raise UnsupportedError(f"{named(value)} is {value.type}: TensorRT has no sequences and no optionals")

    # -- limits

    def _counted(self) -> Tensor | None:
        """The trip count, 0-D."""
        found = self.ending
        self.layers.hint = f"{self.loop.name}_trips"
        if found.slices:
            counts = {port.outer.name: self._number_of_parts(port) for port in found.slices}
            if len(set(counts.values())) > 1:
                told = ", ".join(f"{name} has {count}" for name, count in counts.items())
                raise UnsupportedError(f"its sliced inputs disagree on the number of iterations: {told}")
            return self._number(next(iter(counts.values())))
        if found.trips is not None:
            return self._number(found.trips)
        return None if found.count is None else self._computed_count(self.scope.tensor(found.count))

    def _number(self, number: int) -> Tensor:
        return self.layers.made(np.array(number, _COUNT))

    def _computed_count(self, count: Tensor) -> Tensor | None:
        endless = self.loop.minus_one_is_no_limit
        if count.array is not None:
            number = int(count.array.reshape(-1)[0])
            return None if endless and number == -1 else self._number(max(number, 0))
        layers = self.layers
        count = layers.cast(layers.reshape(count, ()), _COUNT)
        if not endless:
            return layers.map(np.maximum, count, self._number(0))
        return layers.where(layers.map(np.less, count, self._number(0)), self._number(_ENDLESS), count)

    def _first_condition(self) -> Tensor:
        """The condition before iteration 0, 0-D."""
        outer = self.loop.initial_condition
        if outer is None:
            return self.layers.made(np.array(True))
        self.layers.hint = f"{self.loop.name}_first"
        return self.layers.reshape(self.layers.cast(self.scope.tensor(outer), _FLAG), ())

    def _condition(self, first: Tensor) -> None:
        """kWHILE is asked before an iteration: a recurrence brings there what the iteration before yielded."""
        loop, found = self.loop, self.ending
        reader = loop.condition_input if loop.condition_input in self.used else None
        yielded = loop.condition if loop.condition is not None else loop.ignored_condition
        if reader is None and not found.decides:
            if found.initial is not True:
                self.code.line(f"{self.name}.add_trip_limit({self.layers.name(first)}, trt.TripLimit.WHILE)")
            return
        flag = first
        if yielded is not None:
            self.code.comment(f"what an iteration yields decides about the next: {yielded.name}")
            carried = self._recurrence("condition" if reader is None else reader.name, first)
            self.open.append((carried, yielded))
            flag = carried.output
        if reader is not None:
            self.layers.hint = f"{reader.name}_shaped"
            self.scope.tensors[reader] = self._shaped(flag, reader)
        if found.decides or found.initial is not True:
            self.code.line(f"{self.name}.add_trip_limit({self.layers.name(flag)}, trt.TripLimit.WHILE)")

    def _shaped(self, x: Tensor, value: Value) -> Tensor:
        """One element, in the shape that the body declares for it."""
        declared = value.type.shape if isinstance(value.type, TensorType) else None
        return self.layers.reshape(x, (1,) * len(declared)) if declared else x

    # -- recurrences

    def _recurrence(self, name: str, initial: Tensor) -> Recurrence:
        first = self.layers.name(initial)
        layer = self.code.identifier(f"{name}_recurrence")
        output = self.code.identifier(name)
        self.code.line(f"{layer} = {self.name}.add_recurrence({first})")
        self.code.line(f"{output} = named({layer}, {text(name)})")
        inside = initial.loops | {self.name}
        return Recurrence(layer, Tensor(output, initial.shape, initial.dtype, loops=inside))

    def _close(self, found: Recurrence, result: Value) -> Tensor:
        """The back edge; what it carries."""
        following, first = self.scope.tensor(result), found.output
        if first.dtype == _FLAG and not first.shape and following.shape == (1,):
            self.layers.hint = f"{result.name}_scalar"
            following = self.layers.reshape(following, ())
        if following.shape != first.shape:
            raise UnsupportedError(
                f"{named(result)} has shape {list(following.shape)} where it begins with {list(first.shape)}, and both"
                " inputs of an IRecurrenceLayer have one shape"
            )
        if following.dtype != first.dtype:
            raise UnsupportedError(
                f"{named(result)} is {following.dtype} where it begins as {first.dtype}, and both inputs of an"
                " IRecurrenceLayer have one type"
            )
        self.code.line(f"{found.layer}.set_input(1, {self.layers.name(following)})")
        return following

    def _iteration(self) -> Tensor | None:
        """The iteration number, where something needs it: TensorRT has none."""
        value = self.loop.iteration if self.loop.iteration in self.used else None
        if value is None and not self._by_number:
            return None
        dtype = value.type.dtype if value is not None and isinstance(value.type, TensorType) else None
        called = "iteration" if value is None else value.name
        self.code.comment("the iteration number")
        found = self._recurrence(called, self.layers.made(np.array(0, dtype or _COUNT)))
        self.layers.hint = f"{called}_plus_1"
        following = self.layers.map(np.add, found.output, self.layers.made(np.array(1, found.output.dtype)))
        self.code.line(f"{found.layer}.set_input(1, {following.code})")
        trips = None if self.count is None else self.count.array
        if trips is not None and not self.ending.decides:  # kWHILE may not reach iterators
            self.layers.iterations[found.output.code] = (self.name, int(trips))
        if value is not None:
            self.layers.hint = f"{called}_shaped"
            self.scope.tensors[value] = self._shaped(found.output, value)
        return found.output

    # -- what comes in

    @property
    def _by_number(self) -> bool:
        """Parts are taken by the iteration number: the condition reaches them, and kWHILE may not reach iterators."""
        return self.ending.decides and bool(condition_slice(self.loop).ever_slices)

    def _number_of_parts(self, port: SlicedInput) -> int:
        return self._cut(port)[2]

    def _cut(self, port: SlicedInput) -> tuple[int, int, int, int]:
        """First element, step, number of parts, and the axis."""
        outer = self.scope.tensor(port.outer)
        axis = from_start(port.axis, outer.ndim)
        if not 0 <= axis < outer.ndim:
            raise UnsupportedError(f"{named(port.outer)} {list(outer.shape)} has no axis {port.axis}")
        try:
            return (*parts_along(outer.shape[axis], port, axis, named(port.outer)), axis)
        except ExecutionError as error:
            raise UnsupportedError(one_line(error)) from None

    def _parts(self, port: SlicedInput) -> tuple[Tensor, int, bool]:
        """A tensor whose slices along an axis are the parts, and whether they are read backwards."""
        outer = self.scope.tensor(port.outer)
        first, step, count, axis = self._cut(port)
        length = outer.shape[axis]
        one = port.part_size == 1 or port.drop_axis
        trips = None if self.count is None else self.count.array
        backward = first == length - 1 and (step == -1 or count == 1 == length) and port.stride < 0
        if one and count == length and not self._by_number:
            if first == 0 and step >= 0:
                return outer, axis, False
            # A reverse iterator begins at the last trip, not at the last element.
            if backward and trips is not None and int(trips) == length:
                return outer, axis, True
        places = first + step * np.arange(count, dtype=_COUNT)
        if not one:
            places = places[:, None] + np.arange(port.part_size, dtype=_COUNT)
        self.layers.hint = f"{port.inner.name}_parts"
        return self.layers.gather(outer, self.layers.made(places), axis), axis, False

    def _slice(self, port: SlicedInput, whole: Tensor, axis: int, reverse: bool, number: Tensor | None) -> None:
        self.code.comment(f"sliced input: {port.inner.name} of {port.outer.name}, axis {axis}")
        self.layers.hint = port.inner.name
        if self._by_number and number is not None:
            part = self.layers.gather(whole, number, axis)
        else:
            shape = whole.shape[:axis] + whole.shape[axis + 1 :]
            name = self.code.identifier(port.inner.name)
            arguments = f"{self.layers.name(whole)}, {axis}, {reverse}"
            self.code.line(f"{name} = named({self.name}.add_iterator({arguments}), {text(port.inner.name)})")
            part = Tensor(name, shape, whole.dtype, loops=whole.loops | {self.name})
        if not port.drop_axis and part.ndim < self.scope.tensor(port.outer).ndim:
            part = self.layers.reshape(part, (*part.shape[:axis], 1, *part.shape[axis:]))
        self.scope.tensors[port.inner] = part

    def _initial(self, initial: Value | SlicedInput) -> Tensor:
        if isinstance(initial, Value):
            return self.scope.tensor(initial)
        first, _, _, axis = self._cut(initial)
        outer = self.scope.tensor(initial.outer)
        place = np.array(first, _COUNT)
        if not initial.drop_axis:
            place = first + np.arange(initial.part_size, dtype=_COUNT)
        self.layers.hint = f"{initial.inner.name}_first"
        return self.layers.gather(outer, self.layers.made(place), axis)

    # -- what goes out

    def _output(self, call: str, name: str, length: str = "") -> str:
        found = self.code.identifier(name)
        self.code.line(f"layer = {self.name}.add_loop_output({call})")
        if length:
            self.code.line(f"layer.set_input(1, {length})")
        self.code.line(f"{found} = named(layer, {text(name)})")
        return found

    def _last(self, last: LastValueOutput) -> None:
        edge = last.edge or next((edge for edge in self.loop.back_edges if edge.result is last.result), None)
        if edge is not None:
            source = self.edges[edge.param].output
        else:
            result = self.scope.tensor(last.result)
            self.code.comment(
                f"a last value comes from a recurrence: one of {last.result.name}, which begins with zeros"
            )
            zeros = self.layers.made(np.zeros(result.shape, result.dtype))
            found = self._recurrence(f"{last.result.name}_last", zeros)
            self._close(found, last.result)
            source = found.output
        name = self._output(f"{source.code}, trt.LoopOutput.LAST_VALUE", last.outer.name)
        self.scope.tensors[last.outer] = Tensor(name, source.shape, source.dtype, loops=self._around(source))

    def _length(self, scan: ScanOutput) -> tuple[Tensor, bool]:
        """How long an output may get, and whether it may stay shorter."""
        found = self.count
        known = None if found is None or found.array is None else int(found.array)
        roomy = self.ending.decides or self.ending.initial is not True or found is None
        if roomy:
            if self.longest is not None and (known is None or known > self.longest):
                found = self._number(self.longest)
            if found is None or (known is not None and known >= _ENDLESS):
                raise UnsupportedError(
                    f"the length of {named(scan.outer)} is known only when the loop ends, and TensorRT needs it in"
                    " advance",
                    Remedy.LONGEST,
                )
            self.scope.notes.append(
                f"{named(scan.outer)} is as long as the loop may run; what lies beyond its end is zeros here and"
                " arbitrary in TensorRT"
            )
        assert found is not None
        return found, roomy

    def _scan(self, scan: ScanOutput) -> None:
        result = self.scope.tensor(scan.result)
        length, roomy = self._length(scan)
        count = -1 if length.array is None else int(length.array)
        if self.name not in result.loops:
            self.code.comment(f"{scan.result.name} comes from outside, and loop outputs collect what is inside")
            found = self._recurrence(f"{scan.result.name}_each", result)
            self.code.line(f"{found.layer}.set_input(1, {self.layers.name(result)})")
            result = found.output
        axis = from_start(scan.axis, result.ndim + scan.stack)
        word = "REVERSE" if scan.reverse else "CONCATENATE"
        call = f"{result.code}, trt.LoopOutput.{word}, {axis}"
        called = scan.outer.name if scan.stack else f"{scan.outer.name}_parts"
        name = self._output(call, called, self.layers.name(length))
        shape = (*result.shape[:axis], count, *result.shape[axis:])
        collected = Tensor(name, shape, result.dtype, loops=self._around(result))
        whole = collected if scan.stack else self._joined(collected, axis, scan.outer.name)
        self.scope.tensors[scan.outer] = replace(whole, roomy=roomy)

    def _around(self, inner: Tensor) -> frozenset[str]:
        """The loops that an output is inside of: those around this one."""
        count = frozenset() if self.count is None else self.count.loops
        return (inner.loops | self.outside | count) - {self.name}

    def _joined(self, x: Tensor, axis: int, name: str) -> Tensor:
        """Parts joined along their own axis."""
        count, size = x.shape[axis], x.shape[axis + 1]
        shape = (*x.shape[:axis], -1 if count < 0 else count * size, *x.shape[axis + 2 :])
        self.layers.hint = name
        # Of its sizes none is to be copied, and 0 would mean that.
        more = [f"reshape_dims = {dims(shape)}", *(["zero_is_placeholder = False"] if 0 in shape else [])]
        return self.layers.layer("add_shuffle", (x,), shape, x.dtype, more)
