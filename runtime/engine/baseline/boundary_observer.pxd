"""Interface through which the baseline tier reports boundaries (history/value_history.pyx)."""

cdef class BoundaryObserver:
    cdef int prepare(self, int index, bint crossing) except -1
    cdef int restart_at(self, int index) except -1
