"""What-if, for the engine."""

from ..plain.accelerator cimport Accelerator
from ..plain.binder cimport Binder
from .history cimport Histories
from ..plain.loops cimport Loops
from ..plain.memory cimport Memory
from ..plain.state cimport State

cdef class Changes:
    cdef Memory memory
    cdef Binder binder
    cdef Loops loops
    cdef Histories histories
    cdef Accelerator accelerator
    cdef State *s
    cdef object plan

    cdef int begin(self) except -1
    cdef bint at_head(self, int index) noexcept
    cdef object as_value(self, int slot, object value)
    cdef str parts_of(self, int index, int k)
    cdef int set_part(self, int index, int k, object value) except -1
    cdef int recut(self, int slot) except -1
