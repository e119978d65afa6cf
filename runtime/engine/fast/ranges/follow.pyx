"""Bound nodes whose inputs vary in one extent: their calls, temps and outputs follow it, without Python.

Everything here gives up (0) where memory, a spec or another binding is needed; ``Varied`` (varying.pyx) does that.
"""

from libc.stdint cimport int32_t, int64_t

from ....kernels.call cimport Call
from ....kernels.drivers cimport drop_block
from ..views.passed cimport pass_node, show_inputs, wake_node
from ...plain.pieces cimport release
from ...plain.specs cimport extent_of, spec_of
from ...plain.state cimport *


cdef inline int64_t element_of(const Varying *v, const char *data) noexcept nogil:
    """The number that varies, where it is one in a tensor."""
    return (<const int32_t *>data)[v.element] if v.narrow else (<const int64_t *>data)[v.element]


cdef int matches(State *s, Varying *v, int64_t *extent) noexcept nogil:
    """Do the inputs differ from those that the node was bound on in the one extent alone, and not too much?"""
    cdef Port *p = v.inputs + v.leading
    cdef int k
    cdef int64_t n
    if v.element < 0:
        n = extent_of(p.family, s.slots[p.slot].spec)
    elif s.slots[p.slot].spec == p.spec:
        n = element_of(v, s.slots[p.slot].data)
    else:
        return 0
    if n < v.low or n > v.high:
        return 0
    for k in range(v.ninputs):
        p = v.inputs + k
        if p.family == NULL:
            if s.slots[p.slot].spec != p.spec:
                return 0
        elif extent_of(p.family, s.slots[p.slot].spec) != p.base + p.slope * n:
            return 0
    extent[0] = n
    return 1


cdef void shelve(Instr *ins) noexcept nogil:
    """Put a node's binding aside, without what it computed for a block of iterations."""
    cdef Varying *v = ins.varying
    cdef int k
    wake_node(ins)
    for k in range(ins.ncalls):
        drop_block(ins.calls + k)
    v.ncalls, v.nguards, v.counts = ins.ncalls, ins.nguards, ins.counts
    v.calls, v.guards, v.cells, v.outer = ins.calls, ins.guards, ins.cells, ins.outer
    ins.calls, ins.guards, ins.cells, ins.outer, ins.varying = NULL, NULL, NULL, NULL, NULL
    ins.ncalls = ins.nguards = ins.counts = ins.through = 0
    v.next = ins.shelf
    ins.shelf = v
    ins.nshelf += 1


cdef int select(State *s, Instr *ins) noexcept nogil:
    """Take the binding that fits the inputs, where there is one; an unbound node is NATIVE then."""
    cdef int64_t n = 0
    cdef int passed = ins.passed
    cdef Varying *v
    cdef Varying **link = &ins.shelf
    if ins.stale:
        return 0
    if ins.varying == NULL or not matches(s, ins.varying, &n):
        while link[0] != NULL and not matches(s, link[0], &n):
            link = &link[0].next
        v = link[0]
        if v == NULL:
            return 0
        link[0] = v.next
        ins.nshelf -= 1
        if ins.varying != NULL:
            shelve(ins)
        ins.ncalls, ins.nguards, ins.counts = v.ncalls, v.nguards, v.counts
        ins.calls, ins.guards, ins.cells, ins.outer = v.calls, v.guards, v.cells, v.outer
        ins.varying = v
        ins.through = v.through
        if passed and v.shows:
            pass_node(ins)
        s.generation += 1
        ins.binding = s.generation
    if ins.kind != NATIVE:
        s.generation += 1
        ins.kind = NATIVE
    return 1


cdef int fit_calls(State *s, Instr *ins) noexcept nogil:
    """Put the numbers of now into the calls."""
    cdef Varying *v
    cdef Port *p
    cdef int k, spec
    cdef int64_t n = 0
    if not select(s, ins):
        return 0
    v = ins.varying
    if not matches(s, v, &n):
        return 0
    for k in range(v.nrooms):
        if v.rooms[k].base + v.rooms[k].slope * n > v.rooms[k].capacity:
            return 0
    for k in range(v.noutputs):
        p = v.outputs + k
        if p.family != NULL:
            spec = spec_of(p.family, p.base + p.slope * n)
            if not spec:
                return 0
            p.spec = spec
    for k in range(v.ninputs):
        v.inputs[k].spec = s.slots[v.inputs[k].slot].spec
    for k in range(v.nnumbers):
        if v.numbers[k].narrow:
            (<int32_t *>v.numbers[k].where)[0] = <int32_t>(v.numbers[k].base + v.numbers[k].slope * n)
        else:
            v.numbers[k].where[0] = v.numbers[k].base + v.numbers[k].slope * n
    ins.cost = v.cost_base + v.cost_slope * n
    v.extent = n
    v.fitted += 1
    return 1


cdef int fit(State *s, Instr *ins) noexcept nogil:
    """Make a bound node fit what its inputs are now."""
    cdef Varying *v = ins.varying
    cdef Port *p
    cdef Slot *slot
    cdef Slot *source
    cdef int k
    cdef Py_ssize_t nbytes, before
    for k in range(v.ninputs):
        if s.slots[v.inputs[k].slot].spec != v.inputs[k].spec:
            if not fit_calls(s, ins):
                return 0
            v = ins.varying
            break
    else:
        if v.element >= 0 and element_of(v, s.slots[v.inputs[v.leading].slot].data) != v.extent:
            if not fit_calls(s, ins):
                return 0
            v = ins.varying
    for k in range(v.noutputs):
        p = v.outputs + k
        slot = s.slots + p.slot
        if slot.flags & FOLDED:
            return 0     # whoever reads it rests on numbers that were known
        if p.counted:
            continue     # its own calls see to it
        if p.append >= 0:
            source = s.slots + p.append
            nbytes = bytes_of(p, v.extent)
            if slot.owner != source.owner or source.capacity < nbytes:
                return 0
        elif slot.spec == p.spec:
            continue
        else:
            nbytes = bytes_of(p, v.extent)
            if slot.capacity < nbytes or slot.flags != OWN:
                return 0
        if slot.spec != p.spec:
            before = slot.nbytes
            slot.spec, slot.nbytes = p.spec, nbytes
            spec_changed(s, p.slot, min(before, nbytes))
    return not (ins.looks and not ins.passed and show_inputs(s, ins))


cdef int has_room(Call *call) noexcept nogil:
    """Before a node's calls: may a result be as long as they can make it?"""
    cdef const Tally *t = <const Tally *>call.data
    cdef const Slot *slot = t.state.slots + t.slot
    return slot.flags != OWN or slot.capacity < t.most


cdef int settle(Call *call) noexcept nogil:
    """After a node's calls: a result gets the length that they say."""
    cdef Tally *t = <Tally *>call.data
    cdef Slot *slot = t.state.slots + t.slot
    cdef int64_t extent = (<int64_t *>call.cell[0][0])[0]
    cdef int spec = spec_of(t.family, extent)
    cdef Py_ssize_t before = slot.nbytes
    if not spec:
        return 1
    if slot.spec != spec:
        slot.spec, slot.nbytes = spec, t.family.unit * extent
        spec_changed(t.state, t.slot, min(before, slot.nbytes))
    return 0


cdef void free_shelf(Instr *ins) noexcept:
    """All that were put aside."""
    cdef Varying *v
    while ins.shelf != NULL:
        v = ins.shelf
        ins.shelf = v.next
        release(v.calls)
    ins.nshelf = ins.stale = 0
