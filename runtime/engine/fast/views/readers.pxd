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

    cdef bint reads_sources(self, int reader, outputs) except -1
    cdef object bind(self, int reader, int pc)
    cdef int install(self, int reader, object found) except -1
    cdef object bind_for_range(self, int reader, int pc)
    cdef object input_at(self, Varying *v, int slot, object number)
    cdef int install_for_range(self, int reader, object found) except -1
    cdef list of(self, int slot)
