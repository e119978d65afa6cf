"""Regions of one node: it runs once an entry, follows an extent that varies, or keeps what it computed for a block of
iterations.
"""

from ...kernels.drivers cimport drop_block
from ..plain.bound cimport run_bound
from ..plain.state cimport *
from .ranges.follow cimport fit
from .fast_state cimport *
from .views.elision cimport run_elided


cdef void lead(Instr *ins, Region *r) noexcept nogil:
    """Let an instruction lead a region, which is asked before those that it leads already."""
    r.next = ins.region
    ins.region = r


cdef void lead_no_more(Instr *ins, Region *r) noexcept nogil:
    cdef Region **link = &ins.region
    while link[0] != NULL and link[0] != r:
        link = &link[0].next
    if link[0] == r:
        link[0] = r.next


cdef void load_node(State *s, int pc, int once) noexcept nogil:
    """What is known of a node from its plan."""
    cdef FastNode *n = node_at(s, pc)
    n.pc, n.once, n.done = pc, once, -1
    n.region.run, n.region.materialise, n.region.invalidate = run_alone, show, forget


cdef void follow_node(State *s, FastNode *n) noexcept nogil:
    """Let a node be a region by itself."""
    cdef Region *r = s.code[n.pc].region
    while r != NULL:
        if r == &n.region:
            return
        if r.next == NULL:
            r.next = &n.region      # behind a group that it leads
            return
        r = r.next
    s.code[n.pc].region = &n.region


cdef int run_node(State *s, int pc) noexcept nogil:
    """Run a node as it is bound, or not where it ran in this entry; not 0: it cannot be run so."""
    cdef FastNode *n = node_at(s, pc)
    cdef Instr *ins = s.code + pc
    if n.once >= 0 and ran_once(s, n):
        return 0
    if ins.kind != NATIVE or (n.varying != NULL and not fit(s, n)) or run_bound(s, ins):
        return 1
    if n.once >= 0:
        n.done = s.loops[n.once].entries
    s.budget -= ins.cost
    return 0


cdef int run_alone(State *s, Region *r) noexcept nogil:
    if run_node(s, (<FastNode *>r).pc):
        return REGION_PYTHON
    s.pc += 1
    return REGION_RAN


cdef int show(State *s, Region *r, int slot) noexcept nogil:
    """Run the copies that a node leaves out. Whoever asks knows whether its inputs are those of the iteration (views.pyx)."""
    cdef FastNode *n = <FastNode *>r
    return not n.elided or not run_elided(s, n)


cdef void forget(State *s, Region *r) noexcept nogil:
    """What it computed once an entry, or for a block of iterations, is of another moment."""
    cdef FastNode *n = <FastNode *>r
    cdef int k
    n.done = -1
    for k in range(s.code[n.pc].ncalls):
        drop_block(s.code[n.pc].calls + k)
