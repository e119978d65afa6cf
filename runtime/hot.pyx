"""The hot path: ``run_plan`` runs instructions without the GIL until somebody is needed who has it.

It returns when an instruction needs Python (to be bound to kernels, or to be run by NumPy), when a stop was asked for,
when a loop is worth a scalar program, or when its time slice is over (so that signals and limits are looked at).
"""

from libc.stdint cimport int32_t, int64_t, INT64_MAX
from libc.string cimport memcmp

from .fit cimport fit, spec_changed
from .groups cimport GROUP_DONE, GROUP_TICK, run_group
from .kernels cimport Call
from .scalar cimport enter_program, next_break, run_program
from .specs cimport extent_of
from .state cimport *
from .stream cimport loopdbg_append

cdef extern from "time.h" nogil:
    struct timespec:
        long tv_sec
        long tv_nsec
    int CLOCK_MONOTONIC
    int clock_gettime(int clock, timespec *t)


cdef double now() noexcept nogil:
    """Seconds on a clock that only goes forward."""
    cdef timespec t
    clock_gettime(CLOCK_MONOTONIC, &t)
    return t.tv_sec + t.tv_nsec * 1e-9


cdef inline int64_t read_int(const Slot *slot) noexcept nogil:
    return (<const int64_t *>slot.data)[0] if slot.nbytes == 8 else (<const int32_t *>slot.data)[0]


cdef int decide(const LoopState *loop) noexcept nogil:
    """Does the loop end at this boundary? The condition is named where both fall together (SEMANTICS 0.15)."""
    if not loop.keep:
        return BY_CONDITION
    if loop.trip >= 0 and loop.i >= loop.trip:
        return BY_TRIP_COUNT
    if loop.counted and loop.i >= loop.parts:
        return BY_INPUT
    return RUNNING


cdef int enter_fast(State *s, LoopState *loop) noexcept nogil:
    """Enter a loop on the same specs as the last time; 0 where that is not so."""
    cdef int k
    cdef Edge *e
    cdef Slice *c
    cdef Slot *p
    cdef Py_ssize_t least
    cdef int64_t parts = -1
    if not loop.fast_enter:
        return 0
    if loop.trip_slot >= 0 and s.slots[loop.trip_slot].spec != loop.trip_spec:
        return 0
    if loop.initial_slot >= 0 and s.slots[loop.initial_slot].spec != loop.initial_spec:
        return 0
    for k in range(loop.nedges):
        e = loop.edges + k
        if s.slots[e.initial].spec != s.slots[e.param].spec and (
                s.slots[e.initial].nbytes > s.slots[e.param].capacity or not e.swap or
                not in_family(s, e, e.initial, e.param)):
            return 0
    for k in range(loop.nslices):
        c = loop.slices + k
        if s.slots[c.outer].spec != c.outer_spec:
            return 0
    loop.trip = loop.fixed_trips
    if loop.trip_slot >= 0:
        loop.trip = read_int(s.slots + loop.trip_slot)
        if loop.trip < 0:
            if loop.negative_is_zero:
                loop.trip = 0
            elif loop.trip != -1:
                return 0
    for k in range(loop.nedges):
        e = loop.edges + k
        p = s.slots + e.param
        if p.spec != s.slots[e.initial].spec:
            least = min(p.nbytes, s.slots[e.initial].nbytes)
            p.spec, p.nbytes = s.slots[e.initial].spec, s.slots[e.initial].nbytes
            spec_changed(s, e.param, least)
        put(p.data, s.slots[e.initial].data, p.nbytes)
    for k in range(loop.nslices):
        c = loop.slices + k
        c.base = s.slots[c.outer].data + c.offset
        if parts < 0 or c.parts < parts:
            parts = c.parts
    for k in range(loop.nscans):
        loop.scans[k].count = 0
    loop.parts = parts
    loop.keep = 1 if loop.initial_slot < 0 else s.slots[loop.initial_slot].data[0] != 0
    return 1


cdef void enter_loop(State *s, int index) noexcept nogil:
    """What fast and slow entries share."""
    cdef LoopState *loop = s.loops + index
    if loop.condition_input >= 0:
        s.slots[loop.condition_input].data[0] = loop.keep
    loop.i = 0
    loop.active = 1
    loop.ended = RUNNING
    loop.reported = loop.edited = loop.checked = 0
    loop.entries += 1
    s.stack[s.depth] = index
    s.depth += 1
    if s.depth == 1:
        loop.entered = now()
    s.pc = loop.head


