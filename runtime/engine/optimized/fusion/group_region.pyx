"""Fused groups: made from what ``plan/fusion/groups.py`` plans, and run without the GIL, block by block.

A group is a region led by its first node; execution continues behind its last one. If it cannot run, its nodes run one
by one: a group never writes its own inputs, so that it can be restarted.
"""

from libc.stdint cimport int64_t
cimport numpy as np
from numpy cimport npy_intp

from ....kernels.call cimport Call
from ....kernels.loop_nest cimport set_call
from ...baseline.clock cimport charge_time_to, start_timing
from ...baseline.arena cimport arena_hold_object, arena_free_tree, arena_alloc, arena_alloc_ints
from ...baseline.backoff cimport back_off
from ...baseline.state cimport *
from ..node_regions cimport add_region, remove_region, run_node, shift_body_iteration
from ..optimizer_state cimport *

import numpy as np

np.import_array()


cdef FusedGroup *make_group(ExecutionState *s, object group) except NULL:
    """Convert a groups.GroupPlan to C."""
    cdef FusedGroup *g = <FusedGroup *>arena_alloc(s.own, 1, sizeof(FusedGroup))
    try:
        fill_group(s, g, group)
    except BaseException:
        arena_free_tree(g)
        raise
    g.region.fits, g.region.run, g.region.materialize, g.region.invalidate = can_run_group, run_group, show, invalidate_group
    add_region(s.code + g.leader, &g.region)
    optimizer_node(s, g.leader).group = g
    return g


cdef void dissolve_group(ExecutionState *s, FusedGroup *g) noexcept nogil:
    """Remove its region; the caller frees it."""
    remove_region(s.code + g.leader, &g.region)
    optimizer_node(s, g.leader).group = NULL


cdef int fill_group(ExecutionState *s, FusedGroup *g, object group) except -1:
    cdef int k, j
    cdef char *own
    g.enabled, g.leader, g.end, g.cost = 1, group.first, group.end, group.cost
    g.nmembers, g.nbefore, g.nafter = len(group.members), len(group.before), len(group.after)
    g.members, g.before, g.after = arena_alloc_ints(g, group.members), arena_alloc_ints(g, group.before), arena_alloc_ints(g, group.after)
    g.nproducers, g.producers = len(group.producers), arena_alloc_ints(g, group.producers)
    g.last_run = -1
    g.bindings = <int64_t *>arena_alloc(g, g.nmembers, sizeof(int64_t))
    for k in range(g.nmembers):
        g.bindings[k] = s.code[g.members[k]].binding
    g.nslots = len(group.slots)
    g.slots = arena_alloc_ints(g, group.slots)
    g.specs = arena_alloc_ints(g, [s.slots[<int>slot].spec for slot in group.slots])
    g.naxes = len(group.blocks)
    g.blocks = <npy_intp *>arena_alloc(g, g.naxes, sizeof(npy_intp))
    g.block = <npy_intp *>arena_alloc(g, g.naxes, sizeof(npy_intp))
    for k, count in enumerate(group.blocks):
        g.blocks[k] = count
    # Align it to a cache line.
    memory = np.zeros(group.nbytes + 64, np.uint8)
    own = np.PyArray_BYTES(memory)
    own += -<size_t>own % 64
    arena_hold_object(g, (memory, group.constants))
    g.constants = <char **>arena_alloc(g, len(group.constants), sizeof(char *))
    for k, array in enumerate(group.constants):
        g.constants[k] = np.PyArray_BYTES(array)
    # Moving places come first.
    order = sorted(range(len(group.places)), key=lambda k: not any(group.places[k].steps))
    place_of = {}
    g.nplaces = len(order)
    g.places = <OperandAddress *>arena_alloc(g, g.nplaces, sizeof(OperandAddress))
    for k, number in enumerate(order):
        place = group.places[number]
        place_of[number] = k
        g.nmoving += any(place.steps)
        g.places[k].offset = place.offset
        for j, step in enumerate(place.steps):
            g.places[k].steps[j] = step
        if place.kind == "slot":
            g.places[k].cell = &s.slots[<int>place.index].data
        elif place.kind == "own":
            g.places[k].address = own + <npy_intp>place.offset
        else:
            g.places[k].cell = g.constants + <int>place.index
    g.ncalls = len(group.calls)
    rows = 0
    for spec in (*group.calls, *group.tail):
        rows += len(spec.outer) * (1 + len(spec.buffers))
    g.outer = <npy_intp *>arena_alloc(g, rows, sizeof(npy_intp))
    rows = fill_calls(g, &g.calls, group.calls, place_of, 0)
    if group.tail:
        fill_calls(g, &g.tail, group.tail, place_of, rows)


