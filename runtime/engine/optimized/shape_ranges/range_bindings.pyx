"""Nodes whose inputs vary in one extent: bound once for a range of it, and given memory as it grows.

The first time that a node is met on other shapes than before, it is bound on shapes with an extent that varies
(extents.py). If all numbers of its calls follow from that one, ``fit`` changes them from then on, without Python. The
bindings for other ranges are kept: a loop that is entered again starts small again.

A node that appends to a carried value, and whose result the back edge carries to the next iteration, writes behind the
value into the very buffer that holds it, so that an append costs what is appended. Nothing is lost by that: the value
is the beginning of the result. The buffer has capacity for half as much again when it is made.

Where something stands before the axis (the caches of a decoder: [1, heads, T, d]), that would move every row. Both values
then have capacity along it (specs.pyx), which their readers step over. That is so in executions of which nobody looks at
anything but the outputs: elsewhere values lie without gaps, for whoever is shown them.

A result that is as long as the numbers say (NonZero) has a buffer for the longest that it can be. Its node's calls begin
with one that looks whether it is there, and end with one that gives the slot its spec, so that whoever runs them need not
know.
"""

from libc.stdint cimport int64_t
from libc.string cimport memcpy
cimport numpy as np
from numpy cimport npy_intp

from ....kernels.call cimport Call
from ....kernels.dirty_range_journal cimport IncrementalCopy
from ...baseline.memory cimport Memory
from ...baseline.arena cimport arena_free_tree, arena_alloc
from ...baseline.spec_table cimport extent_of, spec_of
from ...baseline.state cimport *
from ..node_regions cimport port_bytes, update_calls, add_node_region, free_binding_cache, has_capacity, cache_binding, select_binding, set_result_extent, \
    dynamic_result_of
from ..optimizer_state cimport *

import math

import numpy as np

from ....plan import range_binding
from ....plan.kernel_binding import DynamicExtentBuffer, InputDescriptor, GrowableBuffer, VaryingIntegers
from ....plan.plan import Opcode
from ....plan.view_binding import bind_with_capacity
from ....kernels.symbolic_extents import SymbolicExtent, symbolic_axis, infer_symbolic_extents, current_extent
from ....ops.primitives import REFUSAL_ERRORS
from ...baseline.memory import allocate_growable, allocate_or_raise

np.import_array()

# Integers of an input that are followed: shapes, axes, bounds.
cdef int MAX_FOLLOWED_INTEGERS = 64
#: Extents that there is memory for at first, where something stands before an axis that grows. Memory that nobody wrote
#: to takes none of the machine's, so four times as much comes next, up to so many bytes: each time all readers are bound.
min_growing_extent = 64
cdef Py_ssize_t FAST_GROWTH_MAX_BYTES = 1 << 20


