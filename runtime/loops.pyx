"""Loops, the general way: entering, boundaries and leaving whatever the specs are.

The hot path does the same without Python where the specs are those of the last time; everything that a loop's own system
rejects is found here.
"""

from libc.stdint cimport int64_t, INT64_MAX
from libc.stdlib cimport calloc
from libc.string cimport memcpy
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
cimport numpy as np

from .hot cimport enter_loop, leave_loop, put, swap_slots
from .nodes cimport Nodes
from .specs cimport extent_of
from .state cimport *
from .stream cimport Stream, loopdbg_append

import math

import numpy as np

from .errors import ExecutionError
from .graph import StoppedBy, TensorType
from .memory import aligned, shapes_of
from .slices import cut, join, split

np.import_array()

_REASONS = {StoppedBy.TRIP_COUNT: BY_TRIP_COUNT, StoppedBy.CONDITION: BY_CONDITION, StoppedBy.INPUT_EXHAUSTED: BY_INPUT}


cdef class Loops(Nodes):
    """Runs the control instructions of a plan."""

    def __cinit__(self, plan):
        self.scan_arrays, self.slice_arrays = {}, {}

    cdef int load_loop(self, int index) except -1:
        cdef LoopState *loop = self.s.loops + index
        cdef int k
        plan = self.plan.loops[index]
        node = plan.loop
        loop.head, loop.exit = plan.head, plan.exit
        loop.trip_slot, loop.initial_slot = plan.trip_count, plan.initial_condition
        loop.condition, loop.condition_input = plan.condition, plan.condition_input
        loop.iteration = plan.iteration
        loop.negative_is_zero = not node.minus_one_is_no_limit
        loop.counted = node.counted_by_slices
        loop.fixed_trips = -1 if node.fixed_trips is None else node.fixed_trips
        loop.parts = -1
        loop.first_predicate = loop.first_record = -1
        loop.first_derived = self.nslots + sum(len(p.edges) + 3 for p in self.plan.loops[:index])
        loop.nedges, loop.nslices = len(plan.edges), len(plan.slices)
        loop.nscans, loop.nlasts = len(plan.scans), len(plan.lasts)
        loop.edges = <Edge *>calloc(loop.nedges + 1, sizeof(Edge))
        loop.slices = <Slice *>calloc(loop.nslices + 1, sizeof(Slice))
        loop.scans = <Scan *>calloc(loop.nscans + 1, sizeof(Scan))
        loop.lasts = <Last *>calloc(loop.nlasts + 1, sizeof(Last))
        if not (loop.edges and loop.slices and loop.scans and loop.lasts):
            raise MemoryError
        for k, edge in enumerate(plan.edges):
            loop.edges[k].initial, loop.edges[k].param = edge.initial, edge.param
            loop.edges[k].result, loop.edges[k].swap = edge.result, edge.swap
            loop.edges[k].identity = edge.param == edge.result
        for k, sliced in enumerate(plan.slices):
            loop.slices[k].outer, loop.slices[k].inner = sliced.outer, sliced.inner
        for k, scan in enumerate(plan.scans):
            loop.scans[k].result, loop.scans[k].outer = scan.result, scan.outer
            loop.scans[k].spec = loop.scans[k].out_spec = -1
        for k, last in enumerate(plan.lasts):
            loop.lasts[k].source, loop.lasts[k].outer, loop.lasts[k].edge = last.source, last.outer, last.edge
        if plan.iteration >= 0:
            declared = self.plan.slots[plan.iteration].type
            wide = declared.dtype != np.int32
            loop.iteration_wide = wide
            self.own(plan.iteration, self.spec(np.dtype(np.int64 if wide else np.int32), _one(declared)))
        if plan.condition_input >= 0:
            self.own(plan.condition_input, self.spec(np.dtype(np.bool_), _one(plan.loop.condition_input.type)))
        return 0

    cdef int enter_slow(self, int index) except -1:
        """Enter a loop whatever its specs are; raises for what the loop's own system rejects."""
        cdef LoopState *loop = self.s.loops + index
        cdef int k
        cdef Edge *e
        cdef Slice *c
        plan = self.plan.loops[index]
        node = plan.loop
        loop.fast_enter = 1
        loop.trip = loop.fixed_trips
        if loop.trip_slot >= 0:
            array = self.one_element(loop.trip_slot, "iu", "trip count", node)
            count = int(array.reshape(())) if array.dtype.kind == "i" else min(int(array.reshape(())), INT64_MAX)
            if count < 0 and not loop.negative_is_zero and count != -1:
                raise ExecutionError(f"{node.describe()}: its trip count is {count}; it must be -1 (no limit), 0 or more")
            loop.trip = max(count, 0) if loop.negative_is_zero else count
            loop.trip_spec = self.s.slots[loop.trip_slot].spec
            if array.dtype.itemsize < 4 or array.dtype.kind == "u":
                loop.fast_enter = 0
        loop.keep = 1
        if loop.initial_slot >= 0:
            array = self.one_element(loop.initial_slot, "b", "condition", node)
            loop.keep = bool(array.reshape(()))
            loop.initial_spec = self.s.slots[loop.initial_slot].spec
        counts = []
        loop.parts = -1
        for k in range(loop.nedges):
            e = loop.edges + k
            if e.initial >= 0:
                value = self.look(e.initial)
            else:
                sliced = plan.edges[k].sliced
                parts = cut(self.look(self.plan.slot_of[sliced.outer]), sliced, node.describe())
                if len(parts) == 0:
                    raise ExecutionError(f"{node.describe()}: '{sliced.outer.name}' has no slice 0 for '{sliced.inner.name}'")
                value = parts[0]
                # It counts iterations as any sliced input does, though only part 0 is read.
                loop.parts = len(parts)
                counts.append((sliced.outer.name, len(parts)))
                loop.fast_enter = 0
            if isinstance(value, list):
                value = list(value)
            self.store(e.param, value)
            self.set_spare(e)
            if self.s.slots[e.param].spec == 0:
                loop.fast_enter = 0
        for k in range(loop.nslices):
            self.cut_slice(index, k)
            c = loop.slices + k
            counts.append((plan.slices[k].sliced.outer.name, c.parts))
            if loop.parts < 0 or c.parts < loop.parts:
                loop.parts = c.parts
        if loop.counted and len({count for _, count in counts}) > 1:
            told = ", ".join(f"'{name}' has {count}" for name, count in counts)
            raise ExecutionError(f"{node.describe()}: its sliced inputs disagree on the number of iterations: {told}")
        for k in range(loop.nscans):
            loop.scans[k].count = 0
            loop.scans[k].spec = -1
            self.scan_arrays.pop((index, k), None)
            loop.scans[k].capacity = 0
        enter_loop(&self.s, index)
        return 0

    cdef int cut_slice(self, int index, int k) except -1:
        """Find the parts of a sliced input; the slot inside shows part 0."""
        cdef LoopState *loop = self.s.loops + index
        cdef Slice *c = loop.slices + k
        node = self.plan.loops[index].loop
        sliced = self.plan.loops[index].slices[k].sliced
        array = self.look(c.outer)
        if not isinstance(array, np.ndarray) or array.dtype.hasobject:
            raise ExecutionError(f"{node.describe()}: '{sliced.outer.name}' cannot be sliced; it is no tensor of numbers")
        parts = cut(array, sliced, node.describe())
        c.parts = len(parts)
        c.outer_spec = self.s.slots[c.outer].spec
        part_spec = self.spec(parts.dtype, parts.shape[1:])
        c.direct = parts.size > 0 and parts[:1].flags.c_contiguous and np.may_share_memory(parts[:1], array)
        if not c.direct:
            parts = np.ascontiguousarray(parts)
            loop.fast_enter = 0
        self.slice_arrays[index, k] = parts
        c.base = np.PyArray_BYTES(parts)
        c.offset = <Py_ssize_t>c.base - <Py_ssize_t>self.s.slots[c.outer].data if c.direct else 0
        c.step = parts.strides[0] if len(parts) else 0
        self.put_owner(c.inner, parts, part_spec, 0)
        self.s.slots[c.inner].nbytes = math.prod(parts.shape[1:]) * parts.dtype.itemsize
        return 0

    cdef object one_element(self, int slot, str kinds, str word, object node):
        array = self.look(slot)
        if not isinstance(array, np.ndarray) or array.dtype.kind not in kinds or array.size != 1:
            have = shapes_of([array])
            need = "one integer" if "i" in kinds else "one boolean"
            raise ExecutionError(f"{node.describe()}: its {word} '{self.plan.slots[slot].name}' is {have}; it must be {need}")
        return array

    cdef int set_spare(self, Edge *e) except -1:
        """A second buffer for edges that copy (pass-through values, constants, results with two back edges)."""
        cdef Slot *p = self.s.slots + e.param
        if e.spare_spec == p.spec and e.spare_owner != NULL:
            return 0
        spare = None if p.spec == 0 else np.empty(self.specs[p.spec][1], self.specs[p.spec][0])
        self.put_spare(e, spare, p.spec)
        return 0

    cdef int put_spare(self, Edge *e, object owner, int spec) except -1:
        Py_INCREF(owner)
        Py_XDECREF(e.spare_owner)
        e.spare_owner = <PyObject *>owner
        e.spare = NULL if spec == 0 else np.PyArray_BYTES(owner)
        e.spare_spec = spec
        return 0

    cdef int next_slow(self, int index) except -1:
        """The boundary after an iteration whatever the specs are."""
        cdef LoopState *loop = self.s.loops + index
        cdef int k
        cdef Edge *e
        plan = self.plan.loops[index]
        for k in range(loop.nscans):
            self.check_scan(index, k)
        for k in range(loop.nedges):
            self.check_edge(index, k)
        if loop.condition >= 0:
            array = self.look(loop.condition)
            if not isinstance(array, np.ndarray) or array.dtype.kind != "b" or array.size != 1:
                raise ExecutionError(f"{self.at(index)}: the body's condition '{plan.loop.condition.name}' is "
                                     f"{shapes_of([array])}; it must be one boolean")
        for k in range(loop.nscans):
            self.append_scan(index, k)
        if loop.condition >= 0:
            loop.keep = self.s.slots[loop.condition].data[0] != 0
            if loop.condition_input >= 0:
                self.s.slots[loop.condition_input].data[0] = loop.keep
        taken = []
        for k in range(loop.nedges):
            e = loop.edges + k
            # Sequences, optionals and strings are never changed once they are made: they move.
            swap = e.swap and (self.s.slots[e.result].spec == 0) == (self.s.slots[e.param].spec == 0) and \
                (self.s.slots[e.result].spec == 0 or self.s.slots[e.result].flags & ~SHARED == OWN)
            e.in_spare = not swap
            value = None
            if e.in_spare and not e.identity:
                value = self.value(e.result)
            taken.append(value)
        for k in range(loop.nedges):
            e = loop.edges + k
            if e.identity:
                continue
            if e.in_spare:
                # The old value becomes the spare: it is "previous" until the next boundary.
                self.put_spare(e, <object>self.s.slots[e.param].owner, self.s.slots[e.param].spec)
                spec = self.s.slots[e.result].spec
                self.put_owner(e.param, taken[k], spec, OWN if spec else 0)
            else:
                if self.s.slots[e.param].spec != self.s.slots[e.result].spec:
                    e.family = self.family_of(e)
                swap_slots(&self.s, e.param, e.result)
        loop.i += 1
        self.s.pc = loop.head
        return 0

    cdef Family *family_of(self, Edge *e) except? NULL:
        """The family that both values of a back edge are of, which its result's node has found; NULL: none."""
        cdef int k, pc = self.s.writer[e.result]
        cdef Varying *v = NULL if pc < 0 else self.s.code[pc].varying
        if v != NULL:
            for k in range(v.noutputs):
                if v.outputs[k].slot == e.result and v.outputs[k].family != NULL and \
                        extent_of(v.outputs[k].family, self.s.slots[e.param].spec) >= 0:
                    return v.outputs[k].family
        return NULL

    cdef int check_edge(self, int index, int k) except -1:
        cdef Edge *e = self.s.loops[index].edges + k
        cdef Slot *p = self.s.slots + e.param
        cdef Slot *r = self.s.slots + e.result
        if p.spec and r.spec and self.specs[p.spec][0] != self.specs[r.spec][0]:
            name = self.plan.loops[index].edges[k].edge.param.name
            raise ExecutionError(
                f"{self.at(index)}: the back edge to '{name}' carries {self.specs[r.spec][0].name}, but the parameter is "
                f"{self.specs[p.spec][0].name}; a carried value keeps its dtype")
        return 0

    cdef int check_scan(self, int index, int k) except -1:
        """Elements of a scan output have one shape and dtype (SEMANTICS 0.7)."""
        cdef Scan *c = self.s.loops[index].scans + k
        cdef Slot *r = self.s.slots + c.result
        port = self.plan.loops[index].scans[k].output
        if r.spec == 0:
            value = self.look(c.result)
            if not isinstance(value, np.ndarray):
                raise ExecutionError(f"{self.at(index)}: scan output '{port.outer.name}' got {shapes_of([value])}; "
                                     f"only tensors can be scan outputs")
            rows = self.scan_arrays.get((index, k))
            if rows and rows[0].shape != value.shape:
                raise ExecutionError(_shape_change(self.at(index), port, rows[0].shape, value.shape))
            return 0
        if c.spec >= 0 and c.spec != r.spec:
            before, after = self.specs[c.spec], self.specs[r.spec]
            if before[0] != after[0]:
                before, after = ([f"{d.name} {list(s)}"] for d, s in (before, after))
                raise ExecutionError(_shape_change(self.at(index), port, before[0], after[0]))
            raise ExecutionError(_shape_change(self.at(index), port, before[1], after[1]))
        return 0

    cdef int append_scan(self, int index, int k) except -1:
        cdef LoopState *loop = self.s.loops + index
        cdef Scan *c = loop.scans + k
        cdef Slot *r = self.s.slots + c.result
        port = self.plan.loops[index].scans[k].output
        if r.spec == 0:
            self.scan_arrays.setdefault((index, k), []).append(self.look(c.result).copy())
            c.count += 1
            return 0
        if c.spec < 0:
            self.begin_scan(index, k, r.spec)
        if c.count == c.capacity:
            self.grow_scan(index, k)
        put(c.buffer + c.count * c.nbytes, r.data, c.nbytes)
        loopdbg_append(&c.count)
        return 0

    cdef int begin_scan(self, int index, int k, int spec) except -1:
        """The first element is seen: all are like it."""
        cdef Scan *c = self.s.loops[index].scans + k
        port = self.plan.loops[index].scans[k].output
        dtype, shape = self.specs[spec]
        c.spec, c.nbytes, c.out_count = spec, math.prod(shape) * dtype.itemsize, -1
        rank = len(shape) + (1 if port.stack else 0)
        axis = port.axis + rank if port.axis < 0 else port.axis
        if not 0 <= axis < rank:
            raise ExecutionError(f"{self.at(index)}: scan output '{port.outer.name}' has axis {port.axis}, "
                                 f"but its rank is {rank}")
        c.plain = not port.reverse and math.prod(shape[:axis]) == 1
        return 0

    cdef int grow_scan(self, int index, int k) except -1:
        """Room for all iterations where their number is known and that is not much, else twice as much as before."""
        cdef LoopState *loop = self.s.loops + index
        cdef Scan *c = loop.scans + k
        expected = loop.trip if loop.trip >= 0 else loop.parts if loop.counted else -1
        capacity = max(16, 2 * c.capacity)
        if 0 <= expected and expected * c.nbytes <= max(1 << 26, 2 * c.capacity * c.nbytes):
            capacity = max(expected, c.count + 1)
        array = np.empty(max(capacity * c.nbytes, 1), np.uint8)
        if c.count:
            memcpy(np.PyArray_BYTES(array), c.buffer, c.count * c.nbytes)
        self.scan_arrays[index, k] = array
        c.buffer, c.capacity = np.PyArray_BYTES(array), capacity
        return 0

    def forward(self, int index, int64_t iteration, bint keep, carried, scans, lasts):
        """Put a loop, stopped at a boundary, at the boundary before ``iteration``, as if it had run till there.

        ``carried``: of each back edge what it carries; ``scans``: of each scan output its elements, stacked; ``lasts``:
        slot -> what the last iteration computed, where an output takes that. ``keep``: the condition. Nobody is told of
        this boundary again.
        """
        cdef LoopState *loop = self.s.loops + index
        cdef int k
        cdef Scan *c
        for k, value in enumerate(carried):
            self.store(loop.edges[k].param, list(value) if isinstance(value, list) else value)
            self.set_known(loop.edges[k].param, None)
            self.set_spare(loop.edges + k)
            if not loop.edges[k].identity:
                # What was carried before is not known; the same is at least no garbage.
                loop.edges[k].in_spare = 1
                self.put_spare(loop.edges + k, self.value(loop.edges[k].param), self.s.slots[loop.edges[k].param].spec)
        for slot, value in lasts.items():
            self.store(slot, list(value) if isinstance(value, list) else value)
            self.set_known(slot, None)
        for k in range(loop.nslices):
            if loop.parts > 0:
                at = min(iteration, loop.parts - 1)
                self.s.slots[loop.slices[k].inner].data = loop.slices[k].base + <Py_ssize_t>at * loop.slices[k].step
        for k, rows in enumerate(scans):
            c = loop.scans + k
            c.count, c.spec, c.capacity = 0, -1, 0
            self.scan_arrays.pop((index, k), None)
            if not len(rows):
                continue
            if rows.dtype.hasobject:
                self.scan_arrays[index, k] = [rows[j : j + 1].reshape(rows.shape[1:]).copy() for j in range(len(rows))]
            else:
                rows = aligned(rows)
                self.begin_scan(index, k, self.spec(rows.dtype, rows.shape[1:]))
                array = np.empty(max(len(rows) * c.nbytes, 1), np.uint8)
                memcpy(np.PyArray_BYTES(array), np.PyArray_BYTES(rows), len(rows) * c.nbytes)
                self.scan_arrays[index, k] = array
                c.buffer, c.capacity = np.PyArray_BYTES(array), len(rows)
            c.count = len(rows)
        if loop.condition_input >= 0:
            self.s.slots[loop.condition_input].data[0] = keep
        loop.i, loop.keep, loop.reported = iteration, keep, 1
        self.drop_blocks()
        return None

    def count_entry(self, int index, int64_t iterations, reason, trip):
        """Count an entry of a loop that does not run now: it ended before this execution, which goes on from there."""
        cdef LoopState *loop = self.s.loops + index
        loop.iterations += iterations
        loop.entries += 1
        loop.ended = _REASONS[reason]
        loop.by_reason[loop.ended] += 1
        if loop.counted:
            loop.parts = trip
        else:
            loop.trip = -1 if trip is None else trip

    def stream_scan(self, int index, int k, Stream stream):
        """Let a stream tell, while the loop runs on, how many elements a scan output has.

        Returns the output as it will be, in memory that stays where it is; None where there is no room for all elements
        yet, or they do not stand in it in order.
        """
        cdef LoopState *loop = self.s.loops + index
        cdef Scan *c = loop.scans + k
        cdef int64_t expected = loop.trip if loop.trip >= 0 else loop.parts if loop.counted else -1
        if c.spec < 0 or not c.plain or not isinstance(self.scan_arrays.get((index, k)), np.ndarray):
            return None
        if expected > c.capacity:
            self.grow_scan(index, k)
        if not 2 <= expected <= c.capacity:
            return None
        rows = self.scan_arrays[index, k]
        stream.c.count, stream.c.gone, stream.rows, stream.source = &c.count, 0, expected, self
        dtype, shape = self.specs[c.spec]
        whole = join(rows[: expected * c.nbytes].view(dtype).reshape((expected, *shape)),
                     self.plan.loops[index].scans[k].output)
        return whole if np.PyArray_BYTES(whole) == c.buffer else None

    def supply(self, int index, outputs, int64_t iterations, reason):
        """Leave a loop, stopped at its boundary before iteration 0, as if it had run: it has, in another engine.

        ``outputs``: slot -> value of each output.
        """
        cdef LoopState *loop = self.s.loops + index
        for slot, value in outputs.items():
            self.store(slot, value)
            self.set_known(slot, None)
        loop.i, loop.ended = iterations, _REASONS[reason]
        leave_loop(&self.s, loop)

    cdef int exit_slow(self, int index) except -1:
        """Leave a loop whatever the specs are."""
        cdef LoopState *loop = self.s.loops + index
        cdef int k
        plan = self.plan.loops[index]
        for k in range(loop.nlasts):
            last = plan.lasts[k]
            if last.edge < 0 and loop.i == 0:
                raise ExecutionError(
                    f"{plan.loop.describe()} ran no iteration, and its output '{last.output.outer.name}' is fed by no back "
                    f"edge, so it has no value")
            self.store(loop.lasts[k].outer, self.look(loop.lasts[k].source))
            self.set_known(loop.lasts[k].outer, None)
        for k in range(loop.nscans):
            self.store_scan(index, k)
        leave_loop(&self.s, loop)
        return 0

    cdef int store_scan(self, int index, int k) except -1:
        cdef Scan *c = self.s.loops[index].scans + k
        value = self.scanned(index, k)
        if c.plain and value.base is not None and value.nbytes > 4096 and c.count == c.capacity:
            # The buffer is the output, and large: hand it over instead of copying it.
            value = value.reshape(value.shape)
            self.put_owner(c.outer, value, self.spec(value.dtype, value.shape), OWN)
            self.scan_arrays.pop((index, k), None)
            c.buffer, c.capacity, c.out_count = NULL, 0, -1
        else:
            self.store(c.outer, value)
            c.out_spec, c.out_count = self.s.slots[c.outer].spec, c.count
        self.set_known(c.outer, None)
        return 0

    def scanned(self, int index, int k):
        """What a scan output has collected so far, as its loop would return it; a view, valid until the engine goes on."""
        rows = self.scan_rows(index, k)
        port = self.plan.loops[index].scans[k].output
        return _empty_scan(port) if rows is None else join(rows, port)

    cdef object scan_rows(self, int index, int k):
        """The elements in order, ``[count, *shape]``; None while there are none. After the loop its output has them."""
        cdef LoopState *loop = self.s.loops + index
        cdef Scan *c = loop.scans + k
        if c.count == 0:
            return None
        port = self.plan.loops[index].scans[k].output
        rows = self.scan_arrays.get((index, k))
        if rows is None:
            return split(self.look(c.outer), port, c.count)
        if isinstance(rows, list):
            return np.stack(rows)
        dtype, shape = self.specs[c.spec]
        stacked = rows[: c.count * c.nbytes].view(dtype) if c.nbytes else np.empty(0, dtype)
        return stacked.reshape((c.count, *shape))

    def scan_view(self, int index, int k, int64_t newest):
        """(number of elements, the whole as a view, the newest elements in order) of a scan output."""
        cdef int64_t count = self.s.loops[index].scans[k].count
        rows = self.scan_rows(index, k)
        return count, self.scanned(index, k), [] if rows is None else rows[max(count - newest, 0):]

    cdef int control_slow(self, int pc) except -1:
        """A control instruction that run_plan handed over."""
        cdef Instr *ins = self.s.code + pc
        cdef int k
        if ins.kind == ENTER:
            self.enter_slow(ins.loop)
        elif ins.kind == NEXT:
            self.next_slow(ins.loop)
        elif ins.kind == EXIT:
            self.exit_slow(ins.loop)
        elif ins.kind == BRANCH:
            array = self.look(ins.condition)
            if not isinstance(array, np.ndarray) or array.size != 1:
                node = self.plan.code[pc].node
                raise ExecutionError(f"{self.where(pc)}: the condition '{node.inputs[0].name}' is {shapes_of([array])}; "
                                     f"it must be one boolean")
            ins.taken = bool(array.reshape(()))
            self.s.pc = pc + 1 if ins.taken else ins.target
        else:
            for k in range(ins.nmoves):
                value = self.look(ins.moves[k].source)
                self.store(ins.moves[k].target, list(value) if isinstance(value, list) else value)
                self.set_known(ins.moves[k].target, None)
            self.s.pc = ins.target if ins.kind == JUMP else pc + 1
        return 0


