"""Nodes whose inputs vary in one extent: bound once for a range of it, with memory that grows.

When a node first meets other shapes than before, it is bound for shapes with a symbolic extent (symbolic_extents.py).
If all numbers of its calls follow from that one, ``update_call_extents`` changes them from then on, without Python. Bindings
for other ranges are cached: a loop that is entered again starts small again.

A node that appends to a carried value, and whose result the back edge carries to the next iteration, writes behind the
value into the same buffer, or in front of it: an append costs only what is appended. The old value stays intact as the
beginning or the end of the result. The buffer is allocated with half as much spare capacity.

With an axis before the varying one (the caches of a decoder: [1, heads, T, d]) an append would move every row. Both
values then have capacity along it (spec_table.pyx), which their readers step over. Only executions whose outputs alone
are read do that: elsewhere visible values are contiguous.

A result whose length its calls compute (NonZero) has a buffer for the maximum. Its node's calls begin with one that
checks the buffer, and end with one that sets the slot's spec, so that callers need no special handling.
"""

from libc.stdint cimport int64_t
from libc.string cimport memcpy
cimport numpy as np
from numpy cimport npy_intp

from ....kernels.call cimport Call
from ...baseline.memory cimport Memory
from ...baseline.arena cimport arena_free_tree, arena_alloc
from ...baseline.spec_table cimport extent_of, spec_of
from ...baseline.state cimport *
from ..node_regions cimport port_bytes, update_call_extents, add_node_region, free_binding_cache, check_result_capacity, cache_binding, select_binding, set_result_extent, \
    dynamic_result_of
from ..optimizer_state cimport *

import math

import numpy as np

from ....plan import shape_range_binding
from ....plan.binding_result import DynamicExtentBuffer, InputDescriptor, GrowableBuffer, VaryingIntegers
from ....plan.plan import Opcode
from ....plan.copy_elision import bind_with_capacity
from ....kernels.symbolic_extents import SymbolicExtent, symbolic_axis, infer_symbolic_extents, current_extent
from ....ops.primitive_types import REFUSAL_ERRORS
from ...baseline.memory import allocate_growable, allocate_or_raise

np.import_array()

# Tracked integers of an input: shapes, axes, bounds.
cdef int MAX_FOLLOWED_INTEGERS = 64
#: Initial extent of the capacity along a growing axis behind others. Untouched memory takes no physical pages: capacity
#: quadruples up to FAST_GROWTH_MAX_BYTES, since each time all readers are bound again.
min_growing_extent = 64
cdef Py_ssize_t FAST_GROWTH_MAX_BYTES = 1 << 20
cdef Py_ssize_t CACHE_LINE_BYTES = 64