cdef class RangeBindings:
    """Knows which nodes follow what."""

    def __init__(self, Memory memory not None):
        self.memory, self.s = memory, &memory.s
        plan = memory.plan
        self.last_bound = [None] * memory.ncode
        self.appends, self.arrays, self.keys = {}, {}, 0
        self.carriers, self.branches, self.outputs_only = append_edges(plan), branch_result_sources(plan), False
        for loop in plan.loops:
            for edge in loop.edges:
                if edge.swap:
                    self.appends[edge.result, loop.index] = edge.param

    cdef object varied(self, int pc, object instruction, list inputs):
        """A node bound for a range of shapes: (Followed, Bound, (result, what it appends to) or None); None where that cannot
        be. The call that would copy what stands there already is left out."""
        shapes = [None if i is None else i.shape for i in inputs]
        before, self.last_bound[pc] = self.last_bound[pc], (instruction, shapes, {})
        if before is None or before[0] is not instruction:
            return None
        numbers = {}
        for k, old in before[2].items():
            if inputs[k].known is None:
                numbers[k] = old, current_integers(inputs[k])
        followed = infer_symbolic_extents(before[1], shapes, numbers)
        if followed is None:
            return None
        given = []
        for k, (i, shape, old) in enumerate(zip(inputs, followed.shapes, shapes)):
            if i is not None and (shape is not old or k in followed.integer_inputs):
                if i.known is not None:
                    return None
                if i.capacity is not None and symbolic_axis(shape) not in (-1, i.capacity[0]):
                    return None
                i = InputDescriptor(i.slot, i.dtype, shape, None, i.peek, followed.integer_inputs.get(k), None, i.capacity)
            given.append(i)
        followed.capacities = [None if i is None else i.capacity for i in given]
        try:
            bound = bind_with_capacity(instruction.op, given, self.growth_target(instruction, given))
        except REFUSAL_ERRORS:
            return None     # bound on plain shapes, it says what is wrong
        return self.as_range_binding(instruction, followed, given, bound)

    cdef object growth_target(self, object instruction, list given):
        """Where a value that grows goes on with capacity for more: the slot of what it appends to, and the capacity; None: it
        does not."""
        cdef int axis
        if not self.outputs_only or instruction.node.op_type != "Concat":
            return None
        param = self.carriers.get((instruction.outputs[0], instruction.inside))
        if param is None:
            return None
        before = given[0]
        axis = symbolic_axis(before.shape)
        if axis < 1 or math.prod(before.shape[:axis]) < 2 or self.memory.known[param] is not None:
            return None
        extent = sum([current_extent(i.shape[axis]) for i in given])
        if before.capacity is not None and extent < before.capacity[1]:
            return param, before.capacity
        unit = math.prod([current_extent(e) for d, e in enumerate(before.shape) if d != axis]) * before.dtype.itemsize
        capacity = min_growing_extent
        while capacity <= extent + extent // 4:
            capacity *= 4 if capacity * unit < FAST_GROWTH_MAX_BYTES else 2
        return param, (axis, capacity)

    cdef object as_range_binding(self, object instruction, object followed, list given, object bound):
        """A node bound for a range, as ``varied`` gives it; None where it does not follow the extent alone."""
        # Numbers that vary and that nothing asked about do no harm, but say nothing about the shapes either.
        if any(symbolic_axis(given[k].shape) != -1 for k in bound.guards) or \
                (followed.lead_element >= 0 and followed.lead_input not in bound.guards) or \
                any(out.known is not None or not has_one_varying_axis(out) for out in bound.outputs):
            return None
        range_binding.fix_driver_choices(bound)
        appended = None
        for k, slot in enumerate(instruction.outputs):
            param = self.appends.get((slot, instruction.inside), -1)
            if isinstance(bound.outputs[k], GrowableBuffer):
                if bound.in_place:
                    appended = (slot, param)
            elif param >= 0 and slot >= 0 and param in instruction.inputs:
                copied = range_binding.find_leading_copy(bound, k, param)
                if copied is not None:
                    # Where provide puts the result, what it begins with stands already.
                    bound.calls.pop(copied)
                    appended = (slot, param)
        return followed, bound, appended

    cdef int vary(self, int pc, object instruction, object followed, object bound, object appended,
                  list arrays, dict seen, dict beyond) except -1:
        """Note how what ``install`` made of a bound node follows the extent. ``seen``: slots in place of which it reads
        other memory; ``beyond``: the shapes and capacities of others on which it rests."""
        cdef Instr *ins = self.s.code + pc
        cdef OptimizerNode *n = optimizer_node(self.s, pc)
        cdef VaryingBinding *v = <VaryingBinding *>arena_alloc(ins.calls, 1, sizeof(VaryingBinding))
        cdef Call *call
        cdef int j, k
        numbers = []
        for k, spec in enumerate(bound.calls):
            call = ins.calls + n.counts + k
            if call.renewal != NULL:
                # How much is copied varies.
                (<IncrementalCopy *>call.renewal).source = NULL
            for j, value in enumerate(spec.dims):
                self.number(numbers, <size_t>&call.dims[j], value)
            for j, value in enumerate(spec.steps):
                self.number(numbers, <size_t>&call.steps[j], value)
            for j, value in enumerate(spec.extra):
                self.number(numbers, <size_t>&call.extra[j], value)
            for j, buffer in enumerate(spec.buffers):
                self.number(numbers, <size_t>&call.offset[j], buffer.offset)
            for j, value in enumerate([value for row in spec.outer for value in row]):
                self.number(numbers, <size_t>&call.outer[j], value)
        for k, temp in enumerate(bound.temps):
            if isinstance(temp, VaryingIntegers):
                for j, value in enumerate(temp.numbers):
                    self.number(numbers, <size_t>ins.cells[k] + 8 * j, value)
        for k, guard in enumerate(bound.guards.values()):
            if isinstance(guard, tuple) and guard:
                width = ins.guards[k].nbytes // len(guard)
                for j, value in enumerate(guard):
                    self.number(numbers, <size_t>ins.guards[k].expected + width * j, value, width == 4)
        v.cost_base, v.cost_slope = current_extent(bound.cost), 0
        if type(bound.cost) is SymbolicExtent:
            v.cost_base, v.cost_slope = bound.cost.base, bound.cost.slope
        own = {out.index for slot, out in zip(instruction.outputs, bound.outputs) if slot >= 0 and out.kind == "temp" and
               out.known is None}
        temps = [(k, size) for k, size in enumerate(bound.temps) if type(size) is SymbolicExtent and k not in own]
        slots = {slot: k for k, slot in enumerate(instruction.inputs) if slot >= 0}
        outputs = [(slot, out) for slot, out in zip(instruction.outputs, bound.outputs) if slot >= 0]
        for k, (slot, out) in enumerate([(slot, out) for slot, out in outputs if isinstance(out, DynamicExtentBuffer)]):
            self.number(numbers, <size_t>&dynamic_result_of(ins, k).most, out.size * out.dtype.itemsize)
        v.numbers = <VaryingNumber *>arena_alloc(v, len(numbers), sizeof(VaryingNumber))
        v.temps = <VaryingTemp *>arena_alloc(v, len(temps), sizeof(VaryingTemp))
        v.inputs = <VaryingPort *>arena_alloc(v, len(slots) + len(beyond), sizeof(VaryingPort))
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
            self.input_port(v.inputs + k, slot, followed.shapes[j], followed.capacities[j])
            if slot == instruction.inputs[followed.lead_input]:
                v.leading = k
            v.inputs[k].seen = slot in seen
        for k, (slot, (shape, capacity)) in enumerate(beyond.items(), len(slots)):
            self.input_port(v.inputs + k, slot, shape, capacity)
            v.inputs[k].seen = 1
        v.ninputs, v.element = len(slots) + len(beyond), followed.lead_element
        v.copies, v.through = range_binding.is_pure_copy(bound), len(seen) > 0
        v.narrow = self.memory.specs.kind(self.s.slots[<int>instruction.inputs[followed.lead_input]].spec)[0] == np.int32
        for k, (slot, out) in enumerate(outputs):
            self.port(v.outputs + k, slot, out.shape, out.dtype, out.capacity if isinstance(out, GrowableBuffer) else None)
            v.outputs[k].data_dependent = isinstance(out, DynamicExtentBuffer)
            if appended is not None and slot == appended[0]:
                v.outputs[k].append = appended[1]
        v.noutputs = len(outputs)
        v.low, v.high, v.extent = followed.variable.min_valid, followed.variable.max_valid, followed.variable.current
        self.keys += 1
        v.key = self.keys
        self.arrays[pc, v.key] = arrays
        n.varying = v     # now that there is memory for all of it
        ins.follows = FOLLOWS_INPUTS | SETS_OUTPUTS
        add_node_region(self.s, n)

    cdef int number(self, list numbers, size_t where, object value, bint narrow=False) except -1:
        if type(value) is SymbolicExtent:
            numbers.append((where, value.base, value.slope, narrow))

    cdef int input_port(self, VaryingPort *p, int slot, object shape, object capacity) except -1:
        # What is bound at a boundary is so for the iteration before: the slot may hold another shape, with other capacity.
        return self.port(p, slot, shape, self.memory.specs.kind(self.s.slots[slot].spec)[0], capacity)

    cdef int port(self, VaryingPort *p, int slot, object shape, object dtype, object capacity) except -1:
        cdef int axis = symbolic_axis(shape)
        shape_now = tuple([current_extent(extent) for extent in shape])
        p.slot, p.append, p.axis = slot, -1, axis
        if axis < 0:
            p.spec = self.memory.spec(dtype, shape_now, capacity)
            p.nbytes = self.memory.specs.nbytes(p.spec)
            return 0
        p.family = self.memory.specs.family(dtype, shape_now, axis, None if capacity is None else capacity[1])
        p.base, p.slope = shape[axis].base, shape[axis].slope
        p.spec = spec_of(p.family, shape[axis].current)

    cdef bint has_specs_for(self, object out) except -1:
        """Are there numbers for all specs that a result may have?"""
        return spec_of(self.memory.specs.family(out.dtype, out.shape, out.axis), out.shape[out.axis]) != 0

    cdef int count(self, OptimizerNode *n, int k, int slot, object out) except -1:
        """The calls around those of a node that make its result number k of those that they count."""
        cdef Instr *ins = self.s.code + n.pc
        cdef Call *before = ins.calls + k
        cdef Call *after = ins.calls + (ins.ncalls - n.counts + k)
        cdef DynamicResult *t = <DynamicResult *>arena_alloc(ins.calls, 1, sizeof(DynamicResult))
        t.state, t.slot, t.most = self.s, slot, current_extent(out.size) * out.dtype.itemsize
        t.family = self.memory.specs.family(out.dtype, tuple([current_extent(extent) for extent in out.shape]), out.axis)
        before.run, after.run = has_capacity, set_result_extent
        before.data = after.data = t
        after.nargs, after.cell[0] = 1, &ins.cells[<int>out.count]

    cdef int reserve(self, int pc) except -1:
        """Give results that are as long as the calls say memory for the most; 0: they had it."""
        cdef OptimizerNode *n = optimizer_node(self.s, pc)
        cdef DynamicResult *t
        cdef Slot *slot
        cdef int64_t extent, longest
        cdef int k, made = 0
        for k in range(n.counts):
            t = dynamic_result_of(self.s.code + pc, k)
            slot = self.s.slots + t.slot
            if slot.flags == OWN and slot.capacity >= t.most:
                continue
            longest = t.most // t.family.unit if t.family.unit else 0
            extent = extent_of(t.family, slot.spec)
            if not 0 <= extent <= longest:
                extent = longest
            memory = self.buffer(pc, t.most, n.varying != NULL)
            self.memory.put_buffer(t.slot, memory, spec_of(t.family, extent), t.family.unit * extent, OWN)
            made = 1
        return made

    cdef int remember_integers(self, int pc, list inputs, object looked) except -1:
        """Remember the integers that a binding looked at: the next one may see how they change."""
        if self.last_bound[pc] is not None:
            for k in looked:
                i = inputs[k]
                if i is not None and i.known is None and i.dtype in (np.int32, np.int64) and math.prod(i.shape) <= MAX_FOLLOWED_INTEGERS:
                    self.last_bound[pc][2][k] = current_integers(i)

    cdef int begin(self, bint outputs_only) except -1:
        """An execution begins. Nodes that only met other shapes between executions are bound as if it were the first:
        what stays the same can be run in groups. ``outputs_only``: nobody looks at anything but the outputs."""
        cdef int pc
        cdef bint used
        cdef OptimizerNode *n
        cdef VaryingBinding *v
        if outputs_only != self.outputs_only:
            self.outputs_only = outputs_only
            self.relayout()
        for pc in range(len(self.last_bound)):
            n = optimizer_node(self.s, pc)
            used = n.varying != NULL and was_used(n.varying)
            v = n.cache
            while v != NULL:
                used = was_used(v) or used
                v = v.next
            if n.varying != NULL and not used:
                self.forget(pc)
                self.s.generation += 1
                unbind_node(self.s.code + pc)
            if not used and self.last_bound[pc] is not None:
                self.last_bound[pc] = None

    def relayout(self):
        """Values that grow lie in another way from now on."""
        cdef int pc, slot
        if not any(self.last_bound):
            return
        for result, index in self.carriers:
            pc = self.s.writer[<int>result]
            self.forget(pc)
            self.last_bound[pc] = None
            self.s.generation += 1
            unbind_node(self.s.code + pc)
            for slot in (result, self.carriers[result, index]):
                if self.memory.specs.capacity(self.s.slots[slot].spec) is not None:
                    self.memory.store(slot, self.memory.value(slot))

    cdef int cache_current(self, int pc) except -1:
        """Keep a node's binding for when its inputs are again as they were."""
        cdef OptimizerNode *n = optimizer_node(self.s, pc)
        cdef VaryingBinding *v
        if n.region.stale:
            self.forget(pc)
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

    cdef int forget(self, int pc) except -1:
        """Drop a node's bindings: what they rest on changed."""
        cdef OptimizerNode *n = optimizer_node(self.s, pc)
        cdef VaryingBinding *v
        if n.varying != NULL:
            cache_binding(self.s, n)
        v = n.cache
        while v != NULL:
            self.arrays.pop((pc, v.key), None)
            v = v.next
        free_binding_cache(n)

    cdef int adapt(self, int pc) except -1:
        """Give a node that follows what it lacks; 0: it has to be bound anew."""
        cdef OptimizerNode *node = optimizer_node(self.s, pc)
        cdef VaryingBinding *v
        cdef VaryingTemp *temp
        cdef int64_t n = 0
        cdef npy_intp need
        cdef int k
        if not select_binding(self.s, node, &n):
            return 0
        v = node.varying
        for k in range(v.ntemps):
            temp = v.temps + k
            need = temp.base + temp.slope * n
            if need > temp.capacity:
                array = self.buffer(pc, need, True)
                arrays = self.arrays[pc, v.key]
                arrays[:] = [a for a in arrays if np.PyArray_BYTES(a) != temp.cell[0]]
                arrays.append(array)
                temp.cell[0], temp.capacity = np.PyArray_BYTES(array), array.nbytes
        for k in range(v.noutputs):
            if v.outputs[k].family != NULL and \
                    not self.memory.specs.ensure_extent(v.outputs[k].family, v.outputs[k].base + v.outputs[k].slope * n):
                return 0
        if not update_calls(self.s, node):
            return 0
        for k in range(v.noutputs):
            self.adapt_output(v.outputs + k, v)
        self.reserve(pc)
        return 1

    cdef int adapt_output(self, VaryingPort *p, VaryingBinding *v) except -1:
        cdef Slot *slot = self.s.slots + p.slot
        cdef Py_ssize_t nbytes = port_bytes(p, v.extent)
        # The node may have been bound on plain shapes since, whose numbers are known.
        self.memory.set_known(p.slot, None)
        if p.data_dependent:
            return 0
        if p.append >= 0:
            return self.append_in_place(p, nbytes)
        if slot.flags & SHARED and slot.capacity >= nbytes and not self.is_shared(p.slot):
            slot.flags = OWN
        if slot.flags != OWN or slot.capacity < nbytes:
            return self.memory.put_buffer(p.slot, self.buffer_for(p, nbytes), p.spec, nbytes, OWN)
        if slot.spec != p.spec:
            change_spec(self.s, p.slot, p.spec, nbytes)

    cdef Family *family_of(self, BackEdgeState *e) except? NULL:
        """The family that both values of a back edge are of, which the node that makes its result has found; NULL: none.
        Where an If gives the result, that is a node of one of its branches."""
        cdef Family *family = self.family_from(e.result, e.param)
        for source in self.branches.get(e.result, ()):
            if family == NULL:
                family = self.family_from(source, e.param)
        return family

    cdef Family *family_from(self, int result, int param) except? NULL:
        cdef int k, pc = self.s.writer[result]
        cdef OptimizerNode *n = NULL if pc < 0 else optimizer_node(self.s, pc)
        cdef VaryingBinding *v = NULL if pc < 0 else n.varying
        cdef DynamicResult *t
        for k in range(0 if pc < 0 else n.counts):
            t = dynamic_result_of(self.s.code + pc, k)
            if t.slot == result and extent_of(t.family, self.s.slots[param].spec) >= 0:
                return t.family
        if v != NULL:
            for k in range(v.noutputs):
                if v.outputs[k].slot == result and v.outputs[k].family != NULL and \
                        extent_of(v.outputs[k].family, self.s.slots[param].spec) >= 0:
                    return v.outputs[k].family
        return NULL

    cdef object buffer_for(self, VaryingPort *p, Py_ssize_t nbytes):
        """A buffer for a result that grows."""
        return self.buffer(self.s.writer[p.slot], nbytes, p.family == NULL or not p.family.whole)

    cdef object buffer(self, int pc, Py_ssize_t nbytes, bint range_bindings):
        """A buffer for a result; ``range_bindings``: for more than it needs now, where there is as much."""
        make = allocate_growable if range_bindings else allocate_or_raise
        return make(nbytes, lambda: f"{self.memory.describe_node(pc)}: its result")

    cdef bint is_shared(self, int slot):
        """Is the other value of a back edge in the same buffer?"""
        for (result, _), param in self.appends.items():
            if slot == result:
                return self.s.slots[<int>param].owner == self.s.slots[slot].owner
        return True

    cdef int append_in_place(self, VaryingPort *p, Py_ssize_t nbytes) except -1:
        """Put the result of an append where the carried value is, or both where there is more capacity."""
        cdef Slot *source = self.s.slots + p.append
        cdef int shares = source.flags & OWN and source.capacity >= nbytes
        if shares:
            memory = <object>source.owner
            source.flags = OWN | SHARED
        else:
            memory = self.buffer_for(p, nbytes)
            memcpy(np.PyArray_BYTES(memory), source.data, source.nbytes)
        self.memory.put_buffer(p.slot, memory, p.spec, nbytes, OWN | SHARED)


