"""Regions of one node, for what is fast."""

from libc.stdint cimport int64_t

from ...kernels.call cimport Call
from ..plain.state cimport Instr, LoopState, Region, State
from .fast_state cimport FastNode, Port, Tally, Varying

cdef void load_node(State *s, int pc, int once) noexcept nogil
cdef void lead(Instr *ins, Region *r) noexcept nogil
cdef void lead_no_more(Instr *ins, Region *r) noexcept nogil
cdef void follow_node(State *s, FastNode *n) noexcept nogil
cdef int run_node(State *s, int pc) noexcept nogil
cdef void turn_body(State *s, LoopState *loop, int back) noexcept nogil
cdef int matches(State *s, Varying *v, int64_t *extent) noexcept nogil
cdef void put_in_cache(State *s, FastNode *n) noexcept nogil
cdef int select(State *s, FastNode *n, int64_t *extent) noexcept nogil
cdef int fit_calls(State *s, FastNode *n) noexcept nogil
cdef void free_cache(FastNode *n) noexcept
cdef int has_capacity(Call *call) noexcept nogil
cdef int settle_size(Call *call) noexcept nogil


cdef inline Tally *tally_of(const Instr *ins, int k) noexcept nogil:
    """What is known of a result that is as long as the calls say."""
    return <Tally *>ins.calls[k].data


cdef inline Py_ssize_t bytes_of(const Port *p, int64_t extent) noexcept nogil:
    """What a value at a port needs."""
    return p.nbytes if p.family == NULL else p.family.whole + p.family.unit * (p.base + p.slope * extent)