cdef class RangeBindings:
    """The nodes that follow varying extents."""

    def __init__(self, Memory memory not None):
        self.memory, self.s = memory, &memory.s
        plan = memory.plan
        self.last_bound = [None] * memory.ncode
        self.appends, self.arrays, self.keys = {}, {}, 0
        self.carriers, self.branches, self.outputs_only = in_place_append_edges(plan), branch_result_sources(plan), False
        for loop in plan.loops:
            for edge in loop.edges:
                if edge.swap:
                    self.appends[edge.result, loop.index] = edge.param

    cdef object varied(self, int pc, object instruction, list inputs):
        """A node bound for a range of shapes: (symbolic extents, binding, (result, what it appends to, in front of
        it) or None), without the call that copies what is already in place; None: impossible."""
        shapes = [None if i is None else i.shape for i in inputs]
        previous, self.last_bound[pc] = self.last_bound[pc], (instruction, shapes, {})
        if previous is None or previous[0] is not instruction:
            return None
        numbers = {}
        for k, old in previous[2].items():
            if inputs[k].known is None:
                numbers[k] = old, input_integers(inputs[k])
        symbolic = infer_symbolic_extents(previous[1], shapes, numbers)
        if symbolic is None:
            return None
        descriptors = []
        for k, (i, shape, old) in enumerate(zip(inputs, symbolic.shapes, shapes)):
            if i is not None and (shape is not old or k in symbolic.integer_inputs):
                if i.known is not None:
                    return None
                if i.capacity is not None and symbolic_axis(shape) not in (-1, i.capacity[0]):
                    return None
                integers = symbolic.integer_inputs.get(k)
                i = InputDescriptor(i.slot, i.dtype, shape, None, i.peek, integers, None, i.capacity)
            descriptors.append(i)
        symbolic.capacities = [None if i is None else i.capacity for i in descriptors]
        try:
            bound = bind_with_capacity(instruction.op, descriptors, self.append_target(instruction, descriptors))
        except REFUSAL_ERRORS:
            return None     # binding for fixed shapes reports the error
        return self.as_range_binding(instruction, symbolic, descriptors, bound)

    cdef object append_target(self, object instruction, list descriptors):
        """Where a growing value continues with spare capacity: the slot that it appends to, and the capacity; None: it
        does not."""
        cdef int axis
        if not self.outputs_only or instruction.node.op_type != "Concat":
            return None
        param = self.carriers.get((instruction.outputs[0], instruction.inside))
        if param is None:
            return None
        carried = descriptors[0]
        axis = symbolic_axis(carried.shape)
        if axis < 1 or math.prod(carried.shape[:axis]) < 2 or self.memory.known[param] is not None:
            return None
        extent = sum([current_extent(i.shape[axis]) for i in descriptors])
        if carried.capacity is not None and extent < carried.capacity[1]:
            return param, carried.capacity
        unit = math.prod([current_extent(e) for d, e in enumerate(carried.shape) if d != axis]) * carried.dtype.itemsize
        capacity = min_growing_extent
        while capacity <= extent + extent // 4:
            capacity *= 4 if capacity * unit < FAST_GROWTH_MAX_BYTES else 2
        return param, (axis, capacity)

    cdef object as_range_binding(self, object instruction, object symbolic, list descriptors, object bound):
        """A node bound for a range, as the result of ``varied``; None: it does not follow the extent alone."""
        # Varying integers that the binding did not read do no harm, but do not determine the shapes either.
        if any(symbolic_axis(descriptors[k].shape) != -1 for k in bound.guards) or \
                (symbolic.lead_element >= 0 and symbolic.lead_input not in bound.guards) or \
                any(out.known is not None or not has_one_varying_axis(out) for out in bound.outputs):
            return None
        shape_range_binding.narrow_to_driver_choices(bound)
        appended = None
        for k, slot in enumerate(instruction.outputs):
            param = self.appends.get((slot, instruction.inside), -1)
            if isinstance(bound.outputs[k], GrowableBuffer):
                if bound.in_place:
                    appended = (slot, param, False)
            elif param >= 0 and slot >= 0 and param in instruction.inputs:
                end_copy = shape_range_binding.find_end_copy(bound, k, param)
                if end_copy is not None:
                    # The result is allocated where its beginning or end already is.
                    copy_index, in_front = end_copy
                    bound.calls.pop(copy_index)
                    appended = (slot, param, in_front)
        return symbolic, bound, appended

    cdef int vary(self, int pc, object instruction, object symbolic, object bound, object appended,
                  list arrays, dict seen, dict sources) except -1:
        """Record how the installed binding follows the extent. ``seen``: slots in place of which it reads other memory;
        ``sources``: shapes and capacities of that memory's slots."""
        cdef Instr *ins = self.s.code + pc
        cdef OptimizerNode *n = optimizer_node(self.s, pc)
        cdef VaryingBinding *v = <VaryingBinding *>arena_alloc(ins.calls, 1, sizeof(VaryingBinding))
        cdef Call *call
        cdef int j, k
        numbers = []
        for k, spec in enumerate(bound.calls):
            call = ins.calls + n.counts + k
            for j, value in enumerate(spec.dims):
                self.add_symbolic_number(numbers, <size_t>&call.dims[j], value)
            for j, value in enumerate(spec.steps):
                self.add_symbolic_number(numbers, <size_t>&call.steps[j], value)
            for j, value in enumerate(spec.extra):
                self.add_symbolic_number(numbers, <size_t>&call.extra[j], value)
            for j, buffer in enumerate(spec.buffers):
                self.add_symbolic_number(numbers, <size_t>&call.offset[j], buffer.offset)
            for j, value in enumerate([value for row in spec.outer for value in row]):
                self.add_symbolic_number(numbers, <size_t>&call.outer[j], value)
        for k, temp in enumerate(bound.temps):
            if isinstance(temp, VaryingIntegers):
                for j, value in enumerate(temp.numbers):
                    self.add_symbolic_number(numbers, <size_t>ins.cells[k] + 8 * j, value)
        for k, guard in enumerate(bound.guards.values()):
            if isinstance(guard, tuple) and guard:
                width = ins.guards[k].nbytes // len(guard)
                for j, value in enumerate(guard):
                    self.add_symbolic_number(numbers, <size_t>ins.guards[k].expected + width * j, value, width == 4)
        v.cost_base, v.cost_slope = current_extent(bound.cost), 0
        if type(bound.cost) is SymbolicExtent:
            v.cost_base, v.cost_slope = bound.cost.base, bound.cost.slope
        own = {out.index for slot, out in zip(instruction.outputs, bound.outputs) if slot >= 0 and out.kind == "temp" and
               out.known is None}
        temps = [(k, size) for k, size in enumerate(bound.temps) if type(size) is SymbolicExtent and k not in own]
        slots = {slot: k for k, slot in enumerate(instruction.inputs) if slot >= 0}
        outputs = [(slot, out) for slot, out in zip(instruction.outputs, bound.outputs) if slot >= 0]
        for k, (slot, out) in enumerate([(slot, out) for slot, out in outputs if isinstance(out, DynamicExtentBuffer)]):
            self.add_symbolic_number(numbers, <size_t>&dynamic_result_of(ins, k).max_nbytes, out.size * out.dtype.itemsize)
        v.numbers = <VaryingNumber *>arena_alloc(v, len(numbers), sizeof(VaryingNumber))
        v.temps = <VaryingTemp *>arena_alloc(v, len(temps), sizeof(VaryingTemp))
        v.inputs = <VaryingPort *>arena_alloc(v, len(slots) + len(sources), sizeof(VaryingPort))
        v.outputs = <VaryingPort *>arena_alloc(v, len(outputs), sizeof(VaryingPort))
        for k, (where, base, slope, narrow) in enumerate(numbers):
            v.numbers[k].where = <npy_intp *><size_t>where
            v.numbers[k].narrow = narrow
            v.numbers[k].base, v.numbers[k].slope = base, slope
        v.nnumbers = len(numbers)
        for k, (j, size) in enumerate(temps):
            v.temps[k].cell = ins.cells + j
            v.temps[k].base, v.temps[k].slope, v.temps[k].capacity = size.base, size.slope, size.current
        v.ntemps = len(temps)
        for k, (slot, j) in enumerate(slots.items()):
            self.fill_input_port(v.inputs + k, slot, symbolic.shapes[j], symbolic.capacities[j])
            if slot == instruction.inputs[symbolic.lead_input]:
                v.leading = k
            v.inputs[k].seen = slot in seen
        for k, (slot, (shape, capacity)) in enumerate(sources.items(), len(slots)):
            self.fill_input_port(v.inputs + k, slot, shape, capacity)
            v.inputs[k].seen = 1
        v.ninputs, v.element = len(slots) + len(sources), symbolic.lead_element
        v.copies, v.through = shape_range_binding.is_pure_copy(bound), len(seen) > 0
        lead = <int>instruction.inputs[symbolic.lead_input]
        v.narrow = self.memory.specs.kind(self.s.slots[lead].spec)[0] == np.int32
        for k, (slot, out) in enumerate(outputs):
            self.port(v.outputs + k, slot, out.shape, out.dtype, out.capacity if isinstance(out, GrowableBuffer) else None)
            v.outputs[k].data_dependent = isinstance(out, DynamicExtentBuffer)
            if appended is not None and slot == appended[0]:
                v.outputs[k].append, v.outputs[k].in_front = appended[1], appended[2]
        v.noutputs = len(outputs)
        v.low, v.high, v.extent = symbolic.variable.min_valid, symbolic.variable.max_valid, symbolic.variable.current
        self.keys += 1
        v.key = self.keys
        self.arrays[pc, v.key] = arrays
        n.varying = v     # after all allocations succeeded
        ins.follows = FOLLOWS_INPUTS | SETS_OUTPUTS
        add_node_region(self.s, n)

    cdef int add_symbolic_number(self, list numbers, size_t where, object value, bint narrow=False) except -1:
        if type(value) is SymbolicExtent:
            numbers.append((where, value.base, value.slope, narrow))

    cdef int fill_input_port(self, VaryingPort *p, int slot, object shape, object capacity) except -1:
        # A binding made at a boundary is for the previous iteration: the slot may hold another shape now.
        return self.port(p, slot, shape, self.memory.specs.kind(self.s.slots[slot].spec)[0], capacity)

    cdef int port(self, VaryingPort *p, int slot, object shape, object dtype, object capacity) except -1:
        cdef int axis = symbolic_axis(shape)
        shape_now = tuple([current_extent(extent) for extent in shape])
        p.slot, p.append, p.in_front, p.axis = slot, -1, 0, axis
        if axis < 0:
            p.spec = self.memory.spec(dtype, shape_now, capacity)
            p.nbytes = self.memory.specs.nbytes(p.spec)
            return 0
        p.family = self.memory.specs.family(dtype, shape_now, axis, None if capacity is None else capacity[1])
        p.base, p.slope = shape[axis].base, shape[axis].slope
        p.spec = spec_of(p.family, shape[axis].current)

    cdef bint has_specs_for(self, object out) except -1:
        """Are there numbers for all possible specs of a result?"""
        return spec_of(self.memory.specs.family(out.dtype, out.shape, out.axis), out.shape[out.axis]) != 0

    cdef int count(self, OptimizerNode *n, int k, int slot, object out) except -1:
        """Set up the calls before and after a node's own for its k-th result of dynamic length."""
        cdef Instr *ins = self.s.code + n.pc
        cdef Call *check = ins.calls + k
        cdef Call *finish = ins.calls + (ins.ncalls - n.counts + k)
        cdef DynamicResult *dynamic = <DynamicResult *>arena_alloc(ins.calls, 1, sizeof(DynamicResult))
        dynamic.state, dynamic.slot, dynamic.max_nbytes = self.s, slot, current_extent(out.size) * out.dtype.itemsize
        dynamic.family = self.memory.specs.family(out.dtype, tuple([current_extent(e) for e in out.shape]), out.axis)
        check.run, finish.run = check_result_capacity, set_result_extent
        check.data = finish.data = dynamic
        finish.nargs, finish.cell[0] = 1, &ins.cells[<int>out.count]

    cdef int allocate_maximum_results(self, int pc) except -1:
        """Allocate results of dynamic length with their maximum size; 0: nothing to do."""
        cdef OptimizerNode *n = optimizer_node(self.s, pc)
        cdef DynamicResult *dynamic
        cdef Slot *slot
        cdef int64_t extent, max_extent
        cdef int k, changed = 0
        for k in range(n.counts):
            dynamic = dynamic_result_of(self.s.code + pc, k)
            slot = self.s.slots + dynamic.slot
            if slot.flags == OWN and slot.capacity >= dynamic.max_nbytes:
                continue
            max_extent = dynamic.max_nbytes // dynamic.family.unit if dynamic.family.unit else 0
            extent = extent_of(dynamic.family, slot.spec)
            if not 0 <= extent <= max_extent:
                extent = max_extent
            memory = self.buffer(pc, dynamic.max_nbytes, n.varying != NULL)
            self.memory.put_buffer(dynamic.slot, memory, spec_of(dynamic.family, extent), dynamic.family.unit * extent,
                                   OWN)
            changed = 1
        return changed

    cdef int remember_input_integers(self, int pc, list inputs, object positions) except -1:
        """Remember the integers that a binding read: the next one may detect how they change."""
        if self.last_bound[pc] is not None:
            for k in positions:
                i = inputs[k]
                if i is not None and i.known is None and i.dtype in (np.int32, np.int64) and math.prod(i.shape) <= MAX_FOLLOWED_INTEGERS:
                    self.last_bound[pc][2][k] = input_integers(i)

    cdef int begin(self, bint outputs_only) except -1:
        """An execution begins. Nodes whose shapes changed only between executions are bound as at first: fixed shapes
        can be fused. ``outputs_only``: only the outputs are read."""
        cdef int pc
        cdef bint used
        cdef OptimizerNode *n
        cdef VaryingBinding *v
        if outputs_only != self.outputs_only:
            self.outputs_only = outputs_only
            self.relayout_growing_values()
        for pc in range(len(self.last_bound)):
            n = optimizer_node(self.s, pc)
            used = n.varying != NULL and changed_repeatedly(n.varying)
            v = n.cache
            while v != NULL:
                used = changed_repeatedly(v) or used
                v = v.next
            if n.varying != NULL and not used:
                self.drop_bindings(pc)
                self.s.generation += 1
                unbind_node(self.s.code + pc)
            if not used and self.last_bound[pc] is not None:
                self.last_bound[pc] = None

    def relayout_growing_values(self):
        """Change the layout of growing values."""
        cdef int pc, slot
        if not any(self.last_bound):
            return
        for result, index in self.carriers:
            pc = self.s.writer[<int>result]
            self.drop_bindings(pc)
            self.last_bound[pc] = None
            self.s.generation += 1
            unbind_node(self.s.code + pc)
            for slot in (result, self.carriers[result, index]):
                if self.memory.specs.capacity(self.s.slots[slot].spec) is not None:
                    self.memory.store(slot, self.memory.value(slot))

    cdef int cache_current_binding(self, int pc) except -1:
        """Cache a node's binding for when its inputs recur."""
        cdef OptimizerNode *n = optimizer_node(self.s, pc)
        cdef VaryingBinding *v
        if n.region.stale:
            self.drop_bindings(pc)
        if n.varying != NULL:
            cache_binding(self.s, n)
            if n.ncached > MAX_CACHED_BINDINGS:
                v = n.cache
                while v.next.next != NULL:
                    v = v.next
                self.arrays.pop((pc, v.next.key), None)
                arena_free_tree(v.next.calls)
                v.next = NULL
                n.ncached -= 1

    cdef int drop_bindings(self, int pc) except -1:
        """Drop a node's bindings, whose assumptions changed."""
        cdef OptimizerNode *n = optimizer_node(self.s, pc)
        cdef VaryingBinding *v
        if n.varying != NULL:
            cache_binding(self.s, n)
        v = n.cache
        while v != NULL:
            self.arrays.pop((pc, v.key), None)
            v = v.next
        free_binding_cache(n)

    cdef int adapt_to_extent(self, int pc) except -1:
        """Allocate what a node that follows an extent lacks; 0: it has to be bound again."""
        cdef OptimizerNode *node = optimizer_node(self.s, pc)
        cdef VaryingBinding *v
        cdef VaryingTemp *temp
        cdef int64_t current = 0
        cdef npy_intp nbytes
        cdef int k
        if not select_binding(self.s, node, &current):
            return 0
        v = node.varying
        for k in range(v.ntemps):
            temp = v.temps + k
            nbytes = temp.base + temp.slope * current
            if nbytes > temp.capacity:
                array = self.buffer(pc, nbytes, True)
                arrays = self.arrays[pc, v.key]
                arrays[:] = [a for a in arrays if np.PyArray_BYTES(a) != temp.cell[0]]
                arrays.append(array)
                temp.cell[0], temp.capacity = np.PyArray_BYTES(array), array.nbytes
        for k in range(v.noutputs):
            if v.outputs[k].family != NULL and \
                    not self.memory.specs.ensure_extent(v.outputs[k].family,
                                                        v.outputs[k].base + v.outputs[k].slope * current):
                return 0
        if not update_call_extents(self.s, node):
            return 0
        for k in range(v.noutputs):
            self.adapt_output_buffer(v.outputs + k, v)
        self.allocate_maximum_results(pc)
        return 1

    cdef int adapt_output_buffer(self, VaryingPort *port, VaryingBinding *v) except -1:
        cdef Slot *slot = self.s.slots + port.slot
        cdef Py_ssize_t nbytes = port_bytes(port, v.extent)
        # It may have been bound for fixed shapes since, with known values.
        self.memory.set_known(port.slot, None)
        if port.data_dependent:
            return 0
        if port.append >= 0:
            return self.append_in_place(port, nbytes)
        if slot.flags & SHARED and slot.capacity >= nbytes and not self.shares_back_edge_buffer(port.slot):
            slot.flags = OWN
        if slot.flags != OWN or slot.capacity < nbytes:
            return self.memory.put_buffer(port.slot, self.growing_buffer_for(port, nbytes), port.spec, nbytes, OWN)
        if slot.spec != port.spec:
            change_spec(self.s, port.slot, port.spec, nbytes)

    cdef Family *back_edge_family(self, BackEdgeState *e) except? NULL:
        """The family of both values of a back edge, known from the node that makes its result, in a branch if an If
        gives it; NULL: none."""
        cdef Family *family = self.family_from_producer(e.result, e.param)
        for source in self.branches.get(e.result, ()):
            if family == NULL:
                family = self.family_from_producer(source, e.param)
        return family

    cdef Family *family_from_producer(self, int result, int param) except? NULL:
        cdef int k, pc = self.s.writer[result]
        cdef OptimizerNode *n = NULL if pc < 0 else optimizer_node(self.s, pc)
        cdef VaryingBinding *v = NULL if pc < 0 else n.varying
        cdef DynamicResult *dynamic
        for k in range(0 if pc < 0 else n.counts):
            dynamic = dynamic_result_of(self.s.code + pc, k)
            if dynamic.slot == result and extent_of(dynamic.family, self.s.slots[param].spec) >= 0:
                return dynamic.family
        if v != NULL:
            for k in range(v.noutputs):
                if v.outputs[k].slot == result and v.outputs[k].family != NULL and \
                        extent_of(v.outputs[k].family, self.s.slots[param].spec) >= 0:
                    return v.outputs[k].family
        return NULL

    cdef object growing_buffer_for(self, VaryingPort *p, Py_ssize_t nbytes):
        """A buffer for a growing result."""
        return self.buffer(self.s.writer[p.slot], nbytes, p.family == NULL or not p.family.capacity_nbytes)

    cdef object buffer(self, int pc, Py_ssize_t nbytes, bint growable):
        """A buffer for a result; ``growable``: with spare capacity, if available."""
        make = allocate_growable if growable else allocate_or_raise
        return make(nbytes, lambda: f"{self.memory.describe_node(pc)}: its result")

    cdef bint shares_back_edge_buffer(self, int slot):
        """Is the other value of a back edge in the same buffer?"""
        for (result, _), param in self.appends.items():
            if slot == result:
                return self.s.slots[<int>param].owner == self.s.slots[slot].owner
        return True

    cdef int append_in_place(self, VaryingPort *p, Py_ssize_t nbytes) except -1:
        """Put the result of an append into the buffer of the carried value, or both into a larger one."""
        cdef Slot *source = self.s.slots + p.append
        if p.in_front:
            return self.append_in_front(p, nbytes)
        if source.flags & OWN and (source.capacity >= nbytes or self.memory.extend_buffer(p.append, nbytes)):
            source.flags = OWN | SHARED
            self.memory.put_value(p.slot, <object>source.owner, p.spec, nbytes, source.data, OWN | SHARED)
            self.s.slots[p.slot].capacity = source.capacity
        else:
            memory = self.growing_buffer_for(p, nbytes)
            memcpy(np.PyArray_BYTES(memory), source.data, source.nbytes)
            self.memory.put_buffer(p.slot, memory, p.spec, nbytes, OWN | SHARED)

    cdef int append_in_front(self, VaryingPort *p, Py_ssize_t nbytes) except -1:
        """As ``append_in_place``, in front of the carried value: the spare capacity is there."""
        cdef Slot *source = self.s.slots + p.append
        cdef Py_ssize_t added = nbytes - source.nbytes
        cdef char *data
        if source.flags & OWN and (bytes_in_front(source) >= added or
                                   self.memory.extend_buffer_in_front(p.append, added)):
            source.flags = OWN | SHARED
            memory, data = <object>source.owner, source.data - added
        else:
            memory = allocate_growable(nbytes, lambda: f"{self.memory.describe_node(self.s.writer[p.slot])}: its result", True)
            # Whole cache lines from the start of the buffer: elements stay aligned, and what is added is whole elements.
            data = np.PyArray_BYTES(memory) + (np.PyArray_NBYTES(memory) - nbytes) // CACHE_LINE_BYTES * CACHE_LINE_BYTES
            memcpy(data + added, source.data, source.nbytes)
        self.memory.put_value(p.slot, memory, p.spec, nbytes, data, OWN | SHARED)


