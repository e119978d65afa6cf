"""Loops: what entering one, a boundary and leaving need before the hot path can do them.

What an entry begins with and what a boundary does stand in ``hot.pyx``, once. Where a spec is another than the last time,
memory is missing or values are Python objects, it is prepared here first; everything that a loop's own system rejects is
found here.
"""

from libc.stdint cimport int64_t, INT64_MAX
from libc.stdlib cimport calloc
from libc.string cimport memcpy
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
cimport numpy as np

from .hot cimport LOOPDBG_CHECKED, can_cross, cross, enter, is_checked, leave_loop, put, takes_copy
from .binder cimport Nodes
from .specs cimport extent_of
from .state cimport *
from ..kernels.stream cimport Stream

import math

import numpy as np

from ..errors import ExecutionError
from ..graph import StoppedBy, TensorType
from .memory import aligned, memory_for, shapes_of
from ..graph.slices import cut, from_start, join, joined_shape, split

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
        loop.condition, loop.condition_input, loop.yielded = plan.condition, plan.condition_input, plan.yielded
        loop.iteration = plan.iteration
        loop.trip_spec = loop.initial_spec = loop.yielded_spec = -1
        loop.negative_is_zero = not node.minus_one_is_no_limit
        loop.counted = node.counted_by_slices
        loop.fixed_trips = -1 if node.fixed_trips is None else node.fixed_trips
        loop.endless_from = plan.endless_from
        loop.parts = -1
        loop.first_predicate = loop.first_record = -1
        loop.first_derived = self.nslots + sum(len(p.edges) + 3 for p in self.plan.loops[:index])
        loop.nedges, loop.nslices = len(plan.edges), len(plan.slices)
        loop.nscans, loop.nlasts, loop.nkept = len(plan.scans), len(plan.lasts), len(plan.kept)
        loop.edges = <Edge *>calloc(loop.nedges + 1, sizeof(Edge))
        loop.slices = <Slice *>calloc(loop.nslices + 1, sizeof(Slice))
        loop.scans = <Scan *>calloc(loop.nscans + 1, sizeof(Scan))
        loop.lasts = <Last *>calloc(loop.nlasts + 1, sizeof(Last))
        loop.kept = <Move *>calloc(loop.nkept + 1, sizeof(Move))
        if not (loop.edges and loop.slices and loop.scans and loop.lasts and loop.kept):
            raise MemoryError
        for k, edge in enumerate(plan.edges):
            loop.edges[k].initial, loop.edges[k].param = edge.initial, edge.param
            loop.edges[k].result, loop.edges[k].swap = edge.result, edge.swap
            loop.edges[k].identity = edge.param == edge.result
        for k, sliced in enumerate(plan.slices):
            loop.slices[k].outer, loop.slices[k].inner = sliced.outer, sliced.inner
        for k, (source, target) in enumerate(plan.kept):
            loop.kept[k].source, loop.kept[k].target = source, target
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

    cdef int64_t prepare_entry(self, int index) except? -2:
        """Make all that ``enter`` needs; returns the trip count. Raises for what the loop's own system rejects.

        What the fast way rests on is noted at the end alone: after an error the next entry is looked at again.
        """
        cdef LoopState *loop = self.s.loops + index
        cdef int k
        cdef Edge *e
        cdef int64_t trip
        cdef bint fast = True
        loop.fast_enter = 0
        trip = self.trip_count(index)
        self.look_at_condition(loop.initial_slot, index)
        counts = []
        loop.first_parts = -1
        for k in range(loop.nedges):
            if loop.edges[k].initial < 0:
                loop.first_parts = self.first_part(index, k, counts)
                fast = False
        for k in range(loop.nslices):
            self.cut_slice(index, k)
            counts.append((self.plan.loops[index].slices[k].sliced.outer.name, loop.slices[k].parts))
            fast = fast and loop.slices[k].direct
        if loop.counted and len({count for _, count in counts}) > 1:
            told = ", ".join(f"'{name}' has {count}" for name, count in counts)
            raise ExecutionError(f"{self.plan.loops[index].loop.describe()}: its sliced inputs disagree on the number of "
                                 f"iterations: {told}")
        for k in range(loop.nedges):
            e = loop.edges + k
            if e.initial < 0:
                continue
            if self.s.slots[e.initial].spec:
                self.own(e.param, self.s.slots[e.initial].spec)
            else:
                value = self.look(e.initial)
                self.store(e.param, list(value) if isinstance(value, list) else value)
                fast = False
        for k in range(loop.nscans):
            if loop.scans[k].objects:
                self.scan_arrays.pop((index, k), None)
                loop.scans[k].objects = 0
        if loop.trip_slot >= 0:
            loop.trip_spec = self.s.slots[loop.trip_slot].spec
            dtype, _ = self.specs[loop.trip_spec]
            fast = fast and dtype.kind == "i" and dtype.itemsize >= 4
        if loop.initial_slot >= 0:
            loop.initial_spec = self.s.slots[loop.initial_slot].spec
        loop.fast_enter = fast
        return trip

    cdef int64_t trip_count(self, int index) except? -2:
        cdef LoopState *loop = self.s.loops + index
        if loop.trip_slot < 0:
            return loop.fixed_trips
        node = self.plan.loops[index].loop
        array = self.one_element(loop.trip_slot, "iu", "trip count", node.describe())
        count = min(int(array.reshape(())), INT64_MAX)
        if count < 0 and not loop.negative_is_zero and count != -1:
            raise ExecutionError(f"{node.describe()}: its trip count is {count}; it must be -1 (no limit), 0 or more")
        return max(count, 0) if loop.negative_is_zero else count

    cdef int look_at_condition(self, int slot, int index) except -1:
        if slot >= 0:
            self.one_element(slot, "b", "condition", self.plan.loops[index].loop.describe())
        return 0

    cdef int64_t first_part(self, int index, int k, list counts) except? -2:
        """Give a parameter that has a slice and a back edge its part 0; returns the least number of parts so far: it
        counts iterations as any sliced input does, though only part 0 is read."""
        cdef LoopState *loop = self.s.loops + index
        cdef int64_t least
        sliced = self.plan.loops[index].edges[k].sliced
        where = self.plan.loops[index].loop.describe()
        parts = cut(self.tensor_to_cut(self.plan.slot_of[sliced.outer], where), sliced, where)
        if len(parts) == 0:
            raise ExecutionError(f"{where}: '{sliced.outer.name}' has no slice 0 for '{sliced.inner.name}'")
        self.store(loop.edges[k].param, parts[:1].reshape(parts.shape[1:]))
        counts.append((sliced.outer.name, len(parts)))
        least = len(parts)
        return least if loop.first_parts < 0 else min(least, loop.first_parts)

    cdef object tensor_to_cut(self, int slot, str where):
        array = self.look(slot)
        if not isinstance(array, np.ndarray):
            raise ExecutionError(f"{where}: '{self.plan.slots[slot].name}' cannot be sliced; it is {shapes_of([array])}, "
                                 f"no tensor")
        return array

    cdef int cut_slice(self, int index, int k) except -1:
        """Find the parts of a sliced input; the slot inside shows part 0."""
        cdef LoopState *loop = self.s.loops + index
        cdef Slice *c = loop.slices + k
        where = self.plan.loops[index].loop.describe()
        sliced = self.plan.loops[index].slices[k].sliced
        array = self.tensor_to_cut(c.outer, where)
        parts = cut(array, sliced, where)
        c.parts = len(parts)
        c.outer_spec = self.s.slots[c.outer].spec
        if array.dtype.hasobject:
            self.slice_arrays[index, k] = parts
            c.part_spec = c.direct = c.offset = c.step = 0
            c.base = NULL
            return self.put_part(index, k, 0)
        c.part_spec = self.spec(parts.dtype, parts.shape[1:])
        c.direct = parts.size > 0 and parts[:1].flags.c_contiguous and np.may_share_memory(parts[:1], array)
        if not c.direct:
            parts = np.ascontiguousarray(parts)
        self.slice_arrays[index, k] = parts
        c.base = np.PyArray_BYTES(parts)
        c.offset = <Py_ssize_t>c.base - <Py_ssize_t>self.s.slots[c.outer].data if c.direct else 0
        c.step = parts.strides[0] if len(parts) else 0
        self.put_owner(c.inner, parts, c.part_spec, 0)
        self.s.slots[c.inner].nbytes = self.bytes_of_spec(c.part_spec)
        return 0

    cdef int put_part(self, int index, int k, int64_t part) except -1:
        """Let the slot inside show a part."""
        cdef Slice *c = self.s.loops[index].slices + k
        cdef Slot *slot = self.s.slots + c.inner
        if part >= c.parts:
            return 0
        parts = self.slice_arrays[index, k]
        if c.part_spec == 0:
            return self.put_owner(c.inner, parts[part:part + 1].reshape(parts.shape[1:]), 0, 0)
        if slot.spec != c.part_spec:
            self.put_owner(c.inner, parts, c.part_spec, 0)
            slot.nbytes = self.bytes_of_spec(c.part_spec)
        slot.data = c.base + <Py_ssize_t>part * c.step
        return 0

    cdef int put_parts(self, int index) except -1:
        """The parts that the hot path cannot show by itself: strings, and those after one that was set by hand."""
        cdef LoopState *loop = self.s.loops + index
        cdef int k
        for k in range(loop.nslices):
            if loop.slices[k].part_spec == 0 or self.s.slots[loop.slices[k].inner].spec != loop.slices[k].part_spec:
                self.put_part(index, k, loop.i)
        return 0

    cdef object one_element(self, int slot, str kinds, str word, str where):
        array = self.look(slot)
        if not isinstance(array, np.ndarray) or array.dtype.kind not in kinds or array.size != 1:
            need = "one integer" if "i" in kinds else "one boolean"
            raise ExecutionError(f"{where}: its {word} '{self.plan.slots[slot].name}' is {shapes_of([array])}; it must be "
                                 f"{need}")
        return array

    cdef int put_spare(self, Edge *e, object owner, int spec) except -1:
        """Give a back edge a second buffer: of one spec, or with ``spec`` -1 bytes that later take any."""
        Py_INCREF(owner)
        Py_XDECREF(e.spare.owner)
        e.spare.owner = <PyObject *>owner
        e.spare.spec, e.spare.flags = max(spec, 0), OWN if spec else 0
        e.spare.data = np.PyArray_BYTES(owner) if spec else NULL
        e.spare.nbytes = np.PyArray_NBYTES(owner) if spec else 0
        e.spare.capacity = e.spare.nbytes
        return 0

    cdef int prepare_boundary(self, int index) except -1:
        """Make all that ``cross`` needs. Raises for what the loop's own system rejects, before anything is changed."""
        cdef LoopState *loop = self.s.loops + index
        cdef int k
        for k in range(loop.nscans):
            self.check_scan(index, k)
        for k in range(loop.nedges):
            self.check_edge(index, k)
        if loop.yielded >= 0:
            array = self.look(loop.yielded)
            if not isinstance(array, np.ndarray) or array.dtype.kind != "b" or array.size != 1:
                raise ExecutionError(f"{self.at(index)}: the body's condition '{self.plan.slots[loop.yielded].name}' is "
                                     f"{shapes_of([array])}; it must be one boolean")
            loop.yielded_spec = self.s.slots[loop.yielded].spec
        for k in range(loop.nscans):
            self.make_scan_room(index, k)
        for k in range(loop.nkept):
            if self.s.slots[loop.kept[k].source].spec:
                self.own(loop.kept[k].target, self.s.slots[loop.kept[k].source].spec)
            else:
                self.store(loop.kept[k].target, self.look(loop.kept[k].source))
        for k in range(loop.nedges):
            self.prepare_edge(loop.edges + k)
        return 0

    cdef int prepare_edge(self, Edge *e) except -1:
        """A buffer for a copy, and the family of a value whose extent varies."""
        cdef Slot *p = self.s.slots + e.param
        cdef Slot *r = self.s.slots + e.result
        if e.identity:
            return 0
        if takes_copy(e, r):
            if r.spec == 0:
                self.put_spare(e, self.value(e.result), 0)
            elif e.spare.capacity < r.nbytes or e.spare.owner == NULL or e.spare.spec == 0:
                # Half as much again where it grows.
                more = r.nbytes // 2 if p.spec != r.spec else 0
                self.put_spare(e, np.empty(max(r.nbytes + more, 1), np.uint8), -1)
        if p.spec and r.spec and p.spec != r.spec:
            e.family = self.family_of(e)
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
        value = self.look(c.result) if r.spec == 0 else None
        if r.spec == 0 and not isinstance(value, np.ndarray):
            raise ExecutionError(f"{self.at(index)}: scan output '{port.outer.name}' got {shapes_of([value])}; only tensors "
                                 f"can be scan outputs")
        after = (value.dtype, value.shape) if r.spec == 0 else self.specs[r.spec]
        if c.count:
            rows = self.scan_arrays.get((index, k))
            before = (rows[0].dtype, rows[0].shape) if c.objects else self.specs[c.spec]
            if before != after:
                raise ExecutionError(_shape_change(self.at(index), port, before, after))
        else:
            rank = len(after[1]) + (1 if port.stack else 0)
            if not -rank <= port.axis < rank:
                raise ExecutionError(f"{self.at(index)}: scan output '{port.outer.name}' has axis {port.axis}, but its rank "
                                     f"is {rank}")
        return 0

    cdef int make_scan_room(self, int index, int k) except -1:
        """Room for one more element of a scan output; one that is a Python object is appended here."""
        cdef Scan *c = self.s.loops[index].scans + k
        cdef Slot *r = self.s.slots + c.result
        if r.spec == 0:
            if c.count == 0:
                self.scan_arrays[index, k] = []
                c.objects, c.spec, c.capacity, c.buffer, c.out_count = 1, -1, 0, NULL, -1
            self.scan_arrays[index, k].append(self.look(c.result).copy())
            c.count += 1
            return 0
        if c.spec != r.spec:
            self.begin_scan(index, k, r.spec)
        if c.count == c.capacity:
            self.grow_scan(index, k)
        return 0

    cdef int begin_scan(self, int index, int k, int spec) except -1:
        """The first element is seen: all are like it. A buffer that is there serves on."""
        cdef Scan *c = self.s.loops[index].scans + k
        port = self.plan.loops[index].scans[k].output
        dtype, shape = self.specs[spec]
        rank = len(shape) + (1 if port.stack else 0)
        axis = from_start(port.axis, rank)
        c.spec, c.nbytes, c.out_count = spec, math.prod(shape) * dtype.itemsize, -1
        c.plain = not port.reverse and math.prod(shape[:axis]) == 1
        rows = self.scan_arrays.get((index, k))
        c.capacity = 0 if rows is None or not c.nbytes else len(rows) // c.nbytes
        return 0

    cdef int grow_scan(self, int index, int k) except -1:
        """Room for all iterations where their number is known and that is not much, else twice as much as before."""
        cdef LoopState *loop = self.s.loops + index
        cdef Scan *c = loop.scans + k
        expected = loop.trip if loop.trip >= 0 else loop.parts if loop.counted else -1
        capacity = max(16, 2 * c.capacity)
        if 0 <= expected and expected * c.nbytes <= max(1 << 26, 2 * c.capacity * c.nbytes):
            capacity = max(expected, c.count + 1)
        port = self.plan.loops[index].scans[k].output
        array = memory_for(capacity * c.nbytes, lambda: f"{self.at(index)}: scan output '{port.outer.name}'")
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
            if not loop.edges[k].identity:
                # What was carried before is not known; the same is at least no garbage.
                loop.edges[k].in_spare = 1
                self.put_spare(loop.edges + k, self.value(loop.edges[k].param), self.s.slots[loop.edges[k].param].spec)
        for slot, value in lasts.items():
            self.store(slot, list(value) if isinstance(value, list) else value)
            self.set_known(slot, None)
        for k in range(loop.nslices):
            if loop.parts > 0:
                self.put_part(index, k, min(iteration, loop.parts - 1))
        for k, rows in enumerate(scans):
            c = loop.scans + k
            c.count, c.spec, c.capacity, c.objects = 0, -1, 0, 0
            self.scan_arrays.pop((index, k), None)
            if not len(rows):
                continue
            if rows.dtype.hasobject:
                c.objects = 1
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
        if c.count == 0 or not c.plain or not isinstance(self.scan_arrays.get((index, k)), np.ndarray):
            return None
        if expected > c.capacity:
            self.grow_scan(index, k)
        if not 2 <= expected <= c.capacity:
            return None
        rows = self.scan_arrays[index, k]
        stream.c.count, stream.c.gone, stream.c.rows, stream.source = &c.count, 0, expected, self
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

    def read_stream(self, int slot, Stream stream):
        """Let the first loop, which reads a slot row by row, wait for the rows that a stream tells of."""
        self.streams = {slot: stream}
        self.s.loops[0].stream = &stream.c

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
        return self.empty_scan(index, k) if rows is None else join(rows, port)

    cdef object empty_scan(self, int index, int k):
        """Zero elements: the declared dims of the element (0 where unknown), with the scan axis of length 0. What the body
        returns without computing it has a dtype, and dims where none are declared."""
        cdef LoopState *loop = self.s.loops + index
        cdef int slot = loop.scans[k].result, made = self.s.writer[slot]
        port = self.plan.loops[index].scans[k].output
        declared = port.result.type if isinstance(port.result.type, TensorType) else TensorType()
        dtype, shape = declared.dtype, declared.shape
        if not loop.head < made < loop.exit:
            value = self.look(slot)
            if isinstance(value, np.ndarray):
                dtype, shape = value.dtype, value.shape if shape is None else shape
        if dtype is None:
            dtype = port.outer.type.dtype if isinstance(port.outer.type, TensorType) else None
        dims = [d if isinstance(d, int) else 0 for d in shape or ()]
        return np.empty(joined_shape(dims, port, 0), dtype if dtype is not None else np.float32)

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

    cdef object checks(self):
        from . import selfcheck  # other builds need none of it

        return selfcheck

    cdef int control_slow(self, int pc) except -2:
        """A control instruction that run_plan handed over; returns the loop whose boundary was crossed, or -1."""
        cdef Instr *ins = self.s.code + pc
        cdef int k
        if ins.kind == ENTER:
            enter(&self.s, ins.loop, self.prepare_entry(ins.loop))
            if LOOPDBG_CHECKED:
                selfcheck = self.checks()
                selfcheck.compare(self, ins.loop, selfcheck.on_entry(self, ins.loop))
        elif ins.kind == NEXT:
            if not can_cross(&self.s, self.s.loops + ins.loop):
                self.prepare_boundary(ins.loop)
            checked = LOOPDBG_CHECKED and is_checked(self.s.loops + ins.loop)
            if checked:
                expected = self.checks().after_iteration(self, ins.loop)
            cross(&self.s, self.s.loops + ins.loop)
            if checked:
                self.checks().compare(self, ins.loop, expected)
            self.put_parts(ins.loop)
            return ins.loop
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
        return -1


def _one(declared):
    """The shape for a one-element body parameter: the rank that the body declares, scalar where it does not."""
    return (1,) if isinstance(declared, TensorType) and declared.shape is not None and len(declared.shape) == 1 else ()


def _shape_change(where, port, before, after):
    word = "stacked" if port.stack else "concatenated"
    if before[0] != after[0]:
        before, after = (f"{'string' if dtype.hasobject else dtype.name} {list(shape)}" for dtype, shape in (before, after))
    else:
        before, after = list(before[1]), list(after[1])
    return (f"{where}: scan output '{port.outer.name}' got {after} from '{port.result.name}', after {before} in earlier "
            f"iterations; {word} elements must all have one shape and dtype")