def _one(declared):
    """The shape for a one-element body parameter: the rank that the body declares, scalar where it does not."""
    return (1,) if isinstance(declared, TensorType) and declared.shape is not None and len(declared.shape) == 1 else ()


def _shape_change(where, port, before, after):
    word = "stacked" if port.stack else "concatenated"
    before, after = (x if isinstance(x, str) else list(x) for x in (before, after))
    return (f"{where}: scan output '{port.outer.name}' got {after} from '{port.result.name}', after {before} in earlier "
            f"iterations; {word} elements must all have one shape and dtype")


def _empty_scan(port):
    """Zero elements: the declared dims of the element (0 where unknown), with the scan axis of length 0."""
    declared = port.result.type if isinstance(port.result.type, TensorType) else TensorType()
    dtype = declared.dtype
    if dtype is None:
        dtype = port.outer.type.dtype if isinstance(port.outer.type, TensorType) else None
    dims = [d if isinstance(d, int) else 0 for d in declared.shape or ()]
    if port.stack:
        axis = port.axis + len(dims) + 1 if port.axis < 0 else port.axis
        dims.insert(min(max(axis, 0), len(dims)), 0)
    elif dims:
        axis = port.axis + len(dims) if port.axis < 0 else port.axis
        dims[min(max(axis, 0), len(dims) - 1)] = 0
    else:
        dims = [0]
    return np.empty(dims, dtype if dtype is not None else np.float32)
