"""Loops: the slow path of entries, boundaries and exits.

``interpreter.pyx`` implements entries and boundaries. Where a spec differs from the last time, memory is missing or
values are Python objects, this module prepares them first, and reports whatever the loop's own system rejects.
"""

from libc.stdint cimport int64_t, INT64_MAX
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_REFCNT, Py_XDECREF
cimport numpy as np

from ...kernels.bindings.sequences cimport make_sequence
from .binder cimport NodeBinder
from .optimizer_base cimport BoundaryObserver, OptimizerBase
from .interpreter cimport LOOPDBG_CHECKED, can_cross, cross_boundary, enter_loop, boundary_is_checked, leave_loop
from .clock cimport now
from .memory cimport Memory, python_value
from .arena cimport arena_alloc
from .state cimport *
from .scan_outputs cimport ScanOutputs

import math

import numpy as np

from ...errors import ExecutionError
from ...graph import StoppedBy, System, TensorType
from ...graph.dependence import trailing_iterations_without_part
from ...graph.slicing import slice_parts, normalize_axis, parts_for_trips
from ...ops.type_constraints import find_mixed_types
from .memory import allocate_growable, allocate_or_raise, describe_values

np.import_array()

_REASON_CODES = {StoppedBy.TRIP_COUNT: BY_TRIP_COUNT, StoppedBy.CONDITION: BY_CONDITION, StoppedBy.INPUT_EXHAUSTED: BY_INPUT}
_REASONS = {RUNNING: None, **{number: reason for reason, number in _REASON_CODES.items()}}
#: Limit of parts added that nothing needs: a trip count may be any number.
MAX_PADDED_PARTS = 1 << 20


