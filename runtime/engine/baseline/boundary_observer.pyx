"""What the plain floor tells whoever notes what happens at boundaries."""


cdef class BoundaryObserver:
    """Nothing is noted."""

    cdef int prepare(self, int index, bint crossing) except -1:
        """A loop is entered, or one of its boundaries crossed, where its log (state.pxd) is not ready."""

    cdef int restart_at(self, int index) except -1:
        """A loop stands at a boundary, and nothing is known of how it came there."""
