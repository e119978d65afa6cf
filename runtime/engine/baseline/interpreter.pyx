"""The interpreter: ``run_plan`` runs instructions without the GIL until one of them needs Python.

It returns when an instruction needs Python (to be bound to kernels, or to be run by NumPy), at a stop, when the
optimizer is due at a loop, or when its time slice is over (for signals and limits). An instruction that leads a region
that fits (state.pxd) is replaced by it.
"""

from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, INT64_MAX
cimport numpy as np

from .bound_node cimport run_bound_node
from .clock cimport now, sample_iteration, start_timing, weigh_time
from .spec_table cimport extent_of
from .state cimport *

# Size of scan elements whose next slot is prefetched while the iteration computes: the line is cold, and the boundary
# would stall on the store (0.7 us for 8 KB instead of 0.4).
cdef enum:
    PREFETCH_MIN_BYTES = 1024
    PREFETCH_MAX_BYTES = 16384


cdef inline int64_t read_int(const Slot *slot) noexcept nogil:
    return (<const int64_t *>slot.data)[0] if slot.nbytes == 8 else (<const int32_t *>slot.data)[0]


cdef int end_reason(const LoopState *loop) noexcept nogil:
    """Does the loop end at this boundary?"""
    return loop_end_reason(loop.keep, loop.trip, loop.counted, loop.parts, loop.i)


cdef int64_t next_break(const LoopState *loop, int64_t first) noexcept nogil:
    """The first iteration from ``first`` on at which every entry of a loop stops."""
    cdef int k
    for k in range(loop.nbreaks):
        if loop.breaks[k] >= first:
            return loop.breaks[k]
    return INT64_MAX


cdef int can_enter(const ExecutionState *s, const LoopState *loop) noexcept nogil:
    """Are the buffers of the previous entry ready for ``enter_loop``? Else ``Loops.prepare_entry`` prepares them."""
    cdef int k
    cdef int64_t trip
    cdef const BackEdgeState *e
    cdef const Scan *c
    cdef const Slot *initial
    cdef const Slot *param
    if not loop.native_entry or (loop.log != NULL and loop.log.entry_unready):
        return 0
    if loop.trip_slot >= 0:
        if s.slots[loop.trip_slot].spec != loop.trip_spec:
            return 0
        trip = read_int(s.slots + loop.trip_slot)
        if not normalize_trip_count(loop.negative, &trip):
            return 0
    if loop.initial_slot >= 0 and s.slots[loop.initial_slot].spec != loop.initial_spec:
        return 0
    for k in range(loop.nedges):
        e = loop.edges + k
        initial, param = s.slots + e.initial, s.slots + e.param
        if initial.spec == 0 or not param.flags & OWN:
            return 0
        if initial.spec != param.spec and (initial.nbytes > param.capacity or not e.swap or
                                       not are_in_same_family(s, e, e.initial, e.param)):
            return 0
    for k in range(loop.nslices):
        if loop.slices[k].part_spec == 0 or s.slots[loop.slices[k].outer].spec != loop.slices[k].outer_spec or \
                s.slots[loop.slices[k].inner].spec != loop.slices[k].part_spec:
            return 0
        if not loop.slices[k].direct and not can_gather_in_place(s, loop.slices + k):
            return 0
    for k in range(loop.nscans):
        c = loop.scans + k
        if c.objects:
            return 0
        if c.length_slot >= 0 and (s.slots[c.length_slot].spec != c.length_spec or
                                   read_int(s.slots + c.length_slot) != c.length):
            return 0
    return 1


cdef inline int can_gather_in_place(const ExecutionState *s, const Slice *c) noexcept nogil:
    """May the parts of a slice overwrite those of the previous entry? Not if anything else refers to that array."""
    cdef PyObject *owner = s.slots[c.inner].owner
    return c.nsegments and owner != NULL and np.PyArray_BYTES(<np.ndarray>owner) == c.base and owner.ob_refcnt <= 2


