"""What the plain floor tells whoever notes what happens at boundaries (time/history.pyx)."""

cdef class BoundaryObserver:
    cdef int prepare(self, int index, bint crossing) except -1
    cdef int restart_at(self, int index) except -1
