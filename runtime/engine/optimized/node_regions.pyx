"""Regions of one node: it runs once an entry, computes a block of iterations at once, or follows a varying extent
without Python: its calls, temps and outputs change with it.

The last fails (0) where memory, a spec or another binding is needed; ``RangeBindings`` provides that.
"""

from libc.stdint cimport int32_t, int64_t

from ...kernels.call cimport Call
from ...kernels.loop_nest cimport invalidate_iteration_block
from ..baseline.bound_node cimport run_bound_node
from ..baseline.arena cimport arena_free_tree
from ..baseline.spec_table cimport extent_of, spec_of
from ..baseline.state cimport *
from .optimizer_state cimport *
from .copy_elision.elided_calls cimport restore_copies, elide_copies, materialize_inputs


cdef void add_region(Instr *ins, Region *r) noexcept nogil:
    """Make an instruction lead a region, tried before those that it already leads."""
    r.next = ins.region
    ins.region = r


cdef void remove_region(Instr *ins, Region *r) noexcept nogil:
    cdef Region **link = &ins.region
    while link[0] != NULL and link[0] != r:
        link = &link[0].next
    if link[0] == r:
        link[0] = r.next


cdef void init_node(ExecutionState *s, int pc, int once) noexcept nogil:
    """Initialize the state of a node."""
    cdef OptimizerNode *n = optimizer_node(s, pc)
    n.pc, n.once, n.done = pc, once, -1
    n.region.run, n.region.invalidate = run_region, invalidate_node


cdef void add_node_region(ExecutionState *s, OptimizerNode *n) noexcept nogil:
    """Make a node a region by itself."""
    cdef Region *r = s.code[n.pc].region
    while r != NULL:
        if r == &n.region:
            return
        if r.next == NULL:
            r.next = &n.region      # after a group that it leads
            return
        r = r.next
    s.code[n.pc].region = &n.region


# -- following an extent


cdef inline int64_t read_varying_extent(const VaryingBinding *v, const char *data) noexcept nogil:
    """The varying extent, if it is an integer in a tensor."""
    return (<const int32_t *>data)[v.element] if v.narrow else (<const int64_t *>data)[v.element]


cdef int differs_only_in_extent(ExecutionState *s, VaryingBinding *v, int64_t *extent) noexcept nogil:
    """Do the inputs differ from the bound ones only in the varying extent, within its range?"""
    cdef VaryingPort *port = v.inputs + v.leading
    cdef int k
    cdef int64_t current
    if v.element < 0:
        current = extent_of(port.family, s.slots[port.slot].spec)
    elif s.slots[port.slot].spec == port.spec:
        current = read_varying_extent(v, s.slots[port.slot].data)
    else:
        return 0
    if current < v.low or current > v.high:
        return 0
    for k in range(v.ninputs):
        port = v.inputs + k
        if port.family == NULL:
            if s.slots[port.slot].spec != port.spec:
                return 0
        elif extent_of(port.family, s.slots[port.slot].spec) != port.base + port.slope * current:
            return 0
    extent[0] = current
    return 1


cdef void cache_binding(ExecutionState *s, OptimizerNode *n) noexcept nogil:
    """Move a node's binding to its cache, without results for a block of iterations."""
    cdef Instr *ins = s.code + n.pc
    cdef VaryingBinding *v = n.varying
    cdef int k
    restore_copies(s, n)
    for k in range(ins.ncalls):
        invalidate_iteration_block(ins.calls + k)
    v.ncalls, v.nguards, v.counts = ins.ncalls, ins.nguards, n.counts
    v.calls, v.guards, v.cells, v.outer = ins.calls, ins.guards, ins.cells, ins.outer
    ins.calls, ins.guards, ins.cells, ins.outer, n.varying = NULL, NULL, NULL, NULL, NULL
    ins.ncalls = ins.nguards = ins.follows = n.counts = n.through = 0
    v.next = n.cache
    n.cache = v
    n.ncached += 1