cdef void gather_slices(const ExecutionState *s, const LoopState *loop) noexcept nogil:
    """Gather parts whose segments are strided in the outer tensor, as ``Loops.prepare_sliced_input`` did in an earlier entry."""
    cdef const Slice *c
    cdef const char *source
    cdef char *target
    cdef int64_t _, segment
    cdef int k
    for k in range(loop.nslices):
        c = loop.slices + k
        if c.direct:
            continue
        # In the order of the outer tensor: sequential reads are prefetched.
        for segment in range(c.nsegments):
            source = s.slots[c.outer].data + c.first + segment * c.segment_stride
            target = c.base + segment * c.segment_nbytes
            for _ in range(c.parts):
                copy_bytes(target, source, c.segment_nbytes)
                target += c.nsegments * c.segment_nbytes
                source += c.part_stride


cdef int64_t entry_trip_count(const ExecutionState *s, const LoopState *loop) noexcept nogil:
    """The trip count of an entry."""
    cdef int64_t trip = loop.fixed_trips
    if loop.trip_slot >= 0:
        trip = read_int(s.slots + loop.trip_slot)
        normalize_trip_count(loop.negative, &trip)
    return trip


cdef void enter_loop(ExecutionState *s, int index, int64_t trip) noexcept nogil:
    """Start an entry. Its buffers are ready."""
    cdef LoopState *loop = s.loops + index
    cdef int k
    cdef BackEdgeState *e
    cdef Slice *c
    cdef Slot *p
    loop.trip = trip
    loop.keep = 1 if loop.initial_slot < 0 else s.slots[loop.initial_slot].data[0] != 0
    for k in range(loop.nedges):
        e = loop.edges + k
        if e.initial < 0 or s.slots[e.initial].spec == 0:
            continue
        p = s.slots + e.param
        if p.spec != s.slots[e.initial].spec:
            change_spec(s, e.param, s.slots[e.initial].spec, s.slots[e.initial].nbytes)
        copy_bytes(p.data, s.slots[e.initial].data, p.nbytes)
    loop.parts = loop.first_parts
    for k in range(loop.nslices):
        c = loop.slices + k
        if c.direct:
            c.base = s.slots[c.outer].data + c.offset
        if loop.parts < 0 or c.parts < loop.parts:
            loop.parts = c.parts
    for k in range(loop.nscans):
        loop.scans[k].count = 0
    if loop.condition_input >= 0:
        s.slots[loop.condition_input].data[0] = loop.keep
    loop.i = 0
    loop.active = 1
    loop.ended = RUNNING
    loop.reported = loop.edited = loop.checked = 0
    loop.entries += 1
    if loop.log != NULL:
        loop.log.write_row(s, loop, 1)
    s.stack[s.depth] = index
    s.depth += 1
    if s.depth == 1:
        loop.entered = now()
    s.pc = iteration_start(loop)


cdef inline int are_in_same_family(const ExecutionState *s, const BackEdgeState *e, int a, int b) noexcept nogil:
    """Are both specs in the family of the carried value's earlier specs?"""
    return e.family != NULL and extent_of(e.family, s.slots[a].spec) >= 0 and extent_of(e.family, s.slots[b].spec) >= 0


cdef int can_cross(const ExecutionState *s, const LoopState *loop) noexcept nogil:
    """Are the buffers ready for ``cross_boundary``? Else ``Loops.prepare_boundary`` prepares them."""
    cdef int k
    cdef const BackEdgeState *e
    cdef const Scan *c
    cdef const Slot *p
    cdef const Slot *r
    if loop.yielded >= 0 and s.slots[loop.yielded].spec != loop.yielded_spec:
        return 0
    if loop.log != NULL and loop.log.boundary_unready:
        return 0
    for k in range(loop.nscans):
        c = loop.scans + k
        if s.slots[c.result].spec != c.spec or c.count == c.capacity:
            return 0
    for k in range(loop.nslices):
        if loop.slices[k].part_spec == 0 or s.slots[loop.slices[k].inner].spec != loop.slices[k].part_spec:
            return 0
    for k in range(loop.nsaved):
        if s.slots[loop.saved_inputs[k].source].spec != s.slots[loop.saved_inputs[k].target].spec or \
                not s.slots[loop.saved_inputs[k].target].flags & OWN:
            return 0
    for k in range(loop.nedges):
        e = loop.edges + k
        if e.identity:
            continue
        r = s.slots + e.result
        p = s.slots + e.param
        if p.spec == 0 and r.spec == 0 and p.owner != NULL and r.owner != NULL and not edge_copies(e, r):
            continue
        if p.spec == 0 or r.spec == 0 or (p.spec != r.spec and not are_in_same_family(s, e, e.param, e.result)):
            return 0
        if needs_back_buffer(e, r):
            return 0
    return 1


