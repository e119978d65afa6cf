"""What-if: values, conditions and trip counts of a stopped execution, edited by the user."""

cimport numpy as np

from ..baseline.optimizer_base cimport OptimizerBase
from ..baseline.binder cimport NodeBinder
from .value_history cimport ValueHistories
from ..baseline.interpreter cimport end_reason
from ..baseline.loops cimport Loops
from ..baseline.memory cimport Memory
from ..baseline.state cimport *

import numpy as np

from ...errors import ExecutionError, UsageError, one_line
from ..baseline.memory import describe_values
from ...graph.slicing import slice_parts

np.import_array()


cdef class ExecutionEditor:
    """Edits a stopped execution, which then continues with the edited values."""

    cdef Memory memory
    cdef NodeBinder binder
    cdef Loops loops
    cdef ValueHistories histories
    cdef OptimizerBase optimizer_base
    cdef ExecutionState *s
    cdef object plan

    def __init__(self, Memory memory not None, NodeBinder binder not None, Loops loops not None, ValueHistories histories not None,
                 OptimizerBase optimizer_base not None):
        self.memory, self.binder, self.loops, self.histories = memory, binder, loops, histories
        self.s, self.plan, self.optimizer_base = &memory.s, memory.plan, optimizer_base

    def undo_all(self):
        """Undo all edits before another execution begins."""
        for slot in self.binder.constant_overrides:
            self.memory.set_known(slot, None)
            self.memory.unbind_producer(slot)
        self.binder.constant_overrides = {}
        for slot, array in self.plan.constants:
            if self.memory.look(slot) is not array and self.memory.known[slot] is None:
                self.memory.set_constant(slot, array)
                self.memory.unbind_consumers(slot)
        self.binder.set_edited(False)

    def set(self, int slot, value):
        """Overwrite the value of a slot; a tensor may have any shape. The value is copied.

        Effect: a parameter at a boundary, the value in the next iteration (its old value stays ``Loops.previous``); a
        node's output inside an iteration, until the node runs again; a constant, from now on, until the next start; the
        outer value of a sliced input, for the iterations that follow. A scan output keeps its elements.

        Raises:
            UsageError: the loop needs the value to keep its type, or cannot slice it.
        """
        cdef int index, k
        cdef LoopState *loop
        cdef int spec = self.s.slots[slot].spec, folded = self.s.slots[slot].flags & FOLDED
        self.loops.materialize_all()
        self.optimizer_base.before_edit()
        self.binder.set_edited(True)
        value = self.as_slot_value(slot, value)
        self.histories.mark_mutable(slot)
        for index in range(self.memory.nloops):
            loop = self.s.loops + index
            if slot == loop.iteration or slot == loop.condition_input:
                self.check_type_unchanged(slot, value)
            for k in range(loop.nslices if loop.active else 0):
                if slot == loop.slices[k].outer:
                    self.check_sliceable(index, k, value)
        for index in range(self.memory.nloops):
            loop = self.s.loops + index
            for k in range(loop.nslices):
                if slot == loop.slices[k].inner:
                    return self.set_current_part(index, k, value)
            if slot == loop.iteration and self.is_at_boundary(index):
                loop.edited = 1
        if self.is_constant_node(slot):
            self.binder.constant_overrides = {**self.binder.constant_overrides, slot: value}
            self.binder.replace_constant(self.memory.producers[slot], slot)
            return
        for index in range(self.memory.nloops):
            if self.is_at_boundary(index):
                self.loops.preserve_results(index, slot)
        self.memory.store(slot, value)
        self.memory.set_known(slot, None)
        if folded or spec != self.s.slots[slot].spec:
            self.memory.unbind_producer(slot)
        for index in range(self.memory.nloops):
            if self.is_at_boundary(index):
                self.histories.rewrite_newest_row(index)
        self.reslice(slot)

    def is_constant_node(self, int slot):
        """Does a pure node without inputs compute the value?"""
        if slot not in self.memory.producers:
            return False
        instruction = self.plan.code[self.memory.producers[slot]]
        return not instruction.inputs and instruction.op.pure and len(instruction.outputs) == 1

    cdef object as_slot_value(self, int slot, object value):
        """A copy, as slots hold values; plain numbers take the dtype of the slot."""
        if isinstance(value, (bool, int, float, str)):
            spec = self.s.slots[slot].spec
            dtype = self.memory.specs.kind(spec)[0] if spec else getattr(self.plan.slots[slot].type, "dtype", None)
            return np.array(value, object if isinstance(value, str) else dtype)
        if isinstance(value, (list, tuple)):
            return [np.array(part) if isinstance(part, (np.ndarray, np.generic)) else part for part in value]
        if isinstance(value, (np.ndarray, np.generic)):
            value = np.array(value, order="C")
            return value.astype(object) if value.dtype.kind in "US" else value
        if value is None:
            return None
        name, got = self.plan.slots[slot].name, type(value).__name__
        raise UsageError(f"'{name}' cannot be set to a {got}; give an array, a list of arrays or None", name=name, got=got)

    def check_type_unchanged(self, int slot, value):
        """Reject another type for a slot that the loop itself writes at each boundary."""
        dtype, shape = self.memory.specs.kind(self.s.slots[slot].spec)
        if not isinstance(value, np.ndarray) or value.dtype != dtype or value.shape != shape:
            name, expected, got = self.plan.slots[slot].name, f"{dtype.name} {list(shape)}", describe_values([value])
            raise UsageError(f"'{name}' must stay {expected}, got {got}", name=name, expected=expected, got=got)

    def check_sliceable(self, int index, int k, value):
        """Reject a value that a running loop cannot slice."""
        plan = self.plan.loops[index]
        name = plan.slices[k].sliced.outer.name
        kind = self.part_element_kind(index, k)
        if kind != _element_kind(value):
            raise UsageError(f"'{name}' is sliced by {plan.loop.describe()}; it must be a tensor of {kind}",
                             name=name, loop=plan.loop.name, expected=f"a tensor of {kind}")
        try:
            slice_parts(value, plan.slices[k].sliced, plan.loop.describe)
        except ExecutionError as error:
            raise UsageError(one_line(error), **error.fields) from None

    cdef str part_element_kind(self, int index, int k):
        """The element kind of the parts of a sliced input."""
        return "strings" if self.s.loops[index].slices[k].part_spec == 0 else "numbers"

    cdef int set_current_part(self, int index, int k, object value) except -1:
        """Replace the part of this iteration; later iterations keep theirs."""
        cdef int slot = self.s.loops[index].slices[k].inner
        kind = self.part_element_kind(index, k)
        if kind != _element_kind(value):
            name = self.plan.slots[slot].name
            raise UsageError(f"'{name}' is a part of a sliced input; it must be a tensor of {kind}", name=name,
                             expected=f"a tensor of {kind}")
        self.memory.put_owner(slot, value, 0 if value.dtype.hasobject else self.memory.spec(value.dtype, value.shape), 0)
        self.memory.set_known(slot, None)
        if self.is_at_boundary(index):
            self.s.loops[index].edited = 1

    cdef int reslice(self, int slot) except -1:
        """Let running loops that slice the value continue with the new one."""
        cdef LoopState *loop
        cdef int index, k
        for index in range(self.memory.nloops):
            loop = self.s.loops + index
            if not loop.active:
                continue
            plan = self.plan.loops[index]
            is_sliced = False
            for k in range(loop.nslices):
                if loop.slices[k].outer == slot:
                    is_sliced = True
                    self.loops.prepare_sliced_input(index, k, loop.slices[k].parts)
                    self.loops.show_part(index, k, loop.i)
            if is_sliced:
                counts = [loop.slices[k].parts for k in range(loop.nslices)]
                counts += [len(slice_parts(self.memory.look(self.plan.slot_of[e.sliced.outer]), e.sliced, plan.loop.describe))
                           for e in plan.edges if e.sliced is not None]
                loop.parts = min(counts)
                if self.is_at_boundary(index):
                    loop.ended = end_reason(loop)

    cdef bint is_at_boundary(self, int index) noexcept:
        """Is the execution at a boundary of this loop?"""
        return self.s.depth > 0 and self.s.stack[self.s.depth - 1] == index and self.s.pc == self.s.loops[index].head

    def set_condition(self, int index, bint value):
        """Set the execution condition at the present boundary: whether the next iteration may run.

        If the condition ended the loop there, true lets it continue.

        Raises:
            UsageError: the execution is not at a boundary of this loop.
        """
        cdef LoopState *loop = self.s.loops + index
        self.loops.materialize_all()
        if not self.is_at_boundary(index):
            raise UsageError(f"the execution condition of {self.plan.loops[index].loop.describe()} can be set only at one "
                             f"of its boundaries")
        loop.keep = value
        if loop.condition_input >= 0:
            self.s.slots[loop.condition_input].data[0] = value
        loop.ended = end_reason(loop)

    def set_trip_count(self, int index, count):
        """Set the maximum iterations of the running entry of a loop; None: no limit. Later entries are unaffected.

        Raises:
            UsageError: the loop is not running, or the count is negative.
        """
        cdef LoopState *loop = self.s.loops + index
        self.loops.materialize_all()
        if not loop.active:
            raise UsageError(f"{self.plan.loops[index].loop.describe()} is not running; its trip count can be set while it is")
        if count is not None and count < 0:
            raise UsageError(f"a trip count is 0 or more, or None for no limit; got {count}")
        loop.trip = -1 if count is None else min(int(count), 2**63 - 1)
        if self.is_at_boundary(index):
            loop.ended = end_reason(loop)


def _element_kind(value):
    """The kind of a tensor's elements; None: no tensor."""
    return None if not isinstance(value, np.ndarray) else "strings" if value.dtype.hasobject else "numbers"
