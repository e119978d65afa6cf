"""What the plain floor tells an accelerator: whatever stands above it and makes an execution fast (fast/).

By itself nobody does, and every method here does nothing. What an accelerator does while instructions run is a matter of
regions (state.pxd).
"""

from libc.stdint cimport int64_t

from .state cimport Edge, Family

cdef class Accelerator:
    cdef int64_t watched_at      # the generation of the state when ``watch`` was called last

    cdef int begin(self, bint unseen) except -1
    cdef int look(self, int index) except -1
    cdef int tick(self) except -1
    cdef int watch(self, int64_t generation, frozenset slots) except -1
    cdef int ask(self, int slot) except -1
    cdef bint is_there(self, int slot) except -1
    cdef int show_all(self) except -1
    cdef set gone(self)
    cdef int leave(self) except -1
    cdef int change(self) except -1
    cdef bint is_busy(self) except -1
    cdef Family *family_of(self, Edge *e) except? NULL
