"""Readers that are bound to the source of an elided copy: see copy_elision.pyx.

A reader is bound to what a node shows, or to what that is shown of, through several nodes if need be. Where extents vary, it
is bound for a range of them (shape_ranges/).
"""

from libc.stdint cimport int64_t

from ..optimizing_binder cimport OptimizingBinder
from ...baseline.memory cimport Memory
from ...baseline.state cimport *
from ..optimizer_state cimport *

from ....kernels.symbolic_extents import SymbolicExtent, SymbolicExtentMap, ExtentVariable, any_symbolic
from ....plan import shape_range_binding
from ....plan.binding_result import InputDescriptor
from ....plan.copy_elision import bind_with_views, result_views

#: Minimum length of a range beyond the current extent.
MIN_RANGE_EXTENTS = 16


cdef class ViewReaders:
    """Binds the readers of the sources of copies, and registers them."""

    def __init__(self, Memory memory not None, OptimizingBinder binder not None):
        self.memory, self.binder, self.s = memory, binder, &memory.s
        self.seen, self.sources = {}, {}
        self.candidates, self.range_attempts = set(), {}

    cdef bint reads_sources(self, int reader, outputs) except -1:
        """Does the binding in use of a reader, one for a range, read other memory in place of a node's results?"""
        cdef VaryingBinding *v = optimizer_node(self.s, reader).varying
        cdef int k
        for k in range(v.ninputs):
            if v.inputs[k].slot in outputs and not v.inputs[k].seen:
                return False
        return True

    cdef object bind_to_source(self, int reader, int pc):
        """A reader bound to the source of one more copy: (what it reads, Bound); None where it cannot be."""
        cdef int slot
        if optimizer_node(self.s, pc).varying != NULL:
            return None
        instruction = self.memory.plan.code[reader]
        seen = dict(self.seen[reader]) if optimizer_node(self.s, reader).through else {}
        for slot, view in zip(self.memory.plan.code[pc].outputs, self.binder.views[pc]):
            if slot in instruction.inputs:
                seen[slot] = view
        for slot in instruction.inputs:
            if slot >= 0 and self.s.slots[slot].spec == 0:
                return None
        inputs = [None if slot < 0 else self.binder.input(slot) for slot in instruction.inputs]
        bound = bind_with_views(instruction.op, inputs, seen)
        if bound is None or len(bound.outputs) < len(instruction.outputs):
            return None
        for slot, out in zip(instruction.outputs, bound.outputs):
            if slot >= 0 and (self.s.slots[slot].flags != OWN or
                              self.s.slots[slot].spec != self.memory.spec(out.dtype, out.shape)):
                return None
        return seen, bound

    cdef int install_binding(self, int reader, object binding) except -1:
        seen, bound = binding
        self.binder.install_binding(reader, self.memory.plan.code[reader], bound)
        self.binder.views[reader] = bound.views
        optimizer_node(self.s, reader).through = 1
        self.seen[reader] = seen

    # -- readers that are bound for a range

    cdef object bind_for_range(self, int reader, int pc):
        """The same for one that follows an extent: bound for a range, to the sources of all copies that may be elided or,
        where that cannot be, of this one more."""
        if reader not in self.range_attempts:
            self.range_attempts[reader] = self.bind_to_all_sources(reader, self.candidates)
        if self.range_attempts[reader] is None and self.candidates.intersection(self.writers_of(reader)) != {pc}:
            return self.bind_to_all_sources(reader, {pc})
        return self.range_attempts[reader]

    def writers_of(self, int reader):
        return [self.s.writer[<int>slot] for slot in self.memory.plan.code[reader].inputs if slot >= 0]

    def bind_to_all_sources(self, int reader, set candidates):
        cdef VaryingBinding *v = optimizer_node(self.s, reader).varying
        cdef int slot, leading = -1
        instruction = self.memory.plan.code[reader]
        span = ExtentVariable(v.extent)
        inputs, seen, rests = [], {}, {}
        for k, slot in enumerate(instruction.inputs):
            if slot < 0:
                inputs.append(None)
                continue
            descriptor = self.range_input_descriptor(v, slot, SymbolicExtent(span))
            if descriptor is None:
                return None
            inputs.append(descriptor)
            if slot == v.inputs[v.leading].slot and leading < 0:
                leading = k
            if self.is_elidable(slot, candidates):
                seen[slot] = self.view_of(self.s.writer[slot], slot, descriptor.shape, rests, candidates)
                if seen[slot] is None:
                    return None
        append_target = self.binder.range_bindings.append_target(instruction, inputs)
        bound = bind_with_views(instruction.op, inputs, seen, append_target)
        if bound is None or len(bound.outputs) < len(instruction.outputs):
            return None
        followed = SymbolicExtentMap(span, leading, [None if i is None else i.shape for i in inputs], {}, -1)
        followed.capacities = [None if i is None else i.capacity for i in inputs]
        ready = self.binder.range_bindings.as_range_binding(instruction, followed, inputs, bound)
        own = {slot: (i.shape, i.capacity) for slot, i in zip(instruction.inputs, inputs) if i is not None}
        if ready is None or any([own.get(slot, lies) != lies for slot, lies in rests.items()]):
            return None
        # If the range begins later, the current binding stays for smaller extents. If it ends earlier, larger extents are
        # bound again.
        if span.max_valid < min(v.high, v.extent + MIN_RANGE_EXTENTS) or not span.min_valid <= v.extent <= span.max_valid:
            return None
        beyond = {slot: lies for slot, lies in rests.items() if slot not in own}
        return ready, inputs, seen, beyond

    def is_elidable(self, int slot, set candidates):
        """Is a slot a copy that is elided, or may be?"""
        cdef int writer = self.s.writer[slot]
        return writer >= 0 and (writer in candidates or optimizer_node(self.s, writer).elided)

    cdef object range_input_descriptor(self, VaryingBinding *v, int slot, object number):
        """An input of a node that is bound for a range, where ``number`` is what it follows; None: unknown."""
        cdef VaryingPort *p = NULL
        cdef int k
        for k in range(v.ninputs):
            if v.inputs[k].slot == slot:
                p = v.inputs + k
        if p == NULL or p.spec == 0:
            return None
        dtype, shape = self.memory.specs.kind(p.spec)
        if p.family == NULL:
            return self.binder.input(slot)
        if self.memory.known[slot] is not None:
            return None
        shape = (*shape[:p.axis], p.base + p.slope * number, *shape[p.axis + 1:])
        capacity = self.memory.specs.capacity(p.spec)
        return InputDescriptor(slot, dtype, shape, None, lambda: self.memory.look(slot).copy(), capacity=capacity)

    def view_of(self, int pc, int slot, tuple shape, dict rests, set candidates):
        """What a node shows in a result of this shape, some of which may vary; None: unknown. ``rests`` gets the
        shapes and capacities of the slots that this follows from."""
        cdef VaryingBinding *v = optimizer_node(self.s, pc).varying
        cdef int other
        instruction = self.memory.plan.code[pc]
        if v == NULL and not any_symbolic(shape) and self.collect_dependencies(pc, rests, candidates):
            return self.binder.views[pc][instruction.outputs.index(slot)]
        number = None if v == NULL else extent_from_result(v, slot, shape)
        if (v != NULL and number is None) or (v == NULL and any_symbolic(shape)):
            return None
        inputs, seen = [], {}
        for other in instruction.inputs:
            if other < 0:
                inputs.append(None)
                continue
            descriptor = self.binder.input(other) if v == NULL else self.range_input_descriptor(v, other, number)
            if descriptor is None or rests.setdefault(other, (descriptor.shape, descriptor.capacity)) != (descriptor.shape, descriptor.capacity):
                return None
            inputs.append(descriptor)
            if self.is_elidable(other, candidates):
                seen[other] = self.view_of(self.s.writer[other], other, descriptor.shape, rests, candidates)
                if seen[other] is None:
                    return None
        views = result_views(instruction.op, inputs, seen)
        return views[instruction.outputs.index(slot)] if views else None

    def collect_dependencies(self, int pc, dict rests, set candidates):
        """Collect what the view of a node whose shapes do not vary follows from; False: its copy is to be elided in another
        way than it was bound."""
        cdef int slot
        for slot in self.memory.plan.code[pc].inputs:
            if slot < 0:
                continue
            if optimizer_node(self.s, pc).through and slot in self.seen[pc]:
                if not self.collect_dependencies(self.s.writer[slot], rests, candidates):
                    return False
            elif self.is_elidable(slot, candidates):
                return False
            descriptor = self.binder.input(slot)
            if rests.setdefault(slot, (descriptor.shape, descriptor.capacity)) != (descriptor.shape, descriptor.capacity):
                return False
        return True

    cdef int install_for_range(self, int reader, object binding) except -1:
        """In place of the binding in use."""
        cdef OptimizerNode *n = optimizer_node(self.s, reader)
        cdef int64_t fitted = n.varying.fitted, before = n.varying.seen
        (followed, bound, appended), inputs, seen, beyond = binding
        if followed.variable.min_valid > n.varying.low:
            n.varying.high = followed.variable.min_valid - 1
            self.binder.range_bindings.cache_current_binding(reader)
        else:
            self.binder.range_bindings.arrays.pop((reader, n.varying.key), None)
        instruction = self.memory.plan.code[reader]
        try:
            self.binder.install_binding(reader, instruction, shape_range_binding.with_current_extents(bound, inputs))
            self.binder.views[reader] = bound.views
            self.binder.range_bindings.vary(reader, instruction, followed, bound, appended, self.binder.keep[reader], seen, beyond)
        except BaseException:
            self.binder.unbind(reader)     # half of it may be there, and no memory for the rest
            raise
        self.binder.keep[reader] = None
        n.varying.fitted, n.varying.seen = fitted, before
        n.through = n.looks = 1
        self.sources.setdefault(reader, set()).update([view.index for view in seen.values()])

    cdef list of(self, int slot):
        """Positions of the nodes that read a slot, through other nodes too."""
        cdef int reader
        readers = list(self.memory.consumers[slot])
        for reader, seen in self.seen.items():
            if optimizer_node(self.s, reader).through and any([view.index == slot for view in seen.values()]):
                readers.append(reader)
        readers += [reader for reader, sources in self.sources.items() if slot in sources]
        return readers


cdef object extent_from_result(VaryingBinding *v, int slot, tuple shape):
    """The number that a node follows, as it follows from the shape of a result; None: it does not."""
    cdef VaryingPort *p
    cdef int k
    for k in range(v.noutputs):
        p = v.outputs + k
        if p.slot == slot and p.family != NULL:
            extent = shape[p.axis]
            if type(extent) is SymbolicExtent and not (extent.base - p.base) % p.slope and not extent.slope % p.slope:
                number = SymbolicExtent(extent.variable, (extent.base - p.base) // p.slope, extent.slope // p.slope)
                return number if number.current == v.extent else None
    return None