cdef void cross_boundary(ExecutionState *s, LoopState *loop) noexcept nogil:
    """The boundary after an iteration. All yielded values are read before any is written (docs/semantics.md 2.1)."""
    cdef int k, keep = 1
    cdef BackEdgeState *e
    cdef Scan *c
    cdef Slot *r
    if loop.log != NULL:
        loop.log.write_row(s, loop, 0)
    for k in range(loop.nscans):
        c = loop.scans + k
        if not c.objects:
            copy_bytes(c.buffer + c.count * c.nbytes, s.slots[c.result].data, c.nbytes)
            c.count += 1
            if PREFETCH_MIN_BYTES <= c.nbytes <= PREFETCH_MAX_BYTES and c.count < c.capacity:
                loopdbg_prefetch_write(c.buffer + c.count * c.nbytes, c.nbytes)
    for k in range(loop.nsaved):
        r = s.slots + loop.saved_inputs[k].source
        if r.spec:
            copy_bytes(s.slots[loop.saved_inputs[k].target].data, r.data, r.nbytes)
    if loop.yielded >= 0:
        keep = s.slots[loop.yielded].data[0] != 0
    for k in range(loop.nedges):
        e = loop.edges + k
        if e.identity:
            continue
        r = s.slots + e.result
        e.previous_in_back = edge_copies(e, r)
        if e.previous_in_back and r.spec:
            copy_bytes(e.back.data, r.data, r.nbytes)
            e.back.spec, e.back.nbytes = r.spec, r.nbytes
    # From here on the previous values are in the back buffers, or in the results' slots.
    for k in range(loop.nedges):
        e = loop.edges + k
        if e.identity:
            continue
        if e.previous_in_back:
            exchange_buffers(s, e.param, &e.back, -1)
        else:
            exchange_buffers(s, e.param, s.slots + e.result, e.result)
    if loop.condition >= 0:
        loop.keep = keep
    if loop.yielded >= 0 and loop.condition_input >= 0:
        s.slots[loop.condition_input].data[0] = keep
    loop.i += 1
    loop.boundaries += 1
    s.pc = iteration_start(loop)


cdef inline void exchange_buffers(ExecutionState *s, int param, Slot *partner, int result) noexcept nogil:
    """Exchange the buffer of a parameter with that of its result, or (-1) with a back buffer."""
    cdef Slot old = s.slots[param]
    cdef Py_ssize_t min_nbytes
    s.slots[param] = partner[0]
    partner[0] = old
    if s.slots[param].spec == old.spec:
        return
    min_nbytes = min(s.slots[param].nbytes, old.nbytes)
    on_spec_changed(s, param, min_nbytes)
    if result >= 0:
        on_spec_changed(s, result, min_nbytes)
        if s.writer[result] >= 0 and not s.code[s.writer[result]].follows:
            s.code[s.writer[result]].kind = UNBOUND