cdef int select_binding(ExecutionState *s, OptimizerNode *n, int64_t *extent) noexcept nogil:
    """Select the binding that fits the inputs, if any; an unbound node becomes NATIVE. ``extent``: an output."""
    cdef Instr *ins = s.code + n.pc
    cdef int elided = n.elided
    cdef VaryingBinding *v
    cdef VaryingBinding **link = &n.cache
    if n.region.stale:
        return 0
    if n.varying == NULL or not differs_only_in_extent(s, n.varying, extent):
        while link[0] != NULL and not differs_only_in_extent(s, link[0], extent):
            link = &link[0].next
        v = link[0]
        if v == NULL:
            return 0
        link[0] = v.next
        n.ncached -= 1
        if n.varying != NULL:
            cache_binding(s, n)
        ins.ncalls, ins.nguards, n.counts = v.ncalls, v.nguards, v.counts
        ins.calls, ins.guards, ins.cells, ins.outer = v.calls, v.guards, v.cells, v.outer
        n.varying = v
        n.through = v.through
        ins.follows = FOLLOWS_INPUTS | SETS_OUTPUTS
        if elided and v.copies:
            elide_copies(s, n)
        s.generation += 1
        ins.binding = s.generation
    if ins.kind != NATIVE:
        s.generation += 1
        ins.kind = NATIVE
    return 1


cdef int update_call_extents(ExecutionState *s, OptimizerNode *n) noexcept nogil:
    """Update the numbers in the calls."""
    cdef VaryingBinding *v
    cdef VaryingPort *port
    cdef int k, spec
    cdef int64_t extent = 0
    if not select_binding(s, n, &extent):
        return 0
    v = n.varying
    for k in range(v.ntemps):
        if v.temps[k].base + v.temps[k].slope * extent > v.temps[k].capacity:
            return 0
    for k in range(v.noutputs):
        port = v.outputs + k
        if port.family != NULL:
            spec = spec_of(port.family, port.base + port.slope * extent)
            if not spec:
                return 0
            port.spec = spec
    for k in range(v.ninputs):
        v.inputs[k].spec = s.slots[v.inputs[k].slot].spec
    for k in range(v.nnumbers):
        if v.numbers[k].narrow:
            (<int32_t *>v.numbers[k].where)[0] = <int32_t>(v.numbers[k].base + v.numbers[k].slope * extent)
        else:
            v.numbers[k].where[0] = v.numbers[k].base + v.numbers[k].slope * extent
    s.code[n.pc].cost = v.cost_base + v.cost_slope * extent
    v.extent = extent
    v.fitted += 1
    return 1


cdef int fit_to_inputs(ExecutionState *s, OptimizerNode *n) noexcept nogil:
    """Fit a bound node to its present inputs."""
    cdef VaryingBinding *v = n.varying
    cdef VaryingPort *port
    cdef Slot *slot
    cdef Slot *source
    cdef int k
    cdef Py_ssize_t nbytes
    for k in range(v.ninputs):
        if s.slots[v.inputs[k].slot].spec != v.inputs[k].spec:
            if not update_call_extents(s, n):
                return 0
            v = n.varying
            break
    else:
        if v.element >= 0 and read_varying_extent(v, s.slots[v.inputs[v.leading].slot].data) != v.extent:
            if not update_call_extents(s, n):
                return 0
            v = n.varying
    for k in range(v.noutputs):
        port = v.outputs + k
        slot = s.slots + port.slot
        if slot.flags & FOLDED:
            return 0     # its readers are bound to known numbers
        if port.data_dependent:
            continue     # its own calls set the spec
        if port.append >= 0:
            source = s.slots + port.append
            nbytes = port_bytes(port, v.extent)
            if slot.owner != source.owner or not source.flags & SHARED:
                return 0
            if port.in_front:
                if bytes_in_front(source) < nbytes - source.nbytes:
                    return 0
                slot.data, slot.capacity = source.data - (nbytes - source.nbytes), nbytes
            elif source.capacity < nbytes:
                return 0
            else:
                slot.data, slot.capacity = source.data, source.capacity
        elif slot.spec == port.spec and slot.flags == OWN:
            continue
        else:
            nbytes = port_bytes(port, v.extent)
            if slot.capacity < nbytes or slot.flags != OWN:
                return 0
        if slot.spec != port.spec:
            change_spec(s, port.slot, port.spec, nbytes)
    return not (n.looks and not n.elided and materialize_inputs(s, n))


cdef int check_result_capacity(Call *call) noexcept nogil:
    """Before a node's calls: does a result have its maximum capacity?"""
    cdef const DynamicResult *result = <const DynamicResult *>call.data
    cdef const Slot *slot = result.state.slots + result.slot
    return slot.flags != OWN or slot.capacity < result.max_nbytes


