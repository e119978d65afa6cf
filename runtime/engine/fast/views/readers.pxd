"""Readers of what nodes show, for views.pyx and for groups."""

from ..binding cimport FastBinder
from ...plain.memory cimport Memory
from ...plain.state cimport State
from ..fast_state cimport Varying

cdef class Readers:
    cdef Memory memory
    cdef FastBinder binder
    cdef State *s
    cdef dict seen               # reader -> copies that it reads the sources of, and those
    cdef dict sources            # reader that is bound for ranges -> slots that it reads in place of others, in any of them
    cdef set candidates          # while a body is looked at: nodes whose copies may be elided
    cdef dict tried              # and readers -> how they are bound through all of them, None: they cannot be

    cdef int begin(self) except -1
    cdef list all_of_them(self)
    cdef bint reads_sources(self, int reader, outputs) except -1
    cdef object bind(self, int reader, int pc)
    cdef int install(self, int reader, object found) except -1
    cdef object bind_for_range(self, int reader, int pc)
    cdef list writers_of(self, int reader)
    cdef object bind_through_all(self, int reader, set candidates)
    cdef bint is_passed(self, int slot, set candidates) except -1
    cdef object input_at(self, Varying *v, int slot, object number)
    cdef object view_of(self, int pc, int slot, tuple shape, dict rests, set candidates)
    cdef bint rests_on(self, int pc, dict rests, set candidates) except -1
    cdef int install_for_range(self, int reader, object found) except -1
    cdef list of(self, int slot)