cdef int exit_loop_fast(ExecutionState *s, LoopState *loop) noexcept nogil:
    """Copy the outputs if their specs are those of the last exit."""
    cdef int k
    cdef LastValueState *last_value
    cdef Scan *c
    cdef Slot *target
    for k in range(loop.nlasts):
        last_value = loop.last_values + k
        target = s.slots + last_value.outer
        if target.spec != s.slots[last_value.source].spec or target.spec == 0 or not target.flags & OWN:
            return 0
        if last_value.edge < 0 and loop.i == 0:
            return 0
    for k in range(loop.nscans):
        c = loop.scans + k
        target = s.slots + c.outer
        if c.count == 0 or c.count != c.out_count or target.spec != c.out_spec or \
                not target.flags & OWN or not has_output_length(c):
            return 0
    for k in range(loop.nlasts):
        last_value = loop.last_values + k
        target = s.slots + last_value.outer
        copy_bytes(target.data, s.slots[last_value.source].data, target.nbytes)
    for k in range(loop.nscans):
        c = loop.scans + k
        write_scan_output(s.slots[c.outer].data, c)
    return 1


cdef void write_scan_output(char *out, const Scan *c) noexcept nogil:
    """Write the elements of a scan output in its layout (graph.slicing.join_scan_output)."""
    cdef int64_t _, k
    cdef Py_ssize_t segment_nbytes
    cdef char *target
    cdef const char *element = c.buffer
    if is_output_layout(c):
        copy_bytes(out, c.buffer, c.count * c.nbytes)
        return
    segment_nbytes = c.nbytes // c.nsegments if c.nbytes else 0
    for k in range(c.count if segment_nbytes else 0):
        target = out + (c.count - 1 - k if c.reverse else k) * segment_nbytes
        for _ in range(c.nsegments):
            copy_bytes(target, element, segment_nbytes)
            target += c.count * segment_nbytes
            element += segment_nbytes


cdef void leave_loop(ExecutionState *s, LoopState *loop) noexcept nogil:
    """Common end of fast and slow exits."""
    loop.iterations += loop.i
    loop.by_reason[loop.ended] += 1
    loop.by_length[min(loop.i, 2)] += 1
    if s.depth == 1:
        loop.seconds += now() - loop.entered
    loop.active = 0
    s.depth -= 1
    s.pc = loop.exit + 1


cdef int check_stops_and_hooks(ExecutionState *s, int index) noexcept nogil:
    """Rare part of a boundary: stops and hooks. True: leave run_plan."""
    cdef LoopState *loop = s.loops + index
    cdef BoundaryView view
    cdef int k
    if s.stop_any or s.interrupt:
        s.stop_reasons |= 1
    if s.hook_any and not is_traced(s, loop):
        s.stop_reasons |= 2
    if s.c_hook != NULL:
        for k in range(loop.nedges):
            s.carried[k] = s.slots[loop.edges[k].param].data
        view.loop = index
        view.ended = loop.ended
        view.iteration = loop.i
        view.ncarried = loop.nedges
        view.carried = s.carried
        if s.c_hook(s.c_context, &view):
            s.stop_reasons |= 1
    return s.stop_reasons


cdef int is_traced(ExecutionState *s, const LoopState *loop) noexcept nogil:
    """Did a traced record take the values of this boundary, so that hooks need not?"""
    cdef int k = loop.first_record
    while k >= 0:
        if s.records[k].traced != NULL and appends_row(s.records[k], loop):
            return 1
        k = s.records[k].next
    return 0


cdef int update_previous_slots(ExecutionState *s, LoopState *loop) noexcept nogil:
    """Point the derived slots to the previous values of back edges; 0: a spec changed."""
    cdef int k
    cdef BackEdgeState *e
    cdef Slot *slot
    cdef Slot *previous
    for k in range(loop.nedges):
        e = loop.edges + k
        slot = s.slots + loop.first_derived_slot + k
        previous = previous_value_slot(s, e)
        slot.data = previous.data
        if slot.spec != previous.spec:
            return 0
    return 1