cdef int fill_calls(FusedGroup *g, Call **calls, list specs, dict place_of, int rows) except -1:
    """Fill calls like ``NodeBinder.install_binding``, with the group's places as cells. Returns the used rows of ``outer``."""
    cdef Call *call
    cdef int k, j
    calls[0] = <Call *>arena_alloc(g, len(specs), sizeof(Call))
    for k, spec in enumerate(specs):
        call = calls[0] + k
        for j, buffer in enumerate(spec.buffers):
            call.cell[j] = &g.places[<int>place_of[buffer.index]].address
        rows += set_call(call, spec, g.outer + rows)
    return rows


cdef void request_grouping(ExecutionState *s, int loop) noexcept nogil:
    """A node was bound: plan groups at the next boundary, with back-off while that repeats."""
    cdef LoopState *loop_state
    cdef BackoffTimer *timer
    if not fast(s).fusion_enabled or loop < 0:
        return
    loop_state = s.loops + loop
    timer = &optimizer_loop(s, loop_state).groups_timer
    if timer.due_at <= loop_state.boundaries:
        back_off(timer, loop_state.boundaries)
        timer.wait = min(2 * timer.wait, 1 << 20)
        schedule(s, loop_state)


cdef int fits(const ExecutionState *s, const FusedGroup *g) noexcept nogil:
    """Do its nodes have the bindings and specs for which it was made?"""
    cdef const Instr *ins
    cdef int k
    for k in range(g.nmembers):
        ins = s.code + g.members[k]
        if ins.binding != g.bindings[k] or ins.kind != NATIVE:
            return 0
    for k in range(g.nslots):
        if s.slots[g.slots[k]].spec != g.specs[k]:
            return 0
    return 1


cdef int can_run_group(ExecutionState *s, Region *r) noexcept nogil:
    cdef FusedGroup *g = <FusedGroup *>r
    if not g.enabled:
        return 0
    if is_observed(s, g):
        g.running = 0
        return 0
    if not g.running and not fits(s, g):
        g.enabled = 0
        return 0
    return 1


cdef int run_members(ExecutionState *s, const FusedGroup *g, const int *positions, int count) noexcept nogil:
    """Run nodes by themselves; nonzero: one failed."""
    cdef int k
    for k in range(count):
        if s.stepping & TIMING:
            start_timing(s, positions[k])
        if run_node(s, positions[k]):
            return 1
    if s.stepping & TIMING:
        charge_time_to(s, g.leader)
    return 0


cdef int run_group(ExecutionState *s, Region *r) noexcept nogil:
    """Run or resume a group."""
    cdef FusedGroup *g = <FusedGroup *>r
    cdef int status = run_blocks(s, g)
    if status == REGION_RAN:
        s.pc = g.end
    elif status == REGION_NONE:
        g.enabled = 0
    return status


