"""What the plain floor tells an accelerator: whatever stands above it and makes an execution fast (fast/).

By itself nobody does, and every method here does nothing. What an accelerator does while instructions run is a matter of
regions (state.pxd).
"""

from libc.stdint cimport int64_t

from .state cimport BackEdgeState, Family

cdef class OptimizerBase:
    cdef int64_t watched_generation      # the generation of the state when ``watch`` was called last

    cdef int begin(self, bint unseen) except -1
    cdef int look(self, int index) except -1
    cdef int tick(self) except -1
    cdef int watch(self, int64_t generation, frozenset slots) except -1
    cdef int materialize(self, int slot) except -1
    cdef bint is_available(self, int slot) except -1
    cdef int materialize_all(self) except -1
    cdef set unavailable_slots(self)
    cdef int on_jump(self) except -1
    cdef int before_edit(self) except -1
    cdef bint is_mid_region(self) except -1
    cdef Family *family_of(self, BackEdgeState *e) except? NULL
