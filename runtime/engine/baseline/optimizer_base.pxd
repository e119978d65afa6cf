"""Interfaces through which the baseline tier drives an optimizer (optimized/) and reports boundaries
(history/value_history.pyx).

Every method here is a no-op. While instructions run, an optimizer acts through regions (state.pxd).
"""

from libc.stdint cimport int64_t

from .state cimport BackEdgeState, Family

cdef class OptimizerBase:
    cdef int64_t watched_generation      # generation of the state at the last call of ``watch``

    cdef int begin(self, bint outputs_only) except -1
    cdef int look(self, int index) except -1
    cdef int on_time_slice_end(self) except -1
    cdef int watch(self, int64_t generation, frozenset slots) except -1
    cdef int materialize(self, int slot) except -1
    cdef bint is_available(self, int slot) except -1
    cdef int materialize_all(self) except -1
    cdef set unavailable_slots(self)
    cdef int on_jump(self) except -1
    cdef int before_edit(self) except -1
    cdef bint is_mid_region(self) except -1
    cdef Family *back_edge_family(self, BackEdgeState *e) except? NULL

cdef class BoundaryObserver:
    cdef int prepare_log(self, int index, bint crossing) except -1
    cdef int restart_log_at(self, int index) except -1