def non_node_readers(plan):
    """The slots that something other than a node reads, or that a boundary writes where they are: each as often as it is."""
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


def append_edges(plan):
    """(result slot, loop) -> parameter, of the back edges that exchange buffers, where a node appends to the parameter in each
    iteration, and nothing else reads the two values but nodes, and outputs of the loop once it ended."""
    used, makers, branches = non_node_readers(plan), {}, 0
    for instruction in plan.code:
        branches += (instruction.kind == Opcode.BRANCH) - (instruction.kind == Opcode.JOIN)
        if not branches and instruction.kind == Opcode.NODE and instruction.node.op_type == "Concat":
            makers[instruction.outputs[0]] = instruction.inside, instruction.inputs[0]
    return {(edge.result, loop.index): edge.param for loop in plan.loops for edge in loop.edges
            if edge.swap and makers.get(edge.result) == (loop.index, edge.param) and
            used.count(edge.result) == used.count(edge.param) == 1}


def branch_result_sources(plan):
    """Slot of an If's output -> the slots of the nodes that give it in its branches, those of Ifs in branches included."""
    sources = {}
    for instruction in plan.code:
        for source, target in instruction.moves:
            # An If in a branch stands before the end of the branch.
            sources.setdefault(target, []).extend(sources.get(source, (source,)))
    return sources


cdef bint was_used(VaryingBinding *v) noexcept:
    """Was a binding changed now and again in the last execution?"""
    cdef bint used = v.fitted - v.seen > 2
    v.seen = v.fitted
    return used


def has_one_varying_axis(out):
    """Is a result of one family of specs?"""
    cdef int axis = symbolic_axis(out.shape)
    return axis in (-1, out.axis) if isinstance(out, DynamicExtentBuffer) else axis != -2


def current_integers(i):
    """The numbers in an input now."""
    return tuple(i.peek().reshape(-1).tolist())