cdef inline int in_family(const State *s, const Edge *e, int a, int b) noexcept nogil:
    """Do two specs differ in no more than what the carried value's did before?"""
    return e.family != NULL and extent_of(e.family, s.slots[a].spec) >= 0 and extent_of(e.family, s.slots[b].spec) >= 0


cdef void swap_slots(State *s, int a, int b) noexcept nogil:
    """Exchange the buffers of a parameter and its result, specs included."""
    cdef Slot old = s.slots[a]
    cdef Py_ssize_t least
    s.slots[a] = s.slots[b]
    s.slots[b] = old
    if s.slots[a].spec != old.spec:
        least = min(s.slots[a].nbytes, old.nbytes)
        spec_changed(s, a, least)
        spec_changed(s, b, least)
        if s.writer[b] >= 0 and s.code[s.writer[b]].varying == NULL:
            s.code[s.writer[b]].kind = UNBOUND


cdef int next_fast(State *s, LoopState *loop) noexcept nogil:
    """The boundary after an iteration: scan elements, condition, back edges. Nothing is written before all is sure."""
    cdef int k
    cdef Edge *e
    cdef Scan *c
    cdef Slot *p
    cdef Slot *r
    cdef char *data
    cdef PyObject *owner
    for k in range(loop.nscans):
        c = loop.scans + k
        if s.slots[c.result].spec != c.spec or c.count == c.capacity:
            return 0
    if loop.condition >= 0 and s.slots[loop.condition].nbytes != 1:
        return 0
    for k in range(loop.nedges):
        e = loop.edges + k
        r = s.slots + e.result
        p = s.slots + e.param
        if p.spec != r.spec:
            if p.spec == 0 or r.spec == 0 or not e.swap or r.flags & FOLDED or not in_family(s, e, e.param, e.result):
                return 0
        elif p.spec == 0:
            return 0
        if (not e.swap or r.flags & FOLDED) and not e.identity and e.spare_spec != p.spec:
            return 0
    for k in range(loop.nscans):
        c = loop.scans + k
        put(c.buffer + c.count * c.nbytes, s.slots[c.result].data, c.nbytes)
        loopdbg_append(&c.count)
    if loop.condition >= 0:
        loop.keep = s.slots[loop.condition].data[0] != 0
        if loop.condition_input >= 0:
            s.slots[loop.condition_input].data[0] = loop.keep
    # All results are taken before any parameter is written: copies first, then the pointers move.
    for k in range(loop.nedges):
        e = loop.edges + k
        if not e.identity:
            r = s.slots + e.result
            e.in_spare = not e.swap or r.flags & FOLDED
            if e.in_spare:
                put(e.spare, r.data, r.nbytes)
    for k in range(loop.nedges):
        e = loop.edges + k
        if e.identity:
            continue
        p = s.slots + e.param
        data = p.data
        owner = p.owner
        if e.in_spare:
            p.data = e.spare
            p.owner = e.spare_owner
            e.spare = data
            e.spare_owner = owner
            p.capacity = p.nbytes
            continue
        r = s.slots + e.result
        if p.spec != r.spec or p.capacity != r.capacity:
            swap_slots(s, e.param, e.result)
            continue
        p.data = r.data
        p.owner = r.owner
        r.data = data
        r.owner = owner
    return 1


cdef int exit_fast(State *s, LoopState *loop) noexcept nogil:
    """Copy the outputs where they have the same specs as the last time."""
    cdef int k
    cdef Last *o
    cdef Scan *c
    cdef Slot *target
    for k in range(loop.nlasts):
        o = loop.lasts + k
        target = s.slots + o.outer
        if target.spec != s.slots[o.source].spec or target.spec == 0 or not target.flags & OWN:
            return 0
        if o.edge < 0 and loop.i == 0:
            return 0
    for k in range(loop.nscans):
        c = loop.scans + k
        target = s.slots + c.outer
        if not c.plain or c.count == 0 or c.count != c.out_count or target.spec != c.out_spec or \
                not target.flags & OWN:
            return 0
    for k in range(loop.nlasts):
        o = loop.lasts + k
        target = s.slots + o.outer
        put(target.data, s.slots[o.source].data, target.nbytes)
    for k in range(loop.nscans):
        c = loop.scans + k
        put(s.slots[c.outer].data, c.buffer, c.count * c.nbytes)
    return 1