cdef int observe_boundary(ExecutionState *s, LoopState *loop) noexcept nogil:
    """Evaluate the predicates of a boundary and append to its records. 0: that needs Python; nothing was done."""
    cdef int k, j
    cdef boundary_record *record
    cdef Predicate *predicate
    cdef Instr *ins
    if loop.reads_previous and loop.i > 0 and not update_previous_slots(s, loop):
        return 0
    k = loop.first_record
    while k >= 0:
        record = s.records[k]
        if appends_row(record, loop):
            if record.count == record.capacity:
                return 0
            for j in range(record.nvalues):
                if s.slots[record.slots[j]].spec != record.specs[j]:
                    return 0
        k = record.next
    loop.hit = 0
    k = loop.first_predicate
    while k >= 0:
        predicate = s.predicates + k
        predicate.hit = 0
        if predicate.enabled and (loop.i > 0 or not predicate.needs_body):
            ins = s.code + predicate.pc
            if ins.kind != NATIVE:
                return 0
            if run_bound_node(s, ins):
                return 0
            predicate.hit = (predicate.cell[0] + predicate.offset)[0] != 0
            loop.hit |= predicate.hit
        k = predicate.next
    append_records(s, loop)
    loop.checked = 1
    return 1


cdef void append_records(ExecutionState *s, LoopState *loop) noexcept nogil:
    cdef boundary_record *record
    cdef char *row
    cdef int j, k = loop.first_record
    while k >= 0:
        record = s.records[k]
        if appends_row(record, loop):
            row = record.buffer + record.count * record.row
            (<int64_t *>row)[0] = loop.i
            if record.traced == NULL:
                (<int64_t *>row)[1] = loop.entries - 1
            else:
                (<int64_t *>row)[1] = record.tag
                (<int64_t *>row)[2] = record.traced[0]
                (<double *>row)[3] = now()
            for j in range(record.nvalues):
                copy_bytes(row + record.offsets[j], s.slots[record.slots[j]].data, record.nbytes[j])
            publish_row(record)
        k = record.next


cdef inline int can_copy_slot(const ExecutionState *s, const SlotCopy *m) noexcept nogil:
    """Does the output of an If have memory for its branch's value? Else ``Loops.run_control_in_python`` allocates it."""
    cdef const Slot *source = s.slots + m.source
    cdef const Slot *target = s.slots + m.target
    if source.spec == target.spec:
        return source.spec != 0 and target.flags & OWN
    return source.spec != 0 and target.flags == OWN and target.capacity >= source.nbytes


cdef inline void copy_slot(ExecutionState *s, const SlotCopy *m) noexcept nogil:
    cdef const Slot *source = s.slots + m.source
    if s.slots[m.target].spec != source.spec:
        change_spec(s, m.target, source.spec, source.nbytes)
    copy_bytes(s.slots[m.target].data, source.data, source.nbytes)


cdef inline int run_first_fitting_region(ExecutionState *s, Region *r) noexcept nogil:
    """Run the first region of an instruction that fits."""
    cdef int status = REGION_NONE
    while r != NULL and status == REGION_NONE:
        if r.fits == NULL or r.fits(s, r):
            status = r.run(s, r)
        r = r.next
    return status


