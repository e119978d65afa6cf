"""What-if: values, conditions and trip counts of a stopped execution, set by hand."""

cimport numpy as np

from ..plain.accelerator cimport Accelerator
from ..plain.binder cimport Binder
from .history cimport Histories
from ..plain.interpreter cimport decide
from ..plain.loops cimport Loops
from ..plain.memory cimport Memory
from ..plain.state cimport *

import numpy as np

from ...errors import ExecutionError, UsageError, one_line
from ..plain.memory import shapes_of
from ...graph.slices import cut

np.import_array()


cdef class Changes:
    """Changes an execution that stands still, so that it goes on as if it had been so."""

    cdef Memory memory
    cdef Binder binder
    cdef Loops loops
    cdef Histories histories
    cdef Accelerator accelerator
    cdef State *s
    cdef object plan

    def __init__(self, Memory memory not None, Binder binder not None, Loops loops not None, Histories histories not None,
                 Accelerator accelerator not None):
        self.memory, self.binder, self.loops, self.histories = memory, binder, loops, histories
        self.s, self.plan, self.accelerator = &memory.s, memory.plan, accelerator

    def undo(self):
        """Another execution begins: nothing of it was changed."""
        for slot in self.binder.replaced:
            self.memory.set_known(slot, None)
            self.memory.unbind_producer(slot)
        self.binder.replaced = {}
        for slot, array in self.plan.constants:
            if self.memory.look(slot) is not array and self.memory.known[slot] is None:
                self.memory.set_constant(slot, array)
                self.memory.unbind_consumers(slot)
        self.binder.note_hand(False)

    def set(self, int slot, value):
        """Overwrite what a slot holds; a tensor may have any shape. The value is copied.

        What it means: a parameter at a boundary, the value that the next iteration gets (what it was before stays
        ``Loops.previous``); a node's output inside an iteration, until the node runs again; a constant, from now on, until
        the next start; the outer value of a sliced input, for the iterations that follow. A scan output keeps what
        it has collected.

        Raises:
            UsageError: the loop needs the value to keep its type, or cannot slice it.
        """
        cdef int index, k
        cdef LoopState *loop
        cdef int spec = self.s.slots[slot].spec, folded = self.s.slots[slot].flags & FOLDED
        self.loops.settle()
        self.accelerator.change()
        self.binder.note_hand(True)
        value = self.as_value(slot, value)
        self.histories.unsteady(slot)
        for index in range(self.memory.nloops):
            loop = self.s.loops + index
            if slot == loop.iteration or slot == loop.condition_input:
                self.must_keep_type(slot, value)
            for k in range(loop.nslices if loop.active else 0):
                if slot == loop.slices[k].outer:
                    self.must_be_cut(index, k, value)
        for index in range(self.memory.nloops):
            loop = self.s.loops + index
            for k in range(loop.nslices):
                if slot == loop.slices[k].inner:
                    return self.set_part(index, k, value)
            if slot == loop.iteration and self.at_head(index):
                loop.edited = 1
        if self.is_constant_node(slot):
            self.binder.replaced = {**self.binder.replaced, slot: value}
            self.binder.replace_constant(self.memory.producers[slot], slot)
            return
        for index in range(self.memory.nloops):
            if self.at_head(index):
                self.loops.keep_results(index, slot)
        self.memory.store(slot, value)
        self.memory.set_known(slot, None)
        if folded or spec != self.s.slots[slot].spec:
            self.memory.unbind_producer(slot)
        for index in range(self.memory.nloops):
            if self.at_head(index):
                self.histories.amend(index)
        self.recut(slot)

    def is_constant_node(self, int slot):
        """Does a node without inputs make the value, the same each time?"""
        if slot not in self.memory.producers:
            return False
        instruction = self.plan.code[self.memory.producers[slot]]
        return not instruction.inputs and instruction.op.pure and len(instruction.outputs) == 1

    cdef object as_value(self, int slot, object value):
        """A copy, as slots hold values; plain numbers take the dtype that the slot has."""
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
        raise UsageError(f"'{self.plan.slots[slot].name}' cannot be set to a {type(value).__name__}; give an array, a list "
                         f"of arrays or None")

    def must_keep_type(self, int slot, value):
        """The loop writes the slot itself at each boundary, and wants it as it is."""
        dtype, shape = self.memory.specs.kind(self.s.slots[slot].spec)
        if not isinstance(value, np.ndarray) or value.dtype != dtype or value.shape != shape:
            raise UsageError(f"'{self.plan.slots[slot].name}' must stay {dtype.name} {list(shape)}, got {shapes_of([value])}")

    def must_be_cut(self, int index, int k, value):
        """A running loop slices it."""
        plan = self.plan.loops[index]
        name = plan.slices[k].sliced.outer.name
        words = self.parts_of(index, k)
        if words != _elements(value):
            raise UsageError(f"'{name}' is sliced by {plan.loop.describe()}; it must be a tensor of {words}")
        try:
            cut(value, plan.slices[k].sliced, plan.loop.describe())
        except ExecutionError as error:
            raise UsageError(one_line(error)) from None

    cdef str parts_of(self, int index, int k):
        """What the parts of a sliced input are tensors of."""
        return "strings" if self.s.loops[index].slices[k].part_spec == 0 else "numbers"

    cdef int set_part(self, int index, int k, object value) except -1:
        """The part that an iteration sees, in place of the one that was cut; later iterations get theirs."""
        cdef int slot = self.s.loops[index].slices[k].inner
        words = self.parts_of(index, k)
        if words != _elements(value):
            raise UsageError(f"'{self.plan.slots[slot].name}' is a part of a sliced input; it must be a tensor of {words}")
        self.memory.put_owner(slot, value, 0 if value.dtype.hasobject else self.memory.spec(value.dtype, value.shape), 0)
        self.memory.set_known(slot, None)
        if self.at_head(index):
            self.s.loops[index].edited = 1

    cdef int recut(self, int slot) except -1:
        """Running loops that slice the value go on with the new one."""
        cdef LoopState *loop
        cdef int index, k
        for index in range(self.memory.nloops):
            loop = self.s.loops + index
            if not loop.active:
                continue
            plan = self.plan.loops[index]
            hit = False
            for k in range(loop.nslices):
                if loop.slices[k].outer == slot:
                    hit = True
                    self.loops.cut_slice(index, k, loop.slices[k].parts)
                    self.loops.put_part(index, k, loop.i)
            if hit:
                counts = [loop.slices[k].parts for k in range(loop.nslices)]
                counts += [len(cut(self.memory.look(self.plan.slot_of[e.sliced.outer]), e.sliced, plan.loop.describe()))
                           for e in plan.edges if e.sliced is not None]
                loop.parts = min(counts)
                if self.at_head(index):
                    loop.ended = decide(loop)

    cdef bint at_head(self, int index) noexcept:
        """Does the execution stand at a boundary of this loop?"""
        return self.s.depth > 0 and self.s.stack[self.s.depth - 1] == index and self.s.pc == self.s.loops[index].head

    def set_condition(self, int index, bint value):
        """The execution condition at the boundary where the execution stands: whether the next iteration may run.

        Where the loop ends there by its condition, true lets it go on.

        Raises:
            UsageError: the execution does not stand at a boundary of this loop.
        """
        cdef LoopState *loop = self.s.loops + index
        self.loops.settle()
        if not self.at_head(index):
            raise UsageError(f"the execution condition of {self.plan.loops[index].loop.describe()} can be set only at one "
                             f"of its boundaries")
        loop.keep = value
        if loop.condition_input >= 0:
            self.s.slots[loop.condition_input].data[0] = value
        loop.ended = decide(loop)

    def set_trip_count(self, int index, count):
        """The most iterations that the running entry of a loop may run; None: no limit. Later entries have their own.

        Raises:
            UsageError: the loop is not running, or the count is negative.
        """
        cdef LoopState *loop = self.s.loops + index
        self.loops.settle()
        if not loop.active:
            raise UsageError(f"{self.plan.loops[index].loop.describe()} is not running; its trip count can be set while it is")
        if count is not None and count < 0:
            raise UsageError(f"a trip count is 0 or more, or None for no limit; got {count}")
        loop.trip = -1 if count is None else min(int(count), 2**63 - 1)
        if self.at_head(index):
            loop.ended = decide(loop)


def _elements(value):
    """What a value is a tensor of; None: it is none."""
    return None if not isinstance(value, np.ndarray) else "strings" if value.dtype.hasobject else "numbers"
