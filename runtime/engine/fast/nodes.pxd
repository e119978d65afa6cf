"""Regions of one node, for what is fast."""

from ..plain.state cimport Instr, Region, State
from .fast_state cimport FastNode

cdef void load_node(State *s, int pc, int once) noexcept nogil
cdef void lead(Instr *ins, Region *r) noexcept nogil
cdef void lead_no_more(Instr *ins, Region *r) noexcept nogil
cdef void follow_node(State *s, FastNode *n) noexcept nogil
cdef int run_node(State *s, int pc) noexcept nogil
