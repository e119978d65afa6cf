"""Interface through which the baseline tier reports boundaries."""


cdef class BoundaryObserver:
    """No-op base: nothing is recorded."""

    cdef int prepare(self, int index, bint crossing) except -1:
        """Called before a loop is entered or a boundary crossed while its log (state.pxd) is not ready."""

    cdef int restart_at(self, int index) except -1:
        """A loop was placed at a boundary; nothing is known of the boundaries before."""
