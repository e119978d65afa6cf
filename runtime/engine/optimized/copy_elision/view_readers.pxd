"""Readers of what nodes show, for views.pyx and for groups."""

from ..optimizing_binder cimport OptimizingBinder
from ...baseline.memory cimport Memory
from ...baseline.state cimport ExecutionState
from ..optimizer_state cimport VaryingBinding

cdef class ViewReaders:
    cdef Memory memory
    cdef OptimizingBinder binder
    cdef ExecutionState *s
    cdef dict seen               # reader -> copies that it reads the sources of, and those
    cdef dict sources            # reader that is bound for ranges -> slots that it reads in place of others, in any of them
    cdef set candidates          # while a body is looked at: nodes whose copies may be elided
    cdef dict range_attempts              # and readers -> how they are bound through all of them, None: they cannot be

    cdef bint reads_sources(self, int reader, outputs) except -1
    cdef object bind_to_source(self, int reader, int pc)
    cdef int install_binding(self, int reader, object found) except -1
    cdef object bind_for_range(self, int reader, int pc)
    cdef object range_input_descriptor(self, VaryingBinding *v, int slot, object number)
    cdef int install_for_range(self, int reader, object found) except -1
    cdef list of(self, int slot)