cdef int set_result_extent(Call *call) noexcept nogil:
    """After a node's calls: set the length of a result."""
    cdef DynamicResult *result = <DynamicResult *>call.data
    cdef Slot *slot = result.state.slots + result.slot
    cdef int64_t extent = (<int64_t *>call.cell[0][0])[0]
    cdef int spec = spec_of(result.family, extent)
    if not spec:
        return 1
    if slot.spec != spec:
        change_spec(result.state, result.slot, spec, result.family.unit * extent)
    return 0


cdef void free_binding_cache(OptimizerNode *n) noexcept:
    """Free all cached bindings."""
    cdef VaryingBinding *v
    while n.cache != NULL:
        v = n.cache
        n.cache = v.next
        arena_free_tree(v.calls)
    n.ncached = n.region.stale = 0


# -- running


cdef inline int run(ExecutionState *s, OptimizerNode *n, Instr *ins) noexcept nogil:
    """Run a node as bound, unless it ran in this entry; nonzero: its binding does not fit."""
    if n.once >= 0 and already_ran_in_entry(s, n):
        return 0
    if ins.kind != NATIVE or (n.varying != NULL and not fit_to_inputs(s, n)) or run_bound_node(s, ins):
        return 1
    if n.once >= 0:
        n.done = s.loops[n.once].entries
    s.budget -= ins.cost
    return 0


cdef int run_node(ExecutionState *s, int pc) noexcept nogil:
    """Run a node by itself; nonzero: its binding does not fit."""
    return run(s, optimizer_node(s, pc), s.code + pc)


cdef int run_region(ExecutionState *s, Region *r) noexcept nogil:
    cdef OptimizerNode *n = <OptimizerNode *>r
    cdef int pc = s.pc
    if run(s, n, s.code + pc):
        return REGION_PYTHON
    pc, n = pc + 1, n + 1
    # Nodes that ran in this entry are often adjacent to constants: two of three nodes in an iteration of nms_soft. As
    # separate regions each costs 60 instructions; here, 20.
    while not s.stepping and is_idle(s, n, s.code + pc):
        pc, n = pc + 1, n + 1
    s.pc = pc
    return REGION_RAN


cdef inline int is_idle(const ExecutionState *s, const OptimizerNode *n, const Instr *ins) noexcept nogil:
    """Is there nothing to run: a constant, or a node that ran in this entry?"""
    if ins.region == NULL:
        return ins.kind == NATIVE and ins.ncalls == 0 and ins.nguards == 0
    return ins.region == &n.region and n.once >= 0 and already_ran_in_entry(s, n)


cdef void invalidate_node(ExecutionState *s, Region *r) noexcept nogil:
    """Invalidate results computed once an entry, or for a block of iterations."""
    cdef OptimizerNode *n = <OptimizerNode *>r
    cdef int k
    n.done = -1
    for k in range(s.code[n.pc].ncalls):
        invalidate_iteration_block(s.code[n.pc].calls + k)


# -- restoring the previous iteration at a boundary


cdef void shift_body_iteration(ExecutionState *s, LoopState *loop, int back) noexcept nogil:
    """At a boundary: restore the body's slots of the previous iteration (``back``), or undo that."""
    cdef int k
    cdef int64_t i = loop.i - 1 if back else loop.i
    cdef BackEdgeState *e
    cdef Slice *part
    for k in range(loop.nedges):
        e = loop.edges + (loop.nedges - 1 - k if back else k)
        if not e.identity:
            exchange_slots(s.slots + e.param, previous_value_slot(s, e))
    for k in range(loop.nslices):
        part = loop.slices + k
        if part.part_spec and i < loop.parts:
            s.slots[part.inner].data = part.base + i * part.step
    if loop.iteration >= 0:
        write_integer(s.slots + loop.iteration, loop.iteration_wide, i)


cdef inline void exchange_slots(Slot *a, Slot *b) noexcept nogil:
    cdef Slot saved = a[0]
    a[0] = b[0]
    b[0] = saved


cdef inline void write_integer(Slot *slot, int is_int64, int64_t number) noexcept nogil:
    if is_int64:
        (<int64_t *>slot.data)[0] = number
    else:
        (<int32_t *>slot.data)[0] = <int32_t>number
