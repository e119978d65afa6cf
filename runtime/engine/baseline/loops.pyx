"""Loops: what entering one, a boundary and leaving need before the hot path can do them.

What an entry begins with and what a boundary does stand in ``interpreter.pyx``, once. Where a spec is another than the last time,
memory is missing or values are Python objects, it is prepared here first; everything that a loop's own system rejects is
found here.
"""

from libc.stdint cimport int64_t, INT64_MAX
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_REFCNT, Py_XDECREF
cimport numpy as np

from ...kernels.bindings.sequences cimport make_sequence
from .binder cimport NodeBinder
from .optimizer_base cimport OptimizerBase
from .boundary_observer cimport BoundaryObserver
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
#: No more parts that nothing needs are made up: a trip count may be any number.
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
        loop.kept = <SlotCopy *>arena_alloc(self.s.own, len(plan.saved_inputs), sizeof(SlotCopy))
        loop.nedges, loop.nslices = len(plan.edges), len(plan.slices)
        loop.nscans, loop.nlasts, loop.nkept = len(plan.scans), len(plan.last_values), len(plan.saved_inputs)
        for k, edge in enumerate(plan.edges):
            loop.edges[k].initial, loop.edges[k].param = edge.initial, edge.param
            loop.edges[k].result, loop.edges[k].swap = edge.result, edge.swap
            loop.edges[k].identity = edge.param == edge.result
        for k, sliced in enumerate(plan.slices):
            loop.slices[k].outer, loop.slices[k].inner = sliced.outer, sliced.inner
        for k, (source, target) in enumerate(plan.saved_inputs):
            loop.kept[k].source, loop.kept[k].target = source, target
        for k, scan in enumerate(plan.scans):
            loop.scans[k].result, loop.scans[k].outer = scan.result, scan.outer
            loop.scans[k].spec = loop.scans[k].out_spec = loop.scans[k].length_spec = loop.scans[k].length = -1
            loop.scans[k].length_slot, loop.scans[k].reverse = scan.length, scan.output.reverse
        for k, last in enumerate(plan.last_values):
            loop.last_values[k].source, loop.last_values[k].outer, loop.last_values[k].edge = last.source, last.outer, last.edge
        if plan.iteration >= 0:
            declared = self.plan.slots[plan.iteration].type
            wide = declared.dtype != np.int32
            loop.iteration_wide = wide
            self.memory.own(plan.iteration, self.memory.spec(np.dtype(np.int64 if wide else np.int32), _one_element_shape(declared)))
        if plan.condition_input >= 0:
            shape = _one_element_shape(plan.loop.condition_input.type)
            self.memory.own(plan.condition_input, self.memory.spec(np.dtype(np.bool_), shape))

    cdef int64_t prepare_entry(self, int index) except? -2:
        """Make all that ``enter_loop`` needs; returns the trip count. Raises for what the loop's own system rejects.

        What the fast way rests on is noted at the end alone: after an error the next entry is looked at again.
        """
        cdef LoopState *loop = self.s.loops + index
        cdef int k
        cdef BackEdgeState *e
        cdef int64_t trip
        cdef bint fast = True
        loop.native_entry = 0
        trip = self.trip_count(index)
        if loop.initial_slot >= 0:
            self.require_one_element(loop.initial_slot, "b", "its condition", self.plan.loops[index].loop.describe())
        counts = []
        loop.first_parts = -1
        for k in range(loop.nedges):
            if loop.edges[k].initial < 0:
                loop.first_parts = self.init_first_part(index, k, counts)
                fast = False
        for k in range(loop.nslices):
            self.cut_slice(index, k, trip)
            fast = fast and not self.plan.loops[index].slices[k].sliced.from_trip_count
            counts.append((self.plan.loops[index].slices[k].sliced.outer.name, loop.slices[k].parts))
            fast = fast and (loop.slices[k].direct or loop.slices[k].pieces)
        if loop.counted and len({count for _, count in counts}) > 1:
            told = ", ".join(f"'{name}' has {count}" for name, count in counts)
            raise ExecutionError(f"{self.plan.loops[index].loop.describe()}: its sliced inputs disagree on the number of "
                                 f"iterations: {told}")
        for k in range(loop.nedges):
            e = loop.edges + k
            if e.initial < 0:
                continue
            if self.s.slots[e.initial].spec:
                self.memory.own(e.param, self.s.slots[e.initial].spec)
            else:
                self.memory.forward_value(e.initial, e.param)
                fast = False
        self.scans.begin(index)
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
        array = self.require_one_element(loop.trip_slot, "iu", "its trip count", node.describe())
        count = min(int(array.reshape(())), INT64_MAX)
        trips = max(count, -INT64_MAX)
        if not normalize_trip_count(loop.negative, &trips):
            least = "0" if loop.negative == REFUSED else "-1 (no limit), 0"
            raise ExecutionError(f"{node.describe()}: its trip count is {count}; it must be {least} or more")
        return trips

    def init_first_part(self, int index, int k, list counts):
        """Give a parameter that has a slice and a back edge its part 0; returns the least number of parts so far: it
        counts iterations as any sliced input does, though only part 0 is read."""
        cdef LoopState *loop = self.s.loops + index
        cdef int64_t least
        sliced = self.plan.loops[index].edges[k].sliced
        where = self.plan.loops[index].loop.describe()
        parts = slice_parts(self.sliceable_tensor(self.plan.slot_of[sliced.outer], where), sliced, where)
        if len(parts) == 0:
            raise ExecutionError(f"{where}: '{sliced.outer.name}' has no slice 0 for '{sliced.inner.name}'")
        self.memory.store(loop.edges[k].param, parts[:1].reshape(parts.shape[1:]))
        counts.append((sliced.outer.name, len(parts)))
        least = len(parts)
        return least if loop.first_parts < 0 else min(least, loop.first_parts)

    def sliceable_tensor(self, int slot, str where):
        array = self.memory.look(slot)
        if not isinstance(array, np.ndarray):
            raise ExecutionError(f"{where}: '{self.plan.slots[slot].name}' cannot be sliced; it is {describe_values([array])}, "
                                 f"no tensor")
        return array

    cdef int cut_slice(self, int index, int k, int64_t trip) except -1:
        """Find the parts of a sliced input; the slot inside shows part 0. ``trip``: the trip count of the entry."""
        cdef LoopState *loop = self.s.loops + index
        cdef Slice *c = loop.slices + k
        where = self.plan.loops[index].loop.describe()
        sliced = self.plan.loops[index].slices[k].sliced
        array = self.sliceable_tensor(c.outer, where)
        parts = parts_for_trips(slice_parts(array, sliced, where), sliced, trip)
        c.parts, c.pieces = len(parts), 0
        c.outer_spec = self.s.slots[c.outer].spec
        if array.dtype.hasobject:
            self.slice_arrays[index, k] = parts
            c.part_spec = c.direct = c.offset = c.step = 0
            c.base = NULL
            return self.put_part(index, k, 0)
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
        """Give a sliced input parts for the last iterations where nothing needs them: TensorRT evaluates an element when
        something needs it. They are zeros. Returns False where they are needed, or where that is not known."""
        cdef LoopState *loop = self.s.loops + index
        cdef Slice *c = loop.slices + k
        plan = self.plan.loops[index]
        late = trailing_iterations_without_part(plan.loop, plan.slices[k].sliced) if plan.parent < 0 and loop.trip >= 0 and c.part_spec else 0
        lacking = loop.trip - c.parts
        if lacking < 1 or late is not None and lacking > late or lacking > MAX_PADDED_PARTS:
            return False
        parts = self.slice_arrays[index, k]
        parts = np.concatenate([parts, np.zeros((lacking, *parts.shape[1:]), parts.dtype)])
        self.slice_arrays[index, k] = parts
        c.parts, c.direct, c.pieces, c.offset, c.step = loop.trip, 0, 0, 0, parts.strides[0]
        c.base = np.PyArray_BYTES(parts)
        self.memory.put_owner(c.inner, parts, c.part_spec, 0)
        self.s.slots[c.inner].nbytes = self.memory.specs.nbytes(c.part_spec)
        self.put_part(index, k, loop.i)
        # The next entry has to look again.
        loop.native_entry = False
        return True

    cdef int locate_segments(self, Slice *c, array, parts, int axis) except -1:
        """Note where in the outer tensor the parts' pieces are, for entries like this one."""
        if parts.size and array.flags.c_contiguous and np.may_share_memory(parts, array):
            c.pieces = math.prod(array.shape[:axis])
            c.piece, c.apart = parts[0].nbytes // c.pieces, math.prod(array.shape[axis:]) * array.itemsize
            c.first = <Py_ssize_t>np.PyArray_BYTES(parts) - <Py_ssize_t>self.s.slots[c.outer].data
            c.along = parts.strides[0]

    def gather_parts(self, int index, int k, parts):
        """Parts whose elements lie apart, one after the other: where those of the entry before are, if only this slice and
        its slot know them. Other memory is far from the processor."""
        before = self.slice_arrays.get((index, k))
        mine = 2 + (self.s.slots[self.s.loops[index].slices[k].inner].owner == <PyObject *>before)
        if before is None or before.base is not None or before.shape != parts.shape or before.dtype != parts.dtype or \
                Py_REFCNT(before) > mine:
            return np.ascontiguousarray(parts)
        np.copyto(before, parts)
        return before

    cdef int put_part(self, int index, int k, int64_t part) except -1:
        """Let the slot inside show a part."""
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

    cdef int put_parts(self, int index) except -1:
        """The parts that the hot path cannot show by itself: strings, and those after one that was set by hand."""
        cdef LoopState *loop = self.s.loops + index
        cdef int k
        for k in range(loop.nslices):
            if loop.slices[k].part_spec == 0 or self.s.slots[loop.slices[k].inner].spec != loop.slices[k].part_spec:
                self.put_part(index, k, loop.i)

    def require_one_element(self, int slot, str kinds, str word, str where):
        array = self.memory.look(slot)
        if not isinstance(array, np.ndarray) or array.dtype.kind not in kinds or array.size != 1:
            need = "one integer" if "i" in kinds else "one boolean"
            raise ExecutionError(f"{where}: {word} '{self.plan.slots[slot].name}' is {describe_values([array])}; it must be "
                                 f"{need}")
        return array

    cdef int set_back_buffer(self, BackEdgeState *e, object owner, int spec) except -1:
        """Give a back edge a second buffer: of one spec, or with ``spec`` -1 bytes that later take any."""
        if isinstance(owner, list):
            owner = make_sequence(owner)
        Py_INCREF(owner)
        Py_XDECREF(e.back.owner)
        e.back.owner = <PyObject *>owner
        e.back.spec, e.back.flags = max(spec, 0), OWN if spec else 0
        e.back.data = np.PyArray_BYTES(owner) if spec else NULL
        e.back.nbytes = np.PyArray_NBYTES(owner) if spec else 0
        e.back.capacity, e.back.version = e.back.nbytes, 0

    cdef int preserve_results(self, int index, int param) except -1:
        """A parameter gets another value at a boundary: what the iteration before yielded for it stays to be seen."""
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
        """Make all that ``cross_boundary`` needs. Raises for what the loop's own system rejects, before anything is changed."""
        cdef LoopState *loop = self.s.loops + index
        cdef int k
        for k in range(loop.nscans):
            self.scans.check(index, k)
        for k in range(loop.nedges):
            self.check_edge(index, k)
        if loop.yielded >= 0 and self.s.slots[loop.yielded].spec != loop.yielded_spec:
            self.require_one_element(loop.yielded, "b", "the body's condition", self.memory.describe_loop(index))
            loop.yielded_spec = self.s.slots[loop.yielded].spec
        for k in range(loop.nscans):
            self.scans.reserve(index, k)
        for k in range(loop.nkept):
            if self.s.slots[loop.kept[k].source].spec:
                self.memory.own(loop.kept[k].target, self.s.slots[loop.kept[k].source].spec)
            else:
                self.memory.forward_value(loop.kept[k].source, loop.kept[k].target)
        for k in range(loop.nedges):
            self.prepare_edge(loop.edges + k)

    cdef int prepare_edge(self, BackEdgeState *e) except -1:
        """A buffer for a copy, and the family of a value whose extent varies."""
        cdef Slot *p = self.s.slots + e.param
        cdef Slot *r = self.s.slots + e.result
        if e.identity:
            return 0
        if edge_copies(e, r):
            if r.spec == 0:
                self.set_back_buffer(e, self.memory.value(e.result), 0)
            elif e.back.capacity < r.nbytes or e.back.owner == NULL or e.back.spec == 0:
                make = allocate_or_raise if p.spec == r.spec else allocate_growable
                self.set_back_buffer(e, make(r.nbytes, lambda: self.memory.describe_value(e.result)), -1)
        if p.spec and r.spec and p.spec != r.spec:
            e.family = self.optimizer_base.family_of(e)

    cdef int check_edge(self, int index, int k) except -1:
        """A carried value keeps its dtype, and in TensorRT its shape."""
        cdef BackEdgeState *e = self.s.loops[index].edges + k
        cdef int had = self.s.slots[e.param].spec, gets = self.s.slots[e.result].spec
        if had == gets or not had or not gets:
            return 0
        plan = self.plan.loops[index]
        dtype, shape = self.memory.specs.kind(had)
        new_dtype, new_shape = self.memory.specs.kind(gets)
        if dtype != new_dtype:
            mixed = next(find_mixed_types(self.plan.graph), None)
            why = "" if mixed is None else f" ({mixed})"
            raise ExecutionError(
                f"{self.memory.describe_loop(index)}: the back edge to '{plan.edges[k].edge.param.name}' carries {new_dtype.name}, but the "
                f"parameter is {dtype.name}; a carried value keeps its dtype{why}")
        if plan.loop.system is System.TENSORRT:
            raise ExecutionError(f"{self.memory.describe_loop(index)}: the recurrence '{plan.edges[k].edge.param.name}' had the shape "
                                 f"{list(shape)} and gets {list(new_shape)}; a carried value keeps its shape in TensorRT")

    def fast_forward(self, int index, int64_t iteration, bint keep, carried, scans, last_values):
        """Put a loop, stopped at a boundary, at the boundary before ``iteration``, as if it had run till there.

        ``carried``: of each back edge what it carries; ``scans``: of each scan output its elements, stacked; ``last_values``:
        slot -> what the last iteration computed, where an output takes that. ``keep``: the condition. Nobody is told of
        this boundary again.
        """
        cdef LoopState *loop = self.s.loops + index
        cdef int k
        cdef BackEdgeState *e
        for k, value in enumerate(carried):
            e = loop.edges + k
            self.memory.store(e.param, value)
            self.memory.set_known(e.param, None)
            if not e.identity:
                # What was carried before is not known; the same is at least no garbage.
                e.previous_in_back = 1
                self.set_back_buffer(e, self.memory.value(e.param), self.s.slots[e.param].spec)
        for slot, value in last_values.items():
            self.memory.store(slot, value)
            self.memory.set_known(slot, None)
        for k in range(loop.nslices):
            if loop.parts > 0:
                self.put_part(index, k, min(iteration, loop.parts - 1))
        for k, rows in enumerate(scans):
            self.scans.restore_elements(index, k, rows)
        if loop.condition_input >= 0:
            self.s.slots[loop.condition_input].data[0] = keep
        loop.i, loop.keep, loop.reported = iteration, keep, 1
        self.boundary_observer.restart_at(index)
        self.binder.invalidate()
        return None

    def add_finished_entry(self, int index, int64_t iterations, reason, trip):
        """Count an entry of a loop that does not run now: it ended before this execution, which goes on from there."""
        cdef LoopState *loop = self.s.loops + index
        loop.iterations += iterations
        loop.entries += 1
        loop.ended = _REASON_CODES[reason]
        loop.by_reason[loop.ended] += 1
        if loop.counted:
            loop.parts = trip
        else:
            loop.trip = -1 if trip is None else trip

    cdef int exit_slow(self, int index) except -1:
        """Leave a loop whatever the specs are."""
        cdef LoopState *loop = self.s.loops + index
        cdef int k
        plan = self.plan.loops[index]
        for k in range(loop.nlasts):
            last = plan.last_values[k]
            if last.edge < 0 and loop.i == 0:
                raise ExecutionError(
                    f"{plan.loop.describe()} ran no iteration, and its output '{last.output.outer.name}' is fed by no back "
                    f"edge, so it has no value")
            self.memory.forward_value(loop.last_values[k].source, loop.last_values[k].outer)
            self.memory.set_known(loop.last_values[k].outer, None)
        for k in range(loop.nscans):
            self.scans.store(index, k)
        leave_loop(self.s, loop)

    cdef int control_slow(self, int pc) except -2:
        """A control instruction that run_plan handed over; returns the loop whose boundary was crossed, or -1."""
        cdef Instr *ins = self.s.code + pc
        cdef int k
        if ins.kind == ENTER:
            trips = self.prepare_entry(ins.loop)
            self.boundary_observer.prepare(ins.loop, False)
            enter_loop(self.s, ins.loop, trips)
            if LOOPDBG_CHECKED:
                self.checks.check_boundary(self, ins.loop, self.checks.expect_on_entry(self, ins.loop))
        elif ins.kind == NEXT:
            if not can_cross(self.s, self.s.loops + ins.loop):
                self.prepare_boundary(ins.loop)
                self.boundary_observer.prepare(ins.loop, True)
            checked = LOOPDBG_CHECKED and boundary_is_checked(self.s.loops + ins.loop)
            if checked:
                expected = self.checks.expect_after_iteration(self, ins.loop)
            cross_boundary(self.s, self.s.loops + ins.loop)
            if checked:
                self.checks.check_boundary(self, ins.loop, expected)
            self.put_parts(ins.loop)
            return ins.loop
        elif ins.kind == TEST:
            self.test_condition_slow(ins.loop)
        elif ins.kind == EXIT:
            self.exit_slow(ins.loop)
        elif ins.kind == BRANCH:
            array = self.memory.look(ins.condition)
            if not isinstance(array, np.ndarray) or array.size != 1:
                node = self.plan.code[pc].node
                raise ExecutionError(f"{self.memory.describe_node(pc)}: the condition '{node.inputs[0].name}' is "
                                     f"{describe_values([array])}; it must be one boolean")
            ins.taken = bool(array.reshape(()))
            self.s.pc = pc + 1 if ins.taken else ins.target
        else:
            for k in range(ins.nmoves):
                self.assign_branch_output(ins.moves[k].source, ins.moves[k].target)
            self.s.pc = ins.target if ins.kind == JUMP else pc + 1
        return -1

    cdef int assign_branch_output(self, int source, int target) except -1:
        """Let the output of an If have what its branch gives, in memory for more where that grows."""
        cdef Slot *slot = self.s.slots + source
        cdef Slot *out = self.s.slots + target
        if out.spec and out.nbytes < slot.nbytes and out.flags & OWN and self.memory.specs.capacity(slot.spec) is None:
            memory = allocate_growable(slot.nbytes, lambda: self.memory.describe_value(target))
            self.memory.put_buffer(target, memory, slot.spec, slot.nbytes, OWN)
        self.memory.forward_value(source, target)
        self.memory.set_known(target, None)

    def test_condition_slow(self, int index):
        """Look at a condition that was computed for the iteration ahead; TEST then takes it."""
        cdef LoopState *loop = self.s.loops + index
        self.require_one_element(loop.condition, "b", "the condition", self.memory.describe_loop(index))
        loop.yielded_spec = self.s.slots[loop.condition].spec

    cdef int materialize_all(self) except -1:
        """Let every slot have its value: regions may hold some."""
        flush_suspended(self.s)
        self.binder.materialize()
        return self.optimizer_base.materialize_all()

    # -- looking

    @property
    def position(self):
        """Where the execution stands, as a tuple that orders all moments of one execution in time.

        Position of the ENTER of the outermost loop, its iteration, the same of the loops inside, and the position of the
        instruction that runs next: at a boundary the loop's HEAD.
        """
        cdef int k
        flush_suspended(self.s)
        where = []
        for k in range(self.s.depth):
            where += (self.plan.loops[self.s.stack[k]].enter, self.s.loops[self.s.stack[k]].i)
        return (*where, self.s.pc)

    def state(self, int index):
        """(iteration, trip count or None, condition, reason it ended or None, active) of a loop."""
        cdef LoopState *loop = self.s.loops + index
        return (loop.i, None if loop.trip < 0 else loop.trip, bool(loop.keep), _REASONS[loop.ended], bool(loop.active))

    def part_count(self, int index):
        """How many iterations the sliced inputs allow; None without sliced inputs."""
        return None if self.s.loops[index].parts < 0 else self.s.loops[index].parts

    def totals(self, int index):
        """(iterations, entries, {reason: entries that ended by it}, seconds) of the execution; seconds only for loops
        in the main graph, 0.0 for nested ones. The running entry counts."""
        cdef LoopState *loop = self.s.loops + index
        reasons = {_REASONS[k]: loop.by_reason[k] for k in range(1, 4) if loop.by_reason[k]}
        seconds = loop.seconds + (now() - loop.entered if loop.active and self.s.depth and
                                  self.s.stack[0] == index else 0)
        return loop.iterations + (loop.i if loop.active else 0), loop.entries, reasons, seconds

    def previous(self, int index, int k):
        """A copy of what back edge k carried into the iteration before; only at a boundary, after an iteration."""
        return self.memory.copied_value(self.peek_previous(index, k))

    def peek_previous(self, int index, int k):
        """The same, not copied: good until the engine goes on, and never to be written."""
        cdef BackEdgeState *e = self.s.loops[index].edges + k
        cdef Slot *before = previous_value_slot(self.s, e)
        if before.spec == 0:
            return python_value(before.owner)
        return self.memory.tensor(before.data, before.spec)

    def was_swapped(self, int index, int k):
        """True where the last boundary moved back edge k by exchanging buffers (the result's slot holds the previous)."""
        cdef BackEdgeState *e = self.s.loops[index].edges + k
        return not e.previous_in_back and not e.identity

    def branch_taken(self, int pc):
        """Which branch the If at pc took last: True for then."""
        return bool(self.s.code[pc].taken)


def _one_element_shape(declared):
    """The shape for a one-element body parameter: the rank that the body declares, scalar where it does not."""
    return (1,) if isinstance(declared, TensorType) and declared.shape is not None and len(declared.shape) == 1 else ()