def slots_read_outside_nodes(plan):
    """Slots read by something other than a node, or written in place by a boundary, with repetitions."""
    used = [slot for _, slot in plan.outputs]
    for instruction in plan.code:
        if instruction.kind != Opcode.NODE:
            used += [*instruction.inputs, *[source for source, _ in instruction.moves]]
    for loop in plan.loops:
        used += [loop.trip_count, loop.initial_condition, loop.condition, loop.yielded]
        for edge in loop.edges:
            used += [edge.initial, edge.param, edge.result]
        used += [sliced.outer for sliced in loop.slices] + [scan.result for scan in loop.scans]
        used += [source for source, _ in loop.saved_inputs]
    return used


def in_place_append_edges(plan):
    """(result slot, loop) -> parameter, of back edges that exchange buffers, if a node appends to the parameter in each
    iteration, and both values are read only by nodes, and by outputs of the ended loop."""
    used, appending, branches = slots_read_outside_nodes(plan), {}, 0
    for instruction in plan.code:
        branches += (instruction.kind == Opcode.BRANCH) - (instruction.kind == Opcode.JOIN)
        if not branches and instruction.kind == Opcode.NODE and instruction.node.op_type == "Concat":
            appending[instruction.outputs[0]] = instruction.inside, instruction.inputs[0]
    return {(edge.result, loop.index): edge.param for loop in plan.loops for edge in loop.edges
            if edge.swap and appending.get(edge.result) == (loop.index, edge.param) and
            used.count(edge.result) == used.count(edge.param) == 1}


def branch_result_sources(plan):
    """Slot of an If's output -> the slots of its sources in the branches, including nested Ifs."""
    sources = {}
    for instruction in plan.code:
        for source, target in instruction.moves:
            # An If in a branch precedes the end of the branch.
            sources.setdefault(target, []).extend(sources.get(source, (source,)))
    return sources


cdef bint changed_repeatedly(VaryingBinding *v) noexcept:
    """Was a binding changed repeatedly in the last execution?"""
    cdef bint used = v.fitted - v.seen > 2
    v.seen = v.fitted
    return used


def has_one_varying_axis(out):
    """Is a result of one family of specs?"""
    cdef int axis = symbolic_axis(out.shape)
    return axis in (-1, out.axis) if isinstance(out, DynamicExtentBuffer) else axis != -2


def input_integers(i):
    """The present integers of an input."""
    return tuple(i.peek().reshape(-1).tolist())