cdef int run_plan(ExecutionState *s) noexcept nogil:
    cdef Instr *ins
    cdef LoopState *loop
    cdef Slice *part
    cdef int k, kind
    if s.suspended != NULL and s.suspended.run(s, s.suspended) == REGION_TICK:
        return S_TICK
    while True:
        ins = s.code + s.pc
        kind = ins.kind
        if s.stepping:
            if s.stepping & TIMING:
                start_timing(s, s.pc)
            if kind == NATIVE or kind == UNBOUND or kind == ENTER or kind == BRANCH:
                if s.stepping & STEPPING and s.moved and s.depth <= s.step_depth:
                    return S_NODE
                if ins.trap and not s.just_resumed:
                    return S_NODE
            s.moved = 1
            s.just_resumed = 0
        if ins.region != NULL and kind != HEAD:
            k = run_first_fitting_region(s, ins.region)
            if k == REGION_RAN:
                if s.budget < 0:
                    return S_TICK
                continue
            if k != REGION_NONE:
                return S_TICK if k == REGION_TICK else S_PYTHON
        if kind == NATIVE:
            if run_bound_node(s, ins):
                return S_PYTHON
            s.pc += 1
            s.budget -= ins.cost
            if s.budget < 0:
                return S_TICK
        elif kind == HEAD:
            loop = s.loops + ins.loop
            loop.ended = end_reason(loop)
            # Before any reader: the inputs of the next iteration.
            if loop.i < loop.parts and not loop.edited:
                for k in range(loop.nslices):
                    part = loop.slices + k
                    s.slots[part.inner].data = part.base + loop.i * part.step
            if loop.iteration >= 0 and not loop.edited:
                if loop.iteration_wide:
                    (<int64_t *>s.slots[loop.iteration].data)[0] = loop.i
                else:
                    (<int32_t *>s.slots[loop.iteration].data)[0] = <int32_t>loop.i
            if not loop.reported:
                s.stop_reasons = loop.i >= loop.stop_at_iteration or (loop.ended and loop.stop_at_exit) or \
                    (loop.nbreaks and not loop.ended and next_break(loop, loop.i) == loop.i)
                if loop.observers:
                    if not loop.checked and not observe_boundary(s, loop):
                        return S_OBSERVE
                    if loop.hit:
                        s.stop_reasons |= 4
                if (s.watch and check_stops_and_hooks(s, ins.loop)) or s.stop_reasons:
                    return S_BOUNDARY
            loop.reported = loop.checked = 0
            if s.sample_every:
                sample_iteration(s, loop)
            if loop.ended:
                s.pc = loop.exit
                continue
            if loop.i >= loop_iteration_limit(loop.limit, loop.endless_at, loop.trip):
                return S_LIMIT
            # Before a region is entered, which would return at once, forever.
            if loop.nslices and loop.i >= loop.parts:
                return S_NO_SLICE
            if ins.region != NULL and not s.watch and not s.stepping & STEPPING and loop.i > 0 and not loop.edited:
                if s.sample_every:
                    weigh_time(s, s.pc, 1)
                k = run_first_fitting_region(s, ins.region)
                if k == REGION_TICK:
                    return S_TICK
                if k == REGION_RAN:
                    continue
                if s.sample_every:
                    weigh_time(s, s.pc, s.loop_weights[ins.loop])
            loop.edited = 0
            s.pc += 1
        elif kind == NEXT:
            loop = s.loops + ins.loop
            if (LOOPDBG_CHECKED and boundary_is_checked(loop)) or not can_cross(s, loop):
                return S_SLOW
            cross_boundary(s, loop)
            s.budget -= 10
            if optimizer_is_due(loop):
                return S_OPTIMIZE
            if s.budget < 0:
                return S_TICK
        elif kind == TEST:
            loop = s.loops + ins.loop
            if s.slots[loop.condition].spec != loop.yielded_spec:
                return S_SLOW
            loop.keep = s.slots[loop.condition].data[0] != 0
            s.pc += 1
            if loop.retest:
                loop.retest = 0
                return S_CONDITION_TESTED
        elif kind == ENTER:
            loop = s.loops + ins.loop
            if LOOPDBG_CHECKED or not can_enter(s, loop):
                return S_SLOW
            gather_slices(s, loop)
            enter_loop(s, ins.loop, entry_trip_count(s, loop))
        elif kind == EXIT:
            loop = s.loops + ins.loop
            if not exit_loop_fast(s, loop):
                return S_SLOW
            leave_loop(s, loop)
        elif kind == BRANCH:
            if s.slots[ins.condition].data == NULL or s.slots[ins.condition].nbytes != 1:
                return S_SLOW
            ins.taken = s.slots[ins.condition].data[0] != 0
            s.pc = s.pc + 1 if ins.taken else ins.target
        elif kind == JUMP or kind == JOIN:
            for k in range(ins.nmoves):
                if not can_copy_slot(s, ins.moves + k):
                    return S_SLOW
            for k in range(ins.nmoves):
                copy_slot(s, ins.moves + k)
            s.pc = ins.target if kind == JUMP else s.pc + 1
        elif kind == END:
            return S_END
        else:
            return S_PYTHON