cdef class Loops:
    """Runs the control instructions of a plan."""

    def __init__(self, Memory memory not None, NodeBinder binder not None, ScanOutputs scans not None,
                 OptimizerBase optimizer_base not None, BoundaryObserver boundary_observer not None):
        self.memory, self.binder, self.scans, self.optimizer_base, self.boundary_observer = memory, binder, scans, optimizer_base, boundary_observer
        self.s, self.plan = &memory.s, memory.plan
        self.slice_arrays = {}
        for index in range(memory.nloops):
            self.load(index)

    cdef int load(self, int index) except -1:
        cdef LoopState *loop = self.s.loops + index
        cdef int k
        plan = self.plan.loops[index]
        node = plan.loop
        loop.index, loop.top, loop.head, loop.exit = index, plan.top, plan.head, plan.exit
        loop.trip_slot, loop.initial_slot = plan.trip_count, plan.initial_condition
        loop.condition, loop.condition_input, loop.yielded = plan.condition, plan.condition_input, plan.yielded
        loop.iteration = plan.iteration
        loop.trip_spec = loop.initial_spec = loop.yielded_spec = -1
        loop.negative = REFUSED if node.system is System.TENSORRT else NO_LIMIT if node.minus_one_is_no_limit else NO_ITERATION
        loop.counted = node.counted_by_slices
        loop.fixed_trips = -1 if node.fixed_trips is None else node.fixed_trips
        loop.endless_from = plan.endless_from
        loop.parts = -1
        loop.first_predicate = loop.first_record = -1
        loop.first_derived_slot = self.memory.nslots + sum(len(p.edges) + 3 for p in self.plan.loops[:index])
        loop.edges = <BackEdgeState *>arena_alloc(self.s.own, len(plan.edges), sizeof(BackEdgeState))
        loop.slices = <Slice *>arena_alloc(self.s.own, len(plan.slices), sizeof(Slice))
        loop.scans = <Scan *>arena_alloc(self.s.own, len(plan.scans), sizeof(Scan))
        loop.last_values = <LastValueState *>arena_alloc(self.s.own, len(plan.last_values), sizeof(LastValueState))
        loop.saved_inputs = <SlotCopy *>arena_alloc(self.s.own, len(plan.saved_inputs), sizeof(SlotCopy))
        loop.nedges, loop.nslices = len(plan.edges), len(plan.slices)
        loop.nscans, loop.nlasts, loop.nsaved = len(plan.scans), len(plan.last_values), len(plan.saved_inputs)
        for k, edge in enumerate(plan.edges):
            loop.edges[k].initial, loop.edges[k].param = edge.initial, edge.param
            loop.edges[k].result, loop.edges[k].swap = edge.result, edge.swap
            loop.edges[k].identity = edge.param == edge.result
        for k, sliced in enumerate(plan.slices):
            loop.slices[k].outer, loop.slices[k].inner = sliced.outer, sliced.inner
        for k, (source, target) in enumerate(plan.saved_inputs):
            loop.saved_inputs[k].source, loop.saved_inputs[k].target = source, target
        for k, scan in enumerate(plan.scans):
            loop.scans[k].result, loop.scans[k].outer = scan.result, scan.outer
            loop.scans[k].spec = loop.scans[k].out_spec = loop.scans[k].length_spec = loop.scans[k].length = -1
            loop.scans[k].length_slot, loop.scans[k].reverse = scan.length, scan.output.reverse
        for k, last in enumerate(plan.last_values):
            loop.last_values[k].source, loop.last_values[k].outer, loop.last_values[k].edge = last.source, last.outer, last.edge
        if plan.iteration >= 0:
            declared = self.plan.slots[plan.iteration].type
            is_int64 = declared.dtype != np.int32
            loop.iteration_wide = is_int64
            dtype = np.dtype(np.int64 if is_int64 else np.int32)
            self.memory.own(plan.iteration, self.memory.spec(dtype, _one_element_shape(declared)))
        if plan.condition_input >= 0:
            shape = _one_element_shape(plan.loop.condition_input.type)
            self.memory.own(plan.condition_input, self.memory.spec(np.dtype(np.bool_), shape))

    cdef int64_t prepare_entry(self, int index) except? -2:
        """Prepare ``enter_loop``; returns the trip count. Raises for what the loop's own system rejects.

        The conditions of the fast path are recorded last: after an error the next entry is checked again.
        """
        cdef LoopState *loop = self.s.loops + index
        cdef int k
        cdef BackEdgeState *edge
        cdef int64_t trip
        cdef bint fast = True
        loop.native_entry = 0
        trip = self.trip_count(index)
        if loop.initial_slot >= 0:
            self.require_one_element(index, loop.initial_slot, "b", "its condition", True)
        counts = []
        loop.first_parts = -1
        for k in range(loop.nedges):
            if loop.edges[k].initial < 0:
                loop.first_parts = self.store_first_part(index, k, counts)
                fast = False
        for k in range(loop.nslices):
            self.prepare_sliced_input(index, k, trip)
            fast = fast and not self.plan.loops[index].slices[k].sliced.from_trip_count
            counts.append((self.plan.loops[index].slices[k].sliced.outer.name, loop.slices[k].parts))
            fast = fast and (loop.slices[k].direct or loop.slices[k].nsegments)
        if loop.counted and len({count for _, count in counts}) > 1:
            counts_text = ", ".join(f"'{name}' has {count}" for name, count in counts)
            node = self.plan.loops[index].loop
            raise ExecutionError(f"{node.describe()}: its sliced inputs disagree on the number of iterations: {counts_text}",
                                 loop=node.name)
        for k in range(loop.nedges):
            edge = loop.edges + k
            if edge.initial < 0:
                continue
            if self.s.slots[edge.initial].spec:
                self.memory.own(edge.param, self.s.slots[edge.initial].spec)
            else:
                self.memory.forward_value(edge.initial, edge.param)
                fast = False
        self.scans.begin_entry(index)
        if loop.trip_slot >= 0:
            loop.trip_spec = self.s.slots[loop.trip_slot].spec
            dtype, _ = self.memory.specs.kind(loop.trip_spec)
            fast = fast and dtype.kind == "i" and dtype.itemsize >= 4
        if loop.initial_slot >= 0:
            loop.initial_spec = self.s.slots[loop.initial_slot].spec
        loop.native_entry = fast
        return trip

    def trip_count(self, int index):
        cdef LoopState *loop = self.s.loops + index
        cdef int64_t trips
        if loop.trip_slot < 0:
            return loop.fixed_trips
        node = self.plan.loops[index].loop
        array = self.require_one_element(index, loop.trip_slot, "iu", "its trip count", True)
        count = min(int(array.reshape(())), INT64_MAX)
        trips = max(count, -INT64_MAX)
        if not normalize_trip_count(loop.negative, &trips):
            expected = "0 or more" if loop.negative == REFUSED else "-1 (no limit), 0 or more"
            raise ExecutionError(f"{node.describe()}: its trip count is {count}; it must be {expected}", loop=node.name,
                                 name=self.plan.slots[loop.trip_slot].name, expected=expected, got=str(count))
        return trips

    def store_first_part(self, int index, int k, list counts):
        """Store part 0 in a parameter that has a slice and a back edge; returns the least number of parts so far: the
        slice counts iterations as any sliced input does, though only part 0 is read."""
        cdef LoopState *loop = self.s.loops + index
        cdef int64_t count
        sliced = self.plan.loops[index].edges[k].sliced
        describe = self.plan.loops[index].loop.describe
        parts = slice_parts(self.sliceable_tensor(self.plan.slot_of[sliced.outer], describe), sliced, describe)
        if len(parts) == 0:
            raise ExecutionError(f"{describe()}: '{sliced.outer.name}' has no slice 0 for '{sliced.inner.name}'")
        self.memory.store(loop.edges[k].param, parts[:1].reshape(parts.shape[1:]))
        counts.append((sliced.outer.name, len(parts)))
        count = len(parts)
        return count if loop.first_parts < 0 else min(count, loop.first_parts)

    def sliceable_tensor(self, int slot, describe):
        array = self.memory.look(slot)
        if not isinstance(array, np.ndarray):
            raise ExecutionError(f"{describe()}: '{self.plan.slots[slot].name}' cannot be sliced; it is "
                                 f"{describe_values([array])}, no tensor")
        return array

    cdef int prepare_sliced_input(self, int index, int k, int64_t trip) except -1:
        """Find the parts of a sliced input; its inner slot shows part 0. ``trip``: the trip count of the entry."""
        cdef LoopState *loop = self.s.loops + index
        cdef Slice *c = loop.slices + k
        describe = self.plan.loops[index].loop.describe
        sliced = self.plan.loops[index].slices[k].sliced
        array = self.sliceable_tensor(c.outer, describe)
        parts = parts_for_trips(slice_parts(array, sliced, describe), sliced, trip)
        c.parts, c.nsegments = len(parts), 0
        c.outer_spec = self.s.slots[c.outer].spec
        if array.dtype.hasobject:
            self.slice_arrays[index, k] = parts
            c.part_spec = c.direct = c.offset = c.step = 0
            c.base = NULL
            return self.show_part(index, k, 0)
        c.part_spec = self.memory.spec(parts.dtype, parts.shape[1:])
        c.direct = parts.size > 0 and parts[:1].flags.c_contiguous and np.may_share_memory(parts[:1], array)
        if not c.direct:
            self.locate_segments(c, array, parts, normalize_axis(sliced.axis, array.ndim))
            parts = self.gather_parts(index, k, parts)
        self.slice_arrays[index, k] = parts
        c.base = np.PyArray_BYTES(parts)
        c.offset = <Py_ssize_t>c.base - <Py_ssize_t>self.s.slots[c.outer].data if c.direct else 0
        c.step = parts.strides[0] if len(parts) else 0
        self.memory.put_owner(c.inner, parts, c.part_spec, 0)
        self.s.slots[c.inner].nbytes = self.memory.specs.nbytes(c.part_spec)

    def pad_missing_parts(self, int index, int k):
        """Append zeros as parts of a sliced input for the last iterations if nothing needs them: TensorRT evaluates
        elements on demand. Returns False where they are needed, or where that is unknown."""
        cdef LoopState *loop = self.s.loops + index
        cdef Slice *c = loop.slices + k
        plan = self.plan.loops[index]
        spare = 0
        if plan.parent < 0 and loop.trip >= 0 and c.part_spec:
            spare = trailing_iterations_without_part(plan.loop, plan.slices[k].sliced)
        missing = loop.trip - c.parts
        if missing < 1 or spare is not None and missing > spare or missing > MAX_PADDED_PARTS:
            return False
        parts = self.slice_arrays[index, k]
        parts = np.concatenate([parts, np.zeros((missing, *parts.shape[1:]), parts.dtype)])
        self.slice_arrays[index, k] = parts
        c.parts, c.direct, c.nsegments, c.offset, c.step = loop.trip, 0, 0, 0, parts.strides[0]
        c.base = np.PyArray_BYTES(parts)
        self.memory.put_owner(c.inner, parts, c.part_spec, 0)
        self.s.slots[c.inner].nbytes = self.memory.specs.nbytes(c.part_spec)
        self.show_part(index, k, loop.i)
        loop.native_entry = False     # check the next entry in Python
        return True

    cdef int locate_segments(self, Slice *c, array, parts, int axis) except -1:
        """Record where the segments of the parts are in the outer tensor, for similar entries."""
        if parts.size and array.flags.c_contiguous and np.may_share_memory(parts, array):
            c.nsegments = math.prod(array.shape[:axis])
            c.segment_nbytes, c.segment_stride = parts[0].nbytes // c.nsegments, math.prod(array.shape[axis:]) * array.itemsize
            c.first = <Py_ssize_t>np.PyArray_BYTES(parts) - <Py_ssize_t>self.s.slots[c.outer].data
            c.part_stride = parts.strides[0]

    def gather_parts(self, int index, int k, parts):
        """Make strided parts contiguous, in the array of the previous entry if only this slice and its slot refer to
        it: new memory is cold."""
        previous = self.slice_arrays.get((index, k))
        references = 2 + (self.s.slots[self.s.loops[index].slices[k].inner].owner == <PyObject *>previous)
        if previous is None or previous.base is not None or previous.shape != parts.shape or \
                previous.dtype != parts.dtype or Py_REFCNT(previous) > references:
            return np.ascontiguousarray(parts)
        np.copyto(previous, parts)
        return previous

    cdef int show_part(self, int index, int k, int64_t part) except -1:
        """Let the inner slot show a part."""
        cdef Slice *c = self.s.loops[index].slices + k
        cdef Slot *slot = self.s.slots + c.inner
        if part >= c.parts:
            return 0
        parts = self.slice_arrays[index, k]
        if c.part_spec == 0:
            return self.memory.put_owner(c.inner, parts[part:part + 1].reshape(parts.shape[1:]), 0, 0)
        if slot.spec != c.part_spec:
            self.memory.put_owner(c.inner, parts, c.part_spec, 0)
            slot.nbytes = self.memory.specs.nbytes(c.part_spec)
        slot.data = c.base + <Py_ssize_t>part * c.step

    cdef int show_parts(self, int index) except -1:
        """Show the parts that the hot path cannot: strings, and those after a user-edited part."""
        cdef LoopState *loop = self.s.loops + index
        cdef int k
        for k in range(loop.nslices):
            if loop.slices[k].part_spec == 0 or self.s.slots[loop.slices[k].inner].spec != loop.slices[k].part_spec:
                self.show_part(index, k, loop.i)

    def require_one_element(self, int index, int slot, str kinds, str word, bint at_entry=False):
        """``at_entry``: no iteration has begun."""
        array = self.memory.look(slot)
        if not isinstance(array, np.ndarray) or array.dtype.kind not in kinds or array.size != 1:
            expected = "one integer" if "i" in kinds else "one boolean"
            name, got, node = self.plan.slots[slot].name, describe_values([array]), self.plan.loops[index].loop
            where = node.describe() if at_entry else self.memory.describe_loop(index)
            fields = {"loop": node.name} if at_entry else self.memory.loop_fields(index)
            raise ExecutionError(f"{where}: {word} '{name}' is {got}; it must be {expected}", **fields, name=name,
                                 expected=expected, got=got)
        return array

    cdef int set_back_buffer(self, BackEdgeState *e, object owner, int spec) except -1:
        """Set the second buffer of a back edge: for one spec, or (-1) bytes for any."""
        if isinstance(owner, list):
            owner = make_sequence(owner)
        Py_INCREF(owner)
        Py_XDECREF(e.back.owner)
        e.back.owner = <PyObject *>owner
        e.back.spec, e.back.flags = max(spec, 0), OWN if spec else 0
        e.back.data = np.PyArray_BYTES(owner) if spec else NULL
        e.back.nbytes = np.PyArray_NBYTES(owner) if spec else 0
        e.back.capacity = e.back.nbytes

    cdef int preserve_results(self, int index, int param) except -1:
        """Before a parameter is edited at a boundary: keep the previous iteration's result readable."""
        cdef LoopState *loop = self.s.loops + index
        cdef BackEdgeState *e
        cdef int k
        for k in range(loop.nedges if loop.i else 0):
            e = loop.edges + k
            if e.param == param and not e.identity and not e.previous_in_back:
                self.set_back_buffer(e, self.memory.value(e.result), self.s.slots[e.result].spec)
                self.memory.store(e.result, self.memory.value(e.param))
                e.previous_in_back = 1

    cdef int prepare_boundary(self, int index) except -1:
        """Prepare ``cross_boundary``. Raises for what the loop's own system rejects, before any change."""
        cdef LoopState *loop = self.s.loops + index
        cdef int k
        for k in range(loop.nscans):
            self.scans.check(index, k)
        for k in range(loop.nedges):
            self.check_carried_value(index, k)
        if loop.yielded >= 0 and self.s.slots[loop.yielded].spec != loop.yielded_spec:
            self.require_one_element(index, loop.yielded, "b", "the body's condition")
            loop.yielded_spec = self.s.slots[loop.yielded].spec
        for k in range(loop.nscans):
            self.scans.reserve_element(index, k)
        for k in range(loop.nsaved):
            if self.s.slots[loop.saved_inputs[k].source].spec:
                self.memory.own(loop.saved_inputs[k].target, self.s.slots[loop.saved_inputs[k].source].spec)
            else:
                self.memory.forward_value(loop.saved_inputs[k].source, loop.saved_inputs[k].target)
        for k in range(loop.nedges):
            self.prepare_back_edge(loop.edges + k)

    cdef int prepare_back_edge(self, BackEdgeState *e) except -1:
        """Allocate the buffer for a copy, and find the family of a value whose extent varies."""
        cdef Slot *param = self.s.slots + e.param
        cdef Slot *result = self.s.slots + e.result
        if e.identity:
            return 0
        if edge_copies(e, result):
            if result.spec == 0:
                self.set_back_buffer(e, self.memory.value(e.result), 0)
            elif e.back.capacity < result.nbytes or e.back.owner == NULL or e.back.spec == 0:
                make = allocate_or_raise if param.spec == result.spec else allocate_growable
                self.set_back_buffer(e, make(result.nbytes, lambda: self.memory.describe_value(e.result)), -1)
        if param.spec and result.spec and param.spec != result.spec:
            e.family = self.optimizer_base.back_edge_family(e)

    cdef int check_carried_value(self, int index, int k) except -1:
        """A carried value keeps its dtype, and in TensorRT its shape."""
        cdef BackEdgeState *e = self.s.loops[index].edges + k
        cdef int old_spec = self.s.slots[e.param].spec, new_spec = self.s.slots[e.result].spec
        if old_spec == new_spec or not old_spec or not new_spec:
            return 0
        plan = self.plan.loops[index]
        dtype, shape = self.memory.specs.kind(old_spec)
        new_dtype, new_shape = self.memory.specs.kind(new_spec)
        name = plan.edges[k].edge.param.name
        if dtype != new_dtype:
            mixed = next(find_mixed_types(self.plan.graph), None)
            hint = "" if mixed is None else f" ({mixed})"
            raise self.memory.loop_error(
                index, f"the back edge to '{name}' carries {new_dtype.name}, but the parameter is {dtype.name}; a carried "
                f"value keeps its dtype{hint}", name=name, expected=dtype.name, got=new_dtype.name)
        if plan.loop.system is System.TENSORRT:
            expected, got = str(list(shape)), str(list(new_shape))
            raise self.memory.loop_error(
                index, f"the recurrence '{name}' had the shape {expected} and gets {got}; a carried value keeps its shape "
                f"in TensorRT", name=name, expected=expected, got=got)

    def fast_forward(self, int index, int64_t iteration, bint keep, carried, scans, last_values):
        """Put a loop, stopped at a boundary, at the boundary before ``iteration``, as if it had run till there.

        ``carried``: value of each back edge; ``scans``: elements of each scan output, stacked; ``last_values``: slot ->
        value from the last iteration, for outputs that take it. ``keep``: the condition. This boundary is not reported
        again.
        """
        cdef LoopState *loop = self.s.loops + index
        cdef int k
        cdef BackEdgeState *edge
        for k, value in enumerate(carried):
            edge = loop.edges + k
            self.memory.store(edge.param, value)
            self.memory.set_known(edge.param, None)
            if not edge.identity:
                # The previous value is unknown; the same value is at least initialized.
                edge.previous_in_back = 1
                self.set_back_buffer(edge, self.memory.value(edge.param), self.s.slots[edge.param].spec)
        for slot, value in last_values.items():
            self.memory.store(slot, value)
            self.memory.set_known(slot, None)
        for k in range(loop.nslices):
            if loop.parts > 0:
                self.show_part(index, k, min(iteration, loop.parts - 1))
        for k, rows in enumerate(scans):
            self.scans.restore_elements(index, k, rows)
        if loop.condition_input >= 0:
            self.s.slots[loop.condition_input].data[0] = keep
        loop.i, loop.keep, loop.reported = iteration, keep, 1
        self.boundary_observer.restart_log_at(index)
        self.binder.invalidate()
        return None

    def add_finished_entry(self, int index, int64_t iterations, reason, trip):
        """Count an entry of a loop that ended before this execution, which resumes after it."""
        cdef LoopState *loop = self.s.loops + index
        loop.iterations += iterations
        loop.entries += 1
        loop.ended = _REASON_CODES[reason]
        loop.by_reason[loop.ended] += 1
        loop.by_length[min(iterations, 2)] += 1
        if loop.counted:
            loop.parts = trip
        else:
            loop.trip = -1 if trip is None else trip

    cdef int exit_loop_slow(self, int index) except -1:
        """Leave a loop whatever the specs are."""
        cdef LoopState *loop = self.s.loops + index
        cdef int k
        plan = self.plan.loops[index]
        for k in range(loop.nlasts):
            last = plan.last_values[k]
            if last.edge < 0 and loop.i == 0:
                raise ExecutionError(
                    f"{plan.loop.describe()} ran no iteration, and its output '{last.output.outer.name}' is fed by no back "
                    f"edge, so it has no value", loop=plan.loop.name, name=last.output.outer.name)
            if not (self.memory.outputs_only and self.memory.move_buffer(loop.last_values[k].source, loop.last_values[k].outer)):
                self.memory.forward_value(loop.last_values[k].source, loop.last_values[k].outer)
            self.memory.set_known(loop.last_values[k].outer, None)
        for k in range(loop.nscans):
            self.scans.store(index, k)
        leave_loop(self.s, loop)

    cdef int run_control_in_python(self, int pc) except -2:
        """Run a control instruction that needs Python; returns the loop whose boundary was crossed, or -1."""
        cdef Instr *ins = self.s.code + pc
        cdef int k
        if ins.kind == ENTER:
            trips = self.prepare_entry(ins.loop)
            self.boundary_observer.prepare_log(ins.loop, False)
            enter_loop(self.s, ins.loop, trips)
            if LOOPDBG_CHECKED:
                self.checks.check_boundary(self, ins.loop, self.checks.expected_boundary_on_entry(self, ins.loop))
        elif ins.kind == NEXT:
            if not can_cross(self.s, self.s.loops + ins.loop):
                self.prepare_boundary(ins.loop)
                self.boundary_observer.prepare_log(ins.loop, True)
            checked = LOOPDBG_CHECKED and boundary_is_checked(self.s.loops + ins.loop)
            if checked:
                expected = self.checks.expected_boundary_after_iteration(self, ins.loop)
            cross_boundary(self.s, self.s.loops + ins.loop)
            if checked:
                self.checks.check_boundary(self, ins.loop, expected)
            self.show_parts(ins.loop)
            return ins.loop
        elif ins.kind == TEST:
            self.test_condition_slow(ins.loop)
        elif ins.kind == EXIT:
            self.exit_loop_slow(ins.loop)
        elif ins.kind == BRANCH:
            array = self.memory.look(ins.condition)
            if not isinstance(array, np.ndarray) or array.size != 1:
                node = self.plan.code[pc].node
                name, got = node.inputs[0].name, describe_values([array])
                raise self.memory.node_error(pc, f"the condition '{name}' is {got}; it must be one boolean", name=name,
                                             expected="one boolean", got=got)
            ins.taken = bool(array.reshape(()))
            self.s.pc = pc + 1 if ins.taken else ins.target
        else:
            for k in range(ins.nmoves):
                self.assign_branch_output(ins.moves[k].source, ins.moves[k].target)
            self.s.pc = ins.target if ins.kind == JUMP else pc + 1
        return -1

    cdef int assign_branch_output(self, int source, int target) except -1:
        """Store a branch's value in the output of an If, with spare capacity where it grows."""
        cdef Slot *slot = self.s.slots + source
        cdef Slot *out = self.s.slots + target
        if out.spec and out.nbytes < slot.nbytes and out.flags & OWN and self.memory.specs.capacity(slot.spec) is None:
            memory = allocate_growable(slot.nbytes, lambda: self.memory.describe_value(target))
            self.memory.put_buffer(target, memory, slot.spec, slot.nbytes, OWN)
        self.memory.forward_value(source, target)
        self.memory.set_known(target, None)

    def test_condition_slow(self, int index):
        """Validate a condition computed for the iteration ahead; TEST then reads it."""
        cdef LoopState *loop = self.s.loops + index
        self.require_one_element(index, loop.condition, "b", "the condition")
        loop.yielded_spec = self.s.slots[loop.condition].spec

    cdef int materialize_all(self) except -1:
        """Write all values that regions hold into their slots."""
        flush_suspended(self.s)
        self.binder.materialize()
        return self.optimizer_base.materialize_all()

    # -- inspection

    @property
    def position(self):
        """Where the execution is, as a tuple that orders all moments of one execution in time.

        Position of the ENTER of the outermost loop, its iteration, the same of the loops inside, and the position of
        the instruction that runs next: at a boundary the loop's HEAD.
        """
        cdef int k
        flush_suspended(self.s)
        position = []
        for k in range(self.s.depth):
            position += (self.plan.loops[self.s.stack[k]].enter, self.s.loops[self.s.stack[k]].i)
        return (*position, self.s.pc)

    def state(self, int index):
        """(iteration, trip count or None, condition, reason it ended or None, active) of a loop."""
        cdef LoopState *loop = self.s.loops + index
        return (loop.i, None if loop.trip < 0 else loop.trip, bool(loop.keep), _REASONS[loop.ended], bool(loop.active))

    def part_count(self, int index):
        """Number of iterations that the sliced inputs allow; None without sliced inputs."""
        return None if self.s.loops[index].parts < 0 else self.s.loops[index].parts

    def totals(self, int index):
        """(iterations, entries, {reason: entries that ended by it}, seconds) of the execution, with the running entry;
        seconds only for loops in the main graph, 0.0 for nested ones."""
        cdef LoopState *loop = self.s.loops + index
        reasons = {_REASONS[k]: loop.by_reason[k] for k in range(1, 4) if loop.by_reason[k]}
        seconds = loop.seconds + (now() - loop.entered if loop.active and self.s.depth and
                                  self.s.stack[0] == index else 0)
        return loop.iterations + (loop.i if loop.active else 0), loop.entries, reasons, seconds

    def outcomes(self):
        """What the entries of each loop did in this execution, as bits: 0: an iteration ran; 1 to 3: one ended by its
        trip count, its condition, its inputs; 4 to 6: one had no, one, more iterations, the running one from its second
        on."""
        cdef LoopState *loop
        cdef int index, k, bits
        outcomes = []
        for index in range(self.memory.nloops):
            loop = self.s.loops + index
            bits = loop.iterations + (loop.i if loop.active else 0) > 0
            for k in range(1, 4):
                bits |= (loop.by_reason[k] > 0) << k
            for k in range(3):
                bits |= (loop.by_length[k] > 0) << (4 + k)
            outcomes.append(bits | (loop.active and loop.i > 1) << 6)
        return tuple(outcomes)

    def previous(self, int index, int k):
        """A copy of the value that back edge k carried into the iteration before this boundary, if any ran."""
        return self.memory.copied_value(self.peek_previous(index, k))

    def peek_previous(self, int index, int k):
        """As ``previous``, not copied: valid until the engine resumes, read-only."""
        cdef BackEdgeState *e = self.s.loops[index].edges + k
        cdef Slot *previous = previous_value_slot(self.s, e)
        if previous.spec == 0:
            return python_value(previous.owner)
        return self.memory.tensor(previous.data, previous.spec)

    def was_swapped(self, int index, int k):
        """True where the last boundary moved back edge k by exchanging buffers (the result's slot holds the previous)."""
        cdef BackEdgeState *e = self.s.loops[index].edges + k
        return not e.previous_in_back and not e.identity

    def branch_taken(self, int pc):
        """Branch of the If at pc at its last execution: True for then."""
        return bool(self.s.code[pc].taken)


def _one_element_shape(declared):
    """Shape of a one-element body parameter: the rank that the body declares, else a scalar."""
    return (1,) if isinstance(declared, TensorType) and declared.shape is not None and len(declared.shape) == 1 else ()