cdef int run_blocks(ExecutionState *s, FusedGroup *g) noexcept nogil:
    cdef OperandAddress *place
    cdef Call *calls
    cdef int k, d, last = g.naxes - 1
    cdef npy_intp distance
    if not g.running:
        if run_members(s, g, g.before, g.nbefore):
            return REGION_NONE
        for k in range(g.nplaces):
            place = g.places + k
            if place.cell != NULL:
                place.address = place.cell[0] + place.offset
        for d in range(g.naxes):
            g.block[d] = 0
        g.running = 1
        g.runs += 1
    while g.running:
        calls = g.tail if g.tail != NULL and g.block[last] == g.blocks[last] - 1 else g.calls
        for k in range(g.ncalls):
            if calls[k].run(calls + k):
                g.running = 0
                return REGION_NONE if g.naxes else run_members_separately(s, g)
        d = last
        while d >= 0:
            g.block[d] += 1
            if g.block[d] < g.blocks[d]:
                for k in range(g.nmoving):
                    g.places[k].address += g.places[k].steps[d]
                break
            distance = g.blocks[d] - 1
            for k in range(g.nmoving):
                g.places[k].address -= g.places[k].steps[d] * distance
            g.block[d] = 0
            d -= 1
        s.budget -= g.cost
        if d < 0:
            g.running = 0
        elif s.budget < 0:
            return REGION_TICK
    if run_members(s, g, g.after, g.nafter):
        return REGION_NONE
    if g.loop >= 0:
        g.last_run, g.entry = s.loops[g.loop].i, s.loops[g.loop].entries
    return REGION_RAN


cdef int run_members_separately(ExecutionState *s, FusedGroup *g) noexcept nogil:
    """The group's call refuses the present numbers: run its nodes by themselves this time."""
    if run_members(s, g, g.members, g.nmembers) or run_members(s, g, g.after, g.nafter):
        return REGION_NONE
    g.last_run = -1
    return REGION_RAN


cdef int is_observed(const ExecutionState *s, const FusedGroup *g) noexcept nogil:
    """Are results of the nodes observed, in the iteration or right after it?"""
    cdef const LoopState *loop
    cdef int k
    if g.loop < 0:
        return s.stop_any or s.stepping & ~TIMING
    loop = s.loops + g.loop
    if s.stop_any or loop.stop_at_iteration <= loop.i + 1:
        return 1
    if not s.stepping & ~TIMING:
        return 0
    if s.stepping & STEPPING and s.depth <= s.step_depth:
        return 1
    for k in range(g.leader, g.end):
        if s.code[k].trap:
            return 1
    return 0


cdef int internal_results_state(const ExecutionState *s, const FusedGroup *g) noexcept nogil:
    """State of the internal results, which a group does not write."""
    cdef const LoopState *loop
    if g.last_run < 0:
        return GROUP_MATERIALIZED
    loop = s.loops + g.loop
    if loop.entries != g.entry:
        return GROUP_MATERIALIZED
    if not loop.active and s.depth:
        return GROUP_UNAVAILABLE      # its inputs from outer loops may have changed
    if not loop.active or (loop.top <= s.pc <= loop.head and s.stack[s.depth - 1] == g.loop):
        return GROUP_PREVIOUS if g.last_run == loop.i - 1 else GROUP_MATERIALIZED
    if g.last_run == loop.i:
        return GROUP_CURRENT
    return GROUP_UNAVAILABLE if g.last_run == loop.i - 1 and s.pc <= g.leader else GROUP_MATERIALIZED


cdef int materialize_results(ExecutionState *s, FusedGroup *g) noexcept nogil:
    """Compute the internal results with their nodes. 0: they are lost."""
    cdef int is_previous, status = internal_results_state(s, g)
    cdef int64_t budget = s.budget
    if status == GROUP_MATERIALIZED:
        return 1
    if status == GROUP_UNAVAILABLE:
        return 0
    is_previous = status == GROUP_PREVIOUS
    if is_previous:
        shift_body_iteration(s, s.loops + g.loop, 1)
    status = not fits(s, g) or run_members(s, g, g.producers, g.nproducers)
    s.budget = budget
    if is_previous:
        shift_body_iteration(s, s.loops + g.loop, 0)
    if not status:
        g.last_run = -1
    return not status


cdef int show(ExecutionState *s, Region *r) noexcept nogil:
    return materialize_results(s, <FusedGroup *>r)


cdef void invalidate_group(ExecutionState *s, Region *r) noexcept nogil:
    """Drop internal results of another iteration, and any suspended run."""
    (<FusedGroup *>r).last_run = -1
    (<FusedGroup *>r).running = 0