cdef void leave_loop(State *s, LoopState *loop) noexcept nogil:
    """What fast and slow exits share."""
    loop.iterations += loop.i
    loop.by_reason[loop.ended] += 1
    if s.depth == 1:
        loop.seconds += now() - loop.entered
    loop.active = 0
    s.depth -= 1
    s.pc = loop.exit + 1


cdef int ask_hooks(State *s, int index) noexcept nogil:
    """The rare part of a boundary: somebody watches. True to leave run_plan."""
    cdef LoopState *loop = s.loops + index
    cdef BoundaryView view
    cdef int k
    if s.stop_any or s.interrupt:
        s.why |= 1
    if s.hook_any:
        s.why |= 2
    if s.c_hook != NULL:
        for k in range(loop.nedges):
            s.carried[k] = s.slots[loop.edges[k].param].data
        view.loop = index
        view.ended = loop.ended
        view.iteration = loop.i
        view.ncarried = loop.nedges
        view.carried = s.carried
        if s.c_hook(s.c_context, &view):
            s.why |= 1
    return s.why


cdef int show_previous(State *s, LoopState *loop) noexcept nogil:
    """Let the derived slots show what back edges carried before; 0: a spec is another than before."""
    cdef int k, spec
    cdef Edge *e
    cdef Slot *slot
    for k in range(loop.nedges):
        e = loop.edges + k
        slot = s.slots + loop.first_derived + k
        if e.in_spare and not e.identity:
            spec = e.spare_spec
            slot.data = e.spare
        else:
            spec = s.slots[e.param if e.identity else e.result].spec
            slot.data = s.slots[e.param if e.identity else e.result].data
        if slot.spec != spec:
            return 0
    return 1


cdef int observe(State *s, LoopState *loop) noexcept nogil:
    """Ask the predicates of a boundary and append to its records. 0: that needs Python, and nothing was done."""
    cdef int k, j
    cdef scalar_record *record
    cdef Predicate *p
    cdef Instr *ins
    if loop.wants_previous and loop.i > 0 and not show_previous(s, loop):
        return 0
    k = loop.first_record
    while k >= 0:
        record = s.records[k]
        if record.enabled:
            if record.count == record.capacity:
                return 0
            for j in range(record.nvalues):
                if s.slots[record.slots[j]].spec != record.specs[j]:
                    return 0
        k = record.next
    loop.hit = 0
    k = loop.first_predicate
    while k >= 0:
        p = s.predicates + k
        p.hit = 0
        if p.enabled and (loop.i > 0 or not p.needs_body):
            ins = s.code + p.pc
            if ins.kind != NATIVE:
                return 0
            for j in range(ins.nguards):
                if memcmp(s.slots[ins.guards[j].slot].data, ins.guards[j].expected, ins.guards[j].nbytes):
                    return 0
            for j in range(ins.ncalls):
                if ins.calls[j].run(ins.calls + j):
                    return 0
            p.hit = (p.cell[0] + p.offset)[0] != 0
            loop.hit |= p.hit
        k = p.next
    append_records(s, loop)
    loop.checked = 1
    return 1


cdef void append_records(State *s, LoopState *loop) noexcept nogil:
    cdef scalar_record *record
    cdef char *row
    cdef int j, k = loop.first_record
    while k >= 0:
        record = s.records[k]
        if record.enabled:
            row = record.buffer + record.count * record.row
            record.count += 1
            (<int64_t *>row)[0] = loop.i
            (<int64_t *>row)[1] = loop.entries - 1
            for j in range(record.nvalues):
                put(row + record.offsets[j], s.slots[record.slots[j]].data, record.nbytes[j])
        k = record.next


