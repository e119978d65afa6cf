"""What-if, for the classes above."""

from .checkpoints cimport Checkpoints

cdef class Changes(Checkpoints):
    cdef bint at_head(self, int index) noexcept
    cdef object as_value(self, int slot, object value)
    cdef int set_part(self, int index, int k, object value) except -1
    cdef int recut(self, int slot) except -1