cdef int run_plan(State *s) noexcept nogil:
    cdef Instr *ins
    cdef LoopState *loop
    cdef Slice *c
    cdef Call *call
    cdef Call *stop
    cdef int k, kind
    if s.suspended != NULL and run_program(s, s.suspended) == SCALAR_TICK:
        return S_TICK
    while True:
        ins = s.code + s.pc
        kind = ins.kind
        if s.stepping:
            if kind == NATIVE or kind == UNBOUND or kind == FUSED or kind == ENTER or kind == BRANCH:
                if s.stepping & STEPPING and s.moved and s.depth <= s.step_depth:
                    return S_NODE
                if ins.trap and not s.fresh:
                    return S_NODE
            s.moved = 1
            s.fresh = 0
        if kind == NATIVE:
            if ins.varying != NULL and not fit(s, ins):
                return S_PYTHON
            for k in range(ins.nguards):
                if memcmp(s.slots[ins.guards[k].slot].data, ins.guards[k].expected, ins.guards[k].nbytes):
                    return S_PYTHON
            call = ins.calls
            stop = call + ins.ncalls
            while call < stop:
                k = call.run(call)
                if k:
                    if k > 0:
                        return S_PYTHON
                    call -= k    # so many are passed over
                call += 1
            s.pc += 1
            s.budget -= ins.cost
            if s.budget < 0:
                return S_TICK
        elif kind == HEAD:
            loop = s.loops + ins.loop
            loop.ended = decide(loop)
            # Before anybody looks: what the next iteration gets.
            if loop.i < loop.parts and not loop.edited:
                for k in range(loop.nslices):
                    c = loop.slices + k
                    s.slots[c.inner].data = c.base + loop.i * c.step
            if loop.iteration >= 0 and not loop.edited:
                if loop.iteration_wide:
                    (<int64_t *>s.slots[loop.iteration].data)[0] = loop.i
                else:
                    (<int32_t *>s.slots[loop.iteration].data)[0] = <int32_t>loop.i
            if not loop.reported:
                s.why = loop.i >= loop.next_event or (loop.ended and loop.event_at_end) or \
                    (loop.nbreaks and not loop.ended and next_break(loop, loop.i) == loop.i)
                if loop.observers:
                    if not loop.checked and not observe(s, loop):
                        return S_OBSERVE
                    if loop.hit:
                        s.why |= 4
                if (s.watch and ask_hooks(s, ins.loop)) or s.why:
                    return S_BOUNDARY
            loop.reported = loop.checked = 0
            if loop.ended:
                s.pc = loop.exit
                continue
            if loop.i >= loop.limit:
                return S_LIMIT
            # A trip count of INT64_MAX is how exporters write "no limit".
            if loop.endless_at >= 0 and loop.i >= loop.endless_at and (loop.trip < 0 or loop.trip == INT64_MAX):
                return S_LIMIT
            if loop.program != NULL and not s.watch and not s.stepping & STEPPING and loop.i > 0 and not loop.edited:
                if enter_program(s, loop):
                    if s.suspended != NULL:
                        return S_TICK
                    continue
            if loop.nslices and loop.i >= loop.parts:
                return S_NO_SLICE
            loop.edited = 0
            s.pc += 1
        elif kind == NEXT:
            loop = s.loops + ins.loop
            if not next_fast(s, loop):
                return S_SLOW
            loop.i += 1
            s.pc = loop.head
            s.budget -= 10
            loop.heat += 1
            if loop.heat == loop.hot_at or loop.heat == loop.fuse_at:
                return S_HOT
            if s.budget < 0:
                return S_TICK
        elif kind == ENTER:
            loop = s.loops + ins.loop
            if not enter_fast(s, loop):
                return S_SLOW
            enter_loop(s, ins.loop)
        elif kind == EXIT:
            loop = s.loops + ins.loop
            if not exit_fast(s, loop):
                return S_SLOW
            leave_loop(s, loop)
        elif kind == BRANCH:
            if s.slots[ins.condition].data == NULL or s.slots[ins.condition].nbytes != 1:
                return S_SLOW
            ins.taken = s.slots[ins.condition].data[0] != 0
            s.pc = s.pc + 1 if ins.taken else ins.target
        elif kind == JUMP or kind == JOIN:
            for k in range(ins.nmoves):
                if s.slots[ins.moves[k].source].spec != s.slots[ins.moves[k].target].spec or \
                        s.slots[ins.moves[k].source].spec == 0 or not s.slots[ins.moves[k].target].flags & OWN:
                    return S_SLOW
            for k in range(ins.nmoves):
                put(s.slots[ins.moves[k].target].data, s.slots[ins.moves[k].source].data,
                    s.slots[ins.moves[k].target].nbytes)
            s.pc = ins.target if kind == JUMP else s.pc + 1
        elif kind == FUSED:
            k = run_group(s, s.pc, ins.group)
            if k == GROUP_DONE:
                s.pc = ins.group.end
            elif k != GROUP_TICK:
                ins.kind = NATIVE
            if s.budget < 0:
                return S_TICK
        elif kind == END:
            return S_END
        else:
            return S_PYTHON
